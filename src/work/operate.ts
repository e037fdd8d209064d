/** For operators: reports on topics, consumers and crons, and changes of consumers. */
import { log } from "../log/log.ts";
import {
  type Cursor,
  type LogRef,
  type StoredMessage,
  StoreMissingError,
  type TopicStore,
} from "../store/topic_store.ts";
import type { Topics } from "../topics/topics.ts";
import type { Crons } from "./cron/crons.ts";
import { nearest, quote } from "../base/options.ts";
import type { RecordKey, RecordStore } from "../store/record_store.ts";
import { cursorBefore, toId, toPosition } from "../topics/message.ts";
import type { Failure } from "./consumers/failures.ts";
import {
  consumerKey,
  type ConsumerName,
  CONSUMERS,
  type ConsumerState,
  decodeState,
  encodeState,
  failureKey,
  HELD,
  heldCount,
  pageKey,
  type PendingMessage,
  type PendingPage,
  PendingPages,
} from "./consumers/record.ts";
import { PAGE_SIZE } from "./consumers/state_transition.ts";
import type { ConsumerReport, TopicsReport } from "../topics/topic_report.ts";

export type ConsumerAction = "retry" | "remove";

export interface Redelivery {
  readonly redelivered: number;
  /** The ids of messages that are no longer kept. */
  readonly gone: readonly string[];
}

/** How often a write is tried while nodes change the record. */
const MAX_ATTEMPTS = 200;
const MAX_PAUSE = 100;
const MAX_BYTES = 1024 * 1024;
const READ_AT_ONCE = 256;

/** `after` is the id of the last message that a reader has seen. */
export async function reportWork(
  topics: Topics,
  crons: Pick<Crons<never>, "report">,
  after: string | undefined,
): Promise<TopicsReport> {
  try {
    return { topics: await topics.report(after, reportConsumers), crons: await crons.report() };
  } catch (error) {
    // An application that has never started shows what is declared.
    if (!(error instanceof StoreMissingError)) throw error;
    log("warn", error.message);
    return { topics: await topics.reportDeclared(), crons: await crons.report(false) };
  }
}

/** `path` has the names of the topic and the consumer, with a slash between them. */
export async function changeConsumer(
  topics: Topics,
  action: ConsumerAction,
  path: string,
): Promise<Redelivery | void> {
  const store = topics.storeOf(true);
  return await (action === "retry" ? retryFailures(store, path) : removeConsumer(store, path));
}

/**
 * Redelivers the failures whose messages are still kept.
 *
 * @throws {TypeError} If there is no such consumer: the message names the nearest one. If the store
 * cannot list its topics.
 */
export async function retryFailures(store: TopicStore, path: string): Promise<Redelivery> {
  const records = await openRecords(store);
  const consumer = await findConsumer(records, path, "redeliver failures of");
  if (!store.list) {
    throw new TypeError(
      `Cannot redeliver failures of ${quote(path)}: the store cannot list its topics, give it list()`,
    );
  }
  const failures: Failure[] = [];
  const versions = new Map<string, string>();
  for await (const { key, value, version } of records.list(failureKey(consumer))) {
    failures.push(JSON.parse(value));
    versions.set(key.at(-1)!, version);
  }
  const { incarnation, former = [] } = decodeState((await records.get(consumerKey(consumer)))!.value);
  const pending = new Map<Cursor, PendingMessage>();
  const lost: string[] = [];
  for (const { id, key } of failures) {
    const { incarnation: own, cursor: at } = toPosition(id);
    if (own !== incarnation && !former.includes(own)) lost.push(id);
    else pending.set(at, { at, attempt: 1, due: 0, crashCount: 0, node: "", key });
  }
  const log = (await store.list()).find(({ name }) => name === consumer.topic);
  const present = log ? await findPresent(store, log, [...pending.keys()]) : new Set<Cursor>();
  const kept = [...pending.values()].filter(({ at }) => present.has(at));
  await addPages(records, consumer, kept);
  // A message that has failed again meanwhile has another version, and stays.
  for (const [id, version] of versions) await records.delete(failureKey(consumer, id), { expect: version });
  const removed = failures.map(({ id }) => id).filter((id) => !present.has(toPosition(id).cursor));
  const gone = [...new Set([...lost, ...removed])].sort();
  return { redelivered: kept.length, gone };
}

/** Processes that run the consumer begin anew. Throws a `TypeError` with the nearest name. */
export async function removeConsumer(store: TopicStore, path: string): Promise<void> {
  const records = await openRecords(store);
  const consumer = await findConsumer(records, path, "remove");
  await records.delete(consumerKey(consumer), {});
  for (const prefix of [pageKey(consumer), failureKey(consumer)]) {
    const keys: RecordKey[] = [];
    for await (const { key } of records.list(prefix)) keys.push(key);
    for (const key of keys) await records.delete(key, {});
  }
}

async function openRecords(store: TopicStore): Promise<RecordStore> {
  if (store.openRecords) return await store.openRecords();
  throw new TypeError("Cannot look for consumers: the store of topics has no records, give it openRecords()");
}

async function findConsumer(records: RecordStore, path: string, action: string): Promise<ConsumerName> {
  const paths = new Map<string, ConsumerName>();
  for await (const { key: [, topic, name] } of records.list([CONSUMERS])) {
    paths.set(`${topic}/${name}`, { topic: topic!, name: name! });
  }
  const found = paths.get(path);
  if (found) return found;
  const cure = paths.size === 0 ? "there are none yet" : `the nearest is ${quote(nearest(path, [...paths.keys()]))}`;
  throw new TypeError(`Cannot ${action} ${quote(path)}: the store has no such consumer, ${cure}`);
}

async function findPresent(store: TopicStore, log: LogRef, cursors: readonly Cursor[]): Promise<Set<Cursor>> {
  const present = new Set<Cursor>();
  let end = "";
  for (const at of cursors.toSorted()) {
    if (at <= end) continue;
    const limits = { maxMessages: READ_AT_ONCE, maxBytes: MAX_BYTES };
    const { messages } = await store.read(log, cursorBefore(at), limits);
    for (const { cursor } of messages) present.add(cursor);
    end = messages.at(-1)?.cursor ?? at;
  }
  return present;
}

/** Writes the pages before the record refers to them. */
async function addPages(
  records: RecordStore,
  consumer: ConsumerName,
  pending: readonly PendingMessage[],
): Promise<void> {
  const written = new PendingPages(records, consumer);
  const pages: PendingPage[] = [];
  for (let index = 0; index < pending.length; index += PAGE_SIZE) {
    const part = pending.slice(index, index + PAGE_SIZE);
    pages.push({ id: await written.write(part, null), count: part.length, due: 0 });
  }
  const key = consumerKey(consumer);
  const problem = `Cannot redeliver failures of "${consumer.topic}/${consumer.name}"`;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const record = await records.get(key);
    if (record === null) throw new Error(`${problem}: it was removed meanwhile`);
    const state = decodeState(record.value);
    // An earlier write was carried out, and its reply was lost.
    if (state.pages.some(({ id }) => pages.some((page) => page.id === id))) return;
    const changed = encodeState({ ...state, pages: [...state.pages, ...pages] });
    if (await records.set(key, changed, { expect: record.version }) !== null) return;
    await new Promise<void>((resolve) => setTimeout(resolve, Math.random() * MAX_PAUSE));
  }
  throw new Error(`${problem}: others change it all the time, try again`);
}

/** The report without failures: counting them reads all of them. */
export type ConsumerProgress = Omit<ConsumerReport, "failures">;

/** Sorted by name. */
export async function reportConsumers(store: TopicStore, log: LogRef): Promise<ConsumerReport[]> {
  const reports: ConsumerReport[] = [];
  for (const { lost, lastError, ...progress } of await readProgress(store, log)) {
    const records = await store.openRecords!();
    let failures = 0;
    for await (const _failure of records.list(failureKey({ topic: log.name, name: progress.name }))) failures++;
    reports.push({ ...progress, failures, lost, lastError });
  }
  return reports;
}

export async function readProgress(store: TopicStore, log: LogRef): Promise<ConsumerProgress[]> {
  const records = await store.openRecords?.();
  if (records === undefined) return [];
  const found: ConsumerProgress[] = [];
  for await (const { key, value } of records.list([CONSUMERS, log.name])) {
    found.push(await progressOf(key.at(-1)!, decodeState(value), { store, records, log }));
  }
  return found.sort((one, other) => one.name < other.name ? -1 : 1);
}

interface Source {
  readonly store: TopicStore;
  readonly records: RecordStore;
  readonly log: LogRef;
}

async function progressOf(name: string, state: ConsumerState, source: Source): Promise<ConsumerProgress> {
  const { incarnation, next, ranges, pending, lost, lastError } = state;
  const held = ranges.filter((range) => heldCount(range) > 0);
  const waiting = await firstWaiting(name, state, source);
  const places = [next, ...held.map(({ from }) => from), ...waiting.map(cursorBefore)];
  const oldest = await Promise.all([
    readAt(source, next, 0),
    ...held.map(({ from, left }) => readAt(source, from, Math.max(0, left.indexOf(HELD)))),
    ...waiting.map((at) => readAt(source, cursorBefore(at), 0)),
  ]);
  const times = oldest.flatMap((message) => message?.time ?? []);
  const now = source.store.now?.() ?? Date.now();
  return {
    name,
    position: toId(incarnation, places.sort()[0]!),
    lag: times.length === 0 ? 0 : Math.max(0, now - Math.min(...times)),
    inFlight: held.reduce((sum, range) => sum + heldCount(range), 0) + pending.filter(({ node }) => node !== "").length,
    lost,
    lastError,
  };
}

async function firstWaiting(name: string, { pending, pages }: ConsumerState, source: Source): Promise<Cursor[]> {
  const found = pending.slice(0, 1).map(({ at }) => at);
  const stored = new PendingPages(source.records, { topic: source.log.name, name });
  for (const { id } of pages) found.push(...(await stored.read(id)).map(({ at }) => at));
  return found.sort().slice(0, 1);
}

/** Skips so many messages after the position. */
async function readAt({ store, log }: Source, after: Cursor, skipped: number): Promise<StoredMessage | undefined> {
  const { messages } = await store.read(log, after, { maxMessages: skipped + 1, maxBytes: MAX_BYTES });
  return messages.at(-1);
}
