import type { Cursor, LogPosition, StoredMessage } from "./store.ts";

/**
 * The ids of messages: the epoch of the log and the message's cursor in it, `3f9a0c21-000000000000000000001f`. Of one epoch, the
 * order of the ids is the order of the messages. Whoever holds one of another epoch has missed what nobody can tell.
 */

const PATTERN = /^[0-9a-f]{8}-[0-9a-f]{22}$/;
const EPOCH_LENGTH = 8;

/** The id of a place in a log. */
export function toId(incarnation: string, cursor: Cursor): string {
  return `${incarnation}-${cursor}`;
}

/** Whether a text has the form of an id. */
export function isId(text: unknown): text is string {
  return typeof text === "string" && PATTERN.test(text);
}

/** The place that an id names. */
export function toPosition(id: string): LogPosition {
  return { incarnation: id.slice(0, EPOCH_LENGTH), cursor: id.slice(EPOCH_LENGTH + 1) };
}

/** Whether two ids are of one life of a log, so that their order means something. */
export function isSameIncarnation(id: string, other: string): boolean {
  return id.startsWith(other.slice(0, EPOCH_LENGTH));
}

/** What a topic carries, and what its readers are told. */

/** A message as readers get it. It is shared by all readers, so that it cannot be changed. */
export interface TopicMessage<Data = unknown> {
  /**
   * The place of the message in its topic: what a reader resumes after. It says nothing else; of two messages of a topic, the
   * later one has the greater text.
   */
  readonly id: string;
  /** The kind of message, where the publisher gave one. It is the event name of server-sent events. */
  readonly type: string | undefined;
  /** What was published, as the topic's schema gave it. */
  readonly data: Data;
  /** When it was stored. */
  readonly time: Date;
}

/**
 * Why messages are missing: `retention`, those after the id to resume from are no longer kept; `slow`, the reader fell so far
 * behind that they are no longer kept; `epoch`, the id is from another life of the topic, such as a process that has ended;
 * `ahead`, the topic has not come as far as the id, because its store was set back.
 */
export type GapReason = "retention" | "slow" | "epoch" | "ahead";

/** Tells a reader that it misses messages. Reading goes on at the oldest message that is kept. */
export interface TopicGap {
  /** What is missing. */
  readonly gap: {
    /** Why messages are missing. */
    readonly reason: GapReason;
    /** The id that the reader had come to. */
    readonly from: string;
    /** The id of the message that comes next; null where none is kept. */
    readonly oldest: string | null;
  };
}

/** What a reader of a topic gets: a message, or word of those that are missing. */
export type TopicEntry<Data = unknown> = TopicMessage<Data> | TopicGap;

/** The data of messages: JSON in the store, so that readers who come later, or by another process, get the same as the first. */

/**
 * How many lists and objects may be inside of one another. Whoever reads a message follows it as far, with what is left of a stack:
 * one that can be published and not be read would stop all readers of its topic.
 */
const MAX_DEPTH = 1_000;

/**
 * The JSON of what is published.
 *
 * @param data What is published.
 * @param topic The name of the topic, for the message.
 * @throws {TypeError} When JSON would drop or change a part of it: readers must not get another value than the one published.
 */
export function encodeData(data: unknown, topic: string): string {
  let json: string | undefined;
  let loss: Loss | undefined;
  try {
    loss = findLoss(data, 0);
    if (!loss) json = JSON.stringify(data);
  } catch (cause) {
    throw new TypeError(
      `Cannot publish to the topic "${topic}": the data has no JSON form, it refers to itself or is nested more than ${MAX_DEPTH} deep`,
      { cause },
    );
  }
  if (json !== undefined) return json;
  const { part, path } = loss ?? { part: typeof data, path: [] };
  const place = path.length === 0 ? "" : ` at "${path.join(".")}"`;
  throw new TypeError(
    `Cannot publish to the topic "${topic}": JSON cannot carry the ${part}${place}, use texts, finite numbers, lists and plain objects`,
  );
}

/** The size of a text in UTF-8. It is counted, since encoding it would make as many bytes to collect again. */
export function countBytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit <= 0x7f) continue;
    bytes += unit > 0x7ff ? 2 : 1;
    // The two halves of a pair have four bytes together; one that is alone is written as U+FFFD, which has three.
    if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) index++;
  }
  return bytes;
}

/** A message as readers get it. */
export function decodeMessage<Data>(stored: StoredMessage, incarnation: string): TopicMessage<Data> {
  return Object.freeze({
    id: toId(incarnation, stored.cursor),
    type: stored.type,
    data: deepFreeze(JSON.parse(stored.data)),
    time: new Date(stored.time),
  });
}

/** A part that JSON would not give back as it was. */
interface Loss {
  readonly part: string;
  readonly path: (string | number)[];
}

function findLoss(value: unknown, depth: number): Loss | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : { part: `number ${value}`, path: [] };
    case "object":
      return value === null ? undefined : findLossWithin(value, depth + 1);
    default:
      return { part: typeof value, path: [] };
  }
}

function findLossWithin(object: object, depth: number): Loss | undefined {
  if (depth > MAX_DEPTH) throw new RangeError("Cannot look at all parts of the data: it is nested too deeply");
  return Array.isArray(object) ? findLossInList(object, depth) : findLossInObject(object, depth);
}

function findLossInList(list: readonly unknown[], depth: number): Loss | undefined {
  for (let index = 0; index < list.length; index++) {
    const loss = findLoss(list[index], depth);
    if (loss) return lossAt(index, loss);
  }
  return undefined;
}

function findLossInObject(object: object, depth: number): Loss | undefined {
  if (!isPlain(object)) return { part: object.constructor?.name || "object", path: [] };
  for (const key of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[key];
    // A property that is undefined is as good as one that is not there.
    const loss = value === undefined ? undefined : findLoss(value, depth);
    if (loss) return lossAt(key, loss);
  }
  return undefined;
}

function lossAt(key: string | number, loss: Loss): Loss {
  loss.path.unshift(key);
  return loss;
}

/** Whether it is what an object literal makes, in this realm or another. */
function isPlain(object: object): boolean {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) return false;
  return typeof Reflect.get(object, "toJSON") !== "function";
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
