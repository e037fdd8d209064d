/**
 * Messages that are scheduled in transactions of the application: in a log of the framework, from
 * which schedulers move them into records. Small, since it is not loaded late.
 */
import { parseData } from "../../base/json_data.ts";
import { decodePolicy, encodePolicy, type LogRef } from "../../store/topic_store.ts";
import type { PublishedMessage } from "../publisher.ts";

/** No topic has this name. */
export const SCHEDULED_LOG: LogRef = {
  name: "webfw.scheduled",
  // Nodes that are down for longer lose what was scheduled just before.
  policy: { age: 30 * 24 * 60 * 60 * 1000, count: Infinity, bytes: Infinity, dedupe: 120_000 },
};

/** The end of the year 9999, in milliseconds since 1970. */
const MAX_TIME = 253_402_300_799_999;

/** A record also has an id, a type and a policy. */
const MAX_BYTES = 57 * 1024;

interface ScheduledData extends Pick<PublishedMessage, "type" | "trace"> {
  readonly topic: string;
  readonly policy: string;
  readonly id: string;
  /** In milliseconds since 1970. */
  readonly at: number;
  readonly data: unknown;
}

export interface ScheduledInTransaction extends Pick<PublishedMessage, "type" | "trace"> {
  readonly log: LogRef;
  readonly id: string;
  readonly at: number;
  readonly data: string;
}

/** @throws {RangeError} If a record is too small for it. */
export function encodeScheduled(
  { name, policy }: LogRef,
  { id, type, trace, data, bytes }: PublishedMessage & { readonly id: string },
  at: number,
): string {
  if (bytes > MAX_BYTES) {
    throw new RangeError(
      `Cannot publish to the topic "${name}": the message has ${bytes} bytes of JSON, and one that is published later may have ${MAX_BYTES}, keep its data elsewhere and publish where`,
    );
  }
  const head: Omit<ScheduledData, "data"> = { topic: name, policy: encodePolicy(policy), id, type, trace, at };
  return `${JSON.stringify(head).slice(0, -1)},"data":${data}}`;
}

/** Undefined if another program has written it, and not as it should. */
export function decodeScheduled(text: string): ScheduledInTransaction | undefined {
  try {
    const { topic, policy, id, type, trace, at, data } = parseData(text) as ScheduledData;
    const areTexts = [topic, id, type ?? "", trace ?? ""].every((part) =>
      typeof part === "string" && part.isWellFormed()
    );
    if (!areTexts || !topic || !id || data === undefined || !(at >= 0 && at <= MAX_TIME)) return undefined;
    const log = { name: topic, policy: decodePolicy(policy) };
    if (!Object.values(log.policy).every((bound) => typeof bound === "number")) return undefined;
    return { log, id, type: type ?? undefined, trace: trace ?? undefined, at, data: JSON.stringify(data) };
  } catch {
    return undefined;
  }
}
