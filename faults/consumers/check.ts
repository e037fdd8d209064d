// Checks what the nodes of a run wrote down against the promises of consumers.

import type { Line, NodePlan, Task, Trouble } from "./plan.ts";

/** The record of a run. */
export interface ConsumerHistory {
  readonly plan: Pick<NodePlan, "attempts" | "hasKeys">;
  /** All messages, in the order of the topic. */
  readonly tasks: readonly Task[];
  /** The lines of all nodes. */
  readonly lines: readonly Line[];
  readonly troubles: readonly Trouble[];
  /** How often something was done to nodes or to their store. */
  readonly disturbances: number;
  /** The numbers of the messages that were given up. */
  readonly givenUp: readonly number[];
}

/** A handler, from its beginning to its end as others can know it. */
interface Run {
  readonly node: string;
  readonly number: number;
  readonly attempt: number;
  readonly begin: number;
  /** When it ended, was told to end, or its node ended or stood still. */
  end: number;
  kind: Line["kind"] | undefined;
}

/** Looks for messages that were not handled, held twice, out of order in a key, or tried too often. */
export function checkConsumer({ plan, tasks, lines, troubles, disturbances, givenUp }: ConsumerHistory): string[] {
  const runs = runsOf(lines, troubles);
  const faults: string[] = [];
  const done = new Set(runs.filter(({ kind }) => kind === "done").map(({ number }) => number));
  const failed = new Set(givenUp);
  for (const { number, plan } of tasks) {
    if (!done.has(number) && !failed.has(number)) faults.push(`message ${number} was never handled, nor given up`);
    if (failed.has(number) && plan !== "throws" && plan !== "discards") {
      faults.push(`message ${number} was given up, and its handler works`);
    }
  }
  for (const { number, attempt } of runs) {
    if (attempt < 1 || attempt > plan.attempts) faults.push(`message ${number} was tried as try ${attempt}`);
  }
  for (const [number, own] of Map.groupBy(runs, ({ number }) => number)) {
    for (const [one, other] of overlapsOf(own)) {
      faults.push(`message ${number} was held by ${one.node} and ${other.node} at once`);
    }
    const tries = own.filter(({ kind }) => kind === "failed").map(({ attempt }) => attempt);
    const repeated = tries.length - new Set(tries).size;
    // A node that ends, or whose store is away, may not have said that a try has failed.
    if (repeated > disturbances) faults.push(`message ${number} was tried ${tries.length} times`);
  }
  if (plan.hasKeys) faults.push(...checkKeys(tasks, runs));
  return faults;
}

function checkKeys(tasks: readonly Task[], runs: readonly Run[]): string[] {
  const faults: string[] = [];
  const keys = new Map(tasks.map(({ number, key }) => [number, key]));
  for (const [key, own] of Map.groupBy(runs, ({ number }) => keys.get(number)!)) {
    for (const [one, other] of overlapsOf(own)) {
      if (one.number !== other.number) faults.push(`key ${key}: messages ${one.number} and ${other.number} at once`);
    }
    const firsts = new Map<number, number>();
    const lasts = new Map<number, number>();
    for (const { number, begin } of own) {
      firsts.set(number, Math.min(begin, firsts.get(number) ?? Infinity));
    }
    for (const { number, kind, end } of own) {
      if (kind === "done") lasts.set(number, Math.min(end, lasts.get(number) ?? Infinity));
    }
    const order = [...firsts.keys()].sort((one, other) => one - other);
    for (const [index, number] of order.entries()) {
      for (const later of order.slice(index + 1)) {
        if (firsts.get(later)! < (lasts.get(number) ?? firsts.get(number)!)) {
          faults.push(`key ${key}: message ${later} came before ${number}`);
        }
      }
    }
  }
  return faults;
}

function runsOf(lines: readonly Line[], troubles: readonly Trouble[]): Run[] {
  const runs: Run[] = [];
  const open = new Map<string, Run>();
  for (const { kind, node, number, attempt, time } of lines.toSorted((one, other) => one.time - other.time)) {
    const name = `${node} ${number}`;
    const run = open.get(name);
    if (kind === "begin") {
      const begun: Run = { node, number, attempt, begin: time, end: Infinity, kind: undefined };
      runs.push(begun);
      open.set(name, begun);
    } else if (run) {
      run.end = Math.min(run.end, time);
      run.kind = kind;
      open.delete(name);
    }
  }
  for (const run of runs) {
    // Nobody counts on a node that stands still or has ended.
    for (const { node, from, to } of troubles) {
      if (node === run.node && to >= run.begin) run.end = Math.min(run.end, Math.max(from, run.begin));
    }
  }
  return runs;
}

/** Pairs of runs on different nodes, of which the later one began before the earlier one had ended. */
function* overlapsOf(runs: readonly Run[]): Generator<[Run, Run]> {
  const sorted = runs.toSorted((one, other) => one.begin - other.begin);
  for (const [index, one] of sorted.entries()) {
    for (const other of sorted.slice(index + 1)) {
      if (other.begin < one.end && (other.node !== one.node || other.number !== one.number)) yield [one, other];
    }
  }
}
