/** The one place for errors: what is wrong, and what to do about it. */

import { $ } from "./dom.js";

/** Whether somebody cancelled, which is not an error. */
export const isCancelled = (error) => error?.name === "AbortError";

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

const message = (error) => sentence(error?.message || String(error));
const hint = (error) => (error?.hint ? sentence(error.hint) : "");

/** The error in one text. */
export const text = (error) => `${message(error)} ${hint(error)}`.trim();

export function show(error) {
  $("problem-text").textContent = message(error);
  $("problem-hint").textContent = hint(error);
  $("problem").hidden = false;
  $("problem").scrollIntoView({ block: "nearest" });
}

export function clear() {
  $("problem").hidden = true;
}

$("problem-close").addEventListener("click", clear);
