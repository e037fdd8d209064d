import { type Duration, toMilliseconds } from "../../duration.ts";
import { quote } from "../../options.ts";
import type { Mistake } from "../../schema/schema.ts";
import { stringify } from "../json.ts";

/** The text of server-sent events as it goes over the wire: HTML Living Standard, section 9.2. */

/** The fields of one event. What is left out is not sent. */
export interface EventFields {
  /** The name of the event. */
  readonly event?: string | undefined;
  /** What the client resumes after. */
  readonly id?: string | undefined;
  /** How long the client waits before it connects again, in milliseconds. */
  readonly retry?: number | undefined;
  /** The data, of any number of lines. Without it the client notes the other fields, and tells nobody. */
  readonly data?: string | undefined;
}

/** A comment, which clients leave aside. */
export const COMMENT = ":\n\n";

/** Any of the three ends a line for the client, so that data is parted at each of them. */
const LINE_END = /\r\n|\r|\n/;

/** An id comes back in a header, which carries no control characters and is trimmed; a client drops one with a NUL. */
// deno-lint-ignore no-control-regex
const UNFIT_ID = /[\x00-\x1f\x7f]|^ | $/;

/**
 * The text of one event.
 *
 * @throws {TypeError} When the id would not come back as it was sent, or the name is more than a line.
 */
export function toFrame({ event, id, retry, data }: EventFields): string {
  let frame = "";
  if (retry !== undefined) frame += `retry: ${retry}\n`;
  if (id !== undefined) frame += `id: ${checkId(id)}\n`;
  if (event !== undefined) frame += `event: ${checkName(event)}\n`;
  if (data !== undefined) frame += toDataLines(data);
  return frame + "\n";
}

/** A client takes one space after the colon away: it is always there, so that none of the data's own goes. */
function toDataLines(data: string): string {
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

/** What an application sends as an event, and how it is told from data. */

/**
 * An event with more than data. In what is given to `SSE()`, an object is an event if it has `data` and no other keys than these;
 * anything else is data. Data of that form is sent inside of an event: `{ data: { id: 1, data: "…" } }`.
 */
export interface ServerSentEvent<Data = unknown> {
  /** The data, as JSON. With undefined nothing is dispatched to the page: the client only notes the id and `retry`. */
  readonly data: Data;
  /** The name of the event: what the page listens to. `message` unless given. */
  readonly event?: string | undefined;
  /** What the client sends as `Last-Event-ID` when it comes back. Without it, that of an earlier event stays. */
  readonly id?: string | undefined;
  /** How long the client is to wait before it connects again. */
  readonly retry?: Duration | undefined;
}

/** How data becomes text: JSON, strings too; or strings as they are, and JSON for the rest. */
export type DataEncoding = "json" | "text";

/** Finds items that would be taken for events, but have a field that no event can have. */
export type Misread<Item> = Item extends { readonly data: unknown }
  ? keyof Item extends keyof ServerSentEvent
    ? Item extends ServerSentEvent ? never : Mistake<"An event's id and name are strings. Send data as { data: … }">
  : never
  : never;

const KEYS: ReadonlySet<string> = new Set<keyof ServerSentEvent>(["data", "event", "id", "retry"]);

/**
 * The text of what an application gave: of an event, or of data.
 *
 * @throws {TypeError} When a field is none that an event can have, or the data has no JSON form.
 * @throws {RangeError} When `retry` is no length of time.
 */
export function toEventFrame(item: unknown, encoding: DataEncoding): string {
  if (!isEvent(item)) return toFrame({ data: toData(item, encoding) });
  const { data, event, id, retry } = item;
  checkText(event, "event");
  checkText(id, "id");
  return toFrame({
    event,
    id,
    retry: retry === undefined ? undefined : toRetry(retry),
    data: data === undefined ? undefined : toData(data, encoding),
  });
}

/**
 * The text of data.
 *
 * @throws {TypeError} When it has no JSON form.
 */
export function toData(data: unknown, encoding: DataEncoding): string {
  return typeof data === "string" && encoding === "text" ? data : stringify(data);
}

/**
 * The value of a `retry` field: whole milliseconds.
 *
 * @throws {RangeError} When it is no length of time.
 */
export function toRetry(retry: Duration): number {
  const ms = toMilliseconds(retry, "retry");
  if (Number.isSafeInteger(ms)) return ms;
  throw new RangeError(`Cannot set retry: it must be a length of time that clients can wait, got ${quote(retry)}`);
}

function isEvent(item: unknown): item is ServerSentEvent {
  return typeof item === "object" && item !== null && Object.hasOwn(item, "data") &&
    Object.keys(item).every((key) => KEYS.has(key));
}

function checkText(value: unknown, field: "event" | "id"): void {
  if (value === undefined || typeof value === "string") return;
  throw new TypeError(
    `Cannot send the event: its ${field} must be a string, got ${typeof value}; write { data: … } around what is data itself`,
  );
}
