/** Small helpers: elements, sizes, times, streams. */

/** The element with this id. */
export const $ = (id) => document.getElementById(id);

/** A new element with properties and children. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A size in bytes for people: `18.2 MiB`. */
export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || count >= 100 ? 0 : count >= 10 ? 1 : 2;
  return `${count.toFixed(digits)} ${units[unit]}`;
}

/** A time for people: `369 ms`, `1.09 s`. */
export function duration(ms) {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 99_500 ? `${(ms / 1000).toPrecision(3)} s` : `${Math.round(ms / 1000)} s`;
}

/** All bytes of a stream. Unlike a `Response` it leaves the error of the stream as it is. */
export async function collect(stream) {
  const parts = [];
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    parts.push(value);
  }
}

/** Offers a blob as a file to save. */
export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Lets files be dropped on an element, and shows that they can be. */
export function onDrop(element, take) {
  const over = (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    element.classList.add("over");
  };
  element.addEventListener("dragenter", over);
  element.addEventListener("dragover", over);
  element.addEventListener("dragleave", (event) => {
    if (!element.contains(event.relatedTarget)) element.classList.remove("over");
  });
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("over");
    const file = event.dataTransfer.files[0];
    if (file) take(file);
  });
}
