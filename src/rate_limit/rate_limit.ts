/** The option `rateLimit`: its types, and its check. */
import {
  type Dependency,
  isAsyncFunction,
  isAsyncGeneratorFunction,
  type PreparedDependency,
  toDependencies,
} from "../binding/dependency.ts";
import { checkOptions, type Duration, type OptionNames, quote, toMilliseconds } from "../base/options.ts";
import type { HttpRequest } from "../http/request.ts";

/**
 * The caller that a request counts for, such as the id of a user. Requests of null are not counted.
 *
 * @category Routes
 */
export type RateLimitKey = string | number | null;

/**
 * The most requests of a caller within a window, which begins with the caller's first request.
 * Requests beyond are refused with 429.
 *
 * Each declaration has one count for all of its routes. The outer declarations count a request
 * first, then those of an array in order, until one refuses it.
 *
 * The default caller is the address of the client; for IPv6, its `/64` network. See
 * {@linkcode RateLimitByRequest} and {@linkcode RateLimitByValue} for other callers.
 *
 * @example Ten requests in a minute, and a hundred in an hour for each user
 * ```ts
 * import { App } from "@webfw/core";
 * import { bearer } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const user = bearer(async (token) => ({ id: token }));
 * const app = new App({ rateLimit: { limit: 10, per: "1m" } });
 * app.get("/report", {
 *   deps: { user },
 *   rateLimit: { limit: 1, per: "1h", by: user, key: (user) => user.id },
 * }, async () => "a report");
 *
 * const request = () => new Request("http://localhost/report", { headers: { authorization: "Bearer ada" } });
 * const first = await app.fetch(request());
 * assertEquals([first.status, first.headers.get("ratelimit")], [200, '"2";r=0;t=3600']);
 * await first.body?.cancel();
 * const second = await app.fetch(request());
 * assertEquals([second.status, second.headers.get("retry-after")], [429, "3600"]);
 * await second.body?.cancel();
 * ```
 *
 * @category Routes
 */
export type RateLimit<Value = unknown, State = Record<string, unknown>> =
  | RateLimitByRequest<State>
  | RateLimitByValue<Value, State>;

/** One limit, or an array of them whose dependencies have values of one type. */
export type RateLimits<Value, State> = RateLimit<Value, State> | readonly RateLimit<Value, State>[];

/**
 * The numbers of a limit, and the store of its counts.
 *
 * @ignore
 */
export interface RateLimitNumbers {
  /** The most requests of a caller in a window. */
  limit: number;
  /** The length of the window. */
  per: Duration;
  /**
   * The store of the counts: by default the memory of the process, for at most 100,000 callers;
   * `"records"` for the record store of the application, which all of its nodes share, where limits
   * above 100 are exact within the requests of 200 ms; or a function that makes a limiter of the
   * npm package `rate-limiter-flexible`, such as `RateLimiterRedis`. It is called once, when the
   * application begins to serve.
   *
   * While a store fails, or takes longer than half a second, requests are allowed and an error is
   * logged.
   */
  store?: "records" | ((limit: number, perMs: number) => SharedLimiter);
}

/** A limit that counts requests before the guards of its scope. */
export interface RateLimitByRequest<State = Record<string, unknown>> extends RateLimitNumbers {
  /** Returns the caller of a request. By default it is the address of the client. */
  by?: (request: HttpRequest<NoInfer<State>>) => RateLimitKey;
  /** Only for a dependency in `by`. */
  key?: undefined;
}

/** A limit that counts the values of a dependency, after the guards of its scope. */
export interface RateLimitByValue<Value, State = Record<string, unknown>> extends RateLimitNumbers {
  /** The dependency. It becomes a guard of the scope. */
  // Resolve has a second parameter, and the compiler would not infer the type of `request` then.
  by:
    | Dependency<Value, NoInfer<State>>
    | ((request: HttpRequest<NoInfer<State>>) => Promise<Value> | AsyncGenerator<Value, void, void>);
  /** Returns the caller for its value. */
  key: (value: NoInfer<Value>) => RateLimitKey;
}

/**
 * The part of a limiter of the npm package `rate-limiter-flexible` that is used here. Each
 * `RateLimiterAbstract` is one.
 *
 * @category Routes
 */
export interface SharedLimiter {
  /**
   * Counts a request.
   *
   * @param key The limit and the caller.
   * @throws {SharedCount} If the limit was reached already.
   * @throws {Error} If the store fails.
   */
  consume(key: string): Promise<SharedCount>;
}

/** @ignore The count of a caller: the part of `RateLimiterRes` that is used here. */
export interface SharedCount {
  /** How many more requests are allowed. */
  readonly remainingPoints: number;
  /** The time until the count restarts, in milliseconds. */
  readonly msBeforeNext: number;
}

type CallerOf = (request: HttpRequest) => RateLimitKey;

/** A checked declaration, one for all of its routes. */
export interface DeclaredLimit {
  readonly limit: number;
  readonly perMs: number;
  /** Finds the caller before the guards run; undefined for the address. */
  readonly by: CallerOf | undefined;
  /** Finds the caller after the guards have run. */
  readonly after:
    | { readonly dependency: PreparedDependency; readonly key: (value: unknown) => RateLimitKey }
    | undefined;
  readonly store: RateLimitNumbers["store"];
}

const OPTIONS: OptionNames<RateLimitByValue<unknown>> = { limit: true, per: true, by: true, key: true, store: true };

/**
 * @param action The declaration, for messages: "register GET /books".
 * @throws {TypeError} If a limit is no object, or has an unknown or wrong property.
 * @throws {RangeError} If its number or time is not positive.
 */
export function readRateLimits(given: unknown, action: string, option = "rateLimit"): readonly DeclaredLimit[] {
  if (given === undefined) return [];
  const isArray = Array.isArray(given);
  if (isArray && given.length === 0) {
    throw new TypeError(`Cannot ${action}: "${option}" is an empty array, leave it out`);
  }
  return [given].flat().map((limit, index) => {
    const name = isArray ? `${option}[${index}]` : option;
    if (typeof limit !== "object" || limit === null) {
      throw new TypeError(
        `Cannot ${action}: "${name}" must be an object, got ${quote(limit)}; write { limit: 100, per: "1m" }`,
      );
    }
    return readRateLimit(limit as RateLimitByValue<unknown>, name, action);
  });
}

function readRateLimit(given: RateLimitByValue<unknown>, name: string, action: string): DeclaredLimit {
  checkOptions(given, OPTIONS, action, `${name}.`);
  const { limit, per, by, key, store } = given;
  // Structured fields have integers of 15 digits (RFC 9651, section 3.3.1).
  if (!Number.isInteger(limit) || limit < 1 || limit >= 1e15) {
    throw new RangeError(`Cannot ${action}: "${name}.limit" must be an integer from 1 on, got ${quote(limit)}`);
  }
  if (store !== undefined && store !== "records" && typeof store !== "function") {
    throw new TypeError(
      `Cannot ${action}: "${name}.store" must be a function or "records", write (limit, perMs) => new RateLimiterRedis({ … })`,
    );
  }
  const perMs = toMilliseconds(per, `${name}.per, to ${action}`);
  const isDependency = isAsyncFunction(by) || isAsyncGeneratorFunction(by) || typeof by === "object";
  if (isDependency !== (key !== undefined)) {
    throw new TypeError(
      isDependency
        ? `Cannot ${action}: "${name}.by" is a dependency, add key: (value) => … with the caller of its value`
        : `Cannot ${action}: "${name}.key" is for the value of a dependency, add by: dependency, or leave it out`,
    );
  }
  if (!isDependency) {
    if (by !== undefined && typeof by !== "function") {
      throw new TypeError(`Cannot ${action}: "${name}.by" must be a function or a dependency, got ${quote(by)}`);
    }
    return { limit, perMs, by: by as unknown as CallerOf | undefined, after: undefined, store };
  }
  if (typeof key !== "function" || isAsyncFunction(key)) {
    throw new TypeError(`Cannot ${action}: "${name}.key" must be a function that is not async, got ${quote(key)}`);
  }
  const dependency = toDependencies({ [`${name}.by`]: by }).get(`${name}.by`)!;
  return { limit, perMs, by: undefined, after: { dependency, key: key as (value: unknown) => RateLimitKey }, store };
}

/** The dependencies for whose values requests are counted. */
export function countedBy(limits: readonly DeclaredLimit[]): readonly PreparedDependency[] {
  return limits.flatMap(({ after }) => after ? [after.dependency] : []);
}
