/** What a request asks for, as a hash: a key must not be used for another request. */
import { nodeCrypto } from "../runtime.ts";
import type { HttpRequest } from "../http/request.ts";

type Hash = ReturnType<ReturnType<typeof nodeCrypto>["createHash"]>;

/** The arguments that are input of the client. */
export interface Input {
  /** The query as the client sent it. */
  readonly query: string;
  /** The validated headers, cookies, body and form. */
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * Hashes the input of a request.
 *
 * @param request The request.
 * @param args The validated input: fields of the path and the query, `headers`, `cookies`, `body`
 * and `form`.
 */
export async function fingerprintOf(request: HttpRequest, args: Readonly<Record<string, unknown>>): Promise<string> {
  const hash = nodeCrypto().createHash("sha256");
  const query = [...request.query].sort(([one], [other]) => one < other ? -1 : one > other ? 1 : 0);
  hash.update(JSON.stringify(query));
  await add(hash, args);
  return hash.digest("hex");
}

/** The hash of some texts, as a part of a key. */
export function hashOf(...texts: string[]): string {
  return nodeCrypto().createHash("sha256").update(JSON.stringify(texts)).digest("hex");
}

/** Adds a value. Values of different kinds never add the same. */
async function add(hash: Hash, value: unknown): Promise<void> {
  switch (typeof value) {
    case "object":
      return value === null ? void hash.update("n;") : await addObject(hash, value);
    case "string":
      return void hash.update(`s${value.length}:${value}`);
    default:
      hash.update(`${typeof value}:${String(value)};`);
  }
}

async function addObject(hash: Hash, object: object): Promise<void> {
  if (object instanceof Date) return void hash.update(`d${object.getTime()};`);
  if (object instanceof Blob) return await addFile(hash, object);
  if (object instanceof ArrayBuffer) return void hash.update(`b${object.byteLength}:`).update(new Uint8Array(object));
  if (ArrayBuffer.isView(object)) {
    hash.update(`b${object.byteLength}:`);
    return void hash.update(new Uint8Array(object.buffer, object.byteOffset, object.byteLength));
  }
  if (object instanceof Map || object instanceof Set || Array.isArray(object)) {
    const kind = object instanceof Map ? "m" : object instanceof Set ? "t" : "a";
    const items = [...object as Iterable<unknown>];
    hash.update(`${kind}${items.length}:`);
    for (const item of items) await add(hash, item);
    return;
  }
  // A transformation may give an object of another class, such as a URL.
  const plain = "toJSON" in object && typeof object.toJSON === "function" ? object.toJSON() : object;
  if (typeof plain !== "object" || plain === null) return await add(hash, plain);
  const names = Object.keys(plain).sort();
  hash.update(`o${names.length}:`);
  for (const name of names) {
    await add(hash, name);
    await add(hash, (plain as Record<string, unknown>)[name]);
  }
}

/** By its content, so that the boundary of a form does not matter. */
async function addFile(hash: Hash, file: Blob): Promise<void> {
  const content = nodeCrypto().createHash("sha256");
  for await (const chunk of file.stream()) content.update(chunk);
  await add(hash, [file instanceof File ? file.name : "", file.type, file.size, content.digest("hex")]);
}
