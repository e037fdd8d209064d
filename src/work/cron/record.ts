/** What the nodes know of a cron together: one record. */
import { type Records, recordsOf } from "../../store/records.ts";
import type { TopicReport } from "../../topics/topic_report.ts";
import type { DeclaredCron } from "./options.ts";
import { CronTimes } from "./times.ts";

/** A run that goes on. */
export interface RunningCron {
  /** The time that is due. */
  readonly scheduled: number;
  /** When it began. */
  readonly began: number;
  /** The node that has it; empty if it has given it back. */
  readonly node: string;
  /** The name of its process, if the store can say whether that has ended. */
  readonly process?: string | undefined;
}

/** A run that has ended. */
export interface EndedCron {
  readonly scheduled: number;
  readonly began: number;
  readonly ended: number;
}

/** What is kept of a cron. Times are in milliseconds since 1970. */
export interface CronRecord {
  /** The newest time that ran or was skipped; when the cron was declared before that. */
  readonly place: number;
  readonly run?: RunningCron | undefined;
  readonly last?: EndedCron | undefined;
  /** How many runs have ended, how many of them by an error, and how many times were skipped. */
  readonly runs: number;
  readonly failures: number;
  readonly skipped: number;
  readonly lastError?: { readonly at: number; readonly error: string } | undefined;
}

/** The space of the records. */
export const CRON_SPACE = "cron";
/** A place further ahead of now, in milliseconds, was written by a wrong clock. */
export const MAX_AHEAD = 3_600_000;

/** The record of a cron that begins. */
export function newRecord(place: number): CronRecord {
  return { place, runs: 0, failures: 0, skipped: 0 };
}

/**
 * A cron of the application, and how its last runs went on all nodes.
 *
 * @category Cron
 */
export interface CronReport {
  /** The name. */
  readonly name: string;
  /** The cron expression. */
  readonly schedule: string;
  /** Its time zone. */
  readonly timeZone: string;
  /** When it runs next. */
  readonly next: Date;
  /** The time that runs now, and when it began; undefined if none does. */
  readonly running: { readonly scheduled: Date; readonly began: Date } | undefined;
  /** The run that ended last; undefined if none has. */
  readonly last: { readonly scheduled: Date; readonly began: Date; readonly ended: Date } | undefined;
  /** How many runs have ended. */
  readonly runs: number;
  /** How many of them ended by an error. */
  readonly failures: number;
  /** How many times were skipped, because the run before still went on. */
  readonly skipped: number;
  /** The last error, and when it was thrown; undefined if none was. */
  readonly lastError: { readonly at: Date; readonly error: string } | undefined;
}

/**
 * What operators see of the work of an application.
 *
 * @category Topics
 */
export interface TopicsReport {
  /** The durable topics in the store. */
  readonly topics: readonly TopicReport[];
  /** The crons of the application. */
  readonly crons: readonly CronReport[];
}

/** Reports on crons, sorted by name. */
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
  const { place = now, run, last, lastError, runs = 0, failures = 0, skipped = 0 } = record ?? {};
  // Another node, whose clock is ahead, may have run the next time already.
  const after = place <= now + MAX_AHEAD ? Math.max(place, now) : now;
  return {
    name,
    schedule,
    timeZone,
    next: new Date(new CronTimes(cron).next(after)),
    running: run && { scheduled: new Date(run.scheduled), began: new Date(run.began) },
    last: last &&
      { scheduled: new Date(last.scheduled), began: new Date(last.began), ended: new Date(last.ended) },
    runs,
    failures,
    skipped,
    lastError: lastError && { at: new Date(lastError.at), error: lastError.error },
  };
}
