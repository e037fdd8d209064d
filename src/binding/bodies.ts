/** Binds bodies: JSON, forms with files, and streams that handlers read themselves. */
import * as v from "valibot";
import { HTTPError, type Issue } from "../base/errors.ts";
import { toMilliseconds } from "../base/options.ts";
import { refuseDepth, tooLarge } from "../http/body_errors.ts";
import { decodeJson, decodeUtf8, isJson, mediaTypeOf, parseJson } from "../http/json.ts";
import type { Limits } from "../http/limits.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { toValidator, type Validator } from "../schema/check.ts";
import { coerceForm, holdsJson, isRepeated } from "../schema/coerce_form.ts";
import { coerceJson, findOverflows } from "../schema/coerce_json.ts";
import { type FormEntry, type FormSchema, FormTree, hasStrayBrackets, keepFileText } from "../schema/form.ts";
import { toIssue } from "../schema/issues.ts";
import { checkDefaults, type Dataset, nodeOf, type Schema, type SchemaIssue } from "../schema/schema.ts";

export class JsonBody {
  readonly #validate: Validator["validate"];

  /** @throws {TypeError} If no JSON value can satisfy the schema. */
  constructor(schema: Schema, route: string) {
    const name = `the body of ${route}`;
    this.#validate = toValidator(coerceJson(schema, name)).validate;
    checkDefaults(schema, name);
  }

  /**
   * Reads the bytes of the body; none without a body, which needs no content type.
   *
   * @throws {HTTPError} With 408 if it arrives too slowly, 413 if it is too large, 415 if it has
   * another type.
   */
  read(request: HttpRequest): Promise<Uint8Array> | Uint8Array {
    const isTyped = isJson(request.raw.headers.get("content-type"));
    return isTyped ? contextOf(request).body.jsonBytes() : refuseUnlessEmpty(request);
  }

  /**
   * Parses and validates a body, and adds the issues. It returns a promise only for an async
   * schema.
   *
   * @throws {HTTPError} With 400 if it is no JSON in UTF-8, 413 if it is too large, 415 if it is
   * compressed.
   */
  parse(body: Uint8Array, request: HttpRequest, issues: Issue[]): unknown {
    const { raw, matched: { limits } } = contextOf(request);
    if (body.length > limits.body) throw tooLarge(limits.body);
    let result: Dataset | Promise<Dataset>;
    try {
      const text = decodeJson(body, raw, limits);
      const value = text === "" ? undefined : parseJson(text, raw, limits);
      const overflows = findOverflows(text, value);
      if (overflows.length > 0) {
        for (const issue of overflows) issues.push(issue);
        return undefined;
      }
      result = this.#validate(value);
    } catch (error) {
      refuseDepth(error);
    }
    if (result instanceof Promise) return result.then((dataset) => settle(dataset, issues), refuseDepth);
    return settle(result, issues);
  }
}

function settle(dataset: Dataset, issues: Issue[]): unknown {
  if (!dataset.issues) return dataset.value;
  for (const issue of dataset.issues) issues.push(toIssue(issue, "body", []));
  return undefined;
}

const NO_BYTES = new Uint8Array();

function refuseUnlessEmpty(request: HttpRequest): Promise<Uint8Array> | Uint8Array {
  const isEmpty = contextOf(request).body.isEmpty();
  if (isEmpty instanceof Promise) return isEmpty.then(refuseUnless);
  return refuseUnless(isEmpty);
}

function refuseUnless(isEmpty: boolean): Uint8Array {
  if (isEmpty) return NO_BYTES;
  throw new HTTPError(415, "The body must be JSON in UTF-8: send it with content-type application/json", {
    headers: { accept: "application/json" },
  });
}

/**
 * A file that a client has uploaded: a `File` that can be saved. A large one is on disk, and can be
 * read until the request is over: until the last byte of the reply has been sent, and the tasks of
 * `request.after()` are done.
 *
 * The client chooses name and type. The name has no folders and no control characters. Use a name
 * of your own all the same where it becomes part of a path.
 *
 * @category Routes
 */
export interface UploadFile extends File {
  /**
   * Saves the file, and replaces an existing one atomically. A large file is linked, or copied by
   * the system, without reading it. Missing folders are made.
   *
   * @param path The path to save it at. Never use the file's name in it unchecked.
   * @throws {Deno.errors.NotCapable} If the program may not write and read there.
   */
  save(path: string | URL): Promise<void>;
}

/**
 * @ignore The type of {@linkcode UploadFile}: a schema that the functions of valibot accept. It has
 * only the members that they need.
 */
export interface UploadFileSchema extends Schema<Blob, UploadFile> {
  /** The kind of the schema. */
  readonly type: "file";
  /** The schema is sync. */
  readonly async: false;
  /** The expectation in messages. */
  readonly expects: string;
  /** Carries the types; absent at run time. */
  readonly "~types"?:
    | { readonly input: Blob; readonly output: UploadFile; readonly issue: never }
    | undefined;
  /** The constructor of valibot. */
  readonly reference: () => never;
  /** The entry point of Standard Schema. */
  readonly "~standard": { readonly version: 1; readonly vendor: "valibot"; readonly validate: () => never };
  /** The entry point of valibot. */
  readonly "~run": () => never;
}

const uploadFile: v.GenericSchema<File> = v.pipe(
  v.file(),
  // The class is loaded with the first form. No other file has the method.
  v.check((file) => "save" in file, "Not an uploaded file"),
);

/**
 * The schema of a file in a form. It can be optional, in a list, and in a pipe with valibot's
 * checks of files. The type of its value has the same name.
 *
 * @example A picture of at most a megabyte
 * ```ts
 * import { App, Form, UploadFile } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const Picture = v.pipe(UploadFile, v.mimeType(["image/png", "image/jpeg"]), v.maxSize(1024 * 1024));
 * const describe = ({ name, type, size }: UploadFile) => `${name}, ${type}, ${size} bytes`;
 *
 * const app = new App();
 * app.post("/pictures", { form: Form(v.object({ picture: Picture })) }, async (_request, { form }) => {
 *   // await form.picture.save(`pictures/${crypto.randomUUID()}`);
 *   return describe(form.picture);
 * });
 * const body = new FormData();
 * body.append("picture", new File(["…"], "cat.png", { type: "image/png" }));
 * const response = await app.fetch(new Request("http://localhost/pictures", { method: "POST", body }));
 * assertEquals(await response.json(), "cat.png, image/png, 3 bytes");
 * ```
 *
 * @category Routes
 */
export const UploadFile: UploadFileSchema = uploadFile as unknown as UploadFileSchema;

export class FormBody {
  readonly #validate: (tree: FormTree | undefined) => Promise<Dataset>;
  readonly #schema: Schema;
  #holdsJson: boolean | undefined;

  /** @throws {TypeError} If no form can satisfy the schema. */
  constructor({ schema }: FormSchema, route: string) {
    this.#schema = schema;
    const name = `the form of ${route}`;
    const { validate } = toValidator(coerceForm(schema, name));
    checkDefaults(schema, name);
    this.#validate = async (tree) => await validate(tree);
  }

  /**
   * Reads and validates a form, and adds the issues.
   *
   * @throws {HTTPError} With 400 if it is malformed, 408 if it arrives too slowly, 413 if it
   * exceeds a limit, 415 if the body has another type.
   */
  async bind(request: HttpRequest, issues: Issue[]): Promise<unknown> {
    const { body } = contextOf(request);
    // An absent form needs no content type. An urlencoded body without fields is an empty form.
    const isMissing = mediaTypeOf(request.raw.headers) !== "application/x-www-form-urlencoded" && await body.isEmpty();
    const tree = isMissing ? undefined : await this.#read(request, issues);
    const dataset = await this.#validate(tree).catch(refuseDepth);
    if (!dataset.issues) return dataset.value;
    for (const issue of dataset.issues) issues.push(toFormIssue(issue));
    return undefined;
  }

  async #read(request: HttpRequest, issues: Issue[]): Promise<FormTree> {
    const { body, matched } = contextOf(request);
    const entries = await body.form();
    for (const name of new Set(entries.map(([name]) => name))) {
      if (hasStrayBrackets(name)) issues.push(strayBrackets(name));
    }
    const hasFiles = entries.some(([, value]) => typeof value !== "string");
    if (hasFiles && (this.#holdsJson ??= holdsJson(nodeOf(this.#schema)))) await readJson(entries, matched.limits.body);
    return FormTree.of(entries);
  }
}

/**
 * Reads the JSON files of a form, which contain objects. They have the size limit of all strings of
 * a form together.
 */
async function readJson(entries: readonly FormEntry[], limit: number): Promise<void> {
  let size = 0;
  for (const [, value] of entries) {
    if (typeof value === "string" || !isJson(value.type)) continue;
    size += value.size;
    keepFileText(value, size > limit ? tooLarge(limit, "The JSON of the form is") : await textOf(value));
  }
}

function strayBrackets(name: string): Issue {
  return {
    in: "form",
    path: [name],
    code: "invalid",
    message: "Brackets of the name cannot be read",
    expected: "a name or an index in each pair of brackets, such as rows[0][id]",
  };
}

async function textOf(file: Blob): Promise<string | HTTPError> {
  return decodeUtf8(await file.bytes()) ?? new HTTPError(400, "The JSON of the form must be in UTF-8");
}

function toFormIssue(issue: SchemaIssue): Issue {
  const found = toIssue(issue, "form", []);
  return isRepeated(issue.input) ? { ...found, message: "Sent more than once", expected: "a single value" } : found;
}

/** @ignore What a client may send where a handler reads the body itself. */
export type StreamInput = Blob | BufferSource | ReadableStream<Uint8Array<ArrayBuffer>>;

/** @ignore The declaration of a body that the handler reads, made by {@linkcode Stream}. */
export interface StreamSchema extends Schema<StreamInput, ReadableStream<Uint8Array<ArrayBuffer>>> {
  /** Distinguishes it from the schemas of JSON bodies. */
  readonly type: "stream";
}

const stream = { ...v.instance(ReadableStream), type: "stream" } as unknown as StreamSchema;

/**
 * Declares that the handler reads the body as a stream of bytes. The framework reads nothing of it
 * before the handler is called, or if other input is refused.
 *
 * Its size and time are only limited by the options `limits` of the route itself: `body`, and
 * `readTimeout` for each chunk. The stream fails with an `HTTPError`: 400 if the client
 * disconnects, 413 and 408 beyond these limits. After the reply, the rest of the body is discarded.
 * A body of more than 1 MiB can be read only once.
 *
 * @example Count bytes as they arrive
 * ```ts
 * import { App, Stream } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.put("/objects/{key}", { body: Stream() }, async (_request, { key, body }) => {
 *   let size = 0;
 *   for await (const chunk of body) size += chunk.length;
 *   return { key, size };
 * });
 * const request = new Request("http://localhost/objects/a", { method: "PUT", body: "some bytes" });
 * const response = await app.fetch(request);
 * assertEquals(await response.json(), { key: "a", size: 10 });
 * ```
 *
 * @category Routes
 */
export function Stream(): StreamSchema {
  return stream;
}

export function isStream(body: Schema): body is StreamSchema {
  return body.type === "stream";
}

/**
 * @param limits The limits of the route itself.
 * @returns Opens the body of a request. It throws an {@linkcode HTTPError} with 413 if the
 * announced length is too large.
 */
export function streamOpener(
  { body = Infinity, readTimeout = Infinity }: Limits,
  route: string,
): (request: HttpRequest) => ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunkTime = toMilliseconds(readTimeout, `the readTimeout of ${route}`);
  return (request) => contextOf(request).body.streamWithin(body, chunkTime);
}
