/**
 * The record of a consumer: which node holds which messages. It is the single source of truth: it
 * changes by compare-and-set only, and other records count when it refers to them.
 */
import type { RecordKey, RecordStore } from "../../store/record_store.ts";
import type { Cursor } from "../../store/topic_store.ts";

/** Consecutive messages of the log that a node holds. */
export interface Range {
  readonly node: string;
  /** The position before the first one. */
  readonly from: Cursor;
  /** The position of the last one. */
  to: Cursor;
  count: number;
  /** For each message "1" if the range no longer holds it, else "0"; "" if it holds all. */
  done: string;
  /** The keys of the messages that it holds, if the consumer has keys. */
  keys?: readonly string[];
}

/**
 * A message that is listed by itself: it has failed, its node has crashed, or an earlier message of
 * its key is not done.
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
}

/** Pending messages in a record of their own. */
export interface PendingPage {
  readonly id: string;
  readonly count: number;
  /** When the last of them is due. */
  readonly due: number;
}

export interface ConsumerState {
  /** The incarnation of the log that the cursors belong to. */
  incarnation: string;
  /** Its former incarnations, before its store was restored from a backup. */
  former?: readonly string[] | undefined;
  /** All messages up to here were claimed, or are pending. */
  next: Cursor;
  /** The node that may claim messages after `next` without recording each claim; else "". */
  open: string;
  /**
   * The heartbeat of each node that holds something: a number that changes with each of its writes.
   */
  nodes: Record<string, number>;
  ranges: Range[];
  /** In the order of the log. */
  pending: PendingMessage[];
  pages: PendingPage[];
  /** How many messages were removed from the log before they were handled, as far as known. */
  lost: number;
  lastError?: string | undefined;
}

/** The first parts of the keys. They differ, so that a list of consumers has nothing else. */
export const CONSUMERS = "consumers";
const PENDING = "consumers.pending";
const FAILED = "consumers.failed";

export interface ConsumerName {
  readonly topic: string;
  readonly name: string;
}

export function consumerKey({ topic, name }: ConsumerName): RecordKey {
  return [CONSUMERS, topic, name];
}

/** The key of a page, or the prefix of all pages. */
export function pageKey({ topic, name }: ConsumerName, ...id: [] | [id: string]): RecordKey {
  return [PENDING, topic, name, ...id];
}

/** The key of a failure, or the prefix of all failures. */
export function failureKey({ topic, name }: ConsumerName, ...id: [] | [id: string]): RecordKey {
  return [FAILED, topic, name, ...id];
}

/** Cursor, attempt, due, crash count, index of the node, key. */
type PackedPending = [string, number, number, number, number, string?];

interface PackedState extends Omit<ConsumerState, "next" | "ranges" | "pending" | "pages" | "nodes"> {
  /** The prefix of all cursors. */
  readonly prefix: string;
  readonly next: string;
  readonly nodes: [string, number][];
  readonly ranges: [number, string, string, number, string, (readonly string[])?][];
  readonly pending: PackedPending[];
  readonly pages: [string, number, number][];
}

/**
 * The state as JSON. Each transition writes it, and a record may have 60 KiB: property names and
 * long cursors would take most of it.
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

export function encodePage(pending: readonly PendingMessage[]): string {
  return JSON.stringify(packPending(pending, [], (cursor) => cursor));
}

export function decodePage(json: string): PendingMessage[] {
  return unpackPending(JSON.parse(json), [], "");
}

/** A copy that can be changed. */
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
  /** Pages that were written, with the version of the record that was to be replaced. */
  readonly #unconfirmed: { readonly id: string; readonly version: string | null }[] = [];

  constructor(records: RecordStore, consumer: ConsumerName) {
    this.#records = records;
    this.#consumer = consumer;
  }

  /**
   * Writes a page, before the record refers to it.
   *
   * @param version The version of the record that will be replaced.
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
   * Deletes pages whose writes of the record were refused, so that none will ever refer to them.
   *
   * @param pages The pages of the record.
   * @param version The version of the record.
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
