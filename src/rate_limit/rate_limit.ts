/** Declarations of how often clients may send requests. */
import {
  type Dependency,
  isAsyncFunction,
  isAsyncGeneratorFunction,
  type PreparedDependency,
  toDependencies,
} from "../binding/dependency.ts";
import { type Duration, toMilliseconds } from "../base/duration.ts";
import type { HttpRequest } from "../http/request.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import type { SharedLimiter } from "./shared_counts.ts";

/**
 * The caller that a request is counted for: a name, such as the id of a user. null is not counted.
 *
 * @category Routes
 */
export type RateLimitKey = string | number | null;

/**
 * How many requests a caller may send in a time. The time begins with the first request of a
 * caller, and a new one after it. More requests are refused with 429.
 *
 * Each declaration is counted by itself, for all routes that it holds for together. A request is
 * counted by the outer declarations first, and by the first of a list first. After one that
 * refuses it, no other counts it.
 *
 * By default, the address of the client is counted; of an address of IPv6, its network `/64`. See
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

/** One limit, or a list of them whose dependencies have values of one type. */
export type RateLimits<Value, State> = RateLimit<Value, State> | readonly RateLimit<Value, State>[];

/** The numbers of a limit, and where it is counted. */
export interface RateLimitNumbers {
  /** How many requests are let through. */
  limit: number;
  /** In which time. */
  per: Duration;
  /**
   * Where requests are counted: by default in the memory of the process, for at most 100,000
   * callers. `"records"` counts in the record store of the application, for all of its nodes. A
   * function makes a limiter of the npm package `rate-limiter-flexible` that several processes
   * share, such as `RateLimiterRedis`. It is called once, when the application begins to serve,
   * with the number of requests and the time in milliseconds.
   *
   * A store that fails, or does not answer within half a second, lets requests through, which is
   * logged.
   */
  store?: "records" | ((limit: number, perMs: number) => SharedLimiter);
}

/** A limit that counts requests before the guards of its scope. */
export interface RateLimitByRequest<State = Record<string, unknown>> extends RateLimitNumbers {
  /** Gives the caller of a request. By default it is the address of the client. */
  by?: (request: HttpRequest<NoInfer<State>>) => RateLimitKey;
  /** Only for a dependency in `by`. */
  key?: undefined;
}

/** A limit that counts the values of a dependency, after the guards of its scope. */
export interface RateLimitByValue<Value, State = Record<string, unknown>> extends RateLimitNumbers {
  /** The dependency. It becomes a guard of the scope, if it is none. */
  // Resolve has a second parameter, and the compiler would not infer the type of `request` then.
  by:
    | Dependency<Value, NoInfer<State>>
    | ((request: HttpRequest<NoInfer<State>>) => Promise<Value> | AsyncGenerator<Value, void, void>);
  /** Gives the caller for its value. */
  key: (value: NoInfer<Value>) => RateLimitKey;
}

/** What counts a caller of a request. */
type CallerOf = (request: HttpRequest) => RateLimitKey;

/** A checked declaration. It is one object for all routes that it holds for. */
export interface RateLimiter {
  readonly limit: number;
  readonly perMs: number;
  /** How the caller is found before the guards; undefined for the address. */
  readonly by: CallerOf | undefined;
  /** How the caller is found after the guards. */
  readonly after:
    | { readonly dependency: PreparedDependency; readonly key: (value: unknown) => RateLimitKey }
    | undefined;
  readonly store: RateLimitNumbers["store"];
}

const OPTIONS: OptionNames<RateLimitByValue<unknown>> = { limit: true, per: true, by: true, key: true, store: true };

/**
 * Checks the option `rateLimit`.
 *
 * @param option One limit, or a list of them.
 * @param action What is declared, for messages: "register GET /books".
 * @param place The name of the option.
 * @throws {TypeError} If a limit is no object, has an unknown member, or a wrong one.
 * @throws {RangeError} If its number or time is not positive.
 */
export function readRateLimits(option: unknown, action: string, place = "rateLimit"): readonly RateLimiter[] {
  if (option === undefined) return [];
  const isList = Array.isArray(option);
  if (isList && option.length === 0) {
    throw new TypeError(`Cannot ${action}: "${place}" is an empty list, leave it out`);
  }
  return [option].flat().map((given, index) => {
    const name = isList ? `${place}[${index}]` : place;
    if (typeof given !== "object" || given === null) {
      throw new TypeError(
        `Cannot ${action}: "${name}" must be an object, got ${quote(given)}; write { limit: 100, per: "1m" }`,
      );
    }
    return readRateLimit(given as RateLimitByValue<unknown>, name, action);
  });
}

function readRateLimit(given: RateLimitByValue<unknown>, name: string, action: string): RateLimiter {
  checkOptions(given, OPTIONS, action, `${name}.`);
  const { limit, per, by, key, store } = given;
  // Structured fields have integers of 15 digits (RFC 9651, section 3.3.1).
  if (!Number.isInteger(limit) || limit < 1 || limit >= 1e15) {
    throw new RangeError(`Cannot ${action}: "${name}.limit" must be a whole number from 1 on, got ${quote(limit)}`);
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
export function countedBy(limiters: readonly RateLimiter[]): readonly PreparedDependency[] {
  return limiters.flatMap(({ after }) => after ? [after.dependency] : []);
}
