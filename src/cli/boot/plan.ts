// What the command tells the program that it starts. It travels as JSON.

/** What any command tells. */
export interface Plan {
  /** The module as the user wrote it, for messages. */
  readonly module: string;
  /** The export that holds the application, or `null` for `app`, else `default`. */
  readonly attribute: string | null;
  /** Process id of the command. */
  readonly parent: number;
  /** Whether the program runs in a watcher. */
  readonly isWatched: boolean;
}

/** What `webfw run` tells. */
export interface ServePlan extends Plan {
  /** Address to listen on. */
  readonly hostname: string;
  /** Port to listen on, 0 for any free one. */
  readonly port: number;
  /** How many threads serve. */
  readonly workers: number;
  /** The program of those that are not the first. */
  readonly workerProgram: string;
}

/** What `webfw topics` tells. */
export interface TopicsPlan extends Plan {
  /** The topic to follow, or `null` to list all of them. */
  readonly tail: string | null;
  /** Where to begin to follow. */
  readonly from: "now" | "earliest";
  /** The id of the message to begin after, or to count from. */
  readonly after: string | null;
}

/** Imports the user's module. */
export type Load = () => Promise<Readonly<Record<string, unknown>>>;
