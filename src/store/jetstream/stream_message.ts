/** Messages of logs as streams have them: headers, and positions. */
import { isTrace } from "../../log/telemetry.ts";
import { type Cursor, LOG_START, type StoredMessage } from "../topic_store.ts";
import { textOf } from "./nats_client.ts";
import type { NatsMessage } from "./nats_package.ts";

/** The header with the type of a message. */
export const TYPE_HEADER = "Webfw-Type";
/** The header that marks the messages of one append. */
export const APPEND_HEADER = "Webfw-Append";

/** The header with the trace of the publisher, under the name that other programs know. */
export const TRACE_HEADER = "traceparent";

/** A header is one line, whose ends are trimmed. */
export function encodeHeader(text: string): string {
  return encodeURIComponent(text);
}

/** The sequence number of a message that was read. */
export function seqOf({ headers }: NatsMessage): number {
  return Number(headers?.get("Nats-Sequence"));
}

/** A message that was read. */
export function toStored(message: NatsMessage): StoredMessage {
  const { data, headers } = message;
  const trace = headers?.get(TRACE_HEADER) ?? "";
  return {
    cursor: toCursor(seqOf(message)),
    type: headers?.has(TYPE_HEADER) ? decodeURIComponent(headers.get(TYPE_HEADER)) : undefined,
    data: textOf(data),
    bytes: data.length,
    time: Date.parse(headers?.get("Nats-Time-Stamp") ?? ""),
    ...(isTrace(trace) && { trace }),
  };
}

/** The position after a message; a sequence number of 0 is before the first. */
export function toCursor(seq: number): Cursor {
  return seq.toString(16).padStart(LOG_START.length, "0");
}

/** Cursors of clients may be larger than any sequence number. */
export function toSeq(cursor: Cursor): number {
  return Math.min(Number.parseInt(cursor, 16), Number.MAX_SAFE_INTEGER - 1);
}
