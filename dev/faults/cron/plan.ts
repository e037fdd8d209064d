// The plans that the nodes of a run get, and the entries that they write.

import type { LogLine, NodePlan } from "../work/node.ts";

/**
 * How much faster the time of crons passes than that of stores and nodes: a schedule has whole
 * minutes, and a run is to have many.
 */
export const HASTE = 20;
/** A minute of crons, in milliseconds. */
export const MINUTE: number = 60_000 / HASTE;
/** How long a node that is silent keeps a run, and how often the others look, in milliseconds. */
export const LEASE: number = 30_000 / HASTE;
export const LOOK: number = LEASE / 4;

/** How a node breaks a promise on purpose. */
export type Flaw =
  /** It shares no records with the others, and is late. */
  | "lonely"
  /** It takes runs from nodes that live, and goes on when a run is taken from it. */
  | "hasty"
  /** It begins no times. */
  | "idle"
  /** It looks too seldom whether the node of a run lives. */
  | "slow";

/** The plan of a node. */
export interface CronPlan extends NodePlan {
  /** When the time of crons and that of nodes were equal, in milliseconds since 1970. */
  readonly origin: number;
  /** Decides how long each run takes. */
  readonly seed: number;
  readonly catchUp: boolean;
  readonly flaw?: Flaw | undefined;
}

/** A line of the log of a node. */
export interface CronLine extends LogLine {
  readonly kind: "begin" | "done" | "failed" | "aborted";
  /** The time that is due, in milliseconds since 1970, as crons see it. */
  readonly scheduled: number;
}

/** When a time of crons comes, as nodes see it. */
export function dueAt(scheduled: number, origin: number): number {
  return origin + (scheduled - origin) / HASTE;
}
