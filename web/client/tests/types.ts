// Uses of the client that its types allow, and some that they do not: checked by tsc, never run.
import { Client, HeError, conceal, type Decrypted, type KeysInfo, type LookupInfo, type ModelInfo, type Table } from "../client.js";

export async function uses(picture: ImageData, upload: (body: ReadableStream) => Promise<Blob>) {
  const client: Client = await Client.start({ wasm: new URL("https://example.org/he_wasm_bg.wasm") });
  const keys: KeysInfo = await client.generateKeys({ scheme: "ckks", for: "images", depth: 1 });
  const { width, height, data } = picture;
  const cancel = new AbortController();
  const image = client.encryptImage({ width, height, channels: 4, data }, { signal: cancel.signal });
  const result: Decrypted = await client.decrypt(await upload(image), { view: "light" });
  if (result.kind === "image") console.log(result.width, result.depth, keys.keySet);
  else console.log(result.columns.map(({ name, values }) => [name, values.length]));
  const table: Table = { columns: [{ name: "n", values: BigInt64Array.of(1n) }] };
  await upload(client.encryptTable(table, { onProgress: (done, of) => console.log(done / of) }));
  await upload(client.encryptFile(new Blob(["x"]), { passphrase: "six words" }));
  const { input, evaluation_key_bytes }: ModelInfo = await client.loadModel(new Blob());
  await client.generateKeys({ scheme: "ckks", for: "model" });
  console.log(input.length, evaluation_key_bytes);
  await upload(client.encryptExamples(new Float64Array(784)));
  const { columns } = await client.readTable(new Blob(["x\n1\n"]), { missing: "skip", columns: ["x"] });
  await upload(client.encryptTable({ columns, names: "keep" }));
  const { table: hidden, reveal } = conceal({ columns: [{ name: "x", values: Float64Array.of(1) }] });
  const mean = await client.decrypt(await upload(client.encryptTable(hidden)), { names: ["x"] });
  if (mean.kind === "table") console.log(reveal(mean, "mean").columns[0].values);
  const { by, queryBytes }: LookupInfo = await client.loadLookup(new Blob());
  const question: Blob = await client.lookupQuery(by === "key" ? "salt" : 7n);
  const record: Uint8Array | null = await client.lookupRead(question, "salt");
  console.log(queryBytes, record?.length);
  const file: Blob = await client.saveKeys("passphrase");
  await client.loadKeys(file, "passphrase", { needs: { scheme: "ckks", for: "model" } });
  await client.loadKeys(file, "passphrase").catch((error: HeError) => console.log(error.hint));
  // @ts-expect-error there is no such scheme
  await client.generateKeys({ scheme: "rot13" });
  // @ts-expect-error numbers are typed arrays
  client.encryptTable({ columns: [{ name: "n", values: [1, 2] }] });
  // @ts-expect-error examples are a typed array, too
  client.encryptExamples([1, 2]);
  // @ts-expect-error clients are started
  new Client();
  client.close();
}
