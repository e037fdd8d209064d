/**
 * The record of a consumer, the single source of truth: which node holds which messages. It changes
 * by compare-and-set only. Other records count when it refers to them.
 */
import type { RecordKey, RecordStore } from "../../store/record_store.ts";
import type { Begun } from "./permits.ts";
import type { Cursor } from "../../store/topic_store.ts";

/** Consecutive messages of the log that a node has claimed together. */
export interface Range {
  readonly node: string;
  /** The position before the first message. */
  readonly from: Cursor;
  /** The position of the last message. */
  to: Cursor;
  count: number;
  /** For each message {@linkcode LEFT} or {@linkcode HELD}; "" if the range still holds all. */
  left: string;
  /** The keys of the held messages, if the consumer has keys. */
  keys?: readonly string[] | undefined;
}

/** A message that its range still holds. */
export const HELD = "0";
/** A message that has left its range: it is done, or pending. */
export const LEFT = "1";

/**
 * A message outside of ranges: it failed, its node crashed, or an earlier one of its key is not
 * done.
 */
export interface PendingMessage {
  readonly at: Cursor;
  /** The next attempt, from 1. */
  attempt: number;
  /** When it may begin, in milliseconds since 1970 on the clock of the store; 0 for at once. */
  due: number;
  /** How many nodes have crashed while they had it. */
  crashCount: number;
  /** The node that holds it; "" while it waits. */
  node: string;
  readonly key?: string | undefined;
  /** The position of its dead letter, if that is redelivered. */
  readonly letter?: Cursor | undefined;
}

/** Pending messages in a record of their own. */
export interface PendingPage {
  readonly id: string;
  readonly count: number;
  /** When the last message is due. */
  readonly due: number;
}

export interface ConsumerState {
  /** The incarnation of the log. */
  incarnation: string;
  /** Incarnations before its store was restored from a backup. */
  former?: readonly string[] | undefined;
  /** All messages up to here were claimed, or are pending. */
  next: Cursor;
  /**
   * The only node that may claim messages after `next`, without recording each claim; "" if every
   * node may, by a write.
   */
  claimer: string;
  /** The heartbeats of nodes that hold something: each write of a node changes its number. */
  nodes: Record<string, number>;
  ranges: Range[];
  /** In the order of the log. */
  pending: PendingMessage[];
  pages: PendingPage[];
  /** How many messages were removed from the log before they were handled, as far as known. */
  lost: number;
  lastError?: string | undefined;
  /** Since when nodes claim no messages, in milliseconds since 1970 on the clock of the store. */
  paused?: number | undefined;
  /** The permits of nodes, if the consumer has a rate. */
  begun?: readonly Begun[] | undefined;
  /** Which dead letters were redelivered, by their topics. */
  redriven?: Readonly<Record<string, Redriven>> | undefined;
}

/** The id of the last dead letter that was redelivered, and a random name of the write. */
export type Redriven = readonly [id: string, write: string];

/** A consumer that has handled nothing. */
export function newState(incarnation: string, next: Cursor): ConsumerState {
  return { incarnation, next, claimer: "", nodes: {}, ranges: [], pending: [], pages: [], lost: 0 };
}

/** They differ, so that a list of consumers has nothing else. */
export const CONSUMERS = "consumers";
const PENDING = "consumers.pending";
const FAILED = "consumers.failed";
/** Written after each change by an operator: see `ChangeWatch`. */
export const CHANGED: RecordKey = ["consumers.changed", "all"];

export interface ConsumerName {
  readonly topic: string;
  readonly name: string;
}

export function consumerKey({ topic, name }: ConsumerName): RecordKey {
  return [CONSUMERS, topic, name];
}

/** Or the prefix of all pages. */
export function pageKey({ topic, name }: ConsumerName, ...id: [] | [id: string]): RecordKey {
  return [PENDING, topic, name, ...id];
}

/** Or the prefix of all failures. */
export function failureKey({ topic, name }: ConsumerName, ...id: [] | [id: string]): RecordKey {
  return [FAILED, topic, name, ...id];
}

/** The node is an index, -1 for none. */
type PackedPending = [
  at: string,
  attempt: number,
  due: number,
  crashCount: number,
  node: number,
  key?: string | null,
  letter?: string,
];

interface PackedState extends Omit<ConsumerState, "next" | "ranges" | "pending" | "pages" | "nodes"> {
  /** The prefix of all cursors. */
  readonly prefix: string;
  readonly next: string;
  readonly nodes: [string, number][];
  readonly ranges: [number, string, string, number, string, (readonly string[])?][];
  readonly pending: PackedPending[];
  readonly pages: [string, number, number][];
}

/** The state as JSON, without property names and long cursors: a record may have 60 KiB. */
export function encodeState(state: ConsumerState): string {
  const { next, nodes, ranges, pending, pages, ...rest } = state;
  const prefix = commonPrefix([next, ...ranges.flatMap(({ from, to }) => [from, to]), ...pending.map(({ at }) => at)]);
  const cut = (cursor: Cursor) => cursor.slice(prefix.length);
  const names = Object.keys(nodes);
  const packed: PackedState = {
    ...rest,
    prefix,
    next: cut(next),
    nodes: Object.entries(nodes),
    ranges: ranges.map(({ node, from, to, count, left, keys }) => {
      return [names.indexOf(node), cut(from), cut(to), count, left, ...(keys ? [keys] : []) as [(readonly string[])?]];
    }),
    pending: packPending(pending, names, cut),
    pages: pages.map(({ id, count, due }) => [id, count, due]),
  };
  return JSON.stringify(packed);
}

export function decodeState(json: string): ConsumerState {
  const { prefix, next, nodes, ranges, pending, pages, ...rest }: PackedState = JSON.parse(json);
  const names = nodes.map(([name]) => name);
  return {
    ...rest,
    next: prefix + next,
    nodes: Object.fromEntries(nodes),
    ranges: ranges.map(([node, from, to, count, left, keys]): Range => {
      return { node: names[node] ?? "", from: prefix + from, to: prefix + to, count, left, keys };
    }),
    pending: unpackPending(pending, names, prefix),
    pages: pages.map(([id, count, due]) => ({ id, count, due })),
  };
}

export function copyState(state: ConsumerState): ConsumerState {
  return {
    ...state,
    nodes: { ...state.nodes },
    ranges: state.ranges.map((range) => ({ ...range })),
    pending: state.pending.map((pending) => ({ ...pending })),
    pages: [...state.pages],
  };
}

/** How many messages a range still holds. */
export function heldCount({ count, left }: Range): number {
  if (left === "") return count;
  let held = 0;
  for (const flag of left) if (flag === HELD) held++;
  return held;
}

/** Removes a message from a range. False if it had left the range before. */
export function leaveRange(range: Range, index: number): boolean {
  if (range.left[index] === LEFT) return false;
  const flags = range.left || HELD.repeat(range.count);
  range.left = flags.slice(0, index) + LEFT + flags.slice(index + 1);
  return true;
}

function packPending(
  pending: readonly PendingMessage[],
  names: readonly string[],
  cut: (cursor: Cursor) => string,
): PackedPending[] {
  return pending.map(({ at, attempt, due, crashCount, node, key, letter }) => {
    const packed = [cut(at), attempt, Math.round(due), crashCount, names.indexOf(node)] as const;
    if (letter !== undefined) return [...packed, key ?? null, letter];
    return key === undefined ? [...packed] : [...packed, key];
  });
}

function unpackPending(pending: readonly PackedPending[], names: readonly string[], prefix: string): PendingMessage[] {
  return pending.map(([at, attempt, due, crashCount, node, key, letter]): PendingMessage => {
    return { at: prefix + at, attempt, due, crashCount, node: names[node] ?? "", key: key ?? undefined, letter };
  });
}

function commonPrefix(texts: readonly string[]): string {
  let prefix = texts[0] ?? "";
  for (const text of texts) while (!text.startsWith(prefix)) prefix = prefix.slice(0, -1);
  return prefix;
}

export class PendingPages {
  readonly #records: RecordStore;
  readonly #consumer: ConsumerName;
  /** Pages that were written, with the version of the record that was to be replaced. */
  readonly #unconfirmed: { readonly id: string; readonly version: string | null }[] = [];

  constructor(records: RecordStore, consumer: ConsumerName) {
    this.#records = records;
    this.#consumer = consumer;
  }

  /** Writes a page before the record refers to it, in place of a version. Returns the page's id. */
  async write(messages: readonly PendingMessage[], version: string | null): Promise<string> {
    const id = crypto.randomUUID().slice(0, 13);
    this.#unconfirmed.push({ id, version });
    const json = JSON.stringify(packPending(messages, [], (cursor) => cursor));
    await this.#records.set(pageKey(this.#consumer, id), json, { expect: null });
    return id;
  }

  /** None if another node has deleted the page. */
  async read(id: string): Promise<readonly PendingMessage[]> {
    const record = await this.#records.get(pageKey(this.#consumer, id));
    return record ? unpackPending(JSON.parse(record.value), [], "") : [];
  }

  async delete(id: string): Promise<void> {
    // A page without a reference is never read, so a failure does no harm.
    await this.#records.delete(pageKey(this.#consumer, id), {}).catch(() => {});
  }

  /**
   * Deletes pages to which no record will refer: its write was refused. Takes those of the record.
   */
  async deleteOrphans(pages: readonly PendingPage[], version: string | null): Promise<void> {
    const referred = new Set(pages.map(({ id }) => id));
    for (const page of [...this.#unconfirmed]) {
      // A write without a reply may still be carried out while the record has the expected version.
      if (page.version === version) continue;
      this.#unconfirmed.splice(this.#unconfirmed.indexOf(page), 1);
      if (!referred.has(page.id)) await this.delete(page.id);
    }
  }
}
