// What nodes have come to, by what they have written down.

import type { LogEntry } from "./log_entry.ts";

/** What each reader has read last. */
export function readersOf(log: readonly LogEntry[]): (string | undefined)[] {
  const last = new Map<string, string | undefined>();
  for (const entry of log) {
    if (entry.kind === "subscribe" && entry.after === null) last.set(entry.reader, undefined);
    else if (entry.kind === "read") last.set(entry.reader, entry.id);
  }
  return [...last.values()];
}
