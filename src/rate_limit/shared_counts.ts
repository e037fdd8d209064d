/** Counts of several processes: in another worker, in records, or by `rate-limiter-flexible`. */
import { withDeadline, withOwnDeadline } from "../http/deadline.ts";
import { describeError, log } from "../log/log.ts";
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
      const counting = this.#counts.count(limit, caller);
      if (!(counting instanceof Promise)) return counting;
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
