/**
 * The record of a consumer. It says which node holds which messages, and is changed by compare and
 * set alone, so it is the only truth. All else that is written means nothing before the record
 * refers to it.
 */
import type { RecordKey } from "../../store/record_store.ts";
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
export interface Late {
  readonly at: Cursor;
  /** Which try is next, from 1. */
  attempt: number;
  /** When it may be tried, in milliseconds since 1970 on the clock of the store; 0 for at once. */
  due: number;
  /** How many nodes have died while they had it. */
  deaths: number;
  /** The node that holds it; "" while it waits. */
  node: string;
  readonly key?: string | undefined;
}

/** Late messages in a record of their own: see {@linkcode pageKey}. */
export interface LatePage {
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
  late: Late[];
  pages: LatePage[];
  /** How many were removed from the log before they were handled, as far as that is known. */
  lost: number;
  lastError?: string | undefined;
}

/** The first parts of the keys. They differ, so that consumers can be listed without all else. */
export const CONSUMERS = "consumers";
const LATE = "consumers.late";
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
  return [LATE, topic, name, ...id];
}

/** The key of a message that was given up, or what the keys of all of them begin with. */
export function failureKey({ topic, name }: ConsumerName, ...id: [] | [id: string]): RecordKey {
  return [FAILED, topic, name, ...id];
}

/** A late message without names: cursor, attempt, due, deaths, number of the node, key. */
type PackedLate = [string, number, number, number, number, string?];

interface PackedState extends Omit<ConsumerState, "next" | "ranges" | "late" | "pages" | "nodes"> {
  /** What all cursors begin with. */
  readonly prefix: string;
  readonly next: string;
  readonly nodes: [string, number][];
  readonly ranges: [number, string, string, number, string, (readonly string[])?][];
  readonly late: PackedLate[];
  readonly pages: [string, number, number][];
}

/**
 * The state as JSON. It is written with each step, and a record may have 60 KiB: names and long
 * cursors would cost more than all else.
 */
export function encodeState(state: ConsumerState): string {
  const { next, nodes, ranges, late, pages, ...rest } = state;
  const prefix = commonPrefix([next, ...ranges.flatMap(({ from, to }) => [from, to]), ...late.map(({ at }) => at)]);
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
    late: packLate(late, names, cut),
    pages: pages.map(({ id, count, due }) => [id, count, due]),
  };
  return JSON.stringify(packed);
}

export function decodeState(json: string): ConsumerState {
  const { prefix, next, nodes, ranges, late, pages, ...rest }: PackedState = JSON.parse(json);
  const names = nodes.map(([name]) => name);
  return {
    ...rest,
    next: prefix + next,
    nodes: Object.fromEntries(nodes),
    ranges: ranges.map(([node, from, to, count, done, keys]): Range => {
      return { node: names[node] ?? "", from: prefix + from, to: prefix + to, count, done, ...(keys && { keys }) };
    }),
    late: unpackLate(late, names, prefix),
    pages: pages.map(([id, count, due]) => ({ id, count, due })),
  };
}

/** The late messages of a page as JSON. No node holds them. */
export function encodePage(late: readonly Late[]): string {
  return JSON.stringify(packLate(late, [], (cursor) => cursor));
}

export function decodePage(json: string): Late[] {
  return unpackLate(JSON.parse(json), [], "");
}

/** A copy whose parts can be changed. */
export function copyState(state: ConsumerState): ConsumerState {
  return {
    ...state,
    nodes: { ...state.nodes },
    ranges: state.ranges.map((range) => ({ ...range })),
    late: state.late.map((late) => ({ ...late })),
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
  let held = 0;
  for (const bit of done) if (bit === "0") held++;
  return held;
}

function packLate(late: readonly Late[], names: readonly string[], cut: (cursor: Cursor) => string): PackedLate[] {
  return late.map(({ at, attempt, due, deaths, node, key }) => {
    const packed: PackedLate = [cut(at), attempt, Math.round(due), deaths, node === "" ? -1 : names.indexOf(node)];
    if (key !== undefined) packed.push(key);
    return packed;
  });
}

function unpackLate(late: readonly PackedLate[], names: readonly string[], prefix: string): Late[] {
  return late.map(([at, attempt, due, deaths, node, key]): Late => {
    return { at: prefix + at, attempt, due, deaths, node: names[node] ?? "", ...(key !== undefined && { key }) };
  });
}

function commonPrefix(texts: readonly string[]): string {
  let prefix = texts[0] ?? "";
  for (const text of texts) {
    while (!text.startsWith(prefix)) prefix = prefix.slice(0, -1);
  }
  return prefix;
}
