// What the nodes of a run are told, and what they write down.

/** The data of a message. */
export interface Task {
  readonly number: number;
  readonly key: string;
  /** How long its handler takes, in milliseconds. */
  readonly time: number;
  readonly plan: "works" | "throws once" | "throws" | "discards";
}

/** What a node is told. */
export interface NodePlan {
  readonly name: string;
  /** The path of its log. */
  readonly log: string;
  readonly topics: string | { readonly url: string; readonly token: string };
  readonly concurrency: number;
  /** In milliseconds. */
  readonly lease: number;
  readonly attempts: number;
  readonly hasKeys: boolean;
}

/** A line of the log of a node. Times are in milliseconds since 1970. */
export interface Line {
  readonly kind: "begin" | "done" | "failed" | "aborted";
  readonly node: string;
  readonly number: number;
  readonly attempt: number;
  readonly time: number;
}

/** What was done to a node. */
export interface Trouble {
  readonly kind: "killed" | "frozen";
  readonly node: string;
  readonly from: number;
  /** When it went on; when it was killed, the same as `from`. */
  readonly to: number;
}
