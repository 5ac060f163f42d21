// A worker whose WebAssembly traps when it is asked for the public key.

import { pathToFileURL } from "node:url";

const folder = process.env.HE_DIST
  ? pathToFileURL(`${process.env.HE_DIST}/`)
  : new URL("../../dist/client/", import.meta.url);
const { instantiate } = WebAssembly;

WebAssembly.instantiate = async (...given) => {
  const made = await instantiate(...given);
  // Node has WebAssembly of its own.
  if (!made.instance?.exports.session_publicKey) return made;
  const trap = () => {
    throw new WebAssembly.RuntimeError("unreachable");
  };
  return { ...made, instance: { exports: { ...made.instance.exports, session_publicKey: trap } } };
};
await import(new URL("worker.js", folder));
