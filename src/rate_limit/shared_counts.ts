/** Counts of several processes: in records, or by `rate-limiter-flexible`. */
import { withDeadline, withOwnDeadline } from "../http/deadline.ts";
import { describeError, log } from "../log/log.ts";
import { type Records, recordsOf } from "../store/records.ts";
import type { Count, CountedLimit, Counts } from "./counts.ts";
import type { SharedCount, SharedLimiter } from "./rate_limit.ts";

const ANSWER_MS = 500;

/** The pause after a missed deadline, so that not every request waits for it. */
const PAUSE_MS = 1_000;

const LOG_EVERY_MS = 60_000;

/** Counts within a deadline. Where the store fails, requests are allowed. */
export class SharedCounts {
  readonly isLocal = false;
  readonly #counts: Counts;
  readonly #name: string;
  readonly #answerMs: number;
  #pausedUntil = 0;
  #lastLogged = -Infinity;

  constructor(counts: Counts, name: string, answerMs: number = ANSWER_MS) {
    this.#counts = counts;
    this.#name = name;
    this.#answerMs = answerMs;
  }

  /** Undefined if the store fails. `isServed`: a server keeps the program alive. */
  async count(limit: CountedLimit, caller: string, isServed: boolean): Promise<Count | undefined> {
    if (performance.now() < this.#pausedUntil) return undefined;
    const withTimer = isServed ? withDeadline : withOwnDeadline;
    try {
      const counting = Promise.resolve(this.#counts.count(limit, caller));
      return await withTimer(counting, this.#answerMs, () => this.#pause(), (cause) => cause);
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }

  #pause(): Error {
    this.#pausedUntil = performance.now() + PAUSE_MS;
    return new Error(`Cannot count the request: the store did not answer within ${this.#answerMs} ms`);
  }

  #report(error: unknown): void {
    const now = performance.now();
    if (now - this.#lastLogged < LOG_EVERY_MS) return;
    this.#lastLogged = now;
    log("error", "A rate limit allows all requests: its store fails", {
      limit: this.#name,
      error: describeError(error),
    });
  }
}

export class LimiterCounts implements Counts {
  readonly #limiter: SharedLimiter;
  readonly #prefix: string;

  /** Several limits can share a store: `prefix` tells them apart. */
  constructor(limiter: SharedLimiter, prefix: string) {
    this.#limiter = limiter;
    this.#prefix = prefix;
  }

  async count(_limit: CountedLimit, caller: string): Promise<Count> {
    try {
      return toCount(await this.#limiter.consume(this.#prefix + caller), false);
    } catch (refused) {
      if (refused instanceof Error || !isCount(refused)) throw refused;
      return toCount(refused, true);
    }
  }
}

function isCount(value: unknown): value is SharedCount {
  return typeof (value as Partial<SharedCount> | null)?.msBeforeNext === "number";
}

function toCount(given: SharedCount, isRefused: boolean): Count {
  if (!isCount(given)) throw new TypeError("Cannot count the request: the store returned no RateLimiterRes");
  return { isRefused, remaining: Math.max(0, given.remainingPoints), resetMs: Math.max(0, given.msBeforeNext) };
}

const SPACE = "rate limits";

/**
 * Each node writes one count of a caller at a time, so this is enough for more nodes than tries.
 */
const MAX_TRIES = 20;

/** The longest pause before the next try. It is random, so that nodes do not collide again. */
const MAX_PAUSE_MS = 8;

interface StoredWindow {
  readonly count: number;
  /** In milliseconds since 1970, by the clock of the node that began it. */
  readonly ends: number;
}

interface Waiting {
  readonly resolve: (count: Count) => void;
  readonly reject: (error: unknown) => void;
}

export class RecordCounts implements Counts {
  readonly #records: Records;
  readonly #place: string | Promise<string>;
  /** Requests that arrive while the count of their caller is written. They are counted together. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(records: Records, place: string | Promise<string>) {
    this.#records = recordsOf(records, SPACE);
    this.#place = place;
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
        const { before, resetMs } = await this.#add(limit, caller, batch.length);
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

  /**
   * Adds requests to a count, up to the limit. The result has the count before.
   *
   * @throws {Error} If the store fails, or other nodes win all tries.
   */
  async #add({ limit, perMs }: CountedLimit, caller: string, requests: number) {
    // Keys have no empty string, and no lone surrogate.
    const key = [await this.#place, `:${caller.toWellFormed()}`];
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const entry = await this.#records.get<StoredWindow>(key);
      const now = Date.now();
      const known = entry && entry.value.ends > now ? entry.value : undefined;
      // A node whose clock is ahead must not make the time longer.
      const ends = known ? Math.min(known.ends, now + perMs) : now + perMs;
      const before = known?.count ?? 0;
      const counted = { before, resetMs: ends - now };
      if (before >= limit) return counted;
      const count = Math.min(limit, before + requests);
      const write = { expect: entry?.version ?? null, expiresIn: Math.max(1, Math.ceil(ends - now)) };
      if (await this.#records.set(key, { count, ends }, write) !== null) return counted;
      const pause = Math.random() * Math.min(tries, MAX_PAUSE_MS);
      await new Promise<void>((resolve) => setTimeout(resolve, pause));
    }
    throw new Error(`Cannot count the request: other nodes wrote its count before, ${MAX_TRIES} times`);
  }
}
