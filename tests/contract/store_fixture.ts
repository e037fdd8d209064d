import {
  type AppendOptions,
  type AppendResult,
  type Cursor,
  LOG_START,
  type LogBounds,
  type LogPolicy,
  type LogRef,
  type ReadLimits,
  type StoredMessage,
  toGeneratedId,
  type TopicStore,
} from "../../src/store/topic_store.ts";
import type { PublishedMessage } from "../../src/topics/publisher.ts";
import type { Clock } from "./clock.ts";

/** A kind of store, for the suites that all stores must pass. */
export interface StoreKind {
  /** Its name, for the titles of the tests. */
  readonly name: string;
  /** Whether its stores cannot take the clock of a test. Tests that set it are left out then. */
  readonly hasOwnClock?: boolean;
  /** Whether its stores count more than the data towards `bytes`, so that small bounds cannot be tested. */
  readonly countsMore?: boolean;
  /**
   * Prepares empty storage.
   *
   * @param now The clock of the stores that can take it.
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

/** A message with some data. Without an id, it gets a generated one. */
export function messageOf(data: unknown, id?: string, type?: string): PublishedMessage {
  const json = JSON.stringify(data);
  return { id, type, data: json, bytes: new TextEncoder().encode(json).length };
}

/** Where a batch is in the session of its publisher, and a signal to abandon it. */
export interface BatchOptions extends AppendOptions {
  /** The session; a new one unless given. */
  readonly session?: string;
  /** The sequence number of the first message; 0 unless given. */
  readonly sequence?: number;
}

/** Appends a batch, as publishers do. */
export async function append(
  store: TopicStore,
  log: LogRef,
  messages: readonly PublishedMessage[],
  { session = crypto.randomUUID(), sequence = 0, ...options }: BatchOptions = {},
): Promise<AppendResult> {
  const batch = messages.map(({ id, ...message }, index) => {
    return { ...message, id: id ?? toGeneratedId(session, sequence + index), isGenerated: id === undefined };
  });
  return await store.append(log, batch, options);
}

/** Removes what is not kept, where the store does not do so with each call. */
export async function trim(store: TopicStore, log: LogRef): Promise<LogBounds> {
  return await (store.trim ? store.trim(log) : store.bounds(log));
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
