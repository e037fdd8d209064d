/** What counts requests, and the counts in memory. */
import { OrderedMap } from "../base/ordered_map.ts";

/** What a request is counted against. */
export interface CountedLimit {
  /** Which limit of the application it is, from 0 on. It is the same in all workers. */
  readonly number: number;
  readonly limit: number;
  readonly perMs: number;
}

/** The result of counting a request. */
export interface Count {
  readonly isRefused: boolean;
  /** How many more requests are let through until then. */
  readonly remaining: number;
  /** The time until the count begins again, in milliseconds. */
  readonly resetMs: number;
}

/** Counts requests of callers. */
export interface Counts {
  /** Counts a request, unless the limit is reached. */
  count(limit: CountedLimit, caller: string): Count | Promise<Count>;
}

/** How many callers are kept, of all limits together. */
export const MAX_CALLERS = 100_000;

/** The requests of a caller since its time began. */
interface Window {
  /** The end of the time, as `performance.now()`. */
  readonly ends: number;
  count: number;
}

/**
 * The windows of a limit by their callers. They are all equally long, so they are in the order in
 * which they end. A timer for each would cost more than the request.
 */
type Windows = OrderedMap<string, Window>;

/**
 * Counts in the memory of this process. For one caller too many, the one is given up whose time
 * ends first.
 */
export class MemoryCounts implements Counts {
  readonly #limits: Windows[] = [];
  readonly #maxCallers: number;
  #callers = 0;

  /**
   * Makes empty counts.
   *
   * @param maxCallers How many callers are kept.
   */
  constructor(maxCallers: number = MAX_CALLERS) {
    this.#maxCallers = maxCallers;
  }

  /** How many callers are kept. */
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
