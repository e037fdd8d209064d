// What a node writes down, one line of JSON for each step, before it goes on.

/** A message as it is told of: its publisher, and its number there. */
export interface Payload {
  readonly publisher: string;
  readonly number: number;
  /** Whether its publisher does not wait for each: those that it repeats come after later ones. */
  readonly isHasty?: true;
}

/** A step of a node. */
export type LogEntry =
  /** A life of the node begins; there is another one after it was killed, unless that was before it began. */
  | { readonly kind: "begin"; readonly life: number }
  /** A publish begins. */
  | { readonly kind: "invoke"; readonly payload: Payload }
  /** It was answered. */
  | { readonly kind: "ok"; readonly payload: Payload; readonly id: string; readonly duplicate: boolean }
  /** It was not, and is made again. */
  | { readonly kind: "unknown"; readonly payload: Payload }
  /** It had not been sent to the store, and is made again. */
  | { readonly kind: "unsent"; readonly payload: Payload }
  /** All was published. */
  | { readonly kind: "published" }
  /** A reader begins, after what it has read last, or ahead of all messages; in another life of its node it begins anew. */
  | { readonly kind: "subscribe"; readonly reader: string; readonly after: string | null; readonly isAhead?: true }
  /** A reader got a message. */
  | { readonly kind: "read"; readonly reader: string; readonly id: string; readonly payload: Payload }
  /** A reader was told that it misses some. */
  | {
    readonly kind: "gap";
    readonly reader: string;
    readonly reason: string;
    readonly from: string;
    readonly oldest: string | null;
  };

/** Reads a log. The last line may be cut off, where the node was killed. */
export function parseLog(text: string): LogEntry[] {
  return text.split("\n").slice(0, -1).map((line) => JSON.parse(line) as LogEntry);
}
