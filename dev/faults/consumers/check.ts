// Checks what the nodes of a run wrote down against the promises of consumers.

import { type HandlerRun, isDuring, isShort, isTroubled, overlapsOf, type Trouble } from "../work/trouble.ts";
import type { ConsumerPlan, GivenUp, HandlerLine, Task } from "./plan.ts";

/** The record of a run. */
export interface ConsumerHistory {
  readonly plan: Pick<ConsumerPlan, "attempts" | "hasKeys" | "lease">;
  /** All messages, in the order of the topic. */
  readonly tasks: readonly Task[];
  /** The lines of all nodes, in the order of their times. */
  readonly lines: readonly HandlerLine[];
  readonly troubles: readonly Trouble[];
  /** How many messages the consumer says are lost. */
  readonly lost: number;
  /** The messages that were given up. */
  readonly givenUp: readonly GivenUp[];
}

/** The part of a lease that a node still has when it begins something. */
const SURE_PART = 0.2;

/** The handler of a message. */
interface Run extends HandlerRun {
  readonly number: number;
  readonly attempt: number;
  readonly kind: HandlerLine["kind"] | undefined;
}

/** Looks for messages that were not handled, held twice, out of order in a key, or tried too often. */
export function checkConsumer(history: ConsumerHistory): string[] {
  const { plan, tasks, lines, troubles } = history;
  const runs = runsOf(lines);
  const faults = checkEnds(history, runs);
  if (history.lost > 0) faults.push(`the consumer lost ${history.lost} messages`);
  for (const { number, attempt } of runs) {
    if (attempt < 1 || attempt > plan.attempts) faults.push(`message ${number} was tried as try ${attempt}`);
  }
  for (const [number, own] of Map.groupBy(runs, ({ number }) => number)) {
    for (const [one, other] of overlapsOf(own, troubles)) {
      if (one.node === other.node) continue;
      faults.push(`message ${number} was held by ${one.node} and ${other.node} at once`);
    }
    faults.push(...checkRepetitions(own, runs, history));
  }
  if (plan.hasKeys) faults.push(...checkKeys(tasks, runs, troubles));
  return faults;
}

/**
 * What has come to its end is not repeated before a lease can have ended, nor by a node that has
 * stood still for longer than its lease. Otherwise its node may not have been able to say so.
 *
 * @param runs Those of one message.
 * @param all Those of all messages.
 */
function checkRepetitions(
  runs: readonly Run[],
  all: readonly Run[],
  { plan: { lease }, troubles }: ConsumerHistory,
): string[] {
  const faults: string[] = [];
  for (const [index, { number, node, attempt, end, kind }] of runs.entries()) {
    if (kind !== "done" && kind !== "failed") continue;
    for (const again of runs.slice(index + 1)) {
      if (again.begin < end || (kind === "failed" && again.attempt !== attempt)) continue;
      if (isTroubled(troubles, { node, from: end - lease, to: again.begin, lease })) continue;
      const isStale = troubles.some((trouble) => {
        const { kind, node, from, to } = trouble;
        return kind === "frozen" && node === again.node && to - from > lease && isDuring(trouble, again.begin) &&
          !isCaught(again, trouble, all);
      });
      if (again.begin > end + lease * SURE_PART && !isStale) continue;
      const what = kind === "done" ? "was handled by" : `failed in try ${attempt} on`;
      faults.push(`message ${number} ${what} ${node}, and again by ${again.node}`);
    }
  }
  return faults;
}

/**
 * Whether a node was stopped between its look at the lease and the handler: no store can prevent that.
 * It happens to one handler, which the node aborts when it goes on.
 */
function isCaught(run: Run, trouble: Trouble, all: readonly Run[]): boolean {
  const begun = all.filter(({ node, begin }) => node === run.node && isDuring(trouble, begin));
  return run.kind === "aborted" && begun.every(({ begin }) => begin >= run.begin);
}

/** Each message was handled, or given up for a reason. */
function checkEnds({ plan, tasks, troubles, givenUp }: ConsumerHistory, runs: readonly Run[]): string[] {
  const faults: string[] = [];
  const done = new Set(runs.filter(({ kind }) => kind === "done").map(({ number }) => number));
  const letters = new Map(givenUp.map((letter) => [letter.number, letter]));
  // A message is given up, too, that so many nodes had when they ended, or seemed to.
  const losses = troubles.filter((trouble) => trouble.kind !== "clock" && !isShort(trouble, plan.lease));
  const isDeadly = losses.length >= plan.attempts;
  for (const task of tasks) {
    const { number } = task;
    const letter = letters.get(number);
    if (!letter) {
      if (!done.has(number)) faults.push(`message ${number} was never handled, nor given up`);
      continue;
    }
    if (task.plan === "throws" && letter.attempts < plan.attempts && !isDeadly) {
      faults.push(`message ${number} was given up after ${letter.attempts} tries`);
    }
    if (task.plan !== "throws" && task.plan !== "discards" && !isDeadly) {
      faults.push(`message ${number} was given up, and its handler works`);
    }
  }
  return faults;
}

function checkKeys(tasks: readonly Task[], runs: readonly Run[], troubles: readonly Trouble[]): string[] {
  const faults: string[] = [];
  const keys = new Map(tasks.map(({ number, key }) => [number, key]));
  for (const [key, own] of Map.groupBy(runs, ({ number }) => keys.get(number)!)) {
    for (const [one, other] of overlapsOf(own, troubles)) {
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

function runsOf(lines: readonly HandlerLine[]): Run[] {
  const runs: { -readonly [Name in keyof Run]: Run[Name] }[] = [];
  const open = new Map<string, (typeof runs)[number]>();
  for (const { kind, node, number, attempt, time } of lines) {
    const name = `${node} ${number}`;
    const run = open.get(name);
    if (kind === "begin") {
      const begun = { node, number, attempt, begin: time, end: Infinity, kind: undefined };
      runs.push(begun);
      open.set(name, begun);
    } else if (run) {
      run.end = time;
      run.kind = kind;
      open.delete(name);
    }
  }
  return runs;
}
