/** Formats server-sent events (HTML Living Standard, section 9.2). */
import { stringify } from "../json.ts";
import type { Chunk } from "../pull_stream.ts";
import { type DataEncoding, isEvent, toRetry } from "./sse.ts";

/** `retry` is in milliseconds. An undefined field is not sent. */
interface EventFields {
  readonly event?: string | undefined;
  /** The client resumes after it. */
  readonly id?: string | undefined;
  readonly retry?: number | undefined;
  /** Without data, the client only stores the other fields. */
  readonly data?: string | undefined;
}

/** A comment, which clients ignore. */
export const COMMENT = ":\n\n";

/** Clients end a line at each of these. */
const LINE_END = /\r\n|\r|\n/;

/**
 * Invalid in an id: it comes back in a header, which has no control characters and is trimmed, and
 * clients ignore an id with a NUL.
 */
// deno-lint-ignore no-control-regex
const UNFIT_ID = /[\x00-\x1f\x7f]|^ | $/;

const encoder = new TextEncoder();

export function toChunk(text: string): Chunk {
  return encoder.encode(text);
}

/** Throws a TypeError for an id that would not come back as it was sent. */
export function formatEvent({ event, id, retry, data }: EventFields): string {
  let text = "";
  if (retry !== undefined) text += `retry: ${retry}\n`;
  if (id !== undefined) text += `id: ${checkId(id)}\n`;
  if (event !== undefined) text += `event: ${checkName(event)}\n`;
  if (data !== undefined) text += formatData(data);
  return text + "\n";
}

/** Formats an event, or data alone, of an application's iterable. */
export function formatItem(item: unknown, encoding: DataEncoding): string {
  if (!isEvent(item)) return formatEvent({ data: encodeData(item, encoding) });
  const { data, event, id, retry } = item;
  checkText(event, "event");
  checkText(id, "id");
  return formatEvent({
    event,
    id,
    retry: retry === undefined ? undefined : toRetry(retry),
    data: data === undefined ? undefined : encodeData(data, encoding),
  });
}

export function encodeData(data: unknown, encoding: DataEncoding): string {
  return typeof data === "string" && encoding === "text" ? data : stringify(data);
}

/** Clients remove one space after the colon, so there must always be one. */
function formatData(data: string): string {
  if (!LINE_END.test(data)) return `data: ${data}\n`;
  return data.split(LINE_END).map((line) => `data: ${line}\n`).join("");
}

function checkId(id: string): string {
  if (id.isWellFormed() && !UNFIT_ID.test(id)) return id;
  throw new TypeError(
    "Cannot send the event: its id must be one line without control characters, and without spaces at its ends",
  );
}

function checkName(name: string): string {
  if (!LINE_END.test(name)) return name;
  throw new TypeError("Cannot send the event: its name must be one line");
}

function checkText(value: unknown, field: "event" | "id"): void {
  if (value === undefined || typeof value === "string") return;
  throw new TypeError(
    `Cannot send the event: its ${field} must be a string, got ${typeof value}; wrap data in { data: … }`,
  );
}
