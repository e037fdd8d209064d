// In which order a node has published what it has stored itself.

import type { LogEntry, Payload } from "./log_entry.ts";

/** A message of which it is known by which call it was stored. */
export interface SurePublish {
  readonly payload: Payload;
  readonly id: string;
}

interface Call {
  /** The index in the log of what was noted right before the call. */
  readonly at: number;
  /** Whether no call before it may have stored the message. */
  readonly isFirst: boolean;
}

/**
 * The messages that a node has stored by the first call that was sent to the store, in the order of these calls: that of the messages.
 *
 * Where the outcome of a call was unknown, or its node was killed, it may have stored the message as well as the one that repeats it, and
 * where another node has published the same, that one's order counts.
 */
export function surePublishesOf(log: readonly LogEntry[]): SurePublish[] {
  const calls = new Map<string, Call>();
  const found: (SurePublish & Call)[] = [];
  for (const [at, entry] of log.entries()) {
    if (entry.kind !== "invoke" && entry.kind !== "unsent" && entry.kind !== "unknown" && entry.kind !== "ok") continue;
    const { publisher, number } = entry.payload;
    const name = `${publisher}-${number}`;
    const call = calls.get(name);
    if (entry.kind === "invoke") calls.set(name, { at, isFirst: call === undefined });
    else if (entry.kind === "unsent") calls.set(name, { at, isFirst: call!.isFirst });
    else if (entry.kind === "unknown") calls.set(name, { at, isFirst: false });
    else if (call?.isFirst && !entry.duplicate) found.push({ ...call, payload: entry.payload, id: entry.id });
  }
  return found.sort((one, other) => one.at - other.at);
}
