// The client as programs use it, on the WebAssembly of web/dist (HE_DIST names another folder).

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

const folder = process.env.HE_DIST
  ? pathToFileURL(`${process.env.HE_DIST}/`)
  : new URL("../../dist/client/", import.meta.url);
const { Client, HeError, conceal } = await import(new URL("client.js", folder));
const digests = JSON.parse(await readFile(new URL("digests.json", import.meta.url)));
const golden = (name) => new URL(`../../../tests/data/golden/${name}`, import.meta.url);

const all = async (stream) => new Uint8Array(await new Response(stream).arrayBuffer());
const sha = (bytes) => createHash("sha256").update(bytes).digest("hex");
const blob = (bytes) => new Blob([bytes]);
const pieces = (bytes, size) =>
  new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });

const pixels = (channels) => Uint8Array.from({ length: 100 * 70 * channels }, (_, i) => (i * 7) % 251);
const picture = { width: 100, height: 70, channels: 3, data: pixels(3) };
const columns = (Kind, convert) => ({
  columns: [
    { name: "a", values: Kind.from([1, 3, 500].map(convert)) },
    { name: "b", values: Kind.from([-2, 40, 6].map(convert)) },
  ],
});
const tables = {
  ckks: columns(Float64Array, Number),
  bfv: columns(BigInt64Array, BigInt),
  bgv: columns(BigInt64Array, BigInt),
};

let client;
before(async () => (client = await Client.start()));
after(() => client.close());

const fails = (promise, check) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof HeError, `${error}`);
    assert.ok(error.message && error.hint, `${error}: ${error.hint}`);
    check?.(error);
    return true;
  });

for (const scheme of ["ckks", "bfv", "bgv"]) {
  test(`files of ${scheme} are those of the command line, byte by byte`, async () => {
    const { options, files } = digests[scheme];
    const steps = [];
    const info = await client.generateKeys(
      { ...options, insecureSeed: digests.seed },
      { onProgress: (done, of) => steps.push([done, of]) },
    );
    assert.equal(info.scheme, scheme);
    assert.deepEqual(steps.at(-1), [steps.at(-1)[1], steps.at(-1)[1]]);
    assert.ok(steps.length > 10);
    const made = {
      secret: new Uint8Array(await (await client.saveKeys()).arrayBuffer()),
      public: new Uint8Array(await (await client.publicKey()).arrayBuffer()),
      evaluation: await all(client.evaluationKey()),
      image: await all(client.encryptImage(picture)),
      table: await all(client.encryptTable(tables[scheme])),
    };
    const found = Object.fromEntries(Object.entries(made).map(([name, bytes]) => [name, sha(bytes)]));
    assert.deepEqual(found, files);

    for (const file of [blob(made.image), pieces(made.image, 10_007)]) {
      const image = await client.decrypt(file);
      assert.deepEqual({ ...image }, { kind: "image", ...picture, depth: 8 });
    }
    const table = await client.decrypt(pieces(made.table, 999));
    assert.deepEqual(table, { kind: "table", ...tables[scheme] });

    const told = await client.info(blob(made.image));
    assert.equal(told.key_set, info.keySet);
    assert.equal(told.parameters.scheme, scheme);
    assert.equal(told.bytes, made.image.length);
    await fails(client.decrypt(blob(made.image.slice(0, made.image.length / 2))));
    await fails(client.decrypt(blob(made.evaluation)));
    const changed = made.image.slice();
    changed[changed.length >> 1] ^= 1;
    await fails(client.decrypt(blob(changed)));
    await fails(client.info(blob(changed)));
  });
}

test("files of a model are those of the command line, byte by byte", async () => {
  const { options, files } = digests.model;
  const examples = Float64Array.of(0.5, -0.25, 1, 0, -1, 0.75, 0.125, 0.5);
  const plan = blob(await readFile(new URL("model.plan", import.meta.url)));
  const other = await Client.start();
  await fails(other.generateKeys(options), (error) => assert.match(error.message, /no model/));
  const model = await other.loadModel(plan);
  assert.deepEqual([model.input, model.numbers, model.outputs], [[4], 4, 3]);
  const info = await other.generateKeys({ ...options, insecureSeed: digests.seed });
  assert.equal(info.rotations, model.rotations.length);
  const made = {
    secret: new Uint8Array(await (await other.saveKeys()).arrayBuffer()),
    evaluation: await all(other.evaluationKey()),
    examples: await all(other.encryptExamples(examples)),
  };
  assert.equal(made.evaluation.length, model.evaluation_key_bytes);
  for (const [name, bytes] of Object.entries(made)) assert.equal(sha(bytes), files[name], name);
  const told = await other.info(blob(made.examples));
  assert.deepEqual([told.examples, told.model, told.key_set], [2, model.hash, info.keySet]);

  // What is refused, each with a hint.
  await fails(all(other.encryptExamples(examples.subarray(1))));
  await fails(all(other.encryptExamples([1, 2, 3, 4])));
  await fails(all(other.encryptExamples(Float64Array.of(NaN, 0, 0, 0))));
  await fails(other.decrypt(blob(made.examples)), (error) => assert.match(error.message, /inputs of a model/));
  await fails(other.loadModel(blob(made.examples)));
  await fails(other.generateKeys({ ...options, depth: 2 }));
  // A key that is loaded, for the same model.
  const sealed = await other.saveKeys("three words");
  await other.forgetKeys();
  await fails(all(other.encryptExamples(examples)), (error) => assert.match(error.message, /no keys/));
  assert.equal((await other.loadKeys(sealed, "three words")).rotations, model.rotations.length);
  assert.ok((await all(other.encryptExamples(examples))).length > 1000);
  other.close();
});

test("names and ranges of columns stay here", async () => {
  await client.generateKeys({ scheme: "ckks", for: "tables", depth: 0, precision: 30 });
  const columns = [
    { name: "HIV status", values: Float64Array.of(1, 0, 1) },
    { name: "salary", values: Float64Array.of(101_300, 101_325, 101_350) },
    { name: "same", values: Float64Array.of(7, 7, 7) },
  ];
  const bare = await all(client.encryptTable({ columns, names: "keep" }));
  const told = async (file) => (await client.info(blob(file))).table.columns;
  assert.deepEqual((await told(bare)).map(({ name }) => name), [null, null, null]);
  const named = await client.decrypt(blob(bare), { names: columns.map(({ name }) => name) });
  assert.deepEqual(named, { kind: "table", columns });
  assert.deepEqual((await client.decrypt(blob(bare))).columns.map(({ name }) => name), ["1", "2", "3"]);
  await fails(client.decrypt(blob(bare), { names: ["one"] }));
  await fails(all(client.encryptTable({ columns, names: "hide" })));

  const { table, reveal } = conceal({ columns });
  const file = await all(client.encryptTable(table));
  assert.deepEqual(await told(file), Array(3).fill({ name: null, exponent: 0, count: 1 }));
  const found = reveal(await client.decrypt(blob(file)), "values");
  found.columns.forEach(({ name, values }, at) => {
    assert.equal(name, columns[at].name);
    values.forEach((x, row) => assert.ok(Math.abs(x - columns[at].values[row]) < 1e-3));
  });
  // Statistics of what is concealed, computed in the clear, are those of the original.
  const mean = (x) => x.reduce((sum, one) => sum + one) / x.length;
  const variance = (x) => mean(x.map((one) => (one - mean(x)) ** 2));
  const sum = (x) => mean(x) * x.length;
  for (const [kind, of] of Object.entries({ mean, variance, sum })) {
    const computed = { columns: table.columns.map(({ values }) => ({ values: [of(values)] })) };
    reveal(computed, kind).columns.forEach(({ values: [x] }, at) =>
      assert.ok(Math.abs(x - of(columns[at].values)) <= 1e-12 * (1 + Math.abs(x)), kind),
    );
  }
  // All sizes of doubles, where neither scale nor distance overflows.
  for (const values of [[Number.MAX_VALUE, -Number.MAX_VALUE], [Number.MIN_VALUE, 0], [2 ** 1023, 0], [-1, 1]]) {
    const column = { name: "x", values: Float64Array.from(values) };
    const extreme = conceal({ columns: [column] });
    const greatest = Math.max(...extreme.table.columns[0].values.map(Math.abs));
    assert.ok(greatest >= 0.5 && greatest < 1);
    assert.deepEqual(extreme.reveal(extreme.table, "values").columns, [column]);
  }
  assert.throws(() => conceal({ columns: [{ name: "x", values: Float64Array.of(NaN) }] }), HeError);
  assert.throws(() => conceal({ columns: [{ name: "x", values: BigInt64Array.of(1n) }] }), HeError);
  assert.throws(() => reveal(table, "median"), HeError);
});

test("tables are read as the command line reads them", async () => {
  const text = "\u{feff}city;x;y\nUlm;1,5;2\nBonn;;3\n";
  const warnings = [];
  const task = { onWarning: ({ message }) => warnings.push(message) };
  const read = await client.readTable(text, { columns: ["y", "x"], missing: "skip" }, task);
  assert.deepEqual(read, {
    columns: [{ name: "y", values: Float64Array.of(2) }, { name: "x", values: Float64Array.of(1.5) }],
    named: true,
  });
  assert.match(warnings.join(), /1 of 2 rows are left out/);
  const whole = await client.readTable(new File(["1\n2\n"], "n.csv"), { integers: true });
  assert.deepEqual(whole, { columns: [{ name: "1", values: BigInt64Array.of(1n, 2n) }], named: false });
  await fails(client.readTable(text), (error) => assert.match(error.message, /^the table, line 2, column 1 .*"Ulm"/));
  await fails(client.readTable(new File(["a\nb\n"], "n.csv")), (error) => assert.match(error.message, /^n.csv, line 2/));
  await fails(client.readTable("1", { mising: "skip" }));
  const photo = new File([Uint8Array.of(0xff, 0xd8, 0xff, 0xe0)], "photo.csv");
  await fails(client.tableText(photo), (error) => assert.match(error.message, /^photo.csv is not a table$/));
  assert.equal(await client.tableText(blob(text)), text.slice(1));
});

test("integers of TFHE come back", async () => {
  const { keySet } = await client.generateKeys({ scheme: "tfhe", for: "tables" });
  const table = { columns: [{ name: "n", values: BigInt64Array.of(0n, 5n, 4_000_000_000n) }] };
  const file = await all(client.encryptTable(table));
  assert.deepEqual(await client.decrypt(blob(file)), { kind: "table", ...table });
  await fails(all(client.encryptTable({ columns: [{ name: "n", values: BigInt64Array.of(-1n) }] })));
  const told = await client.info(await client.publicKey());
  assert.deepEqual([told.key_set, told.parameters.scheme], [keySet, "tfhe"]);
});

test("keys are saved, sealed, loaded and forgotten", async () => {
  await client.generateKeys({ scheme: "bfv", for: "tables", depth: 1, bits: 16 });
  const file = await all(client.encryptTable(tables.bfv));
  const [open, sealed] = [await client.saveKeys(), await client.saveKeys("three words")];
  await client.forgetKeys();
  await fails(client.decrypt(blob(file)), (error) => assert.match(error.message, /no keys/));
  await fails(client.saveKeys());
  await fails(client.loadKeys(sealed, "other words"));
  await fails(client.loadKeys(sealed));
  await fails(client.loadKeys(blob(file)));
  await fails(client.loadKeys(blob(new Uint8Array(1 << 23))));
  for (const [key, passphrase] of [
    [sealed, "three words"],
    [open, undefined],
  ]) {
    await client.loadKeys(key, passphrase);
    assert.deepEqual(await client.decrypt(blob(file)), { kind: "table", ...tables.bfv });
  }
  const told = await client.info(new Blob([await all(client.evaluationKey())]));
  assert.deepEqual([told.file, told.products], ["evaluation key", true]);
  assert.deepEqual((await client.info(sealed)).file, "sealed secret key");
  assert.deepEqual((await client.info(sealed, "three words")).sealed, true);
});

test("keys that do not suit are refused when they are loaded", async () => {
  const needs = { scheme: "ckks", for: "images", depth: 1 };
  await client.generateKeys({ scheme: "bfv", for: "tables", depth: 1, bits: 16 });
  const file = await client.saveKeys();
  const { keySet } = await client.generateKeys({ scheme: "tfhe" });
  const refused = (error) => assert.match(error.message, /^these are keys of bfv, and keys of ckks are needed$/);
  await fails(client.loadKeys(file, undefined, { needs }), refused);
  assert.equal((await client.info(await client.saveKeys())).key_set, keySet);
  assert.equal((await client.loadKeys(file, undefined, { needs: { ...needs, scheme: "bfv" } })).scheme, "bfv");
});

test("wrong options, pictures and tables are refused with a hint", async () => {
  await fails(client.generateKeys({ scheme: "rot13" }));
  await fails(client.generateKeys({ scheme: "ckks", depht: 1 }));
  await fails(client.generateKeys({ scheme: "ckks", depth: 5000 }));
  await client.generateKeys({ scheme: "bfv", depth: 1, bits: 16 });
  await fails(all(client.encryptImage({ ...picture, channels: 5 })));
  await fails(all(client.encryptImage({ ...picture, width: 99 })));
  await fails(all(client.encryptTable(tables.ckks)));
  await fails(all(client.encryptTable({ columns: [{ name: "x", values: ["1"] }] })));
  await assert.rejects(all(client.encryptTable({ columns: [] })), HeError);
  await fails(client.decrypt(blob(new TextEncoder().encode("a,b\n1,2\n"))));
  await fails(client.decrypt(blob(new Uint8Array())));
  await fails(client.info(blob(new Uint8Array(1000))));
});

test("work is cancelled between two steps, and the client goes on", async () => {
  const cancel = new AbortController();
  const options = { scheme: "ckks", depth: 3 };
  const task = { signal: cancel.signal, onProgress: (done) => done === 2 && cancel.abort() };
  await assert.rejects(client.generateKeys(options, task), { name: "AbortError" });
  await assert.rejects(client.generateKeys(options, { signal: AbortSignal.abort() }), { name: "AbortError" });
  await client.generateKeys({ scheme: "ckks", depth: 1, precision: 20 });
  const image = { width: 512, height: 512, channels: 1, data: new Uint8Array(512 * 512) };
  const late = new AbortController();
  const reader = client.encryptImage(image, { signal: late.signal }).getReader();
  assert.equal((await reader.read()).done, false);
  late.abort();
  await assert.rejects(
    async () => {
      while (!(await reader.read()).done);
    },
    { name: "AbortError" },
  );
  // A reader that goes away ends the work, too.
  await client.encryptImage(image).cancel();
  const file = await all(client.encryptImage(picture));
  assert.equal((await client.decrypt(blob(file))).width, 100);
});

test("streams are made as they are read", async () => {
  await client.generateKeys({ scheme: "ckks", depth: 1, precision: 20 });
  let made = 0;
  const image = { width: 512, height: 512, channels: 1, data: new Uint8Array(512 * 512) };
  const stream = client.encryptImage(image, { onProgress: (done) => (made = done) });
  const reader = stream.getReader();
  await reader.read();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const [early, file] = [made, [await reader.read()]];
  for (let next; !(next = await reader.read()).done; ) file.push(next);
  assert.ok(early < made && file.length > 3, `${early} of ${made} steps without a reader`);
});

test("files go under AES and come back", async () => {
  const data = Uint8Array.from({ length: 2_500_000 }, (_, i) => i % 251);
  const key = await client.generateFileKey("k");
  for (const secret of [{ passphrase: "six words" }, { key, passphrase: "k" }]) {
    const file = await all(client.encryptFile(pieces(data, 300_000), secret));
    assert.deepEqual(await all(client.decryptFile(pieces(file, 77_777), secret)), data);
    await fails(all(client.decryptFile(blob(file), { passphrase: "other" })));
    await assert.rejects(all(client.decryptFile(blob(file.slice(0, -1)), secret)), HeError);
  }
  await fails(all(client.encryptFile(blob(data), {})));
});

test("golden files decrypt", async () => {
  const key = blob(await readFile(golden("aes_key.he")));
  const plain = await all(client.decryptFile(blob(await readFile(golden("aes_file.he"))), { key }));
  assert.ok(plain.length > 0);
  const told = await client.info(blob(await readFile(golden("aes_file.he"))));
  assert.equal(told.content, plain.length);
});

test("a stream that fails, fails the work", async () => {
  await client.generateKeys({ scheme: "bfv", depth: 1, bits: 16 });
  const broken = new ReadableStream({ pull: () => Promise.reject(new Error("offline")) });
  await assert.rejects(client.decrypt(broken), /offline/);
  const text = new ReadableStream({ pull: (controller) => controller.enqueue("text") });
  await fails(client.decrypt(text));
});

test("a closed client refuses", async () => {
  const other = await Client.start();
  const work = other.generateKeys({ scheme: "ckks", depth: 3 });
  other.close();
  await assert.rejects(work);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await fails(other.publicKey());
  await assert.rejects(Client.start({ wasm: new URL("package.json", folder) }));
});

test("after an internal error everything is refused", async () => {
  const other = await Client.start({ worker: new URL("trap_worker.mjs", import.meta.url) });
  await other.generateKeys({ scheme: "bfv", for: "tables", depth: 1, bits: 16 });
  const stream = other.encryptImage({ width: 1024, height: 1024, channels: 1, data: new Uint8Array(1 << 20) });
  const reader = stream.getReader();
  await reader.read();
  const refused = (error) => assert.match(error.message, /internal error has ended this client/);
  await fails(other.publicKey(), refused);
  await fails(other.saveKeys(), refused);
  await fails(other.generateKeys({ scheme: "ckks" }), refused);
  await fails((async () => {
    while (!(await reader.read()).done);
  })(), refused);
  other.close();
});

test("the program of the guide runs", async () => {
  const guide = await readFile(new URL("../../../docs/guide/src/browser.md", import.meta.url), "utf8");
  const program = guide.split("```js\n")[1].split("```")[0];
  const told = [];
  const given = {
    Client,
    width: 100,
    height: 70,
    data: pixels(3),
    console: { log: (...words) => told.push(words) },
    // The service gives back what it got.
    compute: async (keys, image) => {
      assert.ok((await all(keys)).length > 1e6);
      return blob(await all(image));
    },
  };
  const AsyncFunction = (async () => {}).constructor;
  await new AsyncFunction(...Object.keys(given), program)(...Object.values(given));
  assert.deepEqual(told, [["ckks", "image", 100, 70]]);
});

// The whole round is tested against a server by crates/he-wasm and web/tests.
test("look-ups take a public description and make queries of one size", async () => {
  const file = blob(await readFile(new URL("description.lookup", import.meta.url)));
  const other = await Client.start();
  await fails(other.lookupQuery("key 1"), (error) => assert.match(error.message, /no database/));
  const info = await other.loadLookup(file);
  assert.deepEqual([info.by, info.records, info.recordBytes, info.version], ["key", 100, 3, 1]);
  const queries = [];
  for (const key of ["key 1", "", "a key that is absent", Uint8Array.of(0, 255)]) {
    queries.push(new Uint8Array(await (await other.lookupQuery(key)).arrayBuffer()));
  }
  assert.deepEqual(queries.map((query) => query.length), queries.map(() => info.queryBytes));
  assert.equal(new Set(queries.map(sha)).size, queries.length);

  // What is refused, each with a hint.
  await fails(other.lookupQuery(7), (error) => assert.match(error.message, /looked up by key/));
  for (const record of [-1, 0.5, 1n << 64n, null, {}]) await fails(other.lookupQuery(record));
  for (const answer of [new Uint8Array(), queries[0]]) await fails(other.lookupRead(blob(answer), "key 1"));
  const bytes = new Uint8Array(await file.arrayBuffer());
  for (const bad of [bytes.slice(1), bytes.map((byte, at) => (at === 50 ? byte ^ 1 : byte)), new Uint8Array(1 << 17)]) {
    await fails(other.loadLookup(blob(bad)));
  }
  const golden = new URL("../../../crates/he-lookup/tests/lookup/golden/description.v1", import.meta.url);
  await fails(other.loadLookup(blob(await readFile(golden))), (error) => assert.match(error.message, /insecure/));
  // The one before stays, until the keys are forgotten.
  assert.equal((await other.lookupQuery("key 1")).size, info.queryBytes);
  await other.forgetKeys();
  await fails(other.lookupQuery("key 1"));
  other.close();
});
