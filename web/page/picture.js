/** The view of pictures. */

import { $, onDrop, save } from "./dom.js";
import { draw, drawBytes, png, readPicture } from "./pixels.js";
import * as problem from "./problem.js";
import { Work } from "./work.js";

/** The least room around tiles of a picture: for the blur that is offered first. */
const LEAST_HALO = 4;

const SAMPLE = new URL("./sample.jpg", import.meta.url);

export class PictureView {
  #file = null;
  #image = null;
  /** Where the encrypted picture is on the server, under which token and key set, and its halo. */
  #stored = null;

  constructor(account, keys) {
    this.work = new Work("picture", account, keys);
    keys.onChange(() => this.#unstore());
    const input = $("picture-file");
    input.addEventListener("change", () => input.files[0] && this.#choose(input.files[0]));
    onDrop($("picture-drop"), (file) => this.#choose(file));
    $("picture-most").addEventListener("change", () => this.#file && this.#choose(this.#file));
    $("picture-sample").addEventListener("click", () => this.#sample());
    $("picture-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.work.start((signal) => this.#run(signal));
    });
    $("picture-save").addEventListener("click", async () => {
      save(await png($("picture-result")), "result.png");
    });
    for (const radio of $("picture-form").elements.operation) {
      radio.addEventListener("change", () => this.#showOptions());
    }
    for (const id of ["brightness-by", "blur-radius"]) $(id).addEventListener("input", () => this.#showOptions());
    this.#showOptions();
  }

  #showOptions() {
    const { name, by, radius } = this.#operation();
    for (const row of document.querySelectorAll("#picture-form [data-of]")) row.hidden = row.dataset.of !== name;
    if (by !== undefined) $("brightness-shown").textContent = `${by < 0 ? "−" : "+"}${Math.round(100 * Math.abs(by))} %`;
    if (radius !== undefined) $("blur-shown").textContent = `${radius} ${radius === 1 ? "pixel" : "pixels"}`;
  }

  #operation() {
    const name = $("picture-form").elements.operation.value;
    if (name === "blur") return { name, radius: Number($("blur-radius").value) };
    return name === "brightness" ? { name, by: Number($("brightness-by").value) } : { name };
  }

  async #sample() {
    try {
      const response = await fetch(SAMPLE);
      if (!response.ok) throw new Error(`the sample is not there (${response.status})`);
      await this.#choose(new File([await response.blob()], "sample.jpg"));
    } catch (error) {
      problem.show(error instanceof TypeError
        ? Object.assign(new Error("the service does not answer"), { hint: "choose a picture of your own, or try again later" })
        : error);
    }
  }

  async #choose(file) {
    if (this.work.running) return;
    problem.clear();
    try {
      const image = await readPicture(file, Number($("picture-most").value));
      this.#file = file;
      this.#image = image;
    } catch (error) {
      problem.show(error);
      return;
    }
    this.#unstore();
    const { width, height, channels } = this.#image;
    draw($("picture-original"), this.#image);
    const colours = { 1: "gray", 3: "colour", 4: "colour with transparency" }[channels];
    $("picture-chosen").textContent = `${file.name}: ${width} × ${height} pixels, ${colours}.`;
  }

  /** Forgets what was sent of a picture that is no longer the one, and what came of it. */
  #unstore() {
    const stored = this.#stored;
    this.#stored = null;
    const { service } = this.work;
    if (stored && stored.token === service.token) service.remove(`/v1/objects/${stored.object}`);
    const { width, height } = this.#image ?? { width: 512, height: 512 };
    for (const id of ["picture-cipher", "picture-result"]) drawBytes($(id), [], width, height);
    $("picture-cipher-note").textContent = "The bytes of the ciphertext, a pixel each.";
    $("picture-result-note").textContent = "Decrypted in this browser.";
    $("picture-save").hidden = true;
  }

  async #run(signal) {
    const image = this.#image;
    if (!image) {
      throw Object.assign(new Error("no picture is chosen"), { hint: "drop one, choose a file, or take the sample" });
    }
    const { service } = this.work;
    const operation = this.#operation();
    // A filter takes as many pixels around each tile as its radius.
    const halo = Math.max(LEAST_HALO, operation.radius ?? 1);
    if (this.#stored?.token !== service.token || this.#stored.halo < halo) {
      this.#unstore();
      const sent = await this.work.send((client, task) => client.encryptImage({ ...image, halo }, task), signal);
      this.#stored = { ...sent, token: service.token, halo };
      // Beside the computation; it is not needed for anything else.
      this.work.showStored(sent.object, sent.size, image.width, image.height).catch(() => {});
    }
    let result;
    try {
      result = await this.work.compute(operation, this.#stored.object, this.#stored.keySet, signal);
    } catch (error) {
      // What was sent may have expired: the next attempt sends it again.
      if (error.status === 404 || error.status === 410) {
        this.#stored = null;
        this.work.keys.unpublish();
      }
      throw error;
    }
    draw($("picture-result"), result);
    const how = operation.radius ? ` of radius ${operation.radius}` : "";
    $("picture-result-note").textContent = `After ${operation.name}${how}; decrypted in this browser.`;
    $("picture-save").hidden = false;
  }
}
