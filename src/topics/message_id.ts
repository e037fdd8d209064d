/**
 * The ids of messages: the epoch of the log and the message's cursor in it, `3f9a0c21-000000000000000000001f`. Of one epoch, the
 * order of the ids is the order of the messages. Whoever holds one of another epoch has missed what nobody can tell.
 */
import type { Cursor, LogPlace } from "./store.ts";

const PATTERN = /^[0-9a-f]{8}-[0-9a-f]{22}$/;
const EPOCH_LENGTH = 8;

/** The id of a place in a log. */
export function toId(epoch: string, cursor: Cursor): string {
  return `${epoch}-${cursor}`;
}

/** Whether a text has the form of an id. */
export function isId(text: unknown): text is string {
  return typeof text === "string" && PATTERN.test(text);
}

/** The place that an id names. */
export function toPlace(id: string): LogPlace {
  return { epoch: id.slice(0, EPOCH_LENGTH), cursor: id.slice(EPOCH_LENGTH + 1) };
}

/** Whether two ids are of one life of a log, so that their order means something. */
export function isSameEpoch(id: string, other: string): boolean {
  return id.startsWith(other.slice(0, EPOCH_LENGTH));
}
