/** What an application sends as an event, and how it is told from data. */
import { type Duration, toMilliseconds } from "../duration.ts";
import { quote } from "../quote.ts";
import type { Mistake } from "../schema/declared.ts";
import { stringify } from "./json.ts";
import { toFrame } from "./sse_frame.ts";

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
