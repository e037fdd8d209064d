// Checks what the nodes of a run wrote down against the promises of crons.

import { type HandlerRun, isDuring, isShort, isTroubled, overlapsOf, type Trouble } from "../work/trouble.ts";
import { type CronLine, dueAt, LEASE, LOOK, MINUTE } from "./plan.ts";

/** The record of a run. Times are in milliseconds since 1970. */
export interface CronHistory {
  readonly origin: number;
  /** How exactly nodes know the time. */
  readonly precision: number;
  /** The times that are due between these moments must run. */
  readonly from: number;
  readonly to: number;
  /** The lines of all nodes, in the order of their times. */
  readonly lines: readonly CronLine[];
  readonly troubles: readonly Trouble[];
  /** The nodes, and since when they could run something. */
  readonly nodes: ReadonlyMap<string, number>;
}

/** A run of a time on a node. */
interface Run extends HandlerRun {
  readonly scheduled: number;
  readonly kind: CronLine["kind"] | undefined;
}

/** How long a busy machine may need for something that is done at once, in milliseconds. */
const SLACK = 1_000;
/** How exactly it is known when something was done to a node, in milliseconds. */
const PRECISION = 50;
/** How long an interrupted run may have no owner. */
const HANDOVER = LEASE + LOOK + SLACK;
/** The resolution of the search for a moment at which a time should have begun. */
const STEP = 25;

/** Looks for times that did not run, ran twice or on two nodes at once, or were taken over late. */
export function checkCron(history: CronHistory): string[] {
  const runs = runsOf(history);
  const faults: string[] = [];
  for (const [one, other] of overlapsOf(runs, history.troubles)) {
    faults.push(`${nameOf(one)} on ${one.node} and ${nameOf(other)} on ${other.node} at once`);
  }
  faults.push(...checkRepetitions(history, runs), ...checkMoments(history, runs));
  faults.push(...checkTakeovers(history, runs), ...checkTimes(history, runs));
  return faults;
}

/** A time that has run to its end runs again only if its node could not say that. */
function checkRepetitions({ troubles }: CronHistory, runs: readonly Run[]): string[] {
  const faults: string[] = [];
  for (const [index, run] of runs.entries()) {
    if (!hasEnded(run)) continue;
    for (const again of runs.slice(index + 1)) {
      if (again.scheduled !== run.scheduled || again.begin < run.end) continue;
      if (isTroubled(troubles, { node: run.node, from: run.end, to: again.begin, lease: LEASE })) continue;
      faults.push(`${nameOf(run)} was run by ${run.node}, and again by ${again.node}`);
    }
  }
  return faults;
}

/** A time does not run before it is due, nor when the next one is due. */
function checkMoments({ troubles, origin, precision }: CronHistory, runs: readonly Run[]): string[] {
  const faults: string[] = [];
  for (const run of runs) {
    const due = dueAt(run.scheduled, origin);
    if (troubles.some(({ kind, from, to }) => kind === "clock" && from <= run.begin && to >= due)) continue;
    if (run.begin < due - precision) faults.push(`${nameOf(run)} was run too early by ${run.node}`);
    const others = runs.filter((other) => other !== run && other.scheduled === run.scheduled);
    // The next one was skipped where a run of this one went on, which then broke off.
    if (run.begin < due + MINUTE + SLACK || isSkipped(due + MINUTE, others, precision)) continue;
    if (isTroubled(troubles, { node: run.node, from: due, to: run.begin, lease: LEASE })) continue;
    faults.push(`${nameOf(run)} was run by ${run.node} when a later one was due`);
  }
  return faults;
}

/** Another node goes on soon after the end of one that had a run. */
function checkTakeovers({ troubles, to }: CronHistory, runs: readonly Run[]): string[] {
  const faults: string[] = [];
  for (const [index, run] of runs.entries()) {
    if (hasEnded(run)) continue;
    const death = endOf(run.node, troubles);
    const latest = run.end + HANDOVER;
    const isExcused = troubles.some((trouble) => {
      return trouble !== death && !isShort(trouble, LEASE) && trouble.from <= latest && trouble.to >= run.begin;
    });
    if (latest > to || isExcused) continue;
    const next = runs[index + 1];
    if (next && next.begin <= latest) continue;
    faults.push(`${nameOf(run)} broke off on ${run.node}, and was taken over too late`);
  }
  return faults;
}

/** Each time runs, unless none could begin before the next one was due. */
function checkTimes(history: CronHistory, runs: readonly Run[]): string[] {
  const { origin, precision, from, to, troubles, nodes } = history;
  const faults: string[] = [];
  const seen = new Set(runs.map(({ scheduled }) => scheduled));
  const taken = [...runs.map((run) => spanOf(run, troubles)), ...troubles.flatMap(silenceOf)];
  const isFree = (time: number) =>
    !taken.some((span) => isDuring(span, time)) &&
    [...nodes].some(([node, since]) =>
      since <= time && !troubles.some((trouble) => trouble.node === node && isDuring(trouble, time))
    );
  const minute = 60_000;
  for (let scheduled = Math.ceil(timeAt(from, origin) / minute) * minute;; scheduled += minute) {
    const due = dueAt(scheduled, origin);
    if (due + MINUTE > to) return faults;
    const earlier = runs.filter((run) => run.scheduled < scheduled);
    const moments = [due, ...troubles.flatMap((trouble) => wrongDue(due, trouble))];
    if (seen.has(scheduled) || moments.some((moment) => isSkipped(moment, earlier, precision))) continue;
    let free = 0;
    for (let time = due; time < due + MINUTE && free < SLACK; time += STEP) free = isFree(time) ? free + STEP : 0;
    if (free >= SLACK) faults.push(`${nameOf({ scheduled })} was not run`);
  }
}

/** Whether a time is skipped, since one of these runs goes on when it is due. */
function isSkipped(due: number, runs: readonly Run[], precision: number): boolean {
  return runs.some(({ begin, end }) => begin < due + precision && due < end + precision);
}

/** When a time is due by a clock that is wrong. The clock jumps at both ends of a trouble. */
function wrongDue(due: number, { kind, from, to, ahead = 0 }: Trouble): number[] {
  const back = to - Math.abs(ahead);
  const isPassed = kind === "clock" && from <= due && due <= back + Math.max(ahead, 0);
  return isPassed ? [Math.min(Math.max(due - ahead, from), back)] : [];
}

/** When others cannot run anything because of a run. */
function spanOf({ node, begin, end, kind }: Run, troubles: readonly Trouble[]): Pick<Trouble, "from" | "to"> {
  const isSaid = hasEnded({ kind }) && !isTroubled(troubles, { node, from: end, to: end + SLACK, lease: LEASE });
  return { from: begin, to: end + (isSaid ? SLACK : HANDOVER) };
}

/** When nothing may run because of a trouble: its node may just have taken a time. */
function silenceOf({ kind, node, from, to }: Trouble): Pick<Trouble, "from" | "to">[] {
  if (node === undefined) return [{ from, to: to + SLACK }];
  return [{ from: from - PRECISION, to: (kind === "cut off" ? to : from) + HANDOVER }];
}

function hasEnded({ kind }: Pick<Run, "kind">): boolean {
  return kind === "done" || kind === "failed";
}

function runsOf({ lines, troubles }: CronHistory): Run[] {
  const runs: { -readonly [Name in keyof Run]: Run[Name] }[] = [];
  for (const { kind, node, scheduled, time } of lines) {
    const open = runs.findLast((run) => run.node === node && run.end === Infinity);
    if (kind === "begin") runs.push({ node, scheduled, begin: time, end: Infinity, kind: undefined });
    else if (open) Object.assign(open, { end: time, kind });
  }
  for (const run of runs) {
    if (run.end === Infinity) run.end = Math.max(run.begin, endOf(run.node, troubles)?.from ?? Infinity);
  }
  return runs;
}

/** The end of a node. */
function endOf(node: string, troubles: readonly Trouble[]): Trouble | undefined {
  return troubles.find((trouble) => trouble.node === node && trouble.to === Infinity);
}

/** The time of crons at a moment of nodes. */
function timeAt(time: number, origin: number): number {
  return origin + (time - origin) * 60_000 / MINUTE;
}

function nameOf({ scheduled }: Pick<Run, "scheduled">): string {
  return `the time ${new Date(scheduled).toISOString().slice(11, 16)}`;
}
