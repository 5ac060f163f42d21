// Homomorphic encryption in the browser: keys, encryption and decryption in one Web Worker. What
// the methods take and return is in client.d.ts.

export { conceal } from "./conceal.js";

/** An error with what to do about it. */
export class HeError extends Error {
  constructor(message, hint) {
    super(message);
    this.name = "HeError";
    this.hint = hint;
  }
}

const aborted = () => new DOMException("the work was cancelled", "AbortError");
const closed = () => new HeError("the client was closed", "start another one");

/** A worker with the interface of browsers, in Node as well. */
async function open(url) {
  if (typeof Worker !== "undefined") {
    return new Worker(url, { type: "module" });
  }
  const { Worker: Thread } = await import("node:worker_threads");
  const thread = new Thread(url);
  thread.on("message", (data) => worker.onmessage?.({ data }));
  thread.on("error", (error) => worker.onerror?.(error));
  const worker = {
    postMessage: (message, transfer) => thread.postMessage(message, transfer),
    terminate: () => thread.terminate(),
  };
  return worker;
}

function reader(file) {
  const stream = typeof file.stream === "function" ? file.stream() : file;
  return stream.getReader();
}

function bytesOf(chunk) {
  if (chunk instanceof Uint8Array) return chunk;
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new HeError("the stream gives something else than bytes", "give a stream of Uint8Array");
}

export class Client {
  #worker;
  #calls = new Map();
  #next = 1;
  #over = null;

  constructor(worker) {
    this.#worker = worker;
    worker.onmessage = ({ data }) => this.#calls.get(data.id)?.[data.type]?.(data);
    worker.onerror = (error) => {
      error.preventDefault?.();
      this.#end(new HeError(`the worker has failed: ${error.message ?? error}`, "start another client"));
    };
  }

  static async start(options = {}) {
    const worker = await open(options.worker ?? new URL("./worker.js", import.meta.url));
    const client = new Client(worker);
    const wasm = options.wasm ?? new URL("./he_wasm_bg.wasm", import.meta.url);
    try {
      await client.#call("start", { wasm: String(wasm) });
    } catch (error) {
      worker.terminate();
      throw error;
    }
    return client;
  }

  /** Rejects all calls, and those that come. */
  #end(error) {
    this.#over ??= error;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    calls.forEach((call) => call.error({ error: this.#over }));
    this.#worker.terminate();
  }

  /** Sends a request. `handlers` take the messages that belong to it, until `end` or `error`. */
  #send(op, args, task, handlers, transfer = []) {
    const id = this.#next++;
    const { onProgress, onWarning, signal } = task ?? {};
    const cancel = () => this.#worker.postMessage({ id, op: "cancel" });
    const over = (handler) => (data) => {
      this.#calls.delete(id);
      signal?.removeEventListener("abort", cancel);
      handler(data);
    };
    if (this.#over || signal?.aborted) {
      handlers.error(this.#over ?? aborted());
      return id;
    }
    this.#calls.set(id, {
      ...handlers,
      progress: ({ done, of }) => onProgress?.(done, of),
      warning: ({ warning }) => onWarning?.(warning),
      end: over(({ result }) => handlers.end(result)),
      error: over(({ error }) => {
        if (error instanceof Error) handlers.error(error);
        else if (error.name === "AbortError") handlers.error(aborted());
        else handlers.error(new HeError(error.message, error.hint));
      }),
    });
    signal?.addEventListener("abort", cancel, { once: true });
    this.#worker.postMessage({ id, op, args }, transfer);
    return id;
  }

  /** A request with one answer; `input` is read as the worker needs it. */
  #call(op, args, task, input) {
    return new Promise((end, error) => {
      const source = input && reader(input);
      const fail = (reason) => {
        source?.cancel(reason).catch(() => {});
        error(reason);
      };
      const id = this.#send(op, args, task, { end, error: fail, need: () => this.#feed(id, source, fail) });
    });
  }

  /** Hands the worker the next bytes of a file. */
  async #feed(id, source, fail) {
    try {
      const { done, value } = await source.read();
      // A copy moves to the worker; the stream keeps its own.
      const bytes = done ? null : bytesOf(value).slice();
      this.#worker.postMessage({ id, op: "data", bytes }, bytes ? [bytes.buffer] : []);
    } catch (error) {
      this.#worker.postMessage({ id, op: "cancel" });
      this.#calls.delete(id);
      fail(error);
    }
  }

  /** A request whose answer is a stream; the worker goes on only as it is read. */
  #stream(op, args, task, input) {
    let id, came;
    const source = input && reader(input);
    return new ReadableStream({
      start: (controller) => {
        const settle = (finish) => {
          came?.();
          finish();
        };
        const fail = (reason) => {
          source?.cancel(reason).catch(() => {});
          settle(() => controller.error(reason));
        };
        id = this.#send(op, args, task, {
          chunk: ({ bytes }) => settle(() => controller.enqueue(bytes)),
          need: () => this.#feed(id, source, fail),
          end: () => settle(() => controller.close()),
          error: fail,
        });
      },
      pull: () =>
        new Promise((resolve) => {
          came = resolve;
          this.#worker.postMessage({ id, op: "pull" });
        }),
      cancel: (reason) => {
        this.#worker.postMessage({ id, op: "cancel" });
        this.#calls.delete(id);
        source?.cancel(reason).catch(() => {});
      },
    });
  }

  generateKeys(options, task) {
    return this.#call("generateKeys", { options }, task);
  }

  loadKeys(file, passphrase, task) {
    return this.#call("loadKeys", { file, passphrase, needs: task?.needs }, task);
  }

  async saveKeys(passphrase) {
    return new Blob([await this.#call("saveKeys", { passphrase })]);
  }

  forgetKeys() {
    return this.#call("forgetKeys");
  }

  async publicKey() {
    return new Blob([await this.#call("publicKey")]);
  }

  evaluationKey(task) {
    return this.#stream("evaluationKey", {}, task);
  }

  encryptImage(image, task) {
    const { width, height, channels, data, halo } = image;
    return this.#stream("encryptImage", { width, height, channels, data, halo }, task);
  }

  encryptTable(table, task) {
    const { columns, names, width } = table;
    return this.#stream("encryptTable", { columns, names, width }, task);
  }

  readTable(table, options = {}, task = undefined) {
    return this.#call("readTable", { table, name: table.name ?? "the table", options }, task);
  }

  tableText(file) {
    return this.#call("tableText", { file, name: file.name ?? "the file" });
  }

  loadModel(file, task) {
    return this.#call("loadModel", { file }, task);
  }

  encryptExamples(numbers, task) {
    return this.#stream("encryptExamples", { numbers }, task);
  }

  decrypt(file, task) {
    return this.#call("decrypt", { view: task?.view, names: task?.names }, task, file);
  }

  info(file, passphrase) {
    return this.#call("info", { file, passphrase });
  }

  loadLookup(description, task) {
    return this.#call("loadLookup", { file: description }, task);
  }

  async lookupQuery(record, task) {
    return new Blob([await this.#call("lookupQuery", { record }, task)]);
  }

  lookupRead(answer, record, task) {
    return this.#call("lookupRead", { answer, record }, task);
  }

  async generateFileKey(passphrase) {
    return new Blob([await this.#call("generateFileKey", { passphrase })]);
  }

  encryptFile(file, secret, task) {
    return this.#stream("encryptFile", { secret }, task, file);
  }

  decryptFile(file, secret, task) {
    return this.#stream("decryptFile", { secret }, task, file);
  }

  close() {
    if (this.#over) return;
    const end = () => this.#end(closed());
    // The worker wipes its memory first, unless it is stuck.
    const late = setTimeout(end, 5000);
    const done = () => {
      clearTimeout(late);
      end();
    };
    this.#call("close").then(done, done);
  }
}
