/** What this process has seen of logs: a log that is behind it was restored from a backup. */
import { OrderedMap } from "../../base/ordered_map.ts";
import type { Tables } from "./schema.ts";

const MAX_LOGS = 10_000;

export interface SeenPosition {
  readonly incarnation: string;
  readonly head: number;
  /** The time of the message there. */
  readonly time: number;
}

const NOTHING: SeenPosition = { incarnation: "", head: 0, time: 0 };

export class SeenPositions {
  readonly #logs = new OrderedMap<string, SeenPosition>();

  of(name: string): SeenPosition {
    return this.#logs.get(name) ?? NOTHING;
  }

  /** Replies may overtake one another. */
  note(name: string, { incarnation, head, time }: SeenPosition): void {
    const seen = this.#logs.get(name);
    if (seen && seen.incarnation === incarnation && seen.head >= head) return;
    this.#logs.set(name, { incarnation, head, time });
    this.#logs.shrink(MAX_LOGS);
  }
}

/**
 * Whether the log `g` is behind a position that was seen, or has another message there: after the
 * restore, other nodes may have published beyond its end.
 */
export function isRestored({ messages }: Tables, incarnation: string, head: string, time: string): string {
  return `(g.incarnation = ${incarnation} AND (g.head < ${head}
    OR EXISTS (SELECT 1 FROM ${messages} x WHERE x.log = g.id AND x.seq = ${head} AND x.time <> ${time})))`;
}

/** 8 hexadecimal digits. */
export function newIncarnation(): string {
  return crypto.randomUUID().slice(0, 8);
}
