// What nodes have come to, by what they have written down.

import type { LogEntry } from "./log_entry.ts";

/** What each reader has come to: what it has read last, or where it goes on. */
export function readersOf(log: readonly LogEntry[]): (string | undefined)[] {
  const last = new Map<string, string | undefined>();
  for (const entry of log) {
    if (entry.kind === "subscribe") last.set(entry.reader, entry.after ?? undefined);
    else if (entry.kind === "read") last.set(entry.reader, entry.id);
  }
  return [...last.values()];
}
