// How old messages are at most, so that none is removed before its time.

import { toPosition } from "../../src/topics/message.ts";
import type { Cursor } from "../../src/topics/store.ts";
import type { LogEntry } from "../node_log.ts";

/** Knows since when messages can be stored. */
export class Ages {
  /** When each publish was begun that is under way: by its node, publisher and number. */
  readonly #begun = new Map<string, number>();
  /** When that of each message was begun. */
  readonly #messages = new Map<Cursor, number>();

  /** Takes note of what a node writes down now. */
  note(node: string, entry: LogEntry): void {
    if (!("payload" in entry) || entry.kind === "read") return;
    const { publisher, number } = entry.payload;
    const publish = `${node} ${publisher} ${number}`;
    if (entry.kind !== "ok") return void this.#begun.set(publish, Date.now());
    const begun = this.#begun.get(publish)!;
    this.#begun.delete(publish);
    if (!entry.duplicate) this.#messages.set(toPosition(entry.id).cursor, begun);
  }

  /** How old the youngest of the messages up to a place is at most, in milliseconds. */
  youngestUpTo(place: Cursor): number {
    let latest = -Infinity;
    for (const [cursor, begun] of this.#messages) if (cursor <= place) latest = Math.max(latest, begun);
    return Date.now() - latest;
  }
}
