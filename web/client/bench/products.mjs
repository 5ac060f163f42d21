// Runs products.rs: nanoseconds of the processor per butterfly or product, the least of 12, and
// whether all ways come to the same words.

import { readFile } from "node:fs/promises";

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2] ?? "products.wasm"));
const words = new Map();
for (const [name, work] of Object.entries(instance.exports)) {
  if (typeof work !== "function") continue;
  const [kind] = name.split("_");
  const word = work(3);
  if ((words.get(kind) ?? word) !== word) throw new Error(`${name} computes something else`);
  words.set(kind, word);
  work(300);
  let least = Infinity;
  for (let round = 0; round < 12; round++) {
    const before = process.cpuUsage();
    work(400);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, ((user + system) * 1e3) / 400 / (kind === "butterflies" ? 4096 : 8192));
  }
  console.log(`${name}: ${least.toFixed(2)} ns`);
}
