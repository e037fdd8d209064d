/** The messages of topics: what readers get, the ids of messages, and their data as JSON. */
import type { Cursor, LogPosition, StoredMessage } from "./store.ts";

/**
 * A message as readers get it. It is frozen, since all readers share it.
 *
 * @category Topics
 */
export interface TopicMessage<Data = unknown> {
  /**
   * The position of the message in its topic, to resume after. Of two messages of a topic, the
   * later one has the greater text. Its format is no promise.
   */
  readonly id: string;
  /** The kind of message, if its publisher gave one. It is the event name of server-sent events. */
  readonly type: string | undefined;
  /** What was published: the output of the topic's schema. */
  readonly data: Data;
  /** When it was stored. */
  readonly time: Date;
}

/**
 * Why messages are missing.
 *
 * - `retention`: the messages after the id to resume from are no longer kept.
 * - `slow`: the reader fell so far behind that its next messages are no longer kept.
 * - `epoch`: the id is of another incarnation of the topic, for example of a process that has
 *   ended.
 * - `ahead`: the id is later than the end of the topic, because its store was set back.
 *
 * @category Topics
 */
export type GapReason = "retention" | "slow" | "epoch" | "ahead";

/**
 * Tells a reader that messages are missing. Reading goes on at the oldest message that is kept.
 *
 * @category Topics
 */
export interface TopicGap {
  /** What is missing. */
  readonly gap: {
    /** Why messages are missing. */
    readonly reason: GapReason;
    /** The id that the reader had come to. */
    readonly from: string;
    /** The id of the next message; null when none is kept. */
    readonly oldest: string | null;
  };
}

/**
 * What a reader of a topic gets: a message, or a gap where messages are missing.
 *
 * @category Topics
 */
export type TopicEntry<Data = unknown> = TopicMessage<Data> | TopicGap;

// An id is the incarnation of the log and a cursor: `3f9a0c21-000000000000000000001f`. In one
// incarnation, ids sort as their messages. Ids of different incarnations cannot be compared.
const ID = /^[0-9a-f]{8}-[0-9a-f]{22}$/;
const INCARNATION_LENGTH = 8;

export function toId(incarnation: string, cursor: Cursor): string {
  return `${incarnation}-${cursor}`;
}

/** Whether a value has the format of an id. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && ID.test(value);
}

export function toPosition(id: string): LogPosition {
  return { incarnation: id.slice(0, INCARNATION_LENGTH), cursor: id.slice(INCARNATION_LENGTH + 1) };
}

/** Whether two ids are of one incarnation, so that they can be compared. */
export function isSameIncarnation(id: string, other: string): boolean {
  return id.startsWith(other.slice(0, INCARNATION_LENGTH));
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

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

/**
 * The size of a text in UTF-8. Encoding the text to measure it would make garbage of the same size.
 */
export function countBytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit <= 0x7f) continue;
    bytes += unit > 0x7ff ? 2 : 1;
    // A surrogate pair has four bytes. A lone surrogate is written as U+FFFD, which has three.
    if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) index++;
  }
  return bytes;
}

/**
 * How deeply lists and objects may be nested. Readers freeze a message by recursion, perhaps with
 * little stack left: a message that can be published and not be read would stop all readers of its
 * topic.
 */
const MAX_DEPTH = 1_000;

/**
 * The JSON of the data of a message.
 *
 * @param data The data.
 * @param topic The name of the topic, for errors.
 * @throws {TypeError} If JSON would drop or change a part of it: readers must get the value that
 * was published.
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
  const location = path.length === 0 ? "" : ` at "${path.join(".")}"`;
  throw new TypeError(
    `Cannot publish to the topic "${topic}": JSON cannot carry the ${part}${location}, use texts, finite numbers, lists and plain objects`,
  );
}

/** A part of the data that JSON would drop or change. */
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
    // A property that is undefined equals one that is not there.
    const loss = value === undefined ? undefined : findLoss(value, depth);
    if (loss) return lossAt(key, loss);
  }
  return undefined;
}

function lossAt(key: string | number, loss: Loss): Loss {
  loss.path.unshift(key);
  return loss;
}

/** Whether an object is like one of an object literal, in this realm or another. */
function isPlain(object: object): boolean {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) return false;
  return typeof Reflect.get(object, "toJSON") !== "function";
}
