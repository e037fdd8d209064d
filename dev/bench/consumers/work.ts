// What each process under comparison does: it fills a queue, handles what is in it, and reports how
// long that took. Runs on Deno and, bundled, on Node.js.

import { createServer } from "node:http";

/** About 200 bytes of JSON. */
const DATA = { item: "Darjeeling, second flush", note: "x".repeat(140), price: 12.5 };

/** How many publishers wait for an answer, and how many messages are in flight, at the same time. */
export const IN_FLIGHT = 64;

/** The share of the messages that is published and handled beforehand, to warm up. */
const WARM_UP = 0.1;
/** How long a message may take to be handled, in milliseconds. Long, since it only bounds a fault. */
const PATIENCE_MS = 60_000;
/** The mean pause between two messages at a low rate, in milliseconds. */
const PAUSE_MS = 20;

/** A queue with no messages in it. */
export interface Queue {
  /** Publishes a message. It resolves when the message is safe. */
  publish(data: unknown): Promise<unknown>;
  /** Begins to have messages handled, 64 at a time. */
  consume(): Promise<unknown>;
  /** Ends, and resolves when all that was handled is acknowledged. */
  close(): Promise<unknown>;
}

/** Makes a queue of a new name, whose messages are handled by the function. */
export type OpenQueue = (name: string, handle: () => void) => Promise<Queue>;

/** Messages per second. */
export interface Rates {
  readonly published: number;
  readonly handled: number;
}

/**
 * Listens, prints the port, and measures what requests ask for: `/rates?count=…` or
 * `/latencies?count=…`.
 */
export function serve(open: OpenQueue): void {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const count = Number(searchParams.get("count"));
    try {
      const measured = pathname === "/rates" ? await measureRates(open, count) : await measureLatencies(open, count);
      response.end(JSON.stringify(measured));
    } catch (error) {
      response.statusCode = 500;
      response.end(String(error));
    }
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (address && typeof address === "object") console.log(`port ${address.port}`);
  });
}

async function measureRates(open: OpenQueue, count: number): Promise<Rates> {
  await fillAndHandle(open, Math.ceil(count * WARM_UP));
  return await fillAndHandle(open, count);
}

/** Fills a queue without consumers, and then handles all messages. */
async function fillAndHandle(open: OpenQueue, count: number): Promise<Rates> {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => finish = resolve);
  let handled = 0;
  let first = 0;
  const queue = await open(queueName(), () => {
    if (handled === 0) first = performance.now();
    if (++handled === count) finish();
  });
  let begun = 0;
  const begin = performance.now();
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    while (begun++ < count) await queue.publish(DATA);
  }));
  const published = performance.now() - begin;
  await queue.consume();
  await inTime(finished, () => `${count - handled} of ${count} messages were not handled`);
  // From the first message: how long a consumer takes to start is another matter.
  const time = performance.now() - first;
  await queue.close();
  return { published: count / published * 1000, handled: count / time * 1000 };
}

/** The times from the call of publish to the call of the handler, in milliseconds. */
async function measureLatencies(open: OpenQueue, count: number): Promise<number[]> {
  let arrive = () => {};
  const queue = await open(queueName(), () => arrive());
  await queue.consume();
  const times: number[] = [];
  // The first tenth warms up and does not count.
  for (let number = -Math.ceil(count * WARM_UP); number < count; number++) {
    // At random, so that no timer of a consumer keeps step with it.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * (0.5 + Math.random())));
    const arrived = new Promise<void>((resolve) => arrive = resolve);
    const begin = performance.now();
    const isSafe = queue.publish(DATA);
    await inTime(arrived, () => "a message was not handled");
    if (number >= 0) times.push(performance.now() - begin);
    await isSafe;
  }
  await queue.close();
  return times;
}

function queueName(): string {
  return `q${crypto.randomUUID().slice(0, 8)}`;
}

/** @throws {Error} If it takes too long. */
async function inTime(promise: Promise<void>, fault: () => string): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => timer = setTimeout(() => reject(new Error(fault())), PATIENCE_MS));
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
