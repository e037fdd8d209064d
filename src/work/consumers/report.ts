/** Reports on consumers for operators: what their records say. */
import type { RecordStore } from "../../store/record_store.ts";
import { cursorBefore, toId } from "../../topics/message.ts";
import type { Cursor, LogRef, StoredMessage, TopicStore } from "../../store/topic_store.ts";
import type { ConsumerReport } from "../../topics/topic_report.ts";
import {
  CONSUMERS,
  type ConsumerState,
  decodePage,
  decodeState,
  failureKey,
  heldCount,
  isOpenRange,
  pageKey,
  type Range,
} from "./record.ts";

const MAX_BYTES = 1024 * 1024;

/** How a consumer gets on, but for its failures: all of them are read to count them. */
export type ConsumerProgress = Omit<ConsumerReport, "failures">;

/** The consumers of a log, sorted by name. */
export async function reportConsumers(store: TopicStore, log: LogRef): Promise<ConsumerReport[]> {
  const reports: ConsumerReport[] = [];
  for (const { lost, lastError, ...progress } of await readProgress(store, log)) {
    const failures = await countFailures(progress.name, store, log);
    reports.push({ ...progress, failures, lost, lastError });
  }
  return reports;
}

/** The same without their failures. */
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
  const { incarnation, next, ranges, late, lost, lastError } = state;
  const open = ranges.filter(isOpenRange);
  const waiting = await firstWaiting(name, state, source);
  const places = [next, ...open.map(({ from }) => from), ...waiting.map(cursorBefore)];
  const oldest = await Promise.all([
    readAt(source, next, 0),
    ...open.map((range) => readAt(source, range.from, firstHeld(range))),
    ...waiting.map((at) => readAt(source, cursorBefore(at), 0)),
  ]);
  const times = oldest.flatMap((message) => message?.time ?? []);
  const now = source.store.now?.() ?? Date.now();
  return {
    name,
    position: toId(incarnation, places.sort()[0]!),
    lag: times.length === 0 ? 0 : Math.max(0, now - Math.min(...times)),
    inFlight: open.reduce((sum, range) => sum + heldCount(range), 0) + late.filter(({ node }) => node !== "").length,
    lost,
    lastError,
  };
}

async function countFailures(name: string, store: TopicStore, log: LogRef): Promise<number> {
  const records = await store.openRecords!();
  let count = 0;
  for await (const _failure of records.list(failureKey({ topic: log.name, name }))) count++;
  return count;
}

/** The oldest message that waits by itself, in the record and on each page. */
async function firstWaiting(name: string, { late, pages }: ConsumerState, source: Source): Promise<Cursor[]> {
  const found = late.slice(0, 1).map(({ at }) => at);
  for (const { id } of pages) {
    const page = await source.records.get(pageKey({ topic: source.log.name, name }, id));
    const cursors = page ? decodePage(page.value).map(({ at }) => at) : [];
    found.push(...cursors.sort().slice(0, 1));
  }
  return found.sort().slice(0, 1);
}

/** Which message of a range is the first one that it holds. */
function firstHeld({ done }: Range): number {
  return Math.max(0, done.indexOf("0"));
}

/** The message after a position and so many others. */
async function readAt({ store, log }: Source, place: Cursor, skipped: number): Promise<StoredMessage | undefined> {
  const { messages } = await store.read(log, place, { maxMessages: skipped + 1, maxBytes: MAX_BYTES });
  return messages.at(-1);
}
