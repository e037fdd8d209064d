/** Declared replies of text, bytes and JSON lines, besides the models of JSON replies. */
import {
  type GivenSchema,
  isSchema,
  type JsonForm,
  type Mistake,
  type Schema,
  schemaFault,
} from "../../schema/schema.ts";
import type { EventStream } from "../sse/sse.ts";

/** Replies that are no JSON of a model. */
export type DeclaredReply =
  | { readonly type: "events"; readonly "~kind": "EVENTS"; readonly item: Schema | undefined }
  | { readonly type: "json_lines"; readonly item: Schema }
  | { readonly type: "bytes" | "text"; readonly mediaType: string }
  | { readonly type: "replies"; readonly entries: ReadonlyMap<number, Schema> };

/** The members that declared replies share with schemas. Valibot cannot run them. */
const DECLARED = { kind: "schema", async: false } as const;

/** The types alone say what a handler yields, and what a client gets. */
export function declare<Reply>(parts: DeclaredReply): Reply {
  return Object.freeze({ ...DECLARED, ...parts }) as Reply;
}

const TYPES: ReadonlySet<unknown> = new Set<DeclaredReply["type"]>([
  "events",
  "json_lines",
  "bytes",
  "text",
  "replies",
]);

export const STREAM_TYPES = { events: "text/event-stream", json_lines: "application/jsonl" } as const;

export function isDeclaredReply(value: unknown): value is Schema & DeclaredReply {
  return typeof value === "object" && value !== null && !("~run" in value) &&
    (value as Partial<Schema>).kind === DECLARED.kind && TYPES.has((value as Partial<Schema>).type);
}

/**
 * @ignore What a typed client gets. It parses JSON, JSON lines and events without knowing the
 * declaration; the type is unknown then.
 */
export type ReceivedAs<Type extends string, As> = Lowercase<Type> extends
  `application/${string}json${string}` | `text/event-stream${string}` ? unknown : As;

/** RFC 9110, section 8.3.1: no ranges such as `image/*`. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;\s*[\w!#$&^.+-]+=(?:[\w!#$&^.+-]+|"[^"\\\r\n]*"))*$/;

export function isMediaType(value: unknown): value is string {
  return typeof value === "string" && MEDIA_TYPE.test(value);
}

export function checkMediaType(type: unknown, name: string): string {
  if (isMediaType(type)) return type;
  const got = typeof type === "string" ? JSON.stringify(type) : typeof type;
  throw new TypeError(
    `Cannot declare a reply by ${name}(): the argument must be a media type such as "image/png", got ${got}`,
  );
}

/** @ignore What a handler can return for a model, with read-only parts. */
export type Returned<Model> = unknown extends Model ? unknown
  : Model extends Atom ? Model
  : { readonly [Key in keyof Model]: Returned<Model[Key]> };

/** @ignore What a handler can yield for a model, or for a declared reply: its `~yields`. */
export type Yielded<Model, Reply> = [Reply["~yields" & keyof Reply]] extends [never] ? Returned<Model>
  : Reply["~yields" & keyof Reply];

/** @ignore A value whose parts are not checked. */
export type Atom =
  | string
  | number
  | boolean
  | bigint
  | symbol
  | null
  | undefined
  | Date
  | Blob
  | Uint8Array
  | EventStream
  | AsyncIterable<unknown>
  | ((...args: never[]) => unknown);

/** @ignore Made by {@linkcode Text} or {@linkcode Html}. `As` is what a typed client gets. */
export interface TextReply<As = string> extends Schema<string, string> {
  readonly type: "text";
  readonly "~yields": Mistake<"Return a string from an async function">;
  readonly "~as": As;
  readonly mediaType: string;
}

/**
 * Declares a text reply of a media type, as the `response` of a route. The handler returns a
 * string, which is sent in UTF-8. A typed client gets the string, or its value if the media type is
 * JSON.
 *
 * @param mediaType The media type. A `charset` is added if it has none.
 *
 * @example Comma-separated values
 * ```ts
 * import { App, Text } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/books.csv", { response: Text("text/csv") }, async () => "title,year\r\nEmma,1815\r\n");
 * const response = await app.fetch(new Request("http://localhost/books.csv"));
 * assertEquals(response.headers.get("content-type"), "text/csv;charset=UTF-8");
 * assertEquals(await response.text(), "title,year\r\nEmma,1815\r\n");
 * ```
 *
 * @category Requests and replies
 */
export function Text<const Type extends string>(
  mediaType: Type | "text/plain" = "text/plain",
): TextReply<ReceivedAs<Type, string>> {
  return declare({ type: "text", mediaType: checkMediaType(mediaType, "Text") });
}

/**
 * Declares a page, as the `response` of a route. The handler returns the markup. Nothing is
 * escaped: the template has to.
 *
 * @example A page
 * ```ts
 * import { App, Html } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/", { response: Html() }, async () => "<h1>Books</h1>");
 * const response = await app.fetch(new Request("http://localhost/"));
 * assertEquals(response.headers.get("content-type"), "text/html;charset=UTF-8");
 * assertEquals(await response.text(), "<h1>Books</h1>");
 * ```
 *
 * @category Requests and replies
 */
export function Html(): TextReply {
  return Text("text/html");
}

/** @ignore Made by {@linkcode Bytes}. `As` is what a typed client gets. */
export interface BytesReply<As = Blob> extends Schema<Blob | ReadableStream<Uint8Array> | Uint8Array, Blob> {
  readonly type: "bytes";
  readonly "~yields": Mistake<"Return a ReadableStream, a Blob or a Uint8Array from an async function">;
  readonly "~as": As;
  readonly mediaType: string;
}

/**
 * Declares a reply of bytes of a media type, as the `response` of a route.
 *
 * The handler returns a `Blob`, a `ReadableStream` of bytes, a `Uint8Array`, or `file(…)`. The
 * declared type replaces that of a blob or file, which still obeys conditions and ranges. A typed
 * client gets a `Blob`, or the value of the bytes if the media type is JSON or has a `charset`.
 *
 * @param mediaType A media type without ranges such as `image/*`: declare `v.blob()` to send each
 * blob with its own type.
 *
 * @example A picture
 * ```ts
 * import { App, Bytes } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/dot", { response: Bytes("image/gif") }, async () => {
 *   return Uint8Array.fromBase64("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7");
 * });
 * const response = await app.fetch(new Request("http://localhost/dot"));
 * assertEquals(response.headers.get("content-type"), "image/gif");
 * ```
 *
 * @category Requests and replies
 */
export function Bytes<const Type extends string>(
  mediaType: Type | "application/octet-stream" = "application/octet-stream",
): BytesReply<ReceivedBytes<Type>> {
  return declare({ type: "bytes", mediaType: checkMediaType(mediaType, "Bytes") });
}

/** @ignore What a typed client gets: a string if there is a `charset`. */
export type ReceivedBytes<Type extends string> = ReceivedAs<
  Type,
  Lowercase<Type> extends `${string}charset=${string}` ? string : Blob
>;

/**
 * @ignore Made by {@linkcode JsonLines}. `Input` is what the handler yields, `Line` the sent line.
 */
export interface JsonLinesReply<Input, Line> extends Schema<AsyncIterable<Returned<Input>>, Line> {
  readonly type: "json_lines";
  readonly "~yields": Returned<Input>;
  readonly "~as": AsyncIterable<JsonForm<Line>>;
  readonly item: Schema;
}

/**
 * Declares a reply of JSON lines (`application/jsonl`) of a schema, as the `response` of a route.
 *
 * The handler returns an async iterable, or is an `async function*`. Each value is validated and
 * reduced to the schema. If the first value does not fit, the reply is a 500; a later one, or a
 * stop of the server, breaks the reply off, so that no client takes it for complete.
 *
 * @example A long list
 * ```ts
 * import { App, JsonLines } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * app.get("/books", { response: JsonLines(v.object({ title: v.string() })) }, async function* () {
 *   yield { title: "Emma" };
 *   yield { title: "Middlemarch" };
 * });
 * const response = await app.fetch(new Request("http://localhost/books"));
 * assertEquals(await response.text(), '{"title":"Emma"}\n{"title":"Middlemarch"}\n');
 * ```
 *
 * @category Streams
 */
export function JsonLines<Input, Line>(
  line: GivenSchema<Input, Line> | Mistake<"Give one valibot schema, such as v.object({ … })">,
): JsonLinesReply<Input, Line> {
  if (!isSchema(line)) throw new TypeError(`Cannot declare a reply by JsonLines(): the argument ${schemaFault(line)}`);
  return declare({ type: "json_lines", item: line });
}
