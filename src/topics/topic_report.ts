/** What a store holds of its topics, for operators: how much, how old, and how far behind a reader is. */
import { isSameIncarnation, toId, toPosition } from "./message.ts";
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
  /**
   * Why not all that is kept could be read, where a later version of the framework has written it: what is counted is what comes
   * before that, and how far behind a reader is is not known.
   */
  readonly failure: string | undefined;
}

/** How far behind a reader is. */
export interface TopicLag {
  /** How many of the messages that are kept it has not read. */
  readonly messages: number;
  /** Why it would be told of a gap: messages are missing between its own and the oldest that is kept, or the topic was set back. */
  readonly gap: "retention" | "ahead" | undefined;
}

/** What was counted so far. */
interface Count {
  messages: number;
  bytes: number;
  /** How many come after the place of the reader. */
  behind: number;
  oldest?: number;
  newest?: number;
  bounds?: LogBounds;
}

const LIMITS: ReadLimits = { maxMessages: 1_000, maxBytes: 1024 * 1024 };

/**
 * Looks at all topics of a store, by their names. It reads all that they keep. One that cannot be read does not keep it from the
 * others.
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
  const count: Count = { messages: 0, bytes: 0, behind: 0 };
  const place = after === undefined ? LOG_START : toPosition(after).cursor;
  const failure = await countKept(count, store, log, place).then(() => undefined, toFailure);
  const bounds = count.bounds ?? await store.bounds(log);
  const head = toId(bounds.incarnation, bounds.highWatermark);
  const hasLag = failure === undefined && after !== undefined && isSameIncarnation(after, head);
  const { age, count: most, bytes } = log.policy;
  return {
    name: log.name,
    messages: count.messages,
    bytes: count.bytes,
    oldest: toDate(count.oldest),
    newest: toDate(count.newest),
    head,
    retention: { age, count: most, bytes },
    lag: hasLag ? { messages: count.behind, gap: gapOf(place, bounds) } : undefined,
    failure,
  };
}

/** Counts what is kept of a log, and what of it comes after a place. */
async function countKept(count: Count, store: TopicStore, log: LogRef, place: Cursor): Promise<void> {
  for (let from: Cursor = LOG_START;;) {
    const page = await store.read(log, from, LIMITS);
    // What is too old is told of by the page that has passed over it.
    const lowWatermark = count.bounds && count.bounds.lowWatermark > page.lowWatermark
      ? count.bounds.lowWatermark
      : page.lowWatermark;
    count.bounds = { incarnation: page.incarnation, lowWatermark, highWatermark: page.highWatermark };
    for (const { cursor, bytes, time } of page.messages) {
      count.oldest ??= time;
      count.newest = time;
      count.messages++;
      count.bytes += bytes;
      if (cursor > place) count.behind++;
      from = cursor;
    }
    if (page.messages.length === 0) return;
  }
}

/** What is told of a log that cannot be read. What else fails is the store, for all logs. */
function toFailure(error: unknown): string {
  if (error instanceof TypeError) return error.message;
  throw error;
}

function gapOf(place: Cursor, { lowWatermark, highWatermark }: LogBounds): TopicLag["gap"] {
  if (place > highWatermark) return "ahead";
  return place < lowWatermark ? "retention" : undefined;
}

function toDate(time: number | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time);
}
