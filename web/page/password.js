/** The view of passwords: is one in a list of leaked ones, without telling it or the answer. */

import { Client } from "../client/client.js";
import { $, bytes } from "./dom.js";
import * as problem from "./problem.js";
import { Work } from "./work.js";

/** The name of the database by which a service says that it has such a list. */
const NAME = "passwords";
/** Hexadecimal digits of SHA-1 by which passwords are looked up: 80 bits. */
const DIGITS = 20;

/** The key of a password: the start of its SHA-1, in upper case. */
async function keyOf(password) {
  if (!globalThis.crypto?.subtle) {
    throw Object.assign(new Error("this browser hashes only on pages that come over HTTPS"), {
      hint: "open the page by https, or on the machine of the service by localhost",
    });
  }
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(password)));
  return [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("").toUpperCase().slice(0, DIGITS);
}

/** How often a password was seen, in words. */
function seen(record) {
  const count = Number(new TextDecoder().decode(record).replaceAll("\0", ""));
  if (!Number.isSafeInteger(count) || count < 2) return "";
  return ` It was seen ${count.toLocaleString("en")} times.`;
}

export class PasswordView {
  /** What the service says of the list; undefined before it was asked, null without one. */
  #list;
  #client;

  constructor(account) {
    this.account = account;
    this.service = account.service;
    this.work = new Work("password", account, {});
    $("password-again").addEventListener("click", () => this.show());
    $("password-shown").addEventListener("change", ({ target }) => {
      $("password-text").type = target.checked ? "text" : "password";
    });
    $("password-text").addEventListener("input", () => this.#forgetResult());
    $("password-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.work.start((signal) => this.#run($("password-text").value, signal));
    });
    this.#offer(undefined);
  }

  /** Asks the service for its list when the view is first seen, and again after a failure. */
  async show() {
    if (this.#list) return;
    this.#offer(undefined);
    try {
      const lists = await this.service.lookups();
      this.#offer(lists.find(({ name, by }) => name === NAME && by === "key") ?? null);
    } catch (error) {
      this.#offer(undefined, problem.text(error));
    }
  }

  #offer(list, failure = "") {
    this.#list = list;
    $("password-none").hidden = list !== null && !failure;
    $("password-none-text").textContent = failure ||
      "This service has no list of leaked passwords. Whoever runs it adds one with he-cli serve --lookups.";
    $("password-form").hidden = $("password-outcome").hidden = !list;
    if (!list) return;
    $("password-list").textContent =
      `${list.records.toLocaleString("en")} passwords. A question takes ${bytes(list.query_bytes)} and an answer ` +
      `${bytes(list.answer_bytes)}; for each of them the service reads all ${bytes(list.scanned_bytes)}.`;
  }

  #forgetResult() {
    $("password-answer").textContent = "";
    $("password-answer").className = "answer";
    $("password-note").textContent = "Decrypted in this browser.";
  }

  /** A description and a query for it. A list that has changed meanwhile has another description. */
  async #ask(client, key, task) {
    const file = await this.service.lookupDescription(NAME, task);
    await client.loadLookup(file, task);
    return client.lookupQuery(key, task);
  }

  async #run(password, signal) {
    this.#forgetResult();
    if (!password) throw Object.assign(new Error("no password is typed"), { hint: "type one" });
    const { steps, service } = this.work;
    const key = await keyOf(password);
    const query = await steps.run("encrypt", "Encrypt the question", async (step) => {
      this.#client ??= Client.start();
      const client = await this.#client;
      const query = await this.#ask(client, key, { signal, onPause: step.pause });
      step.say(bytes(query.size));
      return query;
    });
    const answer = await steps.run("answer", "Search the whole list on the server", async (step) => {
      const answer = await service.lookupAnswer(NAME, query, { signal, onPause: step.pause });
      step.say(bytes(answer.size));
      return answer;
    });
    const record = await steps.run("decrypt", "Decrypt", async () =>
      (await this.#client).lookupRead(answer, key, { signal }));
    this.#show(record);
  }

  #show(record) {
    const leaked = record !== null;
    $("password-answer").textContent = leaked ? "It is in the list." : "It is not in the list.";
    $("password-answer").className = leaked ? "answer wrong" : "answer";
    $("password-note").textContent = leaked
      ? `Do not use this password.${seen(record)} Decrypted in this browser.`
      : "That alone does not make it a good one. Decrypted in this browser.";
  }
}
