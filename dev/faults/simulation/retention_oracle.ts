// Knows the ages of messages, to find any that are removed too early.

import { toPosition } from "../../../src/topics/message.ts";
import type { Cursor } from "../../../src/store/topic_store.ts";
import type { LogEntry } from "../node_log.ts";

/** Knows when the publish of each message began. */
export class RetentionOracle {
  /** The start of each publish in flight, by node, publisher and number. */
  readonly #begun = new Map<string, number>();
  /** The start of the publish of each stored message. */
  readonly #messages = new Map<Cursor, number>();

  /** Records an entry of a node's log. */
  note(node: string, entry: LogEntry): void {
    if (!("payload" in entry) || entry.kind === "read") return;
    const { publisher, number } = entry.payload;
    const publish = `${node} ${publisher} ${number}`;
    if (entry.kind !== "ok") return void this.#begun.set(publish, Date.now());
    const begun = this.#begun.get(publish)!;
    this.#begun.delete(publish);
    if (!entry.duplicate) this.#messages.set(toPosition(entry.id).cursor, begun);
  }

  /** The largest age that the youngest message up to a cursor can have, in milliseconds. */
  youngestUpTo(end: Cursor): number {
    let latest = -Infinity;
    for (const [cursor, begun] of this.#messages) if (cursor <= end) latest = Math.max(latest, begun);
    return Date.now() - latest;
  }
}
