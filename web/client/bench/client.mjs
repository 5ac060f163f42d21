// Times of the client's work in WebAssembly under Node, beside the same work natively on one thread
// (crates/he-wasm/examples/times.rs), in one run:
//
//   web/build.sh && node web/client/bench/client.mjs
//
// Times are those of the processor, in milliseconds, the least of several.

import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = process.env.HE_DIST
  ? pathToFileURL(`${process.env.HE_DIST}/`)
  : new URL("../../dist/client/", import.meta.url);
const { default: init, Session } = await import(new URL("he_wasm.js", folder));
await init({ module_or_path: await readFile(new URL("he_wasm_bg.wasm", folder)) });

const ROUNDS = 9;

function finish(task) {
  const made = [];
  for (let state = 0; state !== 2; ) {
    state = task.step();
    made.push(task.take());
  }
  task.free();
  return Buffer.concat(made);
}

function time(work) {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

function decrypt(session, file) {
  const task = session.decrypt("light");
  for (let state = 0, given = false; state !== 2; ) {
    state = task.step();
    if (state === 1) given ? task.end() : task.push(file);
    if (state === 1) given = true;
  }
  task.free();
}

const options = (scheme) =>
  scheme === "ckks" ? { scheme, for: "images", depth: 1 } : { scheme, for: "tables", depth: 1, bits: 16 };
const pixels = Uint8Array.from({ length: 512 * 512 }, (_, i) => (i * 7) % 251);
const found = {};
for (const scheme of ["ckks", "bfv", "bgv"]) {
  const session = new Session();
  const keygen = time(() => finish(session.generateKeys(JSON.stringify(options(scheme)))));
  let file;
  const encrypt = time(() => (file = finish(session.encryptImage(512, 512, 1, pixels))));
  found[scheme] = { keygen, encrypt, decrypt: time(() => decrypt(session, file)) };
}
const cargo = ["run", "--release", "--quiet", "-p", "he-wasm", "--example", "times"];
const env = { ...process.env, RAYON_NUM_THREADS: "1" };
const root = fileURLToPath(new URL("../../..", import.meta.url));
const native = JSON.parse(execFileSync("cargo", cargo, { cwd: root, env }));
for (const [scheme, times] of Object.entries(found)) {
  for (const [what, ms] of Object.entries(times)) {
    const own = native[scheme][what];
    const row = [scheme, what, ms.toFixed(1), own.toFixed(1), (ms / own).toFixed(2)];
    console.log(`| ${row.join(" | ")} |`);
  }
}
