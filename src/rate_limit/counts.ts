/** Counts in the memory of a process, which its workers share. */
import { OrderedMap } from "../base/ordered_map.ts";

export interface CountedLimit {
  /** The index of the limit, the same in all workers. */
  readonly number: number;
  readonly limit: number;
  readonly perMs: number;
}

export interface Count {
  readonly isRefused: boolean;
  /** How many more requests are allowed until the reset. */
  readonly remaining: number;
  /** The time until the count restarts, in milliseconds. */
  readonly resetMs: number;
}

export interface Counts {
  /** Counts a request, unless the limit is reached. */
  count(limit: CountedLimit, caller: string): Count | Promise<Count>;
}

export const MAX_CALLERS = 100_000;

interface Window {
  /** By `performance.now()`. */
  readonly ends: number;
  count: number;
}

/** The windows of callers, in the order of their ends: they are equally long. */
type Windows = OrderedMap<string, Window>;

/** Counts in memory. Beyond the maximum, the caller whose window ends first is dropped. */
export class MemoryCounts implements Counts {
  readonly isLocal = true;
  readonly #limits: Windows[] = [];
  readonly #maxCallers: number;
  #callers = 0;

  constructor(maxCallers: number = MAX_CALLERS) {
    this.#maxCallers = maxCallers;
  }

  get callers(): number {
    return this.#callers;
  }

  count({ number, limit, perMs }: CountedLimit, caller: string): Count {
    const now = performance.now();
    const windows = this.#limits[number] ??= new OrderedMap();
    while (windows.oldest && windows.oldest.value.ends <= now) this.#drop(windows);
    let window = windows.get(caller);
    if (!window) {
      if (this.#callers >= this.#maxCallers) this.#makeRoom();
      windows.set(caller, window = { ends: now + perMs, count: 0 });
      this.#callers++;
    }
    const isRefused = window.count >= limit;
    if (!isRefused) window.count++;
    return { isRefused, remaining: limit - window.count, resetMs: window.ends - now };
  }

  #makeRoom(): void {
    let earliest: Windows | undefined;
    for (const windows of this.#limits) {
      const { value } = windows?.oldest ?? {};
      if (value && value.ends < (earliest?.oldest?.value.ends ?? Infinity)) earliest = windows;
    }
    if (earliest) this.#drop(earliest);
  }

  #drop(windows: Windows): void {
    windows.shrink(windows.size - 1);
    this.#callers--;
  }
}

interface CountRequest {
  readonly counting: number;
  readonly limit: CountedLimit;
  readonly caller: string;
}

interface CountReply {
  readonly counted: number;
  readonly count: Count;
}

/** Counts for another worker, until the port is closed. Other messages may use the port, too. */
export function serveCounts(counts: Counts, port: MessagePort): void {
  port.addEventListener("message", async ({ data }: MessageEvent<Partial<CountRequest>>) => {
    const { counting, limit, caller } = data;
    if (counting === undefined || limit === undefined || caller === undefined) return;
    const reply: CountReply = { counted: counting, count: await counts.count(limit, caller) };
    port.postMessage(reply);
  });
}

/** Waiting requests. The oldest one beyond is dropped: its deadline is over. */
const MAX_PENDING = 10_000;

/** The counts of the first worker, in another one. */
export class RemoteCounts implements Counts {
  readonly #port: MessagePort;
  readonly #maxPending: number;
  readonly #answers = new OrderedMap<number, (count: Count) => void>();
  #lastNumber = 0;

  constructor(port: MessagePort, maxPending: number = MAX_PENDING) {
    this.#port = port;
    this.#maxPending = maxPending;
    port.addEventListener("message", ({ data }: MessageEvent<Partial<CountReply>>) => {
      const { counted, count } = data;
      if (counted === undefined || count === undefined) return;
      this.#answers.get(counted)?.(count);
      this.#answers.delete(counted);
    });
  }

  get pending(): number {
    return this.#answers.size;
  }

  count(limit: CountedLimit, caller: string): Promise<Count> {
    const counting = ++this.#lastNumber;
    const { promise, resolve } = Promise.withResolvers<Count>();
    this.#answers.set(counting, resolve);
    this.#answers.shrink(this.#maxPending);
    const request: CountRequest = { counting, limit, caller };
    this.#port.postMessage(request);
    return promise;
  }
}
