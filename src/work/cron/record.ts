/** The record of a cron, which all nodes share, and the report of it for operators. */
import { type Records, recordsOf } from "../../store/records.ts";
import type { CronReport } from "../../topics/topic_report.ts";
import type { DeclaredCron } from "./options.ts";
import { CronTimes } from "./times.ts";

export interface RunningCron {
  readonly scheduled: number;
  readonly began: number;
  /** "" after the node gave the run back. */
  readonly node: string;
  /** The name of the process, if the store can detect its end. */
  readonly process?: string | undefined;
}

export interface EndedCron {
  readonly scheduled: number;
  readonly began: number;
  readonly ended: number;
}

export interface RecentCron extends EndedCron {
  /** Undefined if it succeeded. */
  readonly error?: string | undefined;
}

/** Times are in milliseconds since 1970. */
export interface CronRecord {
  /** The newest time that ran or was skipped; at first, when the cron was declared. */
  readonly watermark: number;
  readonly run?: RunningCron | undefined;
  readonly last?: EndedCron | undefined;
  /** The newest last. Missing in records of versions without it. */
  readonly recent?: readonly RecentCron[] | undefined;
  /** How many runs have ended and failed, and how many times were skipped. */
  readonly runs: number;
  readonly failures: number;
  readonly skipped: number;
  readonly lastError?: { readonly at: number; readonly error: string } | undefined;
}

export const CRON_SPACE = "cron";
/** How many ended runs a record has. */
export const MAX_RECENT = 10;
/** A watermark that is further ahead, in milliseconds, comes from a wrong clock. */
export const MAX_AHEAD = 3_600_000;

export function newRecord(watermark: number): CronRecord {
  return { watermark, runs: 0, failures: 0, skipped: 0 };
}

/** @throws {TypeError} If a schedule has no next time. */
export function checkSchedules(declared: Iterable<DeclaredCron>): void {
  for (const cron of declared) new CronTimes(cron);
}

/** The next times after a moment, in milliseconds since 1970. */
export function upcomingTimes(cron: DeclaredCron, after: number, count: number): number[] {
  const times = new CronTimes(cron);
  const found: number[] = [];
  let time = after;
  while (found.length < count && Number.isFinite(time = times.next(time))) found.push(time);
  return found;
}

/** Sorted by name. */
export async function reportCrons(
  declared: Iterable<DeclaredCron>,
  records: Records | undefined,
  now: number,
): Promise<CronReport[]> {
  const crons = records && recordsOf(records, CRON_SPACE);
  const reports = await Promise.all(Array.from(declared, async (cron) => {
    const entry = await crons?.get<CronRecord>([cron.name]);
    return toReport(cron, entry?.value, now);
  }));
  return reports.sort((one, other) => one.name < other.name ? -1 : 1);
}

function toReport(cron: DeclaredCron, record: CronRecord | undefined, now: number): CronReport {
  const { name, schedule, timeZone } = cron;
  const { watermark = now, run, last, recent = [], lastError, runs = 0, failures = 0, skipped = 0 } = record ?? {};
  // A node whose clock is ahead may have run the next time already.
  const after = watermark <= now + MAX_AHEAD ? Math.max(watermark, now) : now;
  return {
    ...{ name, schedule, timeZone },
    next: new Date(new CronTimes(cron).next(after)),
    running: run && { scheduled: new Date(run.scheduled), began: new Date(run.began) },
    last: last && { scheduled: new Date(last.scheduled), began: new Date(last.began), ended: new Date(last.ended) },
    recent: recent.map(({ scheduled, began, ended, error }) => ({
      ...{ scheduled: new Date(scheduled), began: new Date(began), ended: new Date(ended), error },
    })),
    ...{ runs, failures, skipped },
    lastError: lastError && { at: new Date(lastError.at), error: lastError.error },
  };
}
