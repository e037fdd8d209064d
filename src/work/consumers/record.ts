/**
 * The record of a consumer. It says which node holds which messages, and is changed by compare and
 * set alone, so it is the only truth. All else that is written means nothing before the record
 * refers to it.
 */
import type { RecordKey, RecordStore } from "../../store/record_store.ts";
import type { Cursor } from "../../store/topic_store.ts";

/** Messages of the log from one position to another that a node holds. */
export interface Range {
  readonly node: string;
  /** The position before the first of them. */
  readonly from: Cursor;
  /** The last of them. */
  to: Cursor;
  /** How many they are. */
  count: number;
  /** A "1" for each that the range does not hold any more, a "0" for each other; "" for none. */
  done: string;
  /** The keys of the others, if the consumer has keys. */
  keys?: readonly string[];
}

/**
 * A message that is held, or waits, by itself: it has failed, its node has died, or an earlier one
 * of its key is not done.
 */
export interface PendingMessage {
  readonly at: Cursor;
  /** Which try is next, from 1. */
  attempt: number;
  /** When it may be tried, in milliseconds since 1970 on the clock of the store; 0 for at once. */
  due: number;
  /** How many nodes have died while they had it. */
  crashCount: number;
  /** The node that holds it; "" while it waits. */
  node: string;
  readonly key?: string | undefined;
}

/** PendingMessage messages in a record of their own: see {@linkcode pageKey}. */
export interface PendingPage {
  readonly id: string;
  readonly count: number;
  /** When all of them may be tried. */
  readonly due: number;
}

/** The record of a consumer. */
export interface ConsumerState {
  /** The incarnation of the log that the cursors are of. */
  incarnation: string;
  /** Those before it that this log had, too: its store was restored from a backup. */
  former?: readonly string[] | undefined;
  /** All messages up to here were given to nodes, or put aside. */
  next: Cursor;
  /** The node that has whatever comes after `next`, without writing it down for each; else "". */
  open: string;
  /** Of each node that holds something, a number that changes with each of its writes. */
  nodes: Record<string, number>;
  ranges: Range[];
  /** In order. */
  pending: PendingMessage[];
  pages: PendingPage[];
  /** How many were removed from the log before they were handled, as far as that is known. */
  lost: number;
  lastError?: string | undefined;
}

/** The first parts of the keys. They differ, so that consumers can be listed without all else. */
export const CONSUMERS = "consumers";
const PENDING = "consumers.pending";
const FAILED = "consumers.failed";

/** Which consumer. */
export interface ConsumerName {
  readonly topic: string;
  readonly name: string;
}

export function consumerKey({ topic, name }: ConsumerName): RecordKey {
  return [CONSUMERS, topic, name];
}

/** The key of a page, or what the keys of all pages begin with. */
export function pageKey({ topic, name }: ConsumerName, ...id: [] | [id: string]): RecordKey {
  return [PENDING, topic, name, ...id];
}

/** The key of a message that was given up, or what the keys of all of them begin with. */
export function failureKey({ topic, name }: ConsumerName, ...id: [] | [id: string]): RecordKey {
  return [FAILED, topic, name, ...id];
}

/** A late message without names: cursor, attempt, due, deaths, number of the node, key. */
type PackedPending = [string, number, number, number, number, string?];

interface PackedState extends Omit<ConsumerState, "next" | "ranges" | "pending" | "pages" | "nodes"> {
  /** What all cursors begin with. */
  readonly prefix: string;
  readonly next: string;
  readonly nodes: [string, number][];
  readonly ranges: [number, string, string, number, string, (readonly string[])?][];
  readonly pending: PackedPending[];
  readonly pages: [string, number, number][];
}

/**
 * The state as JSON. It is written with each step, and a record may have 60 KiB: names and long
 * cursors would cost more than all else.
 */
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
    ranges: ranges.map(({ node, from, to, count, done, keys }) => {
      return [names.indexOf(node), cut(from), cut(to), count, done, ...(keys ? [keys] : []) as [(readonly string[])?]];
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
    ranges: ranges.map(([node, from, to, count, done, keys]): Range => {
      return { node: names[node] ?? "", from: prefix + from, to: prefix + to, count, done, ...(keys && { keys }) };
    }),
    pending: unpackPending(pending, names, prefix),
    pages: pages.map(([id, count, due]) => ({ id, count, due })),
  };
}

/** The late messages of a page as JSON. No node holds them. */
export function encodePage(pending: readonly PendingMessage[]): string {
  return JSON.stringify(packPending(pending, [], (cursor) => cursor));
}

export function decodePage(json: string): PendingMessage[] {
  return unpackPending(JSON.parse(json), [], "");
}

/** A copy whose parts can be changed. */
export function copyState(state: ConsumerState): ConsumerState {
  return {
    ...state,
    nodes: { ...state.nodes },
    ranges: state.ranges.map((range) => ({ ...range })),
    pending: state.pending.map((pending) => ({ ...pending })),
    pages: [...state.pages],
  };
}

/** Whether a range still holds messages. */
export function isOpenRange({ done }: Range): boolean {
  return done === "" || done.includes("0");
}

/** How many messages a range still holds. */
export function heldCount({ count, done }: Range): number {
  if (done === "") return count;
  let delivery = 0;
  for (const bit of done) if (bit === "0") delivery++;
  return delivery;
}

function packPending(
  pending: readonly PendingMessage[],
  names: readonly string[],
  cut: (cursor: Cursor) => string,
): PackedPending[] {
  return pending.map(({ at, attempt, due, crashCount, node, key }) => {
    const packed: PackedPending = [
      cut(at),
      attempt,
      Math.round(due),
      crashCount,
      node === "" ? -1 : names.indexOf(node),
    ];
    if (key !== undefined) packed.push(key);
    return packed;
  });
}

function unpackPending(pending: readonly PackedPending[], names: readonly string[], prefix: string): PendingMessage[] {
  return pending.map(([at, attempt, due, crashCount, node, key]): PendingMessage => {
    return { at: prefix + at, attempt, due, crashCount, node: names[node] ?? "", ...(key !== undefined && { key }) };
  });
}

function commonPrefix(texts: readonly string[]): string {
  let prefix = texts[0] ?? "";
  for (const text of texts) {
    while (!text.startsWith(prefix)) prefix = prefix.slice(0, -1);
  }
  return prefix;
}

/** The pages of one consumer in the store. */
export class PendingPages {
  readonly #records: RecordStore;
  readonly #consumer: ConsumerName;
  /** Pages that were written, and the version of the record that was to be replaced. */
  readonly #unconfirmed: { readonly id: string; readonly version: string | null }[] = [];

  constructor(records: RecordStore, consumer: ConsumerName) {
    this.#records = records;
    this.#consumer = consumer;
  }

  /**
   * Writes a page, to which the record does not refer yet.
   *
   * @param messages The late messages.
   * @param version The version of the record that will be replaced by one with the page.
   * @returns The id of the page.
   */
  async write(messages: readonly PendingMessage[], version: string | null): Promise<string> {
    const id = crypto.randomUUID().slice(0, 13);
    this.#unconfirmed.push({ id, version });
    await this.#records.set(pageKey(this.#consumer, id), encodePage(messages), { expect: null });
    return id;
  }

  /** The messages of a page; none if another node has deleted it. */
  async read(id: string): Promise<readonly PendingMessage[]> {
    const record = await this.#records.get(pageKey(this.#consumer, id));
    return record ? decodePage(record.value) : [];
  }

  /** Deletes a page to which the record no longer refers. */
  async delete(id: string): Promise<void> {
    // A page without a reference is never read, so a failure does no harm.
    await this.#records.delete(pageKey(this.#consumer, id), {}).catch(() => {});
  }

  /**
   * Deletes pages to which the record will never refer, because their writes of it were refused.
   *
   * @param pages The pages of the record.
   * @param version The version of the record.
   */
  async deleteOrphans(pages: readonly PendingPage[], version: string | null): Promise<void> {
    const referred = new Set(pages.map(({ id }) => id));
    for (const page of [...this.#unconfirmed]) {
      // A write without a reply may still be carried out while the record is as it expects.
      if (page.version === version) continue;
      this.#unconfirmed.splice(this.#unconfirmed.indexOf(page), 1);
      if (!referred.has(page.id)) await this.delete(page.id);
    }
  }
}
