/** The steps of a computation on the page: their states, progress, times and sizes. */

import { $, bytes, duration, make } from "./dom.js";

/** Tells people who do not see the page what goes on. */
export function announce(text) {
  $("live").textContent = text;
}

/** One line of the list. */
class Step {
  constructor(list, title) {
    this.title = title;
    this.bar = make("progress", { max: 1, value: 0, hidden: true });
    this.bar.setAttribute("aria-label", title);
    this.time = make("span", { className: "time" });
    this.detail = make("span", { className: "detail", hidden: true });
    this.item = make("li", {}, make("span", { textContent: title }), this.time, this.bar, this.detail);
    list.append(this.item);
  }

  /** Shows how far it is. */
  progress = (done, of) => {
    if (this.isPaused) this.say("");
    this.bar.hidden = false;
    this.bar.max = of;
    this.bar.value = done;
  };

  /** Says something about it: a size, or why it waits. */
  say(text) {
    this.isPaused = false;
    this.detail.hidden = !text;
    this.detail.textContent = text;
  }

  /** Shows that it waits for the network. */
  pause = (error) => {
    this.say(`${error.message}; it goes on when the connection is back`);
    this.isPaused = true;
    announce(`${this.title}: waiting for the connection`);
  };

  end(state) {
    if (this.isPaused) this.say("");
    this.item.className = state;
    this.bar.hidden = true;
  }
}

export class Steps {
  /** @param {string} prefix of the ids of the list and of the line with the total */
  constructor(prefix) {
    this.list = $(`${prefix}-steps`);
    this.total = $(`${prefix}-total`);
  }

  clear() {
    this.list.replaceChildren();
    this.total.textContent = "";
    /** Times in milliseconds by name, in order. */
    this.times = {};
    this.started = performance.now();
  }

  /** Shows a step that has begun. */
  begin(name, title) {
    const step = new Step(this.list, title);
    step.item.className = "now";
    step.item.dataset.step = name;
    announce(title);
    return step;
  }

  /**
   * Runs one step and shows its time. `work` gets the step, and what it says last stays there.
   *
   * @template T
   * @param {string} name of the step in `times`
   * @param {string} title
   * @param {(step: Step) => Promise<T>} work
   * @returns {Promise<T>}
   */
  async run(name, title, work) {
    const step = this.begin(name, title);
    const started = performance.now();
    try {
      const result = await work(step);
      const time = performance.now() - started;
      this.times[name] = time;
      step.time.textContent = duration(time);
      step.item.dataset.ms = time.toFixed(1);
      step.end("done");
      return result;
    } catch (error) {
      step.end("failed");
      throw error;
    }
  }

  /** Shows the total, with what was sent and received meanwhile. */
  finish(sent, received) {
    const time = performance.now() - this.started;
    this.times.total = time;
    this.total.dataset.ms = time.toFixed(1);
    this.total.textContent = `${duration(time)} in all; ${bytes(sent)} sent, ${bytes(received)} received.`;
    announce(`Done in ${duration(time)}`);
  }
}
