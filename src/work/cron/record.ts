/** What the nodes know of a cron together: one record. */

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
