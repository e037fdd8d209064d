/** The identity of a request: its caller, and the fingerprint of its input. */
import { callerThrough } from "../binding/guard.ts";
import type { PreparedDependency } from "../binding/dependency.ts";
import type { Indices } from "../binding/levels.ts";
import type { Values } from "../binding/resolver.ts";
import { HTTPError } from "../base/errors.ts";
import { mediaTypeOf } from "../http/json.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { nodeCrypto } from "../base/runtime.ts";

type Args = Readonly<Record<string, unknown>>;

/** The deepest nesting of input: values of a program can also contain themselves. */
const MAX_DEPTH = 1_000;
const BUFFERED = 16_384;

/**
 * Hashes the input of a request.
 *
 * @param args The validated input: fields, `headers`, `cookies`, `body` and `form`.
 * @param isBodyDeclared Whether it includes the body.
 * @throws {HTTPError} With 422 if the input is nested too deeply; or if the body cannot be read.
 */
export async function fingerprintOf(request: HttpRequest, args: Args, isBodyDeclared: boolean): Promise<string> {
  const fingerprint = new Fingerprint();
  fingerprint.add([...request.query].sort(([one], [other]) => one < other ? -1 : one > other ? 1 : 0));
  fingerprint.add(args);
  if (!isBodyDeclared || fingerprint.isIncomplete) fingerprint.add(await sentBody(request));
  return await fingerprint.digest();
}

/** As a part of a key. */
export function hashOf(...parts: string[]): string {
  return nodeCrypto().createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** The handler can still read it. */
async function sentBody(request: HttpRequest): Promise<unknown> {
  if (await contextOf(request).body.isEmpty()) return undefined;
  const isMultipart = mediaTypeOf(request.raw.headers) === "multipart/form-data";
  return isMultipart ? [...await request.formData()] : await request.bytes();
}

/** Hashes values. Values of different kinds have different hashes. */
class Fingerprint {
  readonly #hash = nodeCrypto().createHash("sha256");
  #text = "";
  readonly #files: Blob[] = [];
  /** A value can have hidden state, such as private fields. */
  isIncomplete = false;

  add(value: unknown, depth = 0): void {
    if (depth > MAX_DEPTH) {
      throw new HTTPError(422, "The input is nested too deeply to be compared with that of other requests");
    }
    if (typeof value === "string") this.#write(`s${value.length}:${value}`);
    else if (typeof value !== "object") this.#write(`${typeof value}:${String(value)};`);
    else if (value === null) this.#write("n;");
    else this.#addObject(value, depth + 1);
  }

  async digest(): Promise<string> {
    for (const file of this.#files) this.#write(await digestOf(file));
    return this.#hash.update(this.#text).digest("hex");
  }

  #addObject(object: object, depth: number): void {
    if (object instanceof Date) return this.#write(`d${object.getTime()};`);
    if (object instanceof Blob) return this.#addFile(object, depth);
    if (object instanceof ArrayBuffer) return this.#addBytes(new Uint8Array(object));
    if (ArrayBuffer.isView(object)) {
      return this.#addBytes(new Uint8Array(object.buffer, object.byteOffset, object.byteLength));
    }
    if (object instanceof Map || object instanceof Set || Array.isArray(object)) {
      const kind = object instanceof Map ? "m" : object instanceof Set ? "t" : "a";
      const items = [...object as Iterable<unknown>];
      this.#write(`${kind}${items.length}:`);
      for (const item of items) this.add(item, depth);
      return;
    }
    // A transformation can return an object of another class, such as a URL.
    const plain = "toJSON" in object && typeof object.toJSON === "function" ? object.toJSON() : object;
    if (typeof plain !== "object" || plain === null) return this.add(plain, depth);
    const prototype = Object.getPrototypeOf(plain);
    this.isIncomplete ||= prototype !== null && prototype !== Object.prototype;
    const names = Object.keys(plain).sort();
    this.#write(`o${names.length}:`);
    for (const name of names) {
      this.add(name, depth);
      this.add((plain as Args)[name], depth);
    }
  }

  #addBytes(bytes: Uint8Array): void {
    this.#hash.update(`${this.#text}b${bytes.length}:`).update(bytes);
    this.#text = "";
  }

  /** Hashes the content later, so that the boundary of a form has no effect. */
  #addFile(file: Blob, depth: number): void {
    this.#files.push(file);
    this.#write("f");
    this.add([file instanceof File ? file.name : "", file.type, file.size], depth);
  }

  #write(text: string): void {
    this.#text += text;
    if (this.#text.length < BUFFERED) return;
    this.#hash.update(this.#text);
    this.#text = "";
  }
}

async function digestOf(file: Blob): Promise<string> {
  const hash = nodeCrypto().createHash("sha256");
  for await (const chunk of file.stream()) hash.update(chunk);
  return hash.digest("hex");
}

export interface RouteDependencies {
  readonly dependencies: readonly PreparedDependency[];
  readonly indices: Indices;
  /** There is one value instead of an array. */
  readonly isSingle: boolean;
}

/** Returns a string that differs between callers. Without guards, all are one caller. */
export async function callerOf(request: HttpRequest, values: Values, route: RouteDependencies): Promise<string> {
  const callers: (readonly [guard: string, caller: string | null])[] = [];
  for (const dependency of route.dependencies) {
    if (dependency.security.length === 0) continue;
    const value = route.isSingle ? values : (values as readonly unknown[])[route.indices.get(dependency)!];
    // Also a guard that knows no caller: two guards can have one name.
    callers.push([dependency.name, await callerThrough(dependency, request, value) ?? null]);
  }
  return JSON.stringify(callers);
}
