/** Who asks: the holder of a token, or a guest with a session that the service makes. */

import { $ } from "./dom.js";
import * as problem from "./problem.js";
import { Service, ServiceError, unknownToken } from "./service.js";

/** A session that ends sooner than this is not begun with, in milliseconds. */
const SOON = 60_000;

export class Account {
  constructor() {
    this.service = new Service();
    /** When the session of a guest ends, in milliseconds since 1970; null with a token. */
    this.expires = null;
    $("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#useToken($("token").value.trim());
    });
    $("as-guest").addEventListener("click", () => this.#useToken(""));
    $("account").addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close();
    });
  }

  async #useToken(token) {
    $("token-problem").textContent = "";
    const before = this.service.token;
    try {
      // Others cannot even be sent.
      if (/[^\x21-\x7e]/.test(token)) throw unknownToken();
      this.service.token = token || null;
      if (token) await this.service.json("/v1/objects?limit=1");
    } catch (error) {
      this.service.token = before;
      $("token-problem").textContent = problem.text(error);
      return;
    }
    this.expires = null;
    $("token").value = "";
    $("who").textContent = token ? "With a token" : "Guest";
    this.#close();
  }

  #close() {
    $("account").open = false;
    $("account").querySelector("summary").focus();
  }

  /** Makes sure that there is a token that lasts; waits for a network if there is none. */
  async ready({ signal, onPause }) {
    const ended = this.expires !== null && this.expires - Date.now() < SOON;
    if (this.service.token && !ended) return;
    try {
      const session = await this.service.persist(() => this.service.guest(signal), { signal, onPause, waits: [] });
      this.expires = Date.parse(session.expires) || Number.MAX_SAFE_INTEGER;
    } catch (error) {
      if (error instanceof ServiceError && [401, 403, 404, 405].includes(error.status)) {
        $("account").open = true;
        throw new ServiceError("this service takes no guests", {
          hint: "enter a token, which whoever runs the service can make", status: error.status, cause: error,
        });
      }
      throw error;
    }
  }

  /** Runs `work` with a token; once more with a fresh session if that of a guest ended meanwhile. */
  async run(work, task = {}) {
    await this.ready(task);
    try {
      return await work();
    } catch (error) {
      if (error?.status !== 401 || this.expires === null) throw error;
      this.service.token = null;
      await this.ready(task);
      return await work();
    }
  }
}
