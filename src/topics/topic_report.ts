/** Reports for operators, and those on topics: their messages, and how far behind a reader is. */
import { isSameIncarnation, toId, toPosition } from "./message.ts";
import {
  type Cursor,
  LOG_START,
  type LogBounds,
  type LogRef,
  type ReadLimits,
  type TopicStore,
} from "../store/topic_store.ts";
import { SCHEDULED_LOG } from "./schedule/scheduled_log.ts";
import { countScheduled } from "./schedule/scheduled_records.ts";
import { checkId } from "./subscription.ts";

/**
 * The stored messages of a durable topic, which may have none yet.
 *
 * @category Topics
 */
export interface TopicReport {
  /** The name of the topic. */
  readonly name: string;
  /** How many messages are stored. */
  readonly messages: number;
  /** How many bytes of JSON they have. */
  readonly bytes: number;
  /** When the oldest of them was stored. */
  readonly oldest: Date | undefined;
  /** When the newest of them was stored. */
  readonly newest: Date | undefined;
  /**
   * The id of the newest message; on an empty topic, the id to resume from. Undefined if the store
   * does not know the topic yet.
   */
  readonly head: string | undefined;
  /**
   * In milliseconds, messages and bytes; `Infinity` for no bound. It is the declaration of the last
   * process that began to publish.
   */
  readonly retention: { readonly age: number; readonly count: number; readonly bytes: number };
  /** How far behind a reader at the given id is; undefined if the id is not of this topic. */
  readonly lag: TopicLag | undefined;
  /**
   * Why not all messages could be read: a later version of the framework has written them. The
   * counts are of the messages before those, and `lag` is undefined.
   */
  readonly failure: string | undefined;
  /** How many messages are scheduled: published later. They are not among `messages`. */
  readonly scheduled: number;
  /** Sorted by name; also those that no process runs at present. */
  readonly consumers: readonly ConsumerReport[];
}

/**
 * The progress of a consumer.
 *
 * @category Topics
 */
export interface ConsumerReport {
  /** The name of its topic. */
  readonly topic: string;
  /** The name of the consumer. */
  readonly name: string;
  /** All messages up to this id are done; empty if nothing is known of it yet. */
  readonly position: string;
  /** The age of the oldest message that is not done, in milliseconds; 0 if all are done. */
  readonly lag: number;
  /** How many messages processes handle or are about to handle. The newest may be missing. */
  readonly inFlight: number;
  /** How many messages were given up and can be retried by `webfw topics --retry`. */
  readonly failures: number;
  /**
   * How many messages were removed before they were done, as far as that is known: messages that no
   * process had seen, and that are removed together, count as one.
   */
  readonly lost: number;
  /** The last error of a handler, if there was any. */
  readonly lastError: string | undefined;
  /** Since when it is paused; undefined if it is not. */
  readonly paused: Date | undefined;
}

/**
 * How far behind a reader is.
 *
 * @ignore
 */
export interface TopicLag {
  /** How many of the stored messages the reader has not read. */
  readonly messages: number;
  /** The gap that the reader would get. */
  readonly gap: "retention" | "ahead" | undefined;
}

/**
 * A cron of the application, and its last runs on all nodes.
 *
 * @category Cron
 */
export interface CronReport {
  /** Its name, the same on all nodes. */
  readonly name: string;
  /** The cron expression. */
  readonly schedule: string;
  /** Its time zone. */
  readonly timeZone: string;
  /** When it runs next. */
  readonly next: Date;
  /** The run in progress; undefined if there is none. */
  readonly running: { readonly scheduled: Date; readonly began: Date } | undefined;
  /** The run that ended last; undefined if there is none. */
  readonly last: { readonly scheduled: Date; readonly began: Date; readonly ended: Date } | undefined;
  /** The last ten runs that ended, the newest last; `error` is undefined for a success. */
  readonly recent: readonly {
    readonly scheduled: Date;
    readonly began: Date;
    readonly ended: Date;
    readonly error: string | undefined;
  }[];
  /** How many runs have ended. */
  readonly runs: number;
  /** How many of them failed. */
  readonly failures: number;
  /** How many times were skipped, because the previous run was still in progress. */
  readonly skipped: number;
  /** The last error, and when it was thrown; undefined if there is none. */
  readonly lastError: { readonly at: Date; readonly error: string } | undefined;
}

/**
 * The topics, consumers and crons of an application.
 *
 * @category Topics
 */
export interface TopicsReport {
  /** The durable topics in the store. */
  readonly topics: readonly TopicReport[];
  /** The crons of the application. */
  readonly crons: readonly CronReport[];
}

interface Tally {
  messages: number;
  bytes: number;
  behind: number;
  oldest?: number;
  newest?: number;
  bounds?: LogBounds;
}

type ReportConsumers = (store: TopicStore, log: LogRef) => Promise<readonly ConsumerReport[]>;

const LIMITS: ReadLimits = { maxMessages: 1_000, maxBytes: 1024 * 1024 };

/**
 * Reports on all topics of a store, and on declared ones that it does not know yet, sorted by name.
 * A topic that cannot be read does not stop the report.
 *
 * @throws {SyntaxError} If `after`, the position of a reader, is no id.
 * @throws {TypeError} If the store cannot list its logs.
 */
export async function reportTopics(
  store: TopicStore,
  after: string | undefined,
  reportConsumers: ReportConsumers = async () => [],
  declared: readonly LogRef[] = [],
): Promise<TopicReport[]> {
  if (after !== undefined) checkId(after);
  if (store.list === undefined) throw new TypeError("Cannot list the topics: their store has no list()");
  const logs = (await store.list()).filter(({ name }) => name !== SCHEDULED_LOG.name);
  const known = new Set(logs.map(({ name }) => name));
  const reports = await reportLogs(store, logs, after, reportConsumers);
  for (const log of declared.filter(({ name }) => !known.has(name))) {
    // A consumer has a record before the first message.
    const scheduled = await scheduledOf(store, log);
    reports.push({ ...emptyReport(log), scheduled, consumers: await reportConsumers(store, log) });
  }
  return sortByName(reports);
}

export async function reportLogs(
  store: TopicStore,
  logs: readonly LogRef[],
  after: string | undefined,
  reportConsumers: ReportConsumers,
): Promise<TopicReport[]> {
  const reports: TopicReport[] = [];
  for (const log of logs) {
    const consumers = await reportConsumers(store, log);
    reports.push({ ...await reportTopic(store, log, after), consumers });
  }
  return sortByName(reports);
}

/** The report if there is no store yet. */
export function reportDeclared(
  topics: readonly LogRef[],
  consumers: readonly { readonly name: string; readonly log: LogRef }[],
): TopicReport[] {
  return sortByName(topics.map((topic) => ({
    ...emptyReport(topic),
    consumers: consumers.filter(({ log }) => log.name === topic.name)
      .map(({ name }) => emptyConsumerReport(topic.name, name))
      .sort((one, other) => one.name < other.name ? -1 : 1),
  })));
}

/** The report on a consumer that has never started. */
export function emptyConsumerReport(topic: string, name: string): ConsumerReport {
  const counts = { lag: 0, inFlight: 0, failures: 0, lost: 0 };
  return { topic, name, position: "", ...counts, lastError: undefined, paused: undefined };
}

function sortByName(reports: readonly TopicReport[]): TopicReport[] {
  return reports.toSorted((one, other) => one.name < other.name ? -1 : 1);
}

function emptyReport({ name, policy: { age, count, bytes } }: LogRef): Omit<TopicReport, "consumers"> {
  return {
    ...{ name, messages: 0, bytes: 0, oldest: undefined, newest: undefined, head: undefined },
    ...{ retention: { age, count, bytes }, lag: undefined, failure: undefined, scheduled: 0 },
  };
}

async function reportTopic(
  store: TopicStore,
  log: LogRef,
  after: string | undefined,
): Promise<Omit<TopicReport, "consumers">> {
  const tally: Tally = { messages: 0, bytes: 0, behind: 0 };
  const position = after === undefined ? LOG_START : toPosition(after).cursor;
  const failure = await countMessages(tally, store, log, position).then(() => undefined, toFailure);
  const bounds = tally.bounds ?? await store.bounds(log);
  const head = toId(bounds.incarnation, bounds.highWatermark);
  const hasLag = failure === undefined && after !== undefined && isSameIncarnation(after, head);
  const { messages, bytes, oldest, newest, behind } = tally;
  return {
    ...emptyReport(log),
    ...{ messages, bytes, oldest: toDate(oldest), newest: toDate(newest), head, failure },
    scheduled: await scheduledOf(store, log),
    lag: hasLag ? { messages: behind, gap: gapOf(position, bounds) } : undefined,
  };
}

async function scheduledOf(store: TopicStore, { name }: LogRef): Promise<number> {
  const records = await store.openRecords?.();
  return records ? await countScheduled(records, name) : 0;
}

/** Counts messages, and those after a position. */
async function countMessages(tally: Tally, store: TopicStore, log: LogRef, position: Cursor): Promise<void> {
  for (let from: Cursor = LOG_START;;) {
    const page = await store.read(log, from, LIMITS);
    // Only the page that skips expired messages has the low watermark after them.
    const lowWatermark = tally.bounds && tally.bounds.lowWatermark > page.lowWatermark
      ? tally.bounds.lowWatermark
      : page.lowWatermark;
    tally.bounds = { incarnation: page.incarnation, lowWatermark, highWatermark: page.highWatermark };
    for (const { cursor, bytes, time } of page.messages) {
      tally.oldest ??= time;
      tally.newest = time;
      tally.messages++;
      tally.bytes += bytes;
      if (cursor > position) tally.behind++;
      from = cursor;
    }
    if (page.messages.length === 0) return;
  }
}

/** Any other error is of the store, for all logs. */
function toFailure(error: unknown): string {
  if (error instanceof TypeError) return error.message;
  throw error;
}

function gapOf(position: Cursor, { lowWatermark, highWatermark }: LogBounds): TopicLag["gap"] {
  if (position > highWatermark) return "ahead";
  return position < lowWatermark ? "retention" : undefined;
}

function toDate(time: number | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time);
}
