/** The view of handwritten digits: drawn here, read by a network that sees only ciphertexts. */

import { $, bytes, make } from "./dom.js";
import { SIDE, normalise, shares } from "./ink.js";
import { Keys } from "./keys.js";
import { Pad } from "./pad.js";
import { draw, drawBytes } from "./pixels.js";
import * as problem from "./problem.js";
import { Work } from "./work.js";

/** Ten digits of the test set of MNIST, one beside the other. */
const SAMPLES = new URL("./digits.png", import.meta.url);
/** What the canvas of the ciphertext has. */
const [WIDTH, HEIGHT] = [512, 256];
const SCORES = ["none", "softmax", "log-softmax"];

/** Whether a model reads pictures of 28 x 28 pixels and has ten scores, with keys that a page can make. */
function isForDigits({ input, outputs, decision, bootstrap_key_bytes }) {
  const size = input.filter((length) => length !== 1);
  const fits = size.join() === `${SIDE},${SIDE}` || size.join() === String(SIDE * SIDE);
  return fits && outputs === 10 && SCORES.includes(decision) && bootstrap_key_bytes === null;
}

/** A score with two decimals, and a minus sign that is one. */
const shown = (score) => score.toFixed(2).replace("-", "−");
const percent = (share) => `${(100 * share).toFixed(1)} %`;

export class DigitView {
  /** The model that the service offers; undefined before it was asked. */
  #model;
  /** The client that has the model, and its hash. */
  #loaded = null;
  #pad;
  #keys;

  constructor(account) {
    this.account = account;
    this.service = account.service;
    const options = { scheme: "ckks", for: "model" };
    this.#keys = new Keys("digit", options, this.service, (client, signal) => this.#load(client, { signal }));
    this.work = new Work("digit", account, this.#keys);
    this.#keys.onChange(() => this.#forgetResult());
    this.#pad = new Pad($("digit-pad"), () => this.#drawn());
    $("digit-clear").addEventListener("click", () => {
      $("digit-sample").value = "";
      this.#pad.clear();
    });
    $("digit-sample").addEventListener("change", () => this.#sample($("digit-sample").value));
    $("digit-again").addEventListener("click", () => this.show());
    addEventListener("online", () => {
      if (!$("digit").hidden) this.show();
    });
    $("digit-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.work.start(async (signal) => {
        this.#lock(true);
        try {
          await this.#run(signal);
        } finally {
          this.#lock(false);
        }
      });
    });
    this.#drawn();
    this.#offer(undefined);
  }

  /** Asks the service for its models when the view is first seen, and again after a failure. */
  async show() {
    if (this.#model) return;
    this.#offer(undefined);
    try {
      const models = (await this.service.models()).filter(isForDigits);
      models.sort((a, b) => a.evaluation_key_bytes - b.evaluation_key_bytes);
      this.#offer(models[0] ?? null);
    } catch (error) {
      this.#offer(undefined, problem.text(error));
    }
  }

  /** Shows what the service has: a model, none (null), or nothing that is known yet. */
  #offer(model, failure = "") {
    this.#model = model;
    const none = "This service has no model that reads handwritten digits. Whoever runs it adds one with " +
      "he-cli serve --models.";
    $("digit-none").hidden = model !== null && !failure;
    $("digit-none-text").textContent = failure || none;
    $("digit-form").hidden = $("digit-panes").hidden = $("digit-keys").hidden = !model;
    if (!model) return;
    const { name, parameters, rotations, evaluation_key_bytes, bytes: size } = model;
    $("digit-model").textContent =
      `${name}: a file of ${bytes(size)}, by which this browser encrypts. It computes under CKKS of degree ` +
      `${parameters.degree}, with ${rotations.length} rotations.`;
    $("digit-cost").textContent =
      `Its evaluation key takes ${bytes(evaluation_key_bytes)}: made in this browser, and sent once for all digits.`;
  }

  async #sample(value) {
    problem.clear();
    if (value === "") return;
    try {
      const response = await fetch(SAMPLES);
      if (!response.ok) throw new Error(`the samples are not there (${response.status})`);
      const all = await createImageBitmap(await response.blob(), { colorSpaceConversion: "none" });
      this.#pad.picture(all, SIDE * Number(value), SIDE);
    } catch (error) {
      problem.show(error instanceof TypeError
        ? Object.assign(new Error("the service does not answer"), { hint: "draw a digit, or try again later" })
        : error);
    }
  }

  /** While a drawing is read, it stays as it is. */
  #lock(locked) {
    this.#pad.locked = $("digit-sample").disabled = locked;
    $("digit-clear").disabled = locked || !this.#pixels();
  }

  /** What the network gets of what is drawn. */
  #pixels() {
    const { ink, width, height } = this.#pad.read();
    return normalise(ink, width, height);
  }

  #drawn() {
    const pixels = this.#pixels();
    const data = pixels ?? new Uint8Array(SIDE * SIDE);
    draw($("digit-seen"), { width: SIDE, height: SIDE, channels: 1, data });
    $("digit-clear").disabled = !pixels;
    this.#forgetResult();
  }

  #forgetResult() {
    drawBytes($("digit-cipher"), [], WIDTH, HEIGHT);
    $("digit-cipher-note").textContent = "The bytes of the ciphertext, a pixel each.";
    $("digit-result").replaceChildren();
    $("digit-answer").textContent = "";
    $("digit-result-note").textContent = "Decrypted in this browser.";
  }

  /** Hands the model to the client, unless it has it. */
  async #load(client, task) {
    const model = this.#model;
    if (!model) {
      throw Object.assign(new Error("the service has no model for digits"), { hint: "reload the page, or ask its operator" });
    }
    if (this.#loaded?.client === client && this.#loaded.hash === model.hash) return;
    const file = await this.account.run(() => this.service.model(model.name, task), task);
    const { hash } = await client.loadModel(file, task);
    if (hash !== model.hash) {
      this.#model = undefined;
      throw Object.assign(new Error("the service has another model now"), { hint: "reload the page" });
    }
    this.#loaded = { client, hash };
  }

  async #run(signal) {
    const pixels = this.#pixels();
    if (!pixels) throw Object.assign(new Error("nothing is drawn"), { hint: "draw a digit, or take a sample" });
    this.#forgetResult();
    const client = await this.#keys.client();
    if (this.#loaded?.client !== client) {
      await this.work.steps.run("model", "Fetch the network", async (step) => {
        await this.#load(client, { signal, onProgress: step.progress, onPause: step.pause });
        step.say(bytes(this.#model.bytes));
      });
    }
    const numbers = Float64Array.from(pixels, (grey) => grey / 255);
    const sent = await this.work.send((client, task) => client.encryptExamples(numbers, task), signal);
    this.work.showStored(sent.object, sent.size, WIDTH, HEIGHT).catch(() => {});
    const warnings = [];
    let table;
    try {
      const operation = { name: "infer", model: this.#model.name };
      const title = "Read the digit on the server";
      table = await this.work.compute(operation, sent.object, sent.keySet, signal, title, (w) => warnings.push(w));
    } catch (error) {
      if (error.status === 404 || error.status === 410) this.#keys.unpublish();
      throw error;
    } finally {
      this.service.remove(`/v1/objects/${sent.object}`);
    }
    this.#show(table.columns.map((column) => column.values[0]), warnings);
  }

  #show(scores, warnings) {
    const parts = shares(scores, this.#model.decision);
    const answer = parts.indexOf(Math.max(...parts));
    $("digit-answer").textContent = `Read as ${answer}`;
    const row = (share, digit) => {
      const bar = make("span", { className: "bar-fill" });
      // The policy of the page forbids styles in markup, not those of scripts.
      bar.style.width = percent(share).replace(" ", "");
      const track = make("span", { className: "bar-track" }, bar);
      track.setAttribute("aria-hidden", "true");
      return make("tr", { className: digit === answer ? "best" : "" },
        make("th", { scope: "row", textContent: String(digit) }),
        make("td", { textContent: shown(scores[digit]) }),
        make("td", { className: "share" }, track, make("span", { textContent: percent(share) })));
    };
    const head = ["digit", "score", "share"].map((textContent) => make("th", { scope: "col", textContent }));
    $("digit-result").replaceChildren(
      make("caption", { className: "hidden", textContent: "The ten scores of the network" }),
      make("thead", {}, make("tr", {}, ...head)),
      make("tbody", {}, ...parts.map(row)));
    const unlike = warnings.length > 0 ? " The drawing is unlike the digits of the calibration: do not rely on it." : "";
    $("digit-result-note").textContent = `Decrypted in this browser; shares are computed here.${unlike}`;
  }
}
