/** Homomorphic encryption in the browser: keys, encryption and decryption in one Web Worker. */

/** What keys are made for. What is not given is as in `he-cli keygen`. */
export interface KeyOptions {
  /** Real numbers (`ckks`), integers (`bfv`, `bgv`), unsigned integers to compare (`tfhe`). */
  scheme: "ckks" | "bfv" | "bgv" | "tfhe";
  /**
   * What is going to be encrypted; filters of images need more keys. `images` by default. `model`
   * is for CKKS and stands alone: the model that was loaded chooses everything else.
   */
  for?: "images" | "tables" | "model";
  /** CKKS: the largest radius of image filters with a key for each weight (images 1, tables 0). */
  filters?: number;
  /** Operations that can follow one another: 2. Not for TFHE. */
  depth?: number;
  /** CKKS: bits of precision of a result of magnitude 1: 25. */
  precision?: number;
  /** CKKS: results stay below 2^range: 4. */
  range?: number;
  /** CKKS: values for which a ciphertext has room: 1. */
  slots?: number;
  /** BFV and BGV: results stay below 2^bits: 32. */
  bits?: number;
  /** BFV and BGV: the plaintext modulus itself, in place of `bits`. */
  plainModulus?: number;
  /** Bits of security: 128, 192 or 256. Not for TFHE, which has 128. */
  security?: number;
  /** **For tests only:** keys, and all that is encrypted by them, are drawn from this number. */
  insecureSeed?: number;
}

/** What keys are. */
export interface KeysInfo {
  scheme: string;
  /** The first digits of the key set's identity, as `he-cli info` shows them. */
  keySet: string;
  /** The rotations that have a key. */
  rotations: number;
  /** The parameters as `he-cli info --json` shows them. */
  parameters: Record<string, unknown>;
}

/** A picture: interleaved samples, row by row from the top. */
export interface Image {
  width: number;
  height: number;
  /** Gray, gray and opacity, colour, colour and opacity. */
  channels: 1 | 2 | 3 | 4;
  data: Uint8Array | Uint8ClampedArray;
  /** CKKS: the sum of the radii of the filters that can follow one another, 2 by default. */
  halo?: number;
}

/**
 * Columns of one length. BFV, BGV and TFHE take integers; CKKS takes both.
 *
 * The file states in the clear, for whoever computes on it, the number of rows and columns and of
 * each column: its name; under CKKS the power of two above the greatest magnitude and, where all
 * numbers are close to one another, an offset next to them; under BFV and BGV bounds, which are
 * powers of two as far as they fit; under TFHE the width of all. `names` leaves out the first, and
 * `conceal` all of them under CKKS.
 */
export interface Table {
  columns: { name: string; values: Float64Array | BigInt64Array }[];
  /**
   * Whether the names are written into the file for all to see (`send`, the default), or kept:
   * `decrypt` calls the columns 1, 2, ... then, unless its task gives it the names.
   */
  names?: "send" | "keep";
  /** TFHE: bits of the unsigned integers, 32 by default. */
  width?: number;
}

/** Columns that `readTable` has read. */
export interface ReadTable {
  /** Float64Array, or BigInt64Array with the option `integers`. */
  columns: { name: string; values: Float64Array | BigInt64Array }[];
  /** Whether the first row holds names; without, columns are called 1, 2, ... */
  named: boolean;
}

/** How CSV is read. What is not given is as in `he-cli encrypt`. */
export interface ReadOptions {
  /** Whether the first row holds names: guessed (auto) by default. */
  header?: "auto" | "yes" | "no";
  /** The character between fields: recognised by default (comma, semicolon, tab). */
  delimiter?: string;
  /** Only these columns, in this order, by name or number from 1 on. */
  columns?: string[];
  /** Gaps (empty, NA, N/A, NaN, null): the table is refused, the row left out, or 0 taken. */
  missing?: "error" | "skip" | "zero";
  /** The mark before decimals: by default a comma only where nothing is ambiguous. */
  decimal?: "auto" | "point" | "comma";
  /** Whole numbers only, as BigInt64Array. */
  integers?: boolean;
}

/** A table that tells nothing of its columns, and what makes numbers of it the original ones. */
export interface Concealed {
  /** For `encryptTable` under CKKS. */
  table: Table;
  /**
   * The names and numbers of a decrypted result of it: of its rows (`values`), or of one of these
   * statistics.
   */
  reveal(result: DecryptedTable, kind: "values" | "sum" | "mean" | "variance"): DecryptedTable;
}

/**
 * Moves and scales each column so that its greatest magnitude is in 0.5 .. 1 (0 for a column of one
 * repeated number): the encrypted file has no names, the same bound for all columns, and no offset.
 * The names, and (x - centre) / 2^e in place of x, are undone by `reveal`.
 */
export function conceal(table: { columns: { name: string; values: Float64Array }[] }): Concealed;

/** A compiled model: what its examples are, and what keys for it need. */
export interface ModelInfo {
  /** BLAKE3 of its file, in hexadecimal. */
  hash: string;
  /** The dimensions of an input, without that of the batch. */
  input: number[];
  /** The inputs in the order of their numbers in an example; masks stay public. */
  inputs: {
    name: string;
    kind: "numbers" | "ids" | "mask";
    shape: number[];
    below: number | null;
  }[];
  /** Numbers of an example. */
  numbers: number;
  /** Numbers of a result. */
  outputs: number;
  /** What is done with these after decryption. */
  decision:
    | "none"
    | "softmax"
    | "log-softmax"
    | "argmax"
    | "votes"
    | "coupling"
    | "one-vs-rest"
    | "sign"
    | "unit-length";
  /** Whether the numbers of an example are slots of one ciphertext or a stack of several. */
  arrangement: "slots" | "stacks";
  /** Examples that share a ciphertext, at the cost of one. */
  shared: number;
  /** Ciphertexts of an example. */
  ciphertexts: number;
  /** The parameters as `he-cli info --json` shows them. */
  parameters: Record<string, unknown>;
  /** The rotations that the evaluation keys are for, and whether they are for conjugation. */
  rotations: number[];
  conjugation: boolean;
  /** Bytes of the file of the evaluation keys. */
  evaluation_key_bytes: number;
  /** Bytes of the file of the keys for refreshes; the client takes models without them. */
  bootstrap_key_bytes: null;
}

/** A database for private look-ups, by its public description. */
export interface LookupInfo {
  /** The name of this version, which queries and answers carry. */
  database: string;
  /** The changes since the first version. */
  version: number;
  /** The way in which records are looked up. */
  by: "number" | "key";
  records: number;
  recordBytes: number;
  queryBytes: number;
  answerBytes: number;
}

/** A record by its number, or by its key as text or bytes. */
export type LookupRecord = number | bigint | string | Uint8Array;

export interface DecryptedImage {
  kind: "image";
  width: number;
  height: number;
  channels: 1 | 2 | 3 | 4;
  /** Bits of a sample. */
  depth: 8 | 16;
  /** Samples of 16 bits if `depth` says so. */
  data: Uint8Array | Uint16Array;
}

export interface DecryptedTable {
  kind: "table";
  /** Columns of categories are words. */
  columns: { name: string; values: Float64Array | BigInt64Array | string[] }[];
}

export type Decrypted = DecryptedImage | DecryptedTable;

/** What opens and closes a file under AES: a passphrase, or a key file and its passphrase. */
export interface FileSecret {
  key?: Blob;
  passphrase?: string;
}

/** What is the matter, although the work goes on, and what to do about it. */
export interface Warning {
  message: string;
  hint: string;
}

/** How work is watched and stopped. */
export interface Task {
  /** Steps that are done, of how many. */
  onProgress?(done: number, of: number): void;
  onWarning?(warning: Warning): void;
  /** Cancels: the promise or the stream ends in an `AbortError`. */
  signal?: AbortSignal;
}

export interface LoadTask extends Task {
  /**
   * What the keys are for: those of another scheme are refused, under CKKS those of less depth, and
   * `for: "model"` those of other parameters than the model's. The keys before stay then.
   */
  needs?: KeyOptions;
}

export interface DecryptTask extends Task {
  /** Tables: the names of all columns, which `names: "keep"` left out of the file. */
  names?: string[];
  /** Images: light (default), sample values as they are, or the least black and the most white. */
  view?: "light" | "raw" | "scaled";
}

/** A file: a stream is read as its bytes are needed. */
export type File = ReadableStream<Uint8Array> | Blob;

/** An error with what to do about it. */
export class HeError extends Error {
  constructor(message: string, hint?: string);
  readonly name: "HeError";
  readonly hint?: string;
}

/**
 * A worker with the keys of one user. Secrets leave it through `saveKeys` alone. Streams are made
 * as they are read. Every method ends in a `HeError` if something is wrong; after an internal
 * error in all of them.
 */
export class Client {
  /** Starts a worker. The files lie beside this module unless `options` says otherwise. */
  static start(options?: { worker?: URL; wasm?: URL }): Promise<Client>;
  private constructor();

  /** Makes keys, in place of those before. */
  generateKeys(options: KeyOptions, task?: Task): Promise<KeysInfo>;
  /** Reads a secret key file; public and evaluation keys are then made of it on demand. */
  loadKeys(file: Blob, passphrase?: string, task?: LoadTask): Promise<KeysInfo>;
  /** The secret key file of he-files, sealed if there is a passphrase. */
  saveKeys(passphrase?: string): Promise<Blob>;
  /** Wipes the keys, those of look-ups as well, and cancels what is under way. */
  forgetKeys(): Promise<void>;
  /** The file of the public key. */
  publicKey(): Promise<Blob>;
  /** The file of the evaluation keys. */
  evaluationKey(task?: Task): ReadableStream<Uint8Array>;

  /** The encrypted image of he-files. */
  encryptImage(image: Image, task?: Task): ReadableStream<Uint8Array>;
  /** The encrypted table of he-files. */
  encryptTable(table: Table, task?: Task): ReadableStream<Uint8Array>;
  /** Reads CSV, a file of at most 256 MiB or text, as `he-cli encrypt` does, without keys. */
  readTable(table: Blob | string, options?: ReadOptions, task?: Task): Promise<ReadTable>;
  /** The text of a file that may be a table: UTF-8 without control characters. */
  tableText(file: Blob): Promise<string>;
  /**
   * Reads a compiled model, in place of the one before: before keys `for: "model"` are made or
   * loaded. It is not a secret, and `forgetKeys` leaves it.
   */
  loadModel(file: Blob, task?: Task): Promise<ModelInfo>;
  /**
   * The encrypted examples of he-files for the model: numbers in the order of its input, one
   * example behind the other. `decrypt` makes a table of their outputs, a row for each example.
   */
  encryptExamples(numbers: Float64Array, task?: Task): ReadableStream<Uint8Array>;
  /** Decrypts an encrypted file of he-files. */
  decrypt(file: File, task?: DecryptTask): Promise<Decrypted>;
  /** What a file is, as `he-cli info --json` says. */
  info(file: Blob, passphrase?: string): Promise<Record<string, unknown>>;

  /**
   * Reads the public description of a database for private look-ups, in place of the one before.
   * Queries are encrypted by a fresh key, which never leaves the worker.
   */
  loadLookup(description: Blob, task?: Task): Promise<LookupInfo>;
  /** An encrypted query for the server of the database. All queries have the same size. */
  lookupQuery(record: LookupRecord, task?: Task): Promise<Blob>;
  /** The record of the answer to the query for this record; null for a key that is absent. */
  lookupRead(answer: Blob, record: LookupRecord, task?: Task): Promise<Uint8Array | null>;

  /** A new AES key as a file, sealed if there is a passphrase. */
  generateFileKey(passphrase?: string): Promise<Blob>;
  /** Encrypts any file by AES. */
  encryptFile(file: File, secret: FileSecret, task?: Task): ReadableStream<Uint8Array>;
  /**
   * Decrypts it. Bytes are authentic when they come; that nothing is missing is certain when the
   * stream ends without an error.
   */
  decryptFile(file: File, secret: FileSecret, task?: Task): ReadableStream<Uint8Array>;

  /** Wipes everything and ends the worker. */
  close(): void;
}
