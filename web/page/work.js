/** What all views share: the buttons, the steps, cancellation, and the way of a file. */

import { $, bytes, collect } from "./dom.js";
import { drawBytes } from "./pixels.js";
import * as problem from "./problem.js";
import { announce, Steps } from "./steps.js";

/** The height of a result that shows what it is, in pixels. */
const ENOUGH = 320;

export class Work {
  /**
   * @param {string} prefix of the ids of this view
   * @param {import("./account.js").Account} account
   * @param {import("./keys.js").Keys} keys
   */
  constructor(prefix, account, keys) {
    this.prefix = prefix;
    this.account = account;
    this.service = account.service;
    this.keys = keys;
    this.steps = new Steps(prefix);
    this.running = null;
    $(`${prefix}-cancel`).addEventListener("click", () => this.running?.abort());
  }

  /** Runs `work(signal)` unless something runs already; shows errors. */
  async start(work) {
    if (this.running) return;
    this.running = new AbortController();
    const { signal } = this.running;
    const run = $(`${this.prefix}-run`);
    const cancel = $(`${this.prefix}-cancel`);
    const focusedFirst = document.activeElement;
    const hadFocus = focusedFirst === run;
    problem.clear();
    run.disabled = true;
    cancel.hidden = false;
    if (hadFocus) cancel.focus();
    const { sent, received } = this.service;
    this.keys.busy = true;
    let isDone = false;
    try {
      let reaching;
      const onPause = (error) => {
        reaching ??= this.steps.begin("reach", "Reach the service");
        reaching.pause(error);
      };
      this.steps.clear();
      await this.account.run(async () => {
        this.steps.clear();
        await work(signal);
      }, { signal, onPause });
      this.steps.finish(this.service.sent - sent, this.service.received - received);
      isDone = true;
    } catch (error) {
      if (problem.isCancelled(error)) {
        this.steps.total.textContent = "Cancelled.";
        announce("Cancelled");
      } else {
        problem.show(error);
      }
    } finally {
      const focused = document.activeElement === cancel;
      this.running = null;
      this.keys.busy = false;
      run.disabled = false;
      cancel.hidden = true;
      if (focused) run.focus();
      // The focus stays where somebody moved it meanwhile.
      if (isDone && [run, focusedFirst, document.body].includes(document.activeElement)) this.#goToResult();
    }
  }

  /** Brings the result into view, and the focus to it, unless enough of it is in view. */
  #goToResult() {
    const outcome = $(`${this.prefix}-outcome`);
    const { top, height } = outcome.getBoundingClientRect();
    if (top >= 0 && top + Math.min(height, ENOUGH) <= innerHeight) return;
    outcome.focus({ preventScroll: true });
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
    outcome.scrollIntoView({ behavior, block: height > innerHeight ? "start" : "nearest" });
  }

  /**
   * Makes keys and publishes the evaluation key where that is still to be done, and encrypts and
   * uploads a file meanwhile.
   *
   * @param {(client: object, task: object) => ReadableStream<Uint8Array>} encrypt
   * @returns {Promise<{keySet: string, object: string, size: number}>}
   */
  async send(encrypt, signal) {
    // Whichever fails first ends the other.
    const both = new AbortController();
    const either = AbortSignal.any([signal, both.signal]);
    const client = await this.keys.ready(this.steps, either);
    const published = await this.keys.publish(this.service, this.steps, either);
    const sent = (async () => {
      const file = await this.steps.run("encrypt", "Encrypt", async (step) => {
        const task = { onProgress: step.progress, signal: either };
        const file = await collect(encrypt(client, task));
        step.say(bytes(file.size));
        return file;
      });
      const object = await this.steps.run("upload", "Send the ciphertext", async (step) => {
        const task = { signal: either, onProgress: step.progress, onPause: step.pause };
        const id = await this.service.upload("objects", file, task);
        step.say(bytes(file.size));
        return id;
      });
      return { object, size: file.size };
    })();
    try {
      const [keySet, { object, size }] = await Promise.all([published.done, sent]);
      return { keySet, object, size };
    } catch (error) {
      both.abort();
      await Promise.allSettled([published.done, sent]);
      throw error;
    }
  }

  /** Draws what the server stores, as it gives it back. */
  async showStored(object, size, width, height) {
    const count = Math.min(size, width * height);
    const part = await this.service.content(object, { range: [0, count - 1] });
    drawBytes($(`${this.prefix}-cipher`), new Uint8Array(await part.arrayBuffer()), width, height);
    const shown = count < size ? `; the first ${bytes(count)} of them` : "";
    $(`${this.prefix}-cipher-note`).textContent = `${bytes(size)} of ciphertext, a pixel for each byte${shown}.`;
  }

  /** Computes on the server, fetches the result and decrypts it. */
  async compute(operation, object, keySet, signal, title = "Compute on the server", onWarning) {
    const { name } = operation;
    const job = await this.steps.run(`compute ${name}`, title, (step) =>
      this.service.compute(operation, [object], keySet, { signal, onProgress: step.progress, onPause: step.pause }));
    const file = await this.steps.run(`download ${name}`, "Fetch the result", async (step) => {
      const file = await this.service.content(job.result, { signal, onProgress: step.progress, onPause: step.pause });
      step.say(bytes(file.size));
      return file;
    });
    this.service.remove(`/v1/objects/${job.result}`);
    return this.steps.run(`decrypt ${name}`, "Decrypt", async (step) =>
      (await this.keys.client()).decrypt(file, { onProgress: step.progress, onWarning, signal }));
  }
}
