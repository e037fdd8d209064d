/** What counts requests, and the counts in memory. */

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
  readonly caller: string;
  /** The end of the time, as `performance.now()`. */
  readonly ends: number;
  count: number;
  /** The window that began next. */
  next: Window | undefined;
}

/**
 * The windows of a limit. They are all equally long, so a queue holds them in the order in which
 * they end. A timer for each would cost more than the request.
 */
class Windows {
  first: Window | undefined;
  #last: Window | undefined;
  readonly #byCaller = new Map<string, Window>();

  find(caller: string): Window | undefined {
    return this.#byCaller.get(caller);
  }

  add(window: Window): void {
    if (this.#last) this.#last.next = window;
    else this.first = window;
    this.#last = window;
    this.#byCaller.set(window.caller, window);
  }

  dropFirst(): void {
    const { first } = this;
    if (!first) return;
    this.#byCaller.delete(first.caller);
    this.first = first.next;
    if (!this.first) this.#last = undefined;
  }
}

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
    const windows = this.#limits[number] ??= new Windows();
    while (windows.first && windows.first.ends <= now) this.#drop(windows);
    let window = windows.find(caller);
    if (!window) {
      if (this.#callers >= this.#maxCallers) this.#makeRoom();
      windows.add(window = { caller, ends: now + perMs, count: 0, next: undefined });
      this.#callers++;
    }
    const isRefused = window.count >= limit;
    if (!isRefused) window.count++;
    return { isRefused, remaining: limit - window.count, resetMs: window.ends - now };
  }

  #makeRoom(): void {
    let earliest: Windows | undefined;
    for (const windows of this.#limits) {
      if (windows?.first && windows.first.ends < (earliest?.first?.ends ?? Infinity)) earliest = windows;
    }
    if (earliest) this.#drop(earliest);
  }

  #drop(windows: Windows): void {
    windows.dropFirst();
    this.#callers--;
  }
}
