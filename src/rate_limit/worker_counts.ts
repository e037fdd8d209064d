/** Counts in memory for several workers of a process: one keeps them, the others ask it. */
import type { Count, CountedLimit, Counts } from "./counts.ts";

/** What a worker sends to the first one. */
interface CountRequest {
  /** The number of the request. */
  readonly counting: number;
  readonly limit: CountedLimit;
  readonly caller: string;
}

/** The answer of the first worker. */
interface CountReply {
  /** The number of the request. */
  readonly counted: number;
  readonly count: Count;
}

/**
 * Answers another worker from now on, until the port is closed.
 *
 * @param counts The counts of all workers.
 * @param port The port to the other worker. Others use it, too.
 */
export function serveCounts(counts: Counts, port: MessagePort): void {
  port.addEventListener("message", async ({ data }: MessageEvent<Partial<CountRequest>>) => {
    const { counting, limit, caller } = data;
    if (counting === undefined || limit === undefined || caller === undefined) return;
    const reply: CountReply = { counted: counting, count: await counts.count(limit, caller) };
    port.postMessage(reply);
  });
}

/** The counts of another worker. */
export class RemoteCounts implements Counts {
  readonly #port: MessagePort;
  readonly #answers = new Map<number, (count: Count) => void>();
  #lastNumber = 0;

  /** @param port The port to the worker that counts. Others use it, too. */
  constructor(port: MessagePort) {
    this.#port = port;
    port.addEventListener("message", ({ data }: MessageEvent<Partial<CountReply>>) => {
      const { counted, count } = data;
      if (counted === undefined || count === undefined) return;
      this.#answers.get(counted)?.(count);
      this.#answers.delete(counted);
    });
  }

  count(limit: CountedLimit, caller: string): Promise<Count> {
    const counting = ++this.#lastNumber;
    const { promise, resolve } = Promise.withResolvers<Count>();
    this.#answers.set(counting, resolve);
    const request: CountRequest = { counting, limit, caller };
    this.#port.postMessage(request);
    return promise;
  }
}
