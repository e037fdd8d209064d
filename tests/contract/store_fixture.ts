import {
  type AppendResult,
  type Cursor,
  LOG_START,
  type LogPolicy,
  type LogRef,
  type NewMessage,
  type ReadLimits,
  type StoredMessage,
  type TopicStore,
} from "../../src/topics/store.ts";
import type { Clock } from "./clock.ts";

/** A kind of store, for the suites that all stores must pass. */
export interface StoreKind {
  /** Its name, for the titles of the tests. */
  readonly name: string;
  /**
   * Prepares empty storage.
   *
   * @param now The clock of the stores.
   */
  prepare(now: () => number): Promise<StoreFixture>;
}

/** Storage that is removed when it is disposed of. */
export interface StoreFixture extends AsyncDisposable {
  /**
   * Opens a store over the data, like another process. It is closed with the fixture, or before.
   */
  open(): TopicStore;
}

/** Two stores over the same data, as of two processes, and their clock. */
export interface StoreNodes {
  readonly one: TopicStore;
  readonly other: TopicStore;
  readonly clock: Clock;
}

/** Registers a test of stores. */
export type StoreTest = (title: string, body: (nodes: StoreNodes) => Promise<void>) => void;

/** Limits that nothing reaches. */
export const ALL: ReadLimits = { maxMessages: 10_000, maxBytes: 100_000_000 };

/** A policy that keeps everything for a minute, except for the given options. */
export function policyOf(policy: Partial<LogPolicy> = {}): LogPolicy {
  return { age: Infinity, count: Infinity, bytes: 1024 * 1024, dedupe: 60_000, ...policy };
}

/** A log of a name and policy. */
export function logOf(name: string, policy?: Partial<LogPolicy>): LogRef {
  return { name, policy: policyOf(policy) };
}

/** A message with some data. */
export function messageOf(data: unknown, id?: string, type?: string): NewMessage {
  const json = JSON.stringify(data);
  return { id, type, data: json, bytes: new TextEncoder().encode(json).length };
}

/** Appends a batch that has not been appended before. */
export function append(store: TopicStore, log: LogRef, messages: readonly NewMessage[]): Promise<AppendResult> {
  return store.append(log, messages, { session: crypto.randomUUID(), sequence: 0 });
}

/** The data of messages. */
export function dataOf(messages: readonly StoredMessage[]): unknown[] {
  return messages.map(({ data }) => JSON.parse(data));
}

/** All messages of a log, however many are read at once. */
export async function readAll(
  store: TopicStore,
  log: LogRef,
  { after = LOG_START, limits = ALL }: { readonly after?: Cursor; readonly limits?: ReadLimits } = {},
): Promise<readonly StoredMessage[]> {
  const messages: StoredMessage[] = [];
  for (;;) {
    const page = await store.read(log, messages.at(-1)?.cursor ?? after, limits);
    if (page.messages.length === 0) return messages;
    messages.push(...page.messages);
  }
}
