/** The bounds of a request, on by default. */

/** Bounds of what a client can send. Each can be set on the application and on a route. */
export interface Limits {
  /**
   * The size of a JSON, text or urlencoded body in bytes.
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
   * The number of keys in a query.
   *
   * @default {1000}
   */
  query?: number;
  /**
   * The time to read a body in milliseconds, but for one that the handler takes as a stream.
   *
   * @default {30000}
   */
  readTimeout?: number;
}

/** Limits with every bound filled in. */
export type ResolvedLimits = Readonly<Required<Limits>>;

/** The bounds that hold where nothing else is said. */
export const DEFAULT_LIMITS: ResolvedLimits = {
  body: 1024 * 1024,
  multipart: 32 * 1024 * 1024,
  query: 1000,
  readTimeout: 30_000,
};

/**
 * Lays given bounds over others.
 *
 * @param given What was declared.
 * @param base What holds for the rest.
 * @param owner Who declared it, for the message.
 * @throws {TypeError} When a bound is unknown.
 * @throws {RangeError} When a bound is not a positive number.
 */
export function resolveLimits(
  given: Limits | undefined,
  base: ResolvedLimits,
  owner: string,
): ResolvedLimits {
  if (given === undefined) return base;
  for (const [key, value] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, key)) {
      const known = Object.keys(DEFAULT_LIMITS).join(", ");
      throw new TypeError(
        `Cannot set the limits of ${owner}: "${key}" is unknown, use ${known}`,
      );
    }
    if (value !== undefined && !(value > 0)) {
      throw new RangeError(
        `Cannot set the limits of ${owner}: "${key}" must be a positive number, got ${value}`,
      );
    }
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(set) };
}
