/** For operators: reports on topics, consumers and crons, and changes of consumers. */
import { log } from "../log/log.ts";
import {
  type Cursor,
  type LogRef,
  type StoredMessage,
  StoreMissingError,
  type TopicStore,
} from "../store/topic_store.ts";
import type { DeclaredConsumer } from "../topics/consume_options.ts";
import type { Redelivery } from "../topics/consumers.ts";
import type { Topics } from "../topics/topics.ts";
import type { Crons } from "./cron/crons.ts";
import { nearest, quote } from "../base/options.ts";
import type { RecordKey, RecordStore } from "../store/record_store.ts";
import { cursorBefore, toId, toPosition } from "../topics/message.ts";
import { announceChange } from "./consumers/change_watch.ts";
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
  newState,
  pageKey,
  type PendingMessage,
  type PendingPage,
  PendingPages,
} from "./consumers/record.ts";
import { PAGE_SIZE } from "./consumers/state_transition.ts";
import type { ConsumerReport, TopicsReport } from "../topics/topic_report.ts";

/** How often a write is tried while nodes change the record. */
const MAX_ATTEMPTS = 200;
const MAX_PAUSE = 100;
const MAX_BYTES = 1024 * 1024;
const READ_AT_ONCE = 256;
/** The record of the operator that handles the failures of a consumer. */
const OPERATORS = "operators";
/** How long an operator that was killed keeps others waiting, in milliseconds. */
const HOLD = 30_000;

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

/** A consumer and its store. */
export interface Place {
  readonly store: TopicStore;
  readonly records: RecordStore;
  readonly consumer: ConsumerName;
  /** Undefined if only other applications have it. */
  readonly declared: DeclaredConsumer | undefined;
}

/**
 * Finds a consumer of the application, or one in the store of its durable topics.
 *
 * @param path The names of the topic and the consumer, with a slash between them.
 * @throws {TypeError} If there is none, with the nearest name, or it is in another process.
 */
export async function findConsumer(topics: Topics, path: string, action: string): Promise<Place> {
  const problem = `Cannot ${action} ${quote(path)}`;
  if (typeof path !== "string") {
    throw new TypeError(`${problem}: a consumer has a name such as "orders/mail", of its topic and its own`);
  }
  const declared = topics.consumers.find((consumer) => pathOf(nameOf(consumer)) === path);
  if (declared) {
    const store = topics.openStoreOf(declared.isDurable);
    if (store) return { store, records: await openRecords(store), consumer: nameOf(declared), declared };
    throw new TypeError(`${problem}: its topic is in memory, which only the process that runs it can reach`);
  }
  const names = topics.consumers.map((consumer) => pathOf(nameOf(consumer)));
  const store = topics.durableStore;
  const stored = store ? await findStored(store) : [];
  const found = stored.find((place) => pathOf(place.consumer) === path);
  if (found) return found;
  names.push(...stored.map(({ consumer }) => pathOf(consumer)));
  const cure = names.length === 0 ? "there are none yet" : `the nearest is ${quote(nearest(path, names))}`;
  throw new TypeError(`${problem}: the store has no such consumer, ${cure}`);
}

/** The consumers that a store has. */
export async function findStored(store: TopicStore): Promise<Place[]> {
  const records = await openRecords(store);
  const found: Place[] = [];
  for await (const { key: [, topic, name] } of records.list([CONSUMERS])) {
    found.push({ store, records, consumer: { topic: topic!, name: name! }, declared: undefined });
  }
  return found;
}

function nameOf({ log, name }: DeclaredConsumer): ConsumerName {
  return { topic: log.name, name };
}

export function pathOf({ topic, name }: ConsumerName): string {
  return `${topic}/${name}`;
}

async function openRecords(store: TopicStore): Promise<RecordStore> {
  if (store.openRecords) return await store.openRecords();
  throw new TypeError("Cannot look for consumers: the store of topics has no records, give it openRecords()");
}

/** A consumer that has never started begins paused. */
export async function pauseConsumer(place: Place): Promise<void> {
  const { store, declared } = place;
  const since = Math.round(store.now?.() ?? Date.now());
  await changeState(place, "pause", (state) => state.paused === undefined ? { ...state, paused: since } : undefined, {
    create: async () => {
      if (!declared) return undefined;
      const { incarnation, lowWatermark, highWatermark } = await store.bounds(declared.log);
      return newState(incarnation, declared.options.from === "now" ? highWatermark : lowWatermark);
    },
  });
}

export async function resumeConsumer(place: Place): Promise<void> {
  await changeState(place, "resume", (state) => {
    const { paused, ...resumed } = state;
    return paused === undefined ? undefined : resumed;
  });
}

export interface Change {
  /** The state if there is no record; undefined if none is to be made. */
  readonly create?: () => Promise<ConsumerState | undefined>;
}

/**
 * Changes the record by compare and set, and notifies the nodes.
 *
 * @param change Undefined for no change: also if an earlier write was made whose reply was lost.
 */
export async function changeState(
  { records, consumer }: Place,
  action: string,
  change: (state: ConsumerState) => ConsumerState | undefined,
  { create }: Change = {},
): Promise<void> {
  const key = consumerKey(consumer);
  const problem = `Cannot ${action} ${quote(pathOf(consumer))}`;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const record = await records.get(key);
    const state = record ? decodeState(record.value) : await create?.();
    if (state === undefined) return;
    const changed = change(state);
    if (changed === undefined) return;
    if (await records.set(key, encodeState(changed), { expect: record?.version ?? null }) !== null) {
      return await announceChange(records);
    }
    await new Promise<void>((resolve) => setTimeout(resolve, Math.random() * MAX_PAUSE));
  }
  throw new Error(`${problem}: others change it all the time, try again`);
}

/** Waits for other operators: two at once would redeliver each failure twice. */
async function alone<Result>({ records, consumer }: Place, work: () => Promise<Result>): Promise<Result> {
  const key = [OPERATORS, consumer.topic, consumer.name];
  const hold = (expect: string | null) => records.set(key, "true", { expect, expiresIn: HOLD });
  const deadline = performance.now() + 2 * HOLD;
  let version = await hold(null);
  while (version === null) {
    if (performance.now() > deadline) {
      throw new Error(`Cannot change the failures of ${quote(pathOf(consumer))}: another operator does, try again`);
    }
    await new Promise<void>((resolve) => setTimeout(resolve, Math.random() * MAX_PAUSE));
    version = await hold(null);
  }
  let renewed: Promise<string | null> = Promise.resolve(version);
  const renew = () => renewed = renewed.then((held) => held === null ? null : hold(held)).catch(() => null);
  const timer = setInterval(renew, HOLD / 3);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    const held = await renewed;
    // It expires in any case.
    if (held !== null) await records.delete(key, { expect: held }).catch(() => {});
  }
}

/**
 * Redelivers the failures whose messages are still kept.
 *
 * @param ids By default all.
 * @throws {TypeError} If the store cannot list its topics.
 */
export function retryFailures(place: Place, ids?: ReadonlySet<string>): Promise<Redelivery> {
  return alone(place, () => redeliver(place, ids));
}

async function redeliver(place: Place, ids?: ReadonlySet<string>): Promise<Redelivery> {
  const { store, records, consumer } = place;
  const record = await records.get(consumerKey(consumer));
  if (record === null) return { redelivered: 0, gone: [] };
  const log = await findLog(place);
  const failures: Failure[] = [];
  const versions = new Map<string, string>();
  for await (const { key, value, version } of records.list(failureKey(consumer))) {
    const id = key.at(-1)!;
    if (ids && !ids.has(id)) continue;
    failures.push(JSON.parse(value));
    versions.set(id, version);
  }
  const { incarnation, former = [] } = decodeState(record.value);
  const pending = new Map<Cursor, PendingMessage>();
  const lost: string[] = [];
  for (const { id, key } of failures) {
    const { incarnation: own, cursor: at } = toPosition(id);
    if (own !== incarnation && !former.includes(own)) lost.push(id);
    else pending.set(at, { at, attempt: 1, due: 0, crashCount: 0, node: "", key });
  }
  const present = log ? await findPresent(store, log, [...pending.keys()]) : new Map<Cursor, StoredMessage>();
  const kept = [...pending.values()].filter(({ at }) => present.has(at));
  await addPages(place, kept);
  // A message that has failed again meanwhile has another version, and stays.
  for (const [id, version] of versions) await records.delete(failureKey(consumer, id), { expect: version });
  const removed = failures.map(({ id }) => id).filter((id) => !present.has(toPosition(id).cursor));
  const gone = [...new Set([...lost, ...removed])].sort();
  return { redelivered: kept.length, gone };
}

/** Undefined if it has no message yet. */
async function findLog({ store, consumer, declared }: Place): Promise<LogRef | undefined> {
  if (declared) return declared.log;
  if (store.list) return (await store.list()).find(({ name }) => name === consumer.topic);
  throw new TypeError(
    `Cannot redeliver failures of ${quote(pathOf(consumer))}: the store cannot list its topics, give it list()`,
  );
}

/** Returns how many failures there were. */
export function discardFailures(place: Place, ids?: ReadonlySet<string>): Promise<number> {
  const { records, consumer } = place;
  return alone(place, async () => {
    const found: string[] = [];
    for await (const { key } of records.list(failureKey(consumer))) {
      const id = key.at(-1)!;
      if (!ids || ids.has(id)) found.push(id);
    }
    for (const id of found) await records.delete(failureKey(consumer, id), {});
    return found.length;
  });
}

/** Processes that run the consumer begin anew. */
export async function removeConsumer({ records, consumer }: Place): Promise<void> {
  await records.delete(consumerKey(consumer), {});
  for (const prefix of [pageKey(consumer), failureKey(consumer)]) {
    const keys: RecordKey[] = [];
    for await (const { key } of records.list(prefix)) keys.push(key);
    for (const key of keys) await records.delete(key, {});
  }
  await announceChange(records);
}

/** Those of the messages that a log still has. */
export async function findPresent(
  store: TopicStore,
  log: LogRef,
  cursors: readonly Cursor[],
): Promise<Map<Cursor, StoredMessage>> {
  const present = new Map<Cursor, StoredMessage>();
  const wanted = new Set(cursors);
  let end = "";
  for (const at of cursors.toSorted()) {
    if (at <= end) continue;
    const limits = { maxMessages: READ_AT_ONCE, maxBytes: MAX_BYTES };
    const { messages } = await store.read(log, cursorBefore(at), limits);
    for (const message of messages) if (wanted.has(message.cursor)) present.set(message.cursor, message);
    end = messages.at(-1)?.cursor ?? at;
  }
  return present;
}

/** The record must refer to them, or they must be deleted. */
export async function writePages(
  { records, consumer }: Place,
  pending: readonly PendingMessage[],
): Promise<PendingPage[]> {
  const written = new PendingPages(records, consumer);
  const pages: PendingPage[] = [];
  for (let index = 0; index < pending.length; index += PAGE_SIZE) {
    const part = pending.slice(index, index + PAGE_SIZE);
    pages.push({ id: await written.write(part, null), count: part.length, due: 0 });
  }
  return pages;
}

async function addPages(place: Place, pending: readonly PendingMessage[]): Promise<void> {
  if (pending.length === 0) return;
  const pages = await writePages(place, pending);
  await changeState(place, "redeliver failures of", (state) => {
    // An earlier write was carried out, and its reply was lost.
    if (state.pages.some(({ id }) => pages.some((page) => page.id === id))) return undefined;
    return { ...state, pages: [...state.pages, ...pages] };
  });
}

/** The report without failures: counting them reads all of them. */
export type ConsumerProgress = Omit<ConsumerReport, "failures">;

/** The consumers of all topics, sorted by the names of the topics, then their own. */
export async function reportAllConsumers(topics: Topics): Promise<ConsumerReport[]> {
  const reports: ConsumerReport[] = [];
  for (const [log, store] of await topics.logsOfConsumers()) reports.push(...await reportConsumers(store, log));
  return reports;
}

/** Sorted by name. */
export async function reportConsumers(store: TopicStore, log: LogRef): Promise<ConsumerReport[]> {
  const reports: ConsumerReport[] = [];
  for (const { lost, lastError, paused, ...progress } of await readProgress(store, log)) {
    const records = await store.openRecords!();
    let failures = 0;
    for await (const _failure of records.list(failureKey({ topic: log.name, name: progress.name }))) failures++;
    reports.push({ ...progress, failures, lost, lastError, paused });
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
  const { incarnation, next, ranges, pending, lost, lastError, paused } = state;
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
    topic: source.log.name,
    name,
    position: toId(incarnation, places.sort()[0]!),
    lag: times.length === 0 ? 0 : Math.max(0, now - Math.min(...times)),
    inFlight: held.reduce((sum, range) => sum + heldCount(range), 0) + pending.filter(({ node }) => node !== "").length,
    lost,
    lastError,
    paused: paused === undefined ? undefined : new Date(paused),
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
