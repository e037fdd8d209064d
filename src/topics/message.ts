/** The messages of topics: what readers get, the ids of messages, and their data as JSON. */
import { parseData } from "../base/json_data.ts";
import type { Cursor, LogPosition, StoredMessage } from "../store/topic_store.ts";

/**
 * A message as readers get it. It is frozen, since all readers share it.
 *
 * @category Topics
 */
export interface TopicMessage<Data = unknown> {
  /** The position of the message, to resume after. Later messages have greater strings. */
  readonly id: string;
  /** The kind of message, if its publisher gave one. It is the event name of server-sent events. */
  readonly type: string | undefined;
  /** The output of the topic's schema. */
  readonly data: Data;
  /** When it was stored. */
  readonly time: Date;
}

/**
 * Why messages are missing.
 *
 * - `retention`: the messages after the id to resume from are no longer stored.
 * - `slow`: the reader fell so far behind that its next messages are no longer stored.
 * - `epoch`: the id is of another incarnation of the topic, for example of a process that has
 * ended.
 * - `ahead`: the id is later than the end of the topic, because a backup was restored.
 * - `schema`: the messages are stored, but no longer fit the schema of the topic.
 */
export type GapReason = "retention" | "slow" | "epoch" | "ahead" | "schema";

/**
 * Says that messages are missing. Reading continues at the next message that is stored and fits the
 * schema.
 *
 * @category Topics
 */
export interface TopicGap {
  /** What is missing. */
  readonly gap: {
    /** Why messages are missing. */
    readonly reason: GapReason;
    /** The id up to which the reader has read. */
    readonly from: string;
    /** The id of the next message; null when there is none yet. */
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

export function isId(value: unknown): value is string {
  return typeof value === "string" && ID.test(value);
}

export function toPosition(id: string): LogPosition {
  return { incarnation: id.slice(0, INCARNATION_LENGTH), cursor: id.slice(INCARNATION_LENGTH + 1) };
}

export function cursorBefore(cursor: Cursor): Cursor {
  return (BigInt(`0x${cursor}`) - 1n).toString(16).padStart(cursor.length, "0");
}

export function idBefore(id: string): string {
  const { incarnation, cursor } = toPosition(id);
  return toId(incarnation, cursorBefore(cursor));
}

/** Only such ids can be compared. */
export function isSameIncarnation(id: string, other: string): boolean {
  return id.startsWith(other.slice(0, INCARNATION_LENGTH));
}

/**
 * A message as readers get it.
 *
 * @param data Its data, if the schema of the topic has changed it.
 */
export function decodeMessage<Data>(
  stored: StoredMessage,
  incarnation: string,
  data: unknown = readData(stored.data),
): TopicMessage<Data> {
  return Object.freeze({
    id: toId(incarnation, stored.cursor),
    type: stored.type,
    data: deepFreeze(data as Data),
    time: new Date(stored.time),
  });
}

/** Other programs may have written a text that is no data: then the text itself. */
function readData(json: string): unknown {
  try {
    return parseData(json);
  } catch {
    return json;
  }
}

const misfits = new WeakSet<TopicMessage>();

/** Readers get a gap instead of a message whose data does not fit the schema of its topic. */
export function markMisfit(message: TopicMessage): void {
  misfits.add(message);
}

export function isMisfit(message: TopicMessage | undefined): boolean {
  return message !== undefined && misfits.has(message);
}

/** The longest run from an index on that all fits the schema, or that all does not. */
export function uniformRun<Data>(
  messages: readonly TopicMessage<Data>[],
  begin = 0,
): readonly TopicMessage<Data>[] {
  const isFirstMisfit = isMisfit(messages[begin]);
  let end = begin + 1;
  while (end < messages.length && isMisfit(messages[end]) === isFirstMisfit) end++;
  return begin === 0 && end >= messages.length ? messages : Object.freeze(messages.slice(begin, end));
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
