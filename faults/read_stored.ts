// Reads what a topic holds.

import type { Topic } from "../mod.ts";
import type { Stored } from "./history.ts";
import type { Payload } from "./log_entry.ts";

/**
 * All messages that are kept, up to the newest one now.
 *
 * @param topic The topic.
 * @param signal Ends the waiting for a message where none may be kept.
 */
export async function readStored(topic: Topic<Payload>, signal?: AbortSignal): Promise<Stored[]> {
  const head = await topic.head();
  const stored: Stored[] = [];
  for await (const entry of topic.subscribe({ from: "earliest", ...signal && { signal } })) {
    if ("gap" in entry) {
      // It was removed while it was read, and what came before it has been removed, too.
      stored.length = 0;
      continue;
    }
    stored.push({ id: entry.id, payload: entry.data });
    if (entry.id >= head) break;
  }
  return stored;
}
