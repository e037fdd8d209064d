// What a node does, whether it is a process or simulated: it publishes, reads, and writes down what it sees.

import { PublishOutcomeUnknown, type SubscribeOptions, type Topic, type TopicEntry } from "../mod.ts";
import type { LogEntry, Payload } from "./node_log.ts";
import type { Stored } from "./history.ts";

// Reads what a topic holds.

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

/** How much a node does. */
export interface WorkPlan {
  readonly name: string;
  /** Which of its lives this is, from 1. */
  readonly life: number;
  /** How many publishers there are; every second one gives its messages ids. */
  readonly publishers: number;
  /** How many messages each publishes. */
  readonly messages: number;
  /** Whether those who give ids publish the same messages on all nodes, but for a few, and in another order on each. */
  readonly isShared: boolean;
  /** How many publishes some publishers have under way at once; the others wait for each. */
  readonly atOnce: number;
  /** How long a publish waits before it is made again, in milliseconds. */
  readonly patience: number;
  /** How many readers there are. */
  readonly readers: number;
  /** How long each reader rests after an entry, in milliseconds; the last reader rests ten times as long. */
  readonly rest: number;
}

/** The topic as a node uses it. */
export interface UsedTopic extends Pick<Topic<Payload>, "publish"> {
  subscribe(options: SubscribeOptions): AsyncIterable<TopicEntry<Payload>>;
  /** Where a reader goes on that has come to an id, if not there: at a place that the topic has not come to. */
  placeAhead?(id: string): string | undefined;
}

/** What a node works with. */
export interface Workplace {
  readonly plan: WorkPlan;
  readonly topic: UsedTopic;
  /** What it did in its lives before. */
  readonly before: readonly LogEntry[];
  /** Writes down what it sees. */
  readonly note: (entry: LogEntry) => void;
  /** Hears why a reader had to begin again. */
  readonly warn: (error: unknown) => void;
  /** Ends its readers. */
  readonly signal: AbortSignal;
}

/** Does the work of a node, until all is published and the readers are ended. */
export async function work(workplace: Workplace): Promise<void> {
  const { plan, note } = workplace;
  note({ kind: "begin", life: plan.life });
  const reading = Array.from({ length: plan.readers }, (_, index) => {
    const rest = index === plan.readers - 1 && index > 0 ? plan.rest * 10 : plan.rest;
    return readAll(workplace, `${plan.name}.${index}`, rest);
  });
  await Promise.all(publishersOf(plan).map((publisher) => publishAll(workplace, publisher)));
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
 * The publishers of a node, in the order in which they begin. Where nodes share messages, that is another one on each, and at times the
 * node's own come first: a write that has many ids makes sure of the first few in another way than of the others.
 */
function publishersOf(plan: WorkPlan): Publisher[] {
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

async function publishAll(workplace: Workplace, { name, hasIds, isShared, atOnce }: Publisher): Promise<void> {
  const { plan: { messages }, before } = workplace;
  const isHasty = atOnce > 1;
  const inOrder = Array.from({ length: messages }, (_, number) => number);
  // Of a publisher that does not wait nothing says that another node has to publish the same in the same order.
  const numbers = isHasty && isShared ? shuffle(inOrder) : inOrder;
  // Whoever gives ids publishes all again; whoever does not cannot tell what became of the last ones.
  let next = hasIds ? 0 : before.filter((entry) => entry.kind === "invoke" && entry.payload.publisher === name).length;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < messages) {
      const payload = { publisher: name, number: numbers[next++]!, ...isHasty && { isHasty } };
      await publish(workplace, payload, hasIds);
    }
  }));
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  const places = items.map((item) => ({ item, place: Math.random() }));
  return places.sort((one, other) => one.place - other.place).map(({ item }) => item);
}

async function publish({ plan, topic, note }: Workplace, payload: Payload, hasId: boolean): Promise<void> {
  let id = hasId ? `${payload.publisher}-${payload.number}` : undefined;
  note({ kind: "invoke", payload });
  for (;;) {
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(new DOMException("No answer in time", "TimeoutError")), plan.patience);
    try {
      const result = await topic.publish(payload, { signal: giveUp.signal, ...id !== undefined && { id } });
      return note({ kind: "ok", payload, ...result });
    } catch (error) {
      if (!(error instanceof PublishOutcomeUnknown)) {
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

async function readAll({ topic, note, warn, signal }: Workplace, reader: string, rest: number): Promise<void> {
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
