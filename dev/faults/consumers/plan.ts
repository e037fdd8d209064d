// The plans that the nodes of a run get, and the entries that they write.

import type { LogLine, NodePlan } from "../work/node.ts";

/** The data of a message. */
export interface Task {
  readonly number: number;
  readonly key: string;
  /** How long its handler takes, in milliseconds. */
  readonly time: number;
  readonly plan: "works" | "throws once" | "throws" | "discards";
}

/** How a node breaks a promise on purpose. */
export type Flaw =
  /** It says that messages were handled without handling them. */
  | "forgetful"
  /** It takes messages from nodes that live. */
  | "hasty"
  /** It tries messages more often than the others. */
  | "stubborn"
  /** It sends no dead letters. */
  | "mute";

/** The plan of a node. */
export interface ConsumerPlan extends NodePlan {
  readonly concurrency: number;
  /** In milliseconds. */
  readonly lease: number;
  readonly attempts: number;
  readonly hasKeys: boolean;
  readonly flaw?: Flaw | undefined;
}

/** A line of the log of a node. */
export interface HandlerLine extends LogLine {
  readonly kind: "begin" | "done" | "failed" | "aborted";
  readonly number: number;
  readonly attempt: number;
}

/** A message that was given up, as its dead letter says. */
export interface GivenUp {
  readonly number: number;
  readonly attempts: number;
}
