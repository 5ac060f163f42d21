/**
 * The service over HTTP: sessions, uploads in pieces that resume, jobs with progress, downloads.
 *
 * Every request that fails ends in a `ServiceError` with the text and the hint that the service
 * sent, or with what a person can do when there is no service to ask.
 */

/** The bytes of one PATCH: small enough for progress, large enough that requests cost nothing. */
const PIECE = 4 << 20;

/** The waits between attempts that make no progress, in milliseconds. */
const WAITS = [250, 500, 1000, 2000, 4000, 8000, 8000, 8000];

const TUS = { "Tus-Resumable": "1.0.0" };

/** An answer other than success, or none at all. */
export class ServiceError extends Error {
  /**
   * @param {string} message what is wrong
   * @param {{hint?: string, status?: number, cause?: unknown, wait?: number}} more
   */
  constructor(message, { hint, status, cause, wait } = {}) {
    super(message, { cause });
    this.name = "ServiceError";
    this.hint = hint;
    /** The HTTP status; 0 if the service did not answer. */
    this.status = status ?? 0;
    /** Whether there was no network, so that it says nothing of the service. */
    this.isOffline = this.status === 0 && !navigator.onLine;
    /** The wait that the service asks for, in milliseconds. */
    this.wait = wait;
  }

  /** Whether the same request may succeed later. */
  get isPassing() {
    return this.status === 0 || this.status === 408 || this.status === 423 || this.status === 429 ||
      this.status >= 500 && this.status !== 501 && this.status !== 507;
  }
}

function abortError() {
  return new DOMException("cancelled", "AbortError");
}

/** Waits; ends early when the signal aborts. */
function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError());
    const stop = () => { clearTimeout(timer); reject(abortError()); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); resolve(); }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Waits for a network, a minute at most: a service on this device needs none. */
async function online(signal) {
  if (navigator.onLine) return;
  const ended = new AbortController();
  const wake = () => ended.abort();
  addEventListener("online", wake, { once: true });
  try {
    await sleep(60_000, signal ? AbortSignal.any([signal, ended.signal]) : ended.signal);
  } catch (error) {
    if (signal?.aborted) throw error;
  } finally {
    removeEventListener("online", wake);
  }
}

/** The words for people, where the service speaks to programs. */
const WORDS = {
  401: {
    message: "the service does not accept this token",
    hint: "check that it is complete, or ask whoever runs the service for another; without one you are a guest",
  },
  403: { hint: "wait until what runs has ended, or take a token with a larger quota" },
  404: { hint: "what was sent has expired: start again" },
  410: { hint: "what was sent has expired: start again" },
  413: { hint: "take a smaller picture or table" },
  429: { hint: "wait a moment and try again" },
  500: { hint: "try again later" },
  507: { hint: "take something smaller, or a token with a larger quota" },
};

/** The error that an answer describes (RFC 9457), or the best that can be said of its status. */
async function problem(response) {
  let body = {};
  try {
    if (/json/.test(response.headers.get("Content-Type") ?? "")) body = await response.json();
  } catch {
    // The status says enough.
  }
  const after = Number(response.headers.get("Retry-After"));
  const { message, hint } = WORDS[response.status] ?? {};
  const said = body.detail ?? body.title ?? `the service answered ${response.status} ${response.statusText}`.trim();
  return new ServiceError(message ?? said, {
    hint: hint ?? body.hint,
    status: response.status,
    wait: after > 0 ? 1000 * after : undefined,
  });
}

/** The error of a token that the service does not know. */
export const unknownToken = () => new ServiceError(WORDS[401].message, { hint: WORDS[401].hint, status: 401 });

/** The events of a stream of server-sent events, as `{event, data}`. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text = (text + value).replaceAll("\r\n", "\n");
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const event = { event: "message", data: "" };
        for (const line of text.slice(0, end).split("\n")) {
          const [, name, rest] = /^([^:]*):? ?(.*)$/.exec(line);
          if (name === "event") event.event = rest;
          if (name === "data") event.data += (event.data ? "\n" : "") + rest;
        }
        if (event.data) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The states in which a job stays. */
const FINAL = new Set(["done", "failed", "cancelled"]);

/** The last part of the path of an object. */
function idOf(location) {
  return location.split("?")[0].replace(/\/+$/, "").split("/").at(-1);
}

/** 128 random bits in hexadecimal, in pages without a secure context, too. */
function randomName() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Service {
  /** @param {string} base where the service is; the page's own origin if empty */
  constructor(base = "") {
    this.base = base;
    /** The bearer token, or null. */
    this.token = null;
    /** The bytes of bodies since the page was opened. */
    this.sent = 0;
    this.received = 0;
  }

  /** One request, without attempts to repeat it. */
  async request(path, { method = "GET", headers = {}, body, signal } = {}) {
    const all = new Headers(headers);
    if (this.token) all.set("Authorization", `Bearer ${this.token}`);
    let response;
    try {
      response = await fetch(this.base + path, { method, headers: all, body, signal, cache: "no-store" });
    } catch (cause) {
      if (cause?.name === "AbortError") throw cause;
      if (!navigator.onLine) {
        throw new ServiceError("this device is offline", { hint: "try again when it is connected", cause });
      }
      const hint = "check that the service is running, and try again";
      throw new ServiceError("the service does not answer", { hint, cause });
    }
    if (!response.ok) throw await problem(response);
    if (body) this.sent += body.size ?? body.length;
    return response;
  }

  /** One request whose answer is JSON; `undefined` for an empty one. */
  async json(path, { body, ...options } = {}) {
    if (body !== undefined) {
      options.body = JSON.stringify(body);
      options.headers = { ...options.headers, "Content-Type": "application/json" };
    }
    const text = await (await this.request(path, options)).text();
    this.received += text.length;
    return text ? JSON.parse(text) : undefined;
  }

  /** A fresh tenant with small quotas. */
  async guest(signal) {
    this.token = null;
    const session = await this.json("/v1/sessions", { method: "POST", signal });
    this.token = session.token;
    return session;
  }

  info(signal) {
    return this.json("/v1/info", { signal });
  }

  async operations(signal) {
    const answer = await this.json("/v1/operations", { signal });
    return Array.isArray(answer) ? answer : answer.operations;
  }

  /** The models that compute on encrypted examples. */
  async models(signal) {
    return (await this.json("/v1/models", { signal })).models;
  }

  /** The file of a model. */
  model(name, task) {
    return this.#download(`/v1/models/${encodeURIComponent(name)}/content`, task);
  }

  /** The databases for private look-ups. */
  async lookups(signal) {
    return (await this.json("/v1/lookups", { signal })).lookups;
  }

  /** The public description of a database. */
  lookupDescription(name, task) {
    return this.#download(`/v1/lookups/${encodeURIComponent(name)}/description`, task);
  }

  /** The answer to a query. */
  async lookupAnswer(name, query, { signal, onPause } = {}) {
    const headers = { "Content-Type": "application/octet-stream" };
    const path = `/v1/lookups/${encodeURIComponent(name)}/answers`;
    const response = await this.persist(
      () => this.request(path, { method: "POST", headers, body: query, signal }),
      { signal, onPause },
    );
    const answer = await response.blob();
    this.received += answer.size;
    return answer;
  }

  /**
   * Repeats `attempt` until it succeeds, while failures pass and there is progress now and then:
   * after each of `waits`, and without a network as soon as there is one again, which may take some
   * more attempts. `attempt` calls its argument when it got ahead.
   */
  async persist(attempt, { signal, onPause, waits = WAITS } = {}) {
    for (let failures = 0; ;) {
      try {
        return await attempt(() => { failures = 0; });
      } catch (error) {
        if (signal?.aborted) throw abortError();
        const isPassing = error instanceof ServiceError && error.isPassing;
        if (error.isOffline) waits = WAITS;
        if (!isPassing || !error.isOffline && failures >= waits.length) throw error;
        if (error.wait !== 0) onPause?.(error);
        if (error.isOffline) {
          await online(signal);
        } else {
          await sleep(error.wait ?? waits[failures], signal);
          failures += 1;
        }
      }
    }
  }

  /**
   * Uploads by tus 1.0 and returns the id. After an interruption it asks how far the service got,
   * and goes on from there.
   *
   * @param {"key-sets"|"objects"} collection
   * @param {Blob} blob
   * @param {{signal?: AbortSignal, onProgress?(done: number, of: number): void,
   *   onPause?(error: ServiceError): void}} task
   */
  async upload(collection, blob, { signal, onProgress, onPause } = {}) {
    const headers = { ...TUS, "Upload-Length": String(blob.size) };
    const created = await this.persist(
      () => this.request(`/v1/${collection}`, { method: "POST", headers, signal }),
      { signal, onPause },
    );
    const id = idOf(created.headers.get("Location") ?? "");
    const path = `/v1/${collection}/${id}`;
    let offset = 0;
    let sure = true;
    try {
      await this.persist(async (gotAhead) => {
        if (!sure) {
          const head = await this.request(path, { method: "HEAD", headers: TUS, signal });
          offset = Number(head.headers.get("Upload-Offset") ?? blob.size);
          sure = true;
        }
        while (offset < blob.size) {
          const piece = blob.slice(offset, offset + PIECE);
          sure = false;
          let answer;
          try {
            answer = await this.request(path, {
              method: "PATCH",
              headers: { ...TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(offset) },
              body: piece,
              signal,
            });
          } catch (error) {
            // The service is elsewhere than we thought: ask it, at once.
            if (error.status === 409) [error.status, error.wait] = [0, 0];
            throw error;
          }
          offset = Number(answer.headers.get("Upload-Offset") ?? offset + piece.size);
          sure = true;
          gotAhead();
          onProgress?.(offset, blob.size);
        }
      }, { signal, onPause });
    } catch (error) {
      this.remove(path);
      throw error;
    }
    return id;
  }

  /** Starts a job and waits for its result, the id of an object. Cancelling ends the job, too. */
  async compute(operation, inputs, keySet, { signal, onProgress, onPause } = {}) {
    // By its key, the service knows a request again whose answer was lost.
    const headers = { "Idempotency-Key": randomName() };
    const body = { operation, inputs, key_set: keySet };
    let job = await this.persist(
      () => this.json("/v1/jobs", { method: "POST", headers, body, signal }),
      { signal, onPause },
    );
    const path = `/v1/jobs/${job.id}`;
    const seen = (state) => {
      job = { ...job, ...state };
      if (job.progress?.of) onProgress?.(job.progress.done, job.progress.of);
    };
    try {
      await this.persist(async (gotAhead) => {
        while (!FINAL.has(job.state)) {
          const stream = await this.request(`${path}/events`, { headers: { Accept: "text/event-stream" }, signal });
          try {
            for await (const event of events(stream.body)) {
              gotAhead();
              this.received += event.data.length;
              if (event.event === "progress") seen(read(event.data));
              if (FINAL.has(event.event)) break;
            }
          } catch (cause) {
            if (signal?.aborted) throw abortError();
            // The stream broke: the state of the job says how it went on.
          }
          seen(await this.json(path, { signal }));
          if (!FINAL.has(job.state)) await sleep(250, signal);
        }
      }, { signal, onPause });
    } catch (error) {
      if (signal?.aborted) this.remove(path);
      throw error;
    }
    if (job.state === "done") return job;
    const error = job.error ?? {};
    throw new ServiceError(error.detail ?? error.title ?? `the job was ${job.state}`, {
      hint: error.hint, status: error.status ?? 500,
    });
  }

  /** The bytes of an object; `range` as `[first, last]`. */
  content(id, task) {
    return this.#download(`/v1/objects/${id}/content`, task);
  }

  /** An interrupted download goes on, or begins anew where there are no ranges. */
  async #download(path, { signal, range, onProgress, onPause } = {}) {
    let parts = [];
    const first = range?.[0] ?? 0;
    let got = 0;
    let length = range ? range[1] - range[0] + 1 : undefined;
    await this.persist(async (gotAhead) => {
      const wanted = range || got > 0 ? { Range: `bytes=${first + got}-${range?.[1] ?? ""}` } : {};
      const response = await this.request(path, { headers: wanted, signal });
      if (got > 0 && response.status === 200) [parts, got] = [[], 0];
      const announced = Number(response.headers.get("Content-Length"));
      if (announced > 0) length = got + announced;
      const reader = response.body.getReader();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          parts.push(value);
          got += value.length;
          this.received += value.length;
          gotAhead();
          if (length) onProgress?.(got, length);
        }
      } catch (cause) {
        if (signal?.aborted) throw abortError();
        throw new ServiceError("the connection broke off", { hint: "check the network, and try again", cause });
      }
      if (length && got < length) throw new ServiceError("the download ended early", { hint: "try again" });
    }, { signal, onPause });
    return new Blob(parts);
  }

  /**
   * Deletes something that is no longer needed, if it can: an upload is locked while a piece of it
   * ends, and files are in use while a job does.
   */
  async remove(path) {
    const attempt = async () => {
      try {
        await this.request(path, { method: "DELETE", headers: TUS });
      } catch (error) {
        if (error.status === 409 && !path.startsWith("/v1/jobs/")) error.status = 423;
        throw error;
      }
    };
    try {
      await this.persist(attempt, { waits: [250, 1000, 4000, 16_000] });
    } catch {
      // It expires by itself.
    }
  }
}

/** The state of a job in an event: of progress, or the job itself. */
function read(text) {
  const { done, of, ...job } = JSON.parse(text);
  return of === undefined ? job : { ...job, progress: { done, of } };
}
