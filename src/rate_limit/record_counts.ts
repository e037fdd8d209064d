/** Counts in the record store of the application, for all nodes. */
import { OrderedMap } from "../base/ordered_map.ts";
import { outsideRequests } from "../base/async_context.ts";
import { beforeClose, type Records, recordsOf, timeOf } from "../store/records.ts";
import { type Count, type CountedLimit, type Counts, MAX_CALLERS } from "./counts.ts";

const SPACE = "rate limits";

/**
 * Each node writes one count of a caller at a time, so this is enough for more nodes than tries.
 */
const MAX_TRIES = 20;

/** The longest pause before the next try. It is random, so that nodes do not collide again. */
const MAX_PAUSE_MS = 8;

interface StoredWindow {
  readonly count: number;
  /** In milliseconds since 1970, by the clock of the store, since those of nodes differ. */
  readonly ends: number;
}

/** Beyond this limit, windows are counted in the process, and settled again and again. */
const MAX_EXACT = 100;
const SETTLE_MS = 200;
/** While a window is being settled, it may be older. */
const MAX_AGE = 2 * SETTLE_MS;
const SETTLE_AT_ONCE = 32;
/** How long a stop waits for the last writes. */
const CLOSE_MS = 1_000;

interface Waiting {
  readonly resolve: (count: Count) => void;
  readonly reject: (error: unknown) => void;
}

/** Counts of limits up to 100: exactly, by a write for each request or several at the same time. */
class ExactCounts implements Counts {
  readonly #windows: StoredWindows;
  /** Requests that arrive while the count of their caller is written. They are counted together. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(windows: StoredWindows) {
    this.#windows = windows;
  }

  count(limit: CountedLimit, caller: string): Promise<Count> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(caller);
      if (waiting) return void waiting.push({ resolve, reject });
      this.#waiting.set(caller, [{ resolve, reject }]);
      void this.#work(limit, caller);
    });
  }

  async #work(limit: CountedLimit, caller: string): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(caller)!;
      if (batch.length === 0) break;
      this.#waiting.set(caller, []);
      try {
        const { before, resetMs } = await this.#windows.add(limit, caller, batch.length);
        batch.forEach(({ resolve }, index) => {
          const rest = limit.limit - before - index;
          resolve({ isRefused: rest <= 0, remaining: Math.max(0, rest - 1), resetMs });
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#waiting.delete(caller);
  }
}

/** The windows in the store. */
class StoredWindows {
  readonly #records: Records;
  readonly #place: string | Promise<string>;

  constructor(records: Records, place: string | Promise<string>) {
    this.#records = recordsOf(records, SPACE);
    this.#place = place;
  }

  get time(): number {
    return timeOf(this.#records);
  }

  /**
   * Adds requests to a count, up to the limit. Without requests it only reads. The result has the
   * count before.
   *
   * @throws {Error} If the store fails, or other nodes win all tries.
   */
  async add({ limit, perMs }: CountedLimit, caller: string, requests: number) {
    // Keys have no empty string, and no lone surrogate.
    const key = [await this.#place, `:${caller.toWellFormed()}`];
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const entry = await this.#records.get<StoredWindow>(key);
      const now = this.time;
      const known = entry && entry.value.ends > now ? entry.value : undefined;
      // An estimate of the clock that is ahead must not make the time longer.
      const ends = known ? Math.min(known.ends, now + perMs) : now + perMs;
      const before = known?.count ?? 0;
      const counted = { before, ends, resetMs: ends - now };
      if (before >= limit || requests === 0) return counted;
      const count = Math.min(limit, before + requests);
      const write = { expect: entry?.version ?? null, expiresIn: Math.max(1, Math.ceil(ends - now)) };
      if (await this.#records.set(key, { count, ends }, write) !== null) return counted;
      const pause = Math.random() * Math.min(tries, MAX_PAUSE_MS);
      await new Promise<void>((resolve) => setTimeout(resolve, pause));
    }
    throw new Error(`Cannot count the request: other nodes wrote its count before, ${MAX_TRIES} times`);
  }
}

/** What this process knows of a window in the store. */
interface KnownWindow {
  readonly limit: CountedLimit;
  /** In the store, when it was read or written last. */
  stored: number;
  ends: number;
  /** Requests of this process that the store does not have. */
  pending: number;
  /** By `performance.now()`; `-Infinity` if it was not read. */
  readAt: number;
  settling: Promise<void> | undefined;
}

/**
 * Counts of limits above 100, in the process. Each window with new requests is written every 200
 * ms, so the count lacks the requests that other nodes got in such a time.
 */
class SettledCounts implements Counts {
  readonly #windows: StoredWindows;
  /** Those that were read last are the last. */
  readonly #known = new OrderedMap<string, KnownWindow>();
  readonly #unsettled = new Map<string, KnownWindow>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #settlingAll: Promise<void> | undefined;

  constructor(windows: StoredWindows) {
    this.#windows = windows;
  }

  count(limit: CountedLimit, caller: string): Count | Promise<Count> {
    const window = this.#known.get(caller);
    if (window && isCurrent(window, this.#windows.time)) return this.#count(window, caller);
    return this.#countLater(limit, caller);
  }

  /** Writes the last counts, if the store answers. */
  async close(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_MS);
    // A write that is under way lacks what was counted since it began.
    const settled = Promise.resolve(this.#settlingAll).then(() => this.#settleAll());
    await Promise.race([settled, late]);
    clearTimeout(timer);
    // The next start may have another store.
    this.#known.clear();
    this.#unsettled.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #countLater(limit: CountedLimit, caller: string): Promise<Count> {
    let window = this.#known.get(caller);
    if (!window) {
      window = { limit, stored: 0, ends: -Infinity, pending: 0, readAt: -Infinity, settling: undefined };
      this.#known.set(caller, window);
      this.#known.shrink(MAX_CALLERS);
    }
    await this.#settle(window, caller);
    return this.#count(window, caller);
  }

  #count(window: KnownWindow, caller: string): Count {
    const { limit: { limit }, stored, ends } = window;
    const before = stored + window.pending;
    const isRefused = before >= limit;
    if (!isRefused) {
      window.pending++;
      this.#unsettled.set(caller, window);
      this.#startTimer();
    }
    const remaining = Math.max(0, limit - stored - window.pending);
    return { isRefused, remaining, resetMs: Math.max(0, ends - this.#windows.time) };
  }

  /** Concurrent calls share a read and a write. */
  #settle(window: KnownWindow, caller: string): Promise<void> {
    return window.settling ??= this.#settleOne(window, caller).finally(() => window.settling = undefined);
  }

  async #settleOne(window: KnownWindow, caller: string): Promise<void> {
    const { limit } = window;
    if (window.ends <= this.#windows.time) window.pending = 0;
    const written = window.pending;
    const readAt = performance.now();
    const { before, ends } = await this.#windows.add(limit, caller, written);
    // Requests of meanwhile stay pending, also those of a window that has ended.
    window.pending -= written;
    window.stored = Math.min(limit.limit, before + written);
    window.ends = ends;
    window.readAt = readAt;
    if (window.pending === 0) this.#unsettled.delete(caller);
    if (this.#known.get(caller) === window) {
      this.#known.delete(caller);
      this.#known.set(caller, window);
    }
  }

  #startTimer(): void {
    if (this.#timer !== undefined || this.#settlingAll) return;
    // It works for all requests.
    void outsideRequests(() => {
      if (this.#timer !== undefined || this.#settlingAll || this.#unsettled.size === 0) return;
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        void this.#settleAll();
      }, SETTLE_MS);
      // A process that has nothing else to do may end.
      Deno.unrefTimer(this.#timer);
    });
  }

  #settleAll(): Promise<void> {
    return this.#settlingAll ??= this.#settleEach().finally(() => {
      this.#settlingAll = undefined;
      if (this.#unsettled.size > 0) this.#startTimer();
    });
  }

  async #settleEach(): Promise<void> {
    const windows = [...this.#unsettled].values();
    const work = async () => {
      for (const [caller, window] of windows) {
        // The next request waits for the store, and logs that it fails.
        await this.#settle(window, caller).catch(() => this.#unsettled.delete(caller));
      }
    };
    await Promise.all(Array.from({ length: SETTLE_AT_ONCE }, work));
    while (this.#known.oldest && this.#known.oldest.value.ends <= this.#windows.time) {
      this.#known.delete(this.#known.oldest.key);
    }
  }
}

/** Whether a request can be counted without the store. */
function isCurrent({ limit: { limit }, stored, ends, readAt, settling, pending }: KnownWindow, time: number): boolean {
  if (ends <= time) return false;
  // No other node makes it less.
  if (stored >= limit) return true;
  const age = performance.now() - readAt;
  return age <= (settling || pending > 0 ? MAX_AGE : SETTLE_MS);
}

export class RecordCounts implements Counts {
  readonly #exact: ExactCounts;
  readonly #settled: SettledCounts;

  constructor(records: Records, place: string | Promise<string>) {
    const windows = new StoredWindows(records, place);
    this.#exact = new ExactCounts(windows);
    this.#settled = new SettledCounts(windows);
    beforeClose(records, () => this.#settled.close());
  }

  count(limit: CountedLimit, caller: string): Count | Promise<Count> {
    return limit.limit > MAX_EXACT ? this.#settled.count(limit, caller) : this.#exact.count(limit, caller);
  }
}
