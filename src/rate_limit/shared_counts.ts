/** Counts that several processes share, by a limiter of the package `rate-limiter-flexible`. */
import { withDeadline, withOwnDeadline } from "../http/deadline.ts";
import { describeError, log } from "../log/log.ts";
import type { Count, CountedLimit, Counts } from "./counts.ts";

/**
 * A limiter of the npm package `rate-limiter-flexible`, such as `RateLimiterRedis`, as far as it is
 * needed. Any `RateLimiterAbstract` is one.
 *
 * @category Routes
 */
export interface SharedLimiter {
  /**
   * Counts a request of a caller.
   *
   * @param key The limit and the caller.
   * @throws {SharedCount} If the limit was reached before.
   * @throws {Error} If the store fails.
   */
  consume(key: string): Promise<SharedCount>;
}

/**
 * What a limiter has counted: the part of `RateLimiterRes` that webfw reads.
 *
 * @category Routes
 */
export interface SharedCount {
  /** How many more requests are let through. */
  readonly remainingPoints: number;
  /** The time until the count begins again, in milliseconds. */
  readonly msBeforeNext: number;
}

/** How long a limiter may take, in milliseconds. */
const ANSWER_MS = 500;

/**
 * How long a limiter that did not answer is left alone, in milliseconds, so that not every request
 * waits for it.
 */
const PAUSE_MS = 1_000;

/** How often a failure is logged at most, in milliseconds. */
const LOG_EVERY_MS = 60_000;

/** Asks a shared limiter, and lets requests through where it fails. */
export class SharedCounts {
  readonly #counts: Counts;
  readonly #name: string;
  readonly #answerMs: number;
  #pausedUntil = 0;
  #lastLogged = -Infinity;

  /**
   * @param counts Counts, slowly or wrongly perhaps.
   * @param name The limit, for the log.
   * @param answerMs How long they may take, in milliseconds.
   */
  constructor(counts: Counts, name: string, answerMs: number = ANSWER_MS) {
    this.#counts = counts;
    this.#name = name;
    this.#answerMs = answerMs;
  }

  /**
   * Counts a request; undefined where that is not possible.
   *
   * @param isServed Whether a server received the request, and keeps the program alive.
   */
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
    log("error", "A rate limit lets requests through: its store fails", {
      limit: this.#name,
      error: describeError(error),
    });
  }
}

/** Counts by a limiter of `rate-limiter-flexible`. */
export class LimiterCounts implements Counts {
  readonly #limiter: SharedLimiter;
  readonly #prefix: string;

  /**
   * @param limiter The limiter.
   * @param prefix Comes before each caller, because several limits can share a store.
   */
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
  if (!isCount(given)) throw new TypeError("Cannot count the request: the store gave no RateLimiterRes");
  return { isRefused, remaining: Math.max(0, given.remainingPoints), resetMs: Math.max(0, given.msBeforeNext) };
}
