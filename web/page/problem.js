/** The one place for errors: what is wrong, and what to do about it. */

import { $ } from "./dom.js";

/** Whether somebody cancelled, which is not an error. */
export const isCancelled = (error) => error?.name === "AbortError";

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

export function show(error) {
  $("problem-text").textContent = sentence(error?.message || String(error));
  $("problem-hint").textContent = error?.hint ? sentence(error.hint) : "";
  $("problem").hidden = false;
  $("problem").scrollIntoView({ block: "nearest" });
}

export function clear() {
  $("problem").hidden = true;
}

$("problem-close").addEventListener("click", clear);
