/** The keys of one view: made, saved, loaded, forgotten. They live in a worker of their own. */

import { Client } from "../client/client.js";
import { $, bytes, collect, save } from "./dom.js";
import * as problem from "./problem.js";
import { announce } from "./steps.js";

export class Keys {
  #client = null;
  #info = null;
  /** The key set on the server: its id, and the token under which it is there. */
  #published = null;
  #changed = [];

  /**
   * @param {string} prefix of the ids of the view
   * @param {object} options of `Client.generateKeys`
   * @param {import("./service.js").Service} service
   * @param {(client: Client, signal?: AbortSignal) => Promise<void>} prepare what a client needs before
   *   keys are made or loaded
   */
  constructor(prefix, options, service, prepare = async () => {}) {
    this.options = options;
    this.service = service;
    this.prepare = prepare;
    this.fileName = `he-${prefix}-secret.key`;
    const host = $(`${prefix}-keys`);
    host.append($("keys-template").content.cloneNode(true));
    this.find = (name) => host.querySelector(`.key-${name}`);
    this.find("state").textContent = "No keys yet. They are made when they are first needed.";
    this.find("make").addEventListener("click", () => this.#do(() => this.#make({})));
    this.find("save").addEventListener("click", () => this.#open("save"));
    this.find("load").addEventListener("click", () => this.#open("load"));
    this.find("forget").addEventListener("click", () => this.#do(() => this.forget()));
    this.find("close").addEventListener("click", () => this.#close());
    this.find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#do(() => this.#submit());
    });
  }

  /** While something is computed, keys stay as they are. */
  set busy(busy) {
    this.isBusy = busy;
    this.#refresh();
  }

  /** Calls `listener` whenever the keys are others or gone. */
  onChange(listener) {
    this.#changed.push(listener);
  }

  #refresh() {
    for (const name of ["make", "load"]) this.find(name).disabled = Boolean(this.isBusy);
    for (const name of ["save", "forget"]) this.find(name).disabled = Boolean(this.isBusy) || !this.#info;
    this.find("make").textContent = this.#info ? "Make new keys" : "Make keys";
  }

  async #do(work) {
    problem.clear();
    this.busy = true;
    try {
      await work();
    } catch (error) {
      if (!problem.isCancelled(error)) problem.show(error);
    } finally {
      this.busy = false;
    }
  }

  #tell(text) {
    this.find("state").textContent = text;
  }

  /** The worker, started when it is first needed. */
  async client() {
    this.#client ??= await Client.start();
    return this.#client;
  }

  #have(info, how) {
    this.#drop();
    this.#info = info;
    const what = [String(info.scheme ?? "").toUpperCase(), info.parameters?.degree && `degree ${info.parameters.degree}`];
    this.#tell(`${how}: ${what.filter(Boolean).join(", ")}. They are in the memory of this page alone: save them if you
      want to decrypt later.`);
    this.#refresh();
    for (const listener of this.#changed) listener();
  }

  /** What was published belongs to keys that are gone. */
  #drop() {
    const published = this.#published;
    this.#published = null;
    this.#info = null;
    if (published && published.token === this.service.token) this.service.remove(`/v1/key-sets/${published.id}`);
  }

  async #make(task) {
    this.#tell("Making keys …");
    try {
      const client = await this.client();
      await this.prepare(client, task.signal);
      const info = await client.generateKeys(this.options, task);
      this.#have(info, "Made here");
    } catch (error) {
      this.#tell("No keys.");
      throw error;
    }
  }

  /** Makes keys unless there are some. */
  async ready(steps, signal) {
    const client = await this.client();
    if (!this.#info) {
      await steps.run("keys", "Make keys", (step) => this.#make({ onProgress: step.progress, signal }));
    }
    return client;
  }

  /**
   * Sends the evaluation key unless it is there already.
   *
   * Returns when the worker is free again; `done` is the id of the key set, once it is sent.
   */
  async publish(service, steps, signal) {
    const there = this.#published;
    if (there && there.token === service.token) return { done: Promise.resolve(there.id) };
    const client = await this.client();
    const file = await steps.run("evaluation key", "Make the evaluation key", async (step) => {
      const stream = client.evaluationKey({ onProgress: step.progress, signal });
      const file = await collect(stream);
      step.say(`${bytes(file.size)}; it computes on ciphertexts and decrypts nothing`);
      return file;
    });
    const { token } = service;
    const done = steps.run("send keys", "Send the evaluation key", async (step) => {
      const id = await service.upload("key-sets", file, { signal, onProgress: step.progress, onPause: step.pause });
      step.say(bytes(file.size));
      this.#published = { id, token };
      return id;
    });
    // Whoever waits for it gets the error.
    done.catch(() => {});
    return { done };
  }

  /** The server no longer has the key set. */
  unpublish() {
    this.#published = null;
  }

  /** Wipes the keys here, and removes the evaluation key there. */
  async forget() {
    await this.#client?.forgetKeys();
    this.#drop();
    this.#close();
    this.#tell("The keys are forgotten. Without a saved copy, nobody can decrypt what they encrypted.");
    announce("Keys forgotten");
    for (const listener of this.#changed) listener();
  }

  #open(purpose) {
    const isSave = purpose === "save";
    this.purpose = purpose;
    this.find("form").hidden = false;
    this.find("file-row").hidden = isSave;
    this.find("submit").textContent = isSave ? "Save the secret key" : "Load the secret key";
    this.find("form-help").textContent = isSave
      ? "Whoever has the file can decrypt. With a passphrase, the file is useless without it."
      : "A secret key that this page or he-cli saved. It stays in this browser.";
    this.find("passphrase").autocomplete = isSave ? "new-password" : "current-password";
    this.find("passphrase").value = "";
    (isSave ? this.find("passphrase") : this.find("file")).focus();
  }

  #close() {
    this.find("form").hidden = true;
    this.find("passphrase").value = "";
    this.find("file").value = "";
  }

  async #submit() {
    const passphrase = this.find("passphrase").value || undefined;
    const client = await this.client();
    if (this.purpose === "save") {
      save(await client.saveKeys(passphrase), this.fileName);
      this.#tell("The secret key is saved.");
    } else {
      const file = this.find("file").files[0];
      if (!file) throw Object.assign(new Error("no key file is chosen"), { hint: "choose the file that was saved" });
      await this.prepare(client);
      const info = await client.loadKeys(file, passphrase, { needs: this.options });
      this.#have(info, "Loaded");
    }
    this.#close();
  }
}
