/** What replies are declared with, besides the model of a JSON reply. */
import type { Schema } from "../../schema/schema.ts";

/** How the replies of a route are made, beside those of JSON. */
export type DeclaredReply =
  | { readonly type: "events"; readonly item: Schema | undefined }
  | { readonly type: "json_lines"; readonly item: Schema }
  | { readonly type: "bytes" | "text"; readonly mediaType: string }
  | { readonly type: "replies"; readonly entries: ReadonlyMap<number, Schema> };

/**
 * The members that all declared replies share with schemas. They are none: valibot cannot run them.
 */
export const DECLARED = { kind: "schema", async: false } as const;

const TYPES: ReadonlySet<unknown> = new Set<DeclaredReply["type"]>([
  "events",
  "json_lines",
  "bytes",
  "text",
  "replies",
]);

/** The media type of each kind of stream. */
export const STREAM_TYPES = { events: "text/event-stream", json_lines: "application/jsonl" } as const;

/** Whether a value was made by `Events`, `JsonLines`, `Bytes`, `Text`, `Html` or `Replies`. */
export function isDeclaredReply(value: unknown): value is Schema & DeclaredReply {
  return typeof value === "object" && value !== null && !("~run" in value) &&
    (value as Partial<Schema>).kind === DECLARED.kind && TYPES.has((value as Partial<Schema>).type);
}

/**
 * What a call of a typed client gives. At run time the client does not know the declaration: it
 * parses JSON, lines of JSON and events, whatever the handler makes them of, and then the type is
 * unknown.
 */
export type ReceivedAs<Type extends string, As> = Lowercase<Type> extends
  `application/${string}json${string}` | `text/event-stream${string}` ? unknown : As;

/** RFC 9110, section 8.3.1: no ranges such as `image/*`. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;\s*[\w!#$&^.+-]+=(?:[\w!#$&^.+-]+|"[^"\\\r\n]*"))*$/;

/**
 * Checks a media type.
 *
 * @throws {TypeError} If it is none.
 */
export function checkMediaType(type: unknown, name: string): string {
  if (typeof type === "string" && MEDIA_TYPE.test(type)) return type;
  const got = typeof type === "string" ? JSON.stringify(type) : typeof type;
  throw new TypeError(
    `Cannot declare a reply by ${name}(): the argument must be a media type such as "image/png", got ${got}`,
  );
}
