/** The bounds of a request, on by default. */

import { type Duration, toMilliseconds } from "../duration.ts";
import { quote, readOptions } from "../options.ts";

/** Bounds of what a client can send. Each can be set on the application and on a route. */
export interface Limits {
  /**
   * The size of a JSON, text or urlencoded body in bytes, and of all the texts of a multipart one together. A body that is taken
   * as a stream has it where the route itself says so.
   *
   * @default {1048576} 1 MiB
   */
  body?: number;
  /**
   * The size of a multipart body in bytes.
   *
   * @default {33554432} 32 MiB
   */
  multipart?: number;
  /**
   * The number of fields and files of a form.
   *
   * @default {1000}
   */
  parts?: number;
  /**
   * The size of one file of a form in bytes.
   *
   * @default {Infinity} as large as the whole may be
   */
  file?: number;
  /**
   * The number of keys in a query.
   *
   * @default {1000}
   */
  query?: number;
  /**
   * The size of a message that comes over a WebSocket in bytes. Deno takes no frame above 64 MiB, and breaks the connection off
   * there. What comes in several frames it puts together before anybody sees it, and Deno 2.9 without a bound of its own.
   *
   * @default {1048576} 1 MiB
   */
  message?: number;
  /**
   * The time to read a body. One that is taken as a stream has it where the route itself says so, anew for each of its chunks.
   *
   * @default {30000} 30 s
   */
  readTimeout?: Duration;
}

/** Limits with every bound filled in. */
export type ResolvedLimits = Readonly<Record<keyof Limits, number>>;

/** The bounds that hold where nothing else is said. */
export const DEFAULT_LIMITS: ResolvedLimits = {
  body: 1024 * 1024,
  multipart: 32 * 1024 * 1024,
  parts: 1000,
  file: Infinity,
  query: 1000,
  message: 1024 * 1024,
  readTimeout: 30_000,
};

/**
 * Lays given bounds over others.
 *
 * @param given What was declared.
 * @param base What holds for the rest.
 * @param owner Who declared it, for the message.
 * @throws {TypeError} When a bound is unknown.
 * @throws {RangeError} When a bound is not positive.
 */
export function resolveLimits(
  given: Limits | undefined,
  base: ResolvedLimits,
  owner: string,
): ResolvedLimits {
  if (given === undefined) return base;
  const resolved = { ...base };
  const limits = readOptions<Limits>(given, DEFAULT_LIMITS, `set the limits of ${owner}`);
  for (const [key, value] of Object.entries(limits) as [keyof Limits, number][]) {
    if (key === "readTimeout") resolved[key] = toMilliseconds(value, `the readTimeout of ${owner}`);
    else resolved[key] = toBound(value, key, owner);
  }
  return resolved;
}

function toBound(value: number, key: keyof Limits, owner: string): number {
  if (typeof value === "number" && value > 0) return value;
  throw new RangeError(`Cannot set the limits of ${owner}: "${key}" must be a positive number, got ${quote(value)}`);
}
