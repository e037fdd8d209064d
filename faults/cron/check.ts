// Checks what the nodes of a run wrote down against the promises of crons.

import { type HandlerRun, isDuring, overlapsOf, type Trouble } from "../work/trouble.ts";
import { type CronLine, dueAt, LEASE, LOOK, MINUTE } from "./plan.ts";

/** The record of a run. Times are in milliseconds since 1970. */
export interface CronHistory {
  readonly origin: number;
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
/** How exact clocks are, in milliseconds. */
const PRECISION = 50;
/** How long a run that broke off may be nobody's. */
const HANDOVER = LEASE + LOOK + SLACK;
/** The resolution of the search for a moment at which a time should have begun. */
const STEP = 25;

/** Looks for times that did not run, ran twice or on two nodes at once, or were taken over late. */
export function checkCron(history: CronHistory): string[] {
  const runs = runsOf(history.lines);
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
      if (isTroubled(troubles, run.node, run.end, again.begin)) continue;
      faults.push(`${nameOf(run)} was run by ${run.node}, and again by ${again.node}`);
    }
  }
  return faults;
}

/** A time does not run before it is due, nor when the next one is due. */
function checkMoments({ troubles, origin }: CronHistory, runs: readonly Run[]): string[] {
  const faults: string[] = [];
  for (const run of runs) {
    const due = dueAt(run.scheduled, origin);
    if (troubles.some(({ kind, from, to }) => kind === "clock" && from <= run.begin && to >= due)) continue;
    if (run.begin < due - PRECISION) faults.push(`${nameOf(run)} was run too early by ${run.node}`);
    if (run.begin < due + MINUTE + SLACK || isTroubled(troubles, run.node, due, run.begin)) continue;
    faults.push(`${nameOf(run)} was run by ${run.node} when a later one was due`);
  }
  return faults;
}

/** Another node goes on soon after the end of one that had a run. */
function checkTakeovers({ troubles, to }: CronHistory, runs: readonly Run[]): string[] {
  const faults: string[] = [];
  for (const [index, run] of runs.entries()) {
    if (hasEnded(run)) continue;
    const death = troubles.find(({ kind, node }) => kind === "killed" && node === run.node);
    const end = Math.min(run.end, death?.from ?? Infinity);
    const latest = end + HANDOVER;
    const isExcused = troubles.some((trouble) => {
      return trouble !== death && !isShort(trouble) && trouble.from <= latest && trouble.to >= run.begin;
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
  const { origin, from, to, troubles, nodes } = history;
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
    // It is skipped where the run before goes on.
    const isSkipped = runs.some(({ begin, end }) => begin < due && due < end + PRECISION && end < Infinity);
    if (seen.has(scheduled) || isSkipped) continue;
    let free = 0;
    for (let time = due; time < due + MINUTE && free < SLACK; time += STEP) free = isFree(time) ? free + STEP : 0;
    if (free >= SLACK) faults.push(`${nameOf({ scheduled })} was not run`);
  }
}

/** When others cannot run anything because of a run. */
function spanOf({ node, begin, end, kind }: Run, troubles: readonly Trouble[]): Pick<Trouble, "from" | "to"> {
  const death = troubles.find((trouble) => trouble.kind === "killed" && trouble.node === node)?.from ?? Infinity;
  const isSaid = hasEnded({ kind }) && !isTroubled(troubles, node, end, end + SLACK);
  return { from: begin, to: Math.min(end, death) + (isSaid ? SLACK : HANDOVER) };
}

/** When nothing may run because of a trouble: its node may just have taken a time. */
function silenceOf({ kind, node, from, to }: Trouble): Pick<Trouble, "from" | "to">[] {
  if (node === undefined) return [{ from, to: to + SLACK }];
  if (kind === "clock") return [];
  return [{ from: from - PRECISION, to: (kind === "cut off" ? to : from) + HANDOVER }];
}

/** Whether something kept a node from its store. */
function isTroubled(troubles: readonly Trouble[], node: string, from: number, to: number): boolean {
  return troubles.some((trouble) => {
    const concerns = trouble.node === undefined || (trouble.node === node && trouble.kind !== "clock");
    return concerns && !isShort(trouble) && trouble.from <= to && trouble.to >= from;
  });
}

/** Whether a node makes up for a trouble in time. */
function isShort({ kind, from, to }: Trouble): boolean {
  return kind === "frozen" && to - from < LEASE / 2;
}

function hasEnded({ kind }: Pick<Run, "kind">): boolean {
  return kind === "done" || kind === "failed";
}

function runsOf(lines: readonly CronLine[]): Run[] {
  const runs: { -readonly [Name in keyof Run]: Run[Name] }[] = [];
  for (const { kind, node, scheduled, time } of lines) {
    const open = runs.findLast((run) => run.node === node && run.end === Infinity);
    if (kind === "begin") runs.push({ node, scheduled, begin: time, end: Infinity, kind: undefined });
    else if (open) Object.assign(open, { end: time, kind });
  }
  return runs;
}

/** The time of crons at a moment of nodes. */
function timeAt(time: number, origin: number): number {
  return origin + (time - origin) * 60_000 / MINUTE;
}

function nameOf({ scheduled }: Pick<Run, "scheduled">): string {
  return `the time ${new Date(scheduled).toISOString().slice(11, 16)}`;
}
