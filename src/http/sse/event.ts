/** Writes server-sent events as text: HTML Living Standard, section 9.2. */
import { stringify } from "../json.ts";
import type { Chunk } from "../pull_stream.ts";
import { type DataEncoding, isEvent, toRetry } from "./sse.ts";

/** The fields of one event. `retry` is in milliseconds. A field that is undefined is not sent. */
interface EventFields {
  readonly event?: string | undefined;
  /** What the client resumes after. */
  readonly id?: string | undefined;
  readonly retry?: number | undefined;
  /** The data, in any number of lines. Without it the client only notes the other fields. */
  readonly data?: string | undefined;
}

/** A comment, which clients ignore. */
export const COMMENT = ":\n\n";

/** Clients end a line at each of these. */
const LINE_END = /\r\n|\r|\n/;

/**
 * Characters that an id cannot have. It comes back in a header, which has no control characters and
 * is trimmed. Clients ignore an id with a NUL.
 */
// deno-lint-ignore no-control-regex
const UNFIT_ID = /[\x00-\x1f\x7f]|^ | $/;

const encoder = new TextEncoder();

export function toChunk(text: string): Chunk {
  return encoder.encode(text);
}

/** Writes one event. An id that would not come back as it was sent is a `TypeError`. */
export function formatEvent({ event, id, retry, data }: EventFields): string {
  let text = "";
  if (retry !== undefined) text += `retry: ${retry}\n`;
  if (id !== undefined) text += `id: ${checkId(id)}\n`;
  if (event !== undefined) text += `event: ${checkName(event)}\n`;
  if (data !== undefined) text += formatData(data);
  return text + "\n";
}

/** Writes an item of an application's iterable: an event, or data alone. Mistakes are thrown. */
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

/** Writes data. Data without a JSON form is a `TypeError`. */
export function encodeData(data: unknown, encoding: DataEncoding): string {
  return typeof data === "string" && encoding === "text" ? data : stringify(data);
}

/** A client removes one space after the colon, so that there must always be one. */
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
    `Cannot send the event: its ${field} must be a string, got ${typeof value}; write { data: … } around what is data itself`,
  );
}
