// Checks the logs of all nodes against the promises of topics.

import { confirmedPublishesOf, type LogEntry, type Payload } from "./node_log.ts";

/** A message that is stored. */
export interface Stored {
  readonly id: string;
  readonly payload: Payload;
}

type Gap = Extract<LogEntry, { kind: "gap" }>;

/** Sorts after all ids. */
const AFTER_ALL = "~";

/** The record of a run. */
export interface History {
  /** The logs of the nodes, by their names. */
  readonly logs: ReadonlyMap<string, readonly LogEntry[]>;
  /** The messages in the store at the end, in its order. */
  readonly stored: readonly Stored[];
  /** The number of newest messages that the store keeps at least; 0 if they expire by age. */
  readonly keeps: number;
  /** The most messages that it may hold at the end, if the run waited for that. */
  readonly most?: number;
  /** Whether the store was lost then, so that readers need not reach its end. */
  readonly isLost?: boolean;
}

/** The result of a check. */
export interface Findings {
  /** The promises that were broken. */
  readonly faults: readonly string[];
  /** How much was looked at. */
  readonly acknowledged: number;
  readonly reads: number;
  readonly gaps: number;
  readonly unknown: number;
}

/**
 * The most messages in a log after trimming: it is trimmed with a precision of 1/64 of what it
 * keeps, or of one write.
 *
 * @param keeps The number of messages that it keeps at least.
 * @param publishers The number of publishers on each node. A write has at most two messages of
 * each, since one may have been abandoned.
 */
export function mostKept(keeps: number, publishers: number): number {
  return keeps + Math.max(Math.ceil(keeps / 64), 2 * publishers);
}

/**
 * Looks for lost acknowledged messages, duplicates, wrong order, and missing messages without a
 * gap.
 */
export function check(history: History): Findings {
  const entries = [...history.logs.values()].flat();
  const faults: string[] = [];
  const order = orderOf(history, faults);
  checkStored(history, order, faults);
  checkPublishers(order, faults);
  for (const [node, log] of history.logs) {
    checkCalls(node, log, faults);
    checkReaders(node, log, order, history, faults);
  }
  const count = (kind: LogEntry["kind"]) => entries.filter((entry) => entry.kind === kind).length;
  return {
    faults,
    acknowledged: count("ok"),
    reads: count("read"),
    gaps: count("gap"),
    unknown: count("unknown"),
  };
}

/**
 * All messages that any node or the store knows, by their ids. The order of the ids is that of the
 * topic.
 */
function orderOf({ logs, stored }: History, faults: string[]): Stored[] {
  const byId = new Map<string, string>();
  const byPayload = new Map<string, string>();
  const add = (id: string, payload: Payload, source: string) => {
    const name = nameOf(payload);
    if ((byId.get(id) ?? name) !== name) faults.push(`${source}: id ${id} is of ${name} and of ${byId.get(id)}`);
    if ((byPayload.get(name) ?? id) !== id) {
      faults.push(`${source}: ${name} is there twice, as ${id} and as ${byPayload.get(name)}`);
    }
    byId.set(id, name);
    byPayload.set(name, id);
    messages.set(id, { id, payload });
  };
  const messages = new Map<string, Stored>();
  for (const { id, payload } of stored) add(id, payload, "store");
  for (const [node, log] of logs) {
    for (const entry of log) if (entry.kind === "ok" || entry.kind === "read") add(entry.id, entry.payload, node);
  }
  return [...messages.values()].sort((a, b) => a.id < b.id ? -1 : 1);
}

function checkStored({ stored, keeps, most = Infinity }: History, order: readonly Stored[], faults: string[]): void {
  const ids = stored.map(({ id }) => id);
  if (ids.length > most) faults.push(`store: it has ${ids.length} messages, and should have ${most} at most`);
  if (ids.some((id, index) => index > 0 && id <= ids[index - 1]!)) {
    faults.push("store: it is not in the order of its ids");
  }
  const kept = new Set(ids);
  const oldest = keeps < Infinity ? ids[0] ?? AFTER_ALL : "";
  if (keeps < Infinity && ids.length < Math.min(keeps, order.length)) {
    faults.push(`store: it has ${ids.length} of ${order.length} messages, and keeps ${keeps}`);
  }
  for (const { id, payload } of order) {
    if (id >= oldest && !kept.has(id)) {
      faults.push(`store: ${nameOf(payload)}, which was acknowledged or read as ${id}, is lost`);
    }
  }
}

/**
 * The messages of a publisher that waits for each are in their order, whichever process reads or republishes
 * them.
 */
function checkPublishers(order: readonly Stored[], faults: string[]): void {
  const last = new Map<string, number>();
  for (const { payload } of order) {
    const { publisher, number, isHasty } = payload;
    if (isHasty) continue;
    if (number <= (last.get(publisher) ?? -1)) faults.push(`store: ${nameOf(payload)} is not in its publisher's order`);
    last.set(publisher, number);
  }
}

/**
 * The messages of a node are in the order of its calls, also if several were in progress at once.
 */
function checkCalls(node: string, log: readonly LogEntry[], faults: string[]): void {
  const [first, ...others] = confirmedPublishesOf(log);
  let last = first;
  for (const next of others) {
    if (next.id > last!.id) last = next;
    else {faults.push(
        `${node}: ${nameOf(next.payload)} is stored before ${nameOf(last!.payload)}, and was published after it`,
      );}
  }
}

function checkReaders(
  node: string,
  log: readonly LogEntry[],
  order: readonly Stored[],
  { keeps, isLost = false }: History,
  faults: string[],
): void {
  const isTrimmed = keeps < Infinity;
  const indexOf = new Map(order.map(({ id }, index) => [id, index]));
  /** The index of the message that each reader must get next; undefined after a gap. */
  const next = new Map<string, number | undefined>();
  /** The positions ahead of all messages at which readers continue, until they get a gap. */
  const ahead = new Map<string, string>();
  const first = isTrimmed ? undefined : 0;
  for (const entry of log) {
    if (entry.kind === "subscribe") {
      ahead.delete(entry.reader);
      if (entry.isAhead) ahead.set(entry.reader, entry.after!);
      const index = entry.isAhead ? undefined : indexOf.get(entry.after!)! + 1;
      next.set(entry.reader, entry.after === null ? first : index);
    } else if (entry.kind === "gap") {
      const place = ahead.get(entry.reader);
      const isAhead = ahead.delete(entry.reader);
      const wrong = wrongIn(entry, place, isTrimmed);
      if (wrong !== undefined) faults.push(`${node}, reader ${entry.reader}: it was told ${wrong}`);
      const oldest = entry.oldest === null ? undefined : indexOf.get(entry.oldest);
      next.set(entry.reader, isAhead ? first ?? oldest : oldest);
    } else if (entry.kind === "read") {
      if (ahead.delete(entry.reader)) faults.push(`${node}, reader ${entry.reader}: it was not told that it is ahead`);
      const index = indexOf.get(entry.id)!;
      const expected = next.get(entry.reader);
      if (expected !== undefined && index !== expected) {
        const missed = order[expected];
        const wanted = missed ? nameOf(missed.payload) : "nothing";
        faults.push(`${node}, reader ${entry.reader}: got ${nameOf(entry.payload)} in place of ${wanted}, silently`);
      }
      next.set(entry.reader, index + 1);
    }
  }
  for (const [reader, index] of isLost ? [] : next) {
    if (ahead.has(reader)) faults.push(`${node}, reader ${reader}: it was not told that it is ahead`);
    // A reader whose gap says that nothing is kept has reached the end, too.
    const isAtEnd = index === undefined ? keeps === 0 || order.length === 0 : index === order.length;
    if (!isAtEnd) {
      faults.push(`${node}, reader ${reader}: it came to ${index ?? 0} of ${order.length}`);
    }
  }
}

/**
 * Returns what is wrong in a gap. The reason "ahead" must be given for a position that is ahead,
 * and for no other.
 */
function wrongIn({ reason, from }: Gap, ahead: string | undefined, isTrimmed: boolean): string | undefined {
  if (ahead === undefined && !isTrimmed) return "of a gap where nothing is removed";
  if (ahead === undefined) return reason === "ahead" ? "that it is ahead, and is not" : undefined;
  if (reason !== "ahead") return `of the gap "${reason}" where it is ahead`;
  return from === ahead ? undefined : `of a gap from ${from}, and went on after ${ahead}`;
}

function nameOf({ publisher, number }: Payload): string {
  return `message ${number} of ${publisher}`;
}
