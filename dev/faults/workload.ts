// The workload of a node, real or simulated: it publishes, reads, and logs what it sees.

import { PublishOutcomeUnknownError, type Topic, type TopicEntry } from "../../mod.ts";
import type { PublishOptions, PublishResult, SubscribeOptions } from "../../src/types/mod.ts";
import type { LogEntry, Payload } from "./node_log.ts";
import type { Stored } from "./history.ts";

// Reads the content of a topic.

/**
 * Reads all stored messages, up to the present newest one.
 *
 * @param topic The topic.
 * @param signal Ends the wait for a message if the store may be empty.
 */
export async function readStored(topic: Topic<Payload>, signal?: AbortSignal): Promise<Stored[]> {
  const head = await topic.head();
  const stored: Stored[] = [];
  for await (const entry of topic.subscribe({ from: "earliest", ...signal && { signal } })) {
    if ("gap" in entry) {
      // The message was removed while it was read, and so were the ones before it.
      stored.length = 0;
      continue;
    }
    stored.push({ id: entry.id, payload: entry.data });
    if (entry.id >= head) break;
  }
  return stored;
}

/** How much a node does. */
export interface WorkloadPlan {
  readonly name: string;
  /** How often the node was started, this time included. */
  readonly generation: number;
  /** The number of publishers. Every second one publishes with ids. */
  readonly publishers: number;
  /** How many messages each publishes. */
  readonly messages: number;
  /**
   * Whether publishers with ids publish the same messages on all nodes, except a few, in another
   * order on each.
   */
  readonly isShared: boolean;
  /** How many publishes some publishers have in flight; the others wait for each one. */
  readonly atOnce: number;
  /** How long a publish waits before it is repeated, in milliseconds. */
  readonly patience: number;
  /** How many readers there are. */
  readonly readers: number;
  /**
   * How long each reader rests after an entry, in milliseconds; the last reader rests ten times as
   * long.
   */
  readonly rest: number;
}

/** The topic as a node uses it. */
export interface UsedTopic {
  publish(data: Payload, options?: PublishOptions): Promise<PublishResult>;
  subscribe(options: SubscribeOptions): AsyncIterable<TopicEntry<Payload>>;
  /** A position ahead of the topic at which a reader continues, if it should. */
  placeAhead?(id: string): string | undefined;
}

/** The environment of a workload. */
export interface WorkloadContext {
  readonly plan: WorkloadPlan;
  readonly topic: UsedTopic;
  /** The log of its earlier generations. */
  readonly before: readonly LogEntry[];
  /** Writes a log entry. */
  readonly note: (entry: LogEntry) => void;
  /** Gets the error after which a reader begins again. */
  readonly warn: (error: unknown) => void;
  /** Ends its readers. */
  readonly signal: AbortSignal;
}

/** Runs a workload until all is published and the readers are ended. */
export async function runWorkload(context: WorkloadContext): Promise<void> {
  const { plan, note } = context;
  note({ kind: "begin", generation: plan.generation });
  const reading = Array.from({ length: plan.readers }, (_, index) => {
    const rest = index === plan.readers - 1 && index > 0 ? plan.rest * 10 : plan.rest;
    return readAll(context, `${plan.name}.${index}`, rest);
  });
  await Promise.all(publishersOf(plan).map((publisher) => publishAll(context, publisher)));
  note({ kind: "published" });
  await Promise.all(reading);
}

interface Publisher {
  readonly name: string;
  readonly hasIds: boolean;
  /** Whether other nodes publish the same messages. */
  readonly isShared: boolean;
  /** How many publishes it has under way at once. */
  readonly atOnce: number;
}

/**
 * The publishers of a node, in the order in which they begin. If nodes share messages, each has
 * another order, and at times the node's own come first: a write with many ids checks the first few
 * in another way than the others.
 */
function publishersOf(plan: WorkloadPlan): Publisher[] {
  const publishers = Array.from({ length: plan.publishers }, (_, index): Publisher => {
    const hasIds = index % 2 === 0;
    const isShared = plan.isShared && hasIds && index % 3 !== 2;
    const name = `${isShared ? "all" : plan.name}.${index}`;
    return { name, hasIds, isShared, atOnce: index % 4 < 2 ? 1 : plan.atOnce };
  });
  if (!plan.isShared) return publishers;
  const shuffled = shuffle(publishers);
  return Math.random() < 0.5 ? shuffled : shuffled.sort((one, other) => Number(one.isShared) - Number(other.isShared));
}

async function publishAll(context: WorkloadContext, { name, hasIds, isShared, atOnce }: Publisher): Promise<void> {
  const { plan: { messages }, before } = context;
  const isHasty = atOnce > 1;
  const inOrder = Array.from({ length: messages }, (_, number) => number);
  // A publisher that does not wait promises no order, so that another node may publish the same in
  // another one.
  const numbers = isHasty && isShared ? shuffle(inOrder) : inOrder;
  // With ids, all messages are published again. Without, the outcome of the last ones is not known.
  let next = hasIds ? 0 : before.filter((entry) => entry.kind === "invoke" && entry.payload.publisher === name).length;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < messages) {
      const payload = { publisher: name, number: numbers[next++]!, ...isHasty && { isHasty } };
      await publish(context, payload, hasIds);
    }
  }));
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  const places = items.map((item) => ({ item, place: Math.random() }));
  return places.sort((one, other) => one.place - other.place).map(({ item }) => item);
}

async function publish({ plan, topic, note }: WorkloadContext, payload: Payload, hasId: boolean): Promise<void> {
  let id = hasId ? `${payload.publisher}-${payload.number}` : undefined;
  note({ kind: "invoke", payload });
  for (;;) {
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(new DOMException("No answer in time", "TimeoutError")), plan.patience);
    try {
      const result = await topic.publish(payload, { signal: giveUp.signal, ...id !== undefined && { id } });
      return note({ kind: "ok", payload, ...result });
    } catch (error) {
      if (!(error instanceof PublishOutcomeUnknownError)) {
        // It had not been sent to the store.
        if (!(error instanceof DOMException)) throw error;
        note({ kind: "unsent", payload });
        continue;
      }
      id = error.id;
      note({ kind: "unknown", payload });
    } finally {
      clearTimeout(timer);
    }
  }
}

async function readAll({ topic, note, warn, signal }: WorkloadContext, reader: string, rest: number): Promise<void> {
  let after: string | undefined;
  while (!signal.aborted) {
    const ahead = after === undefined ? undefined : topic.placeAhead?.(after);
    const place = ahead ?? after;
    note({ kind: "subscribe", reader, after: place ?? null, ...ahead !== undefined && { isAhead: true } });
    const subscription = topic.subscribe(place === undefined ? { from: "earliest", signal } : { after: place, signal });
    try {
      for await (const entry of subscription) {
        note(toLogEntry(entry, reader));
        if ("id" in entry) after = entry.id;
        if (rest > 0) await new Promise((resolve) => setTimeout(resolve, Math.random() * rest));
      }
    } catch (error) {
      // The store was away for longer than the topic waits.
      warn(error);
    }
  }
}

function toLogEntry(entry: TopicEntry<Payload>, reader: string): LogEntry {
  if ("gap" in entry) return { kind: "gap", reader, ...entry.gap };
  return { kind: "read", reader, id: entry.id, payload: entry.data };
}
