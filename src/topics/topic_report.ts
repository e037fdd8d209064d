/** What a store holds of its topics, for operators: how much, how old, and how far behind a reader is. */
import { isSameEpoch, toId, toPlace } from "./message_id.ts";
import { type Cursor, LOG_START, type LogBounds, type LogRef, type ReadLimits, type TopicStore } from "./store.ts";
import { checkId } from "./subscription.ts";

/** What the store holds of a durable topic. */
export interface TopicReport {
  /** The name of the topic. */
  readonly name: string;
  /** How many messages are kept. */
  readonly messages: number;
  /** How many bytes of JSON they have. */
  readonly bytes: number;
  /** When the oldest of them was stored. */
  readonly oldest: Date | undefined;
  /** When the newest of them was stored. */
  readonly newest: Date | undefined;
  /** The id of the newest message, and on an empty topic the id to resume from. */
  readonly head: string;
  /** What is kept, as it was declared by whoever published last: milliseconds, messages and bytes; `Infinity` without a bound. */
  readonly retention: { readonly age: number; readonly count: number; readonly bytes: number };
  /** How far behind a reader is that has come to the id that was asked for, where that is one of this topic. */
  readonly lag: TopicLag | undefined;
}

/** How far behind a reader is. */
export interface TopicLag {
  /** How many of the messages that are kept it has not read. */
  readonly messages: number;
  /** Why it would be told of a gap: messages are missing between its own and the oldest that is kept, or the topic was set back. */
  readonly gap: "retention" | "ahead" | undefined;
}

const LIMITS: ReadLimits = { maxMessages: 1_000, maxBytes: 1024 * 1024 };

/**
 * Looks at all topics of a store, by their names. It reads all that they keep.
 *
 * @param store The store.
 * @param after The id that a reader has come to.
 * @throws {SyntaxError} When the id is none.
 * @throws {TypeError} When the store cannot list its logs.
 */
export async function reportTopics(store: TopicStore, after: string | undefined): Promise<TopicReport[]> {
  if (after !== undefined) checkId(after);
  if (store.list === undefined) throw new TypeError("Cannot list the topics: their store has no list()");
  const reports: TopicReport[] = [];
  for (const log of await store.list()) reports.push(await reportTopic(store, log, after));
  return reports.sort((one, other) => one.name < other.name ? -1 : 1);
}

async function reportTopic(store: TopicStore, log: LogRef, after: string | undefined): Promise<TopicReport> {
  const counts = { messages: 0, bytes: 0, behind: 0 };
  const place = after === undefined ? LOG_START : toPlace(after).cursor;
  let [oldest, newest]: (number | undefined)[] = [];
  let bounds: LogBounds | undefined;
  for (let from: Cursor = LOG_START;;) {
    const page = await store.read(log, from, LIMITS);
    // What is too old is told of by the page that has passed over it.
    const low = bounds && bounds.low > page.low ? bounds.low : page.low;
    bounds = { epoch: page.epoch, low, head: page.head };
    for (const { cursor, bytes, time } of page.messages) {
      oldest ??= time;
      newest = time;
      counts.messages++;
      counts.bytes += bytes;
      if (cursor > place) counts.behind++;
      from = cursor;
    }
    if (page.messages.length === 0) break;
  }
  const { age, count, bytes } = log.policy;
  const head = toId(bounds.epoch, bounds.head);
  return {
    name: log.name,
    messages: counts.messages,
    bytes: counts.bytes,
    oldest: toDate(oldest),
    newest: toDate(newest),
    head,
    retention: { age, count, bytes },
    lag: after !== undefined && isSameEpoch(after, head)
      ? { messages: counts.behind, gap: gapOf(place, bounds) }
      : undefined,
  };
}

function gapOf(place: Cursor, { low, head }: LogBounds): TopicLag["gap"] {
  if (place > head) return "ahead";
  return place < low ? "retention" : undefined;
}

function toDate(time: number | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time);
}
