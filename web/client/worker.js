// The worker of client.js: holds the WebAssembly and the keys, and does the work step by step, so
// that messages get through between two steps.

import init, {
  Lookup, Session, TableBuilder, generateFileKey, info, panicMessage, readTable, tableText,
} from "./he_wasm.js";

/** The longest secret key file, in bytes. */
const MAX_KEY = 1 << 22;
/** The longest compiled model, in bytes. */
const MAX_MODEL = 1 << 29;
/** The longest description of a database, in bytes. */
const MAX_DESCRIPTION = 1 << 16;
/** The longest table in the clear, in bytes. */
const MAX_TABLE = 1 << 28;
/** Milliseconds of work between two looks at the messages. */
const SLICE = 10;

const port = typeof self === "undefined" ? (await import("node:worker_threads")).parentPort : self;
const tasks = new Map();
let memory, session, lookup;
/** What ended this instance. */
let dead = null;

const abort = () => Object.assign(new Error("cancelled"), { name: "AbortError" });

/** Objects of an instance that has ended: freeing them would run its code. */
const graves = [];

/** Overwrites everything that the instance has in memory. */
function wipe() {
  graves.push(session, lookup);
  session = lookup = undefined;
  if (memory) new Uint8Array(memory.buffer).fill(0);
}

/** A trap leaves the instance in no state to go on from. */
function judged(error) {
  if (!(error instanceof WebAssembly.RuntimeError) && !(error instanceof RangeError)) return error;
  if (!dead) {
    let panic = "";
    try {
      panic = panicMessage();
    } catch {
      // The trap may have come from anywhere, even from here.
    }
    const why = panic || `${error.message}, perhaps for lack of memory`;
    dead = Object.assign(new Error(`an internal error has ended this client: ${why}`), {
      hint: "start another client; keys that were not saved are gone",
    });
    wipe();
  }
  return dead;
}

/** Lets messages through. A timer would wait for 4 ms; in Node, a channel would hold up others. */
const pause = (() => {
  if (typeof setImmediate === "function") return () => new Promise(setImmediate);
  const channel = new MessageChannel();
  const waiting = [];
  channel.port1.onmessage = () => waiting.shift()();
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      channel.port2.postMessage(0);
    });
})();

/** A task between its messages. */
class Run {
  constructor(id) {
    this.id = id;
    this.credit = 0;
    this.cancelled = false;
    this.wake = null;
    this.data = [];
  }

  post(type, fields, transfer = []) {
    port.postMessage({ id: this.id, type, ...fields }, transfer);
  }

  signal() {
    this.wake?.();
    this.wake = null;
  }

  async until(ready) {
    while (!ready()) {
      if (this.cancelled) throw abort();
      await new Promise((resolve) => (this.wake = resolve));
    }
    if (this.cancelled) throw abort();
  }

  /** Sends bytes once they are asked for. */
  async chunk(bytes) {
    await this.until(() => this.credit > 0);
    this.credit -= 1;
    this.post("chunk", { bytes }, [bytes.buffer]);
  }

  async input() {
    this.post("need");
    await this.until(() => this.data.length > 0);
    return this.data.shift();
  }

  /** All steps; bytes that are made go to the stream. */
  async all(task) {
    let [done, of, since] = [-1, -1, performance.now()];
    try {
      for (;;) {
        if (this.cancelled) throw abort();
        if (dead) throw dead;
        const state = task.step();
        const bytes = task.take();
        if (task.done !== done || task.of !== of) {
          [done, of] = [task.done, task.of];
          this.post("progress", { done, of });
        }
        if (bytes.length > 0) await this.chunk(bytes);
        if (state === 2) break;
        if (state === 1) {
          const bytes = await this.input();
          if (bytes === null) task.end();
          else task.push(bytes);
        } else if (performance.now() - since > SLICE) {
          await pause();
          since = performance.now();
        }
      }
      JSON.parse(task.warnings()).forEach((warning) => this.post("warning", { warning }));
      return task.result();
    } catch (error) {
      throw judged(error);
    } finally {
      if (dead) graves.push(task);
      else task.free();
    }
  }
}

/** The bytes of a passphrase, which are wiped once the instance has a copy. */
function withBytes(text, use) {
  const bytes = text === undefined ? undefined : new TextEncoder().encode(text);
  try {
    return use(bytes);
  } finally {
    bytes?.fill(0);
  }
}

async function keyFile(file) {
  if (file.size > MAX_KEY) {
    throw Object.assign(new Error(`a key of ${file.size} bytes`), {
      hint: "give the file of a secret key, which is smaller",
    });
  }
  return new Uint8Array(await file.arrayBuffer());
}

async function modelFile(file) {
  if (file.size > MAX_MODEL) {
    throw Object.assign(new Error(`a model of ${file.size} bytes`), {
      hint: "give the file that he-cli compile writes, which is smaller",
    });
  }
  return new Uint8Array(await file.arrayBuffer());
}

async function descriptionFile(file) {
  if (file.size > MAX_DESCRIPTION) {
    throw Object.assign(new Error(`a description of ${file.size} bytes`), {
      hint: "give the public description of a database, which is smaller",
    });
  }
  return new Uint8Array(await file.arrayBuffer());
}

/** Number and key of a record, of which one is there. */
function recordOf(record) {
  if (typeof record === "string") return [undefined, new TextEncoder().encode(record)];
  if (record instanceof Uint8Array) return [undefined, record];
  if (typeof record === "bigint" && record >= 0n && record < 1n << 64n) return [record, undefined];
  if (Number.isSafeInteger(record) && record >= 0) return [BigInt(record), undefined];
  throw Object.assign(new Error("this is not a number or a key of a record"), {
    hint: "give a number from 0, a bigint, text or a Uint8Array",
  });
}

function opened() {
  if (lookup) return lookup;
  throw Object.assign(new Error("no database for look-ups is loaded"), {
    hint: "load its public description with loadLookup",
  });
}

/** The bytes of a table, which is a file or text. */
async function bytesOf(table) {
  if (typeof table === "string") return new TextEncoder().encode(table);
  if (table.size > MAX_TABLE) {
    throw Object.assign(new Error(`a table of ${table.size} bytes`), {
      hint: "use he-cli, which reads larger ones, or cut it into parts",
    });
  }
  return new Uint8Array(await table.arrayBuffer());
}

function numbersOf(numbers) {
  if (numbers instanceof Float64Array) return numbers;
  throw Object.assign(new Error("the examples are something else than numbers"), {
    hint: "give a Float64Array, one example behind the other",
  });
}

/** A task under AES, by a passphrase or the file of a key. */
async function underAes(begin, { key, passphrase }) {
  const bytes = key && (await keyFile(key));
  try {
    return withBytes(passphrase, (phrase) => begin(bytes, phrase));
  } finally {
    bytes?.fill(0);
  }
}

/** A function of position and length that gives bytes of a file. */
async function random(file) {
  if (typeof FileReaderSync !== "undefined") {
    const reader = new FileReaderSync();
    return (at, length) => new Uint8Array(reader.readAsArrayBuffer(file.slice(at, at + length)));
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  return (at, length) => bytes.subarray(at, at + length);
}

function tableOf(columns, names) {
  const table = new TableBuilder();
  if (names === "keep") table.keepNames();
  else if (names !== undefined && names !== "send") {
    throw Object.assign(new Error(`names are ${names}`), { hint: 'give "send" or "keep"' });
  }
  for (const { name, values } of columns) {
    if (values instanceof BigInt64Array) table.addInteger(String(name), values);
    else if (values instanceof Float64Array) table.addReal(String(name), values);
    else {
      throw Object.assign(new Error(`column ${name} holds something else than numbers`), {
        hint: "give a Float64Array or a BigInt64Array",
      });
    }
  }
  return table;
}

/** Gives the columns of a table the names that its file does not have. */
function named(result, names) {
  if (names === undefined) return result;
  const columns = result.kind === "table" ? result.columns : [];
  if (columns.length !== names.length) {
    throw Object.assign(new Error(`${names.length} names for ${columns.length} columns`), {
      hint: "give the names of the table that was encrypted",
    });
  }
  columns.forEach((column, at) => (column.name = String(names[at])));
  return result;
}

const buffers = (result) =>
  result.kind === "image"
    ? [result.data.buffer]
    : result.columns.map((column) => column.values.buffer).filter((buffer) => buffer);

async function source(wasm) {
  if (!wasm.startsWith("file:")) return wasm;
  const { readFile } = await import("node:fs/promises");
  return readFile(new URL(wasm));
}

const operations = {
  async start(_, { wasm }) {
    ({ memory } = await init({ module_or_path: await source(wasm) }));
    session = new Session();
  },
  async generateKeys(run, { options }) {
    return JSON.parse(await run.all(session.generateKeys(JSON.stringify(options))));
  },
  async loadKeys(_, { file, passphrase, needs }) {
    const bytes = await keyFile(file);
    const wanted = needs && JSON.stringify(needs);
    try {
      return JSON.parse(withBytes(passphrase, (phrase) => session.loadKeys(bytes, phrase, wanted)));
    } finally {
      bytes.fill(0);
    }
  },
  saveKeys: (_, { passphrase }) => withBytes(passphrase, (phrase) => session.saveKeys(phrase)),
  async forgetKeys() {
    session.forgetKeys();
    // What is under way holds the keys as well.
    const running = [...tasks.values()];
    running.forEach((run) => {
      run.cancelled = true;
      run.signal();
    });
    while (running.some((run) => tasks.get(run.id) === run)) await pause();
    lookup?.free();
    lookup = undefined;
  },
  publicKey: () => session.publicKey(),
  evaluationKey: (run) => run.all(session.evaluationKey()),
  encryptImage: (run, { width, height, channels, data, halo }) => {
    const samples = new Uint8Array(data.buffer, data.byteOffset, data.length);
    return run.all(session.encryptImage(width, height, channels, samples, halo));
  },
  encryptTable: (run, { columns, names, width }) => run.all(session.encryptTable(tableOf(columns, names), width)),
  readTable: async (run, { table, name, options }) => {
    const { columns, named, warnings } = readTable(await bytesOf(table), name, JSON.stringify(options));
    JSON.parse(warnings).forEach((warning) => run.post("warning", { warning }));
    return { columns, named };
  },
  tableText: async (_, { file, name }) => tableText(await bytesOf(file), name),
  loadModel: async (_, { file }) => JSON.parse(session.loadModel(await modelFile(file))),
  encryptExamples: (run, { numbers }) => run.all(session.encryptExamples(numbersOf(numbers))),
  decrypt: async (run, { view, names }) => named(await run.all(session.decrypt(view ?? "light")), names),
  loadLookup: async (_, { file }) => {
    const next = new Lookup(await descriptionFile(file));
    lookup?.free();
    lookup = next;
    return JSON.parse(lookup.info());
  },
  lookupQuery: (_, { record }) => opened().query(...recordOf(record)),
  lookupRead: async (_, { answer, record }) => {
    const database = opened();
    return database.read(new Uint8Array(await answer.arrayBuffer()), ...recordOf(record)) ?? null;
  },
  info: async (_, { file, passphrase }) => {
    const read = await random(file);
    return JSON.parse(withBytes(passphrase, (phrase) => info(read, file.size, phrase)));
  },
  generateFileKey: (_, { passphrase }) => withBytes(passphrase, (phrase) => generateFileKey(phrase)),
  encryptFile: async (run, { secret }) =>
    run.all(await underAes((key, phrase) => session.encryptFile(key, phrase), secret)),
  decryptFile: async (run, { secret }) =>
    run.all(await underAes((key, phrase) => session.decryptFile(key, phrase), secret)),
  async close() {
    await operations.forgetKeys();
    wipe();
    dead = Object.assign(new Error("the client was closed"), { hint: "start another one" });
  },
};

async function handle(id, op, args) {
  const run = new Run(id);
  if (op !== "forgetKeys" && op !== "close") tasks.set(id, run);
  try {
    if (dead) throw dead;
    const result = await operations[op](run, args);
    const streams = ["evaluationKey", "encryptImage", "encryptTable", "encryptExamples", "encryptFile", "decryptFile"];
    const transfer = op === "decrypt" || op === "readTable" ? buffers(result) : [];
    run.post("end", { result: streams.includes(op) ? undefined : result }, transfer);
  } catch (thrown) {
    const { name, message, hint } = judged(thrown);
    run.post("error", { error: { name, message, hint } });
  } finally {
    tasks.delete(id);
  }
}

function receive({ id, op, args, bytes }) {
  const run = tasks.get(id);
  if (op === "pull") run && ((run.credit += 1), run.signal());
  else if (op === "data") run && (run.data.push(bytes), run.signal());
  else if (op === "cancel") run && ((run.cancelled = true), run.signal());
  else handle(id, op, args);
}

if (typeof self === "undefined") port.on("message", receive);
else port.onmessage = ({ data }) => receive(data);
