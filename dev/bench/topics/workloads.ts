// The workloads. Every run checks that each reader got each message once and in order.

import type { Board, Message, Reader } from "./contestants.ts";

/** A way to use a board. */
export interface Workload {
  name: string;
  description: string;
  /** How many publishers wait for their own messages only. */
  publishers: number;
  /** Whether there are readers. */
  isRead: boolean;
}

/** The result of a run. */
export interface Run {
  /** Messages a second, from the first publish to the last reader. */
  messagesPerSecond: number;
  /** The fault that was found, if any. */
  fault: string | undefined;
}

/** All workloads. */
export const WORKLOADS: Workload[] = [
  { name: "publish", description: "one publisher, no readers", publishers: 1, isRead: false },
  { name: "publish-16", description: "16 publishers, no readers", publishers: 16, isRead: false },
  { name: "fan-out", description: "one publisher", publishers: 1, isRead: true },
  { name: "fan-out-16", description: "16 publishers", publishers: 16, isRead: true },
];

/** Publishes this many messages to this many readers. */
export async function run(workload: Workload, board: Board, messages: number, readers: number): Promise<Run> {
  const subscriptions = Array.from({ length: workload.isRead ? readers : 0 }, () => board.subscribe());
  const reading = subscriptions.map((reader) => readAll(reader, messages));
  const start = performance.now();
  await publishAll(board, messages, workload.publishers);
  const results = await Promise.all(reading);
  const seconds = (performance.now() - start) / 1000;
  for (const subscription of subscriptions) subscription.close();
  const fault = results.find((result) => result !== undefined);
  return { messagesPerSecond: messages / seconds, fault };
}

async function publishAll(board: Board, messages: number, publishers: number): Promise<void> {
  let number = 0;
  await Promise.all(Array.from({ length: publishers }, async () => {
    while (number < messages) await board.publish(messageOf(number++));
  }));
}

function messageOf(number: number): Message {
  return { number, item: "Darjeeling, second flush", price: 12.5, note: "Sold by the weight, from 50 g" };
}

async function readAll(reader: Reader, messages: number): Promise<string | undefined> {
  for (let expected = 0; expected < messages;) {
    const batch = await reader.nextBatch();
    if (!batch) return `a reader ended before message ${expected}`;
    for (const entry of batch) {
      if ("gap" in entry) return `a reader got a gap in place of message ${expected}: ${entry.gap.reason}`;
      if (entry.data.number !== expected) return `a reader got message ${entry.data.number} in place of ${expected}`;
      expected++;
    }
  }
  return undefined;
}
