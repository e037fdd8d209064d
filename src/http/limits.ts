/** The limits of what a client can send. They are on by default. */
import { type Duration, quote, readOptions, toMilliseconds } from "../base/options.ts";

/**
 * Limits of what a client can send. Each can be set on the application and on a route.
 *
 * @category Applications
 */
export interface Limits {
  /**
   * The size of a JSON, text or urlencoded body in bytes, and of all texts of a multipart body
   * together. It holds for a `Stream()` body only if the route itself sets it.
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
   * @default {Infinity} limited only by `multipart`
   */
  file?: number;
  /**
   * The number of keys in a query.
   *
   * @default {1000}
   */
  query?: number;
  /**
   * The size of a WebSocket message in bytes. Deno itself closes the connection at a frame of more
   * than 64 MiB. It joins the frames of a message before webfw sees them, and Deno 2.9 has no limit
   * for that.
   *
   * @default {1048576} 1 MiB
   */
  message?: number;
  /**
   * The number of WebSockets, event streams and other streamed replies that may be open when
   * another one begins. Beyond it, a client gets 503 with `Retry-After`. The process counts those
   * of all routes together, without files; each worker counts its own. Such a connection lasts, and
   * takes some 20 KiB and a file descriptor.
   *
   * @default {Infinity} limited only by the file descriptors
   */
  streams?: number;
  /**
   * The time to read a body. Of a multipart body, it is the time without a byte: an upload may take
   * as long as it moves, at 16 KiB/s on average after the first 30 s. It holds for a `Stream()`
   * body only if the route itself sets it, and then for each chunk.
   *
   * @default {30000} 30 s
   */
  readTimeout?: Duration;
}

/** All limits as numbers: bytes, counts, milliseconds. */
export type ResolvedLimits = Readonly<Record<keyof Limits, number>>;

export const DEFAULT_LIMITS: ResolvedLimits = {
  body: 1024 * 1024,
  multipart: 32 * 1024 * 1024,
  parts: 1000,
  file: Infinity,
  query: 1000,
  message: 1024 * 1024,
  streams: Infinity,
  readTimeout: 30_000,
};

/**
 * Fills in the limits that a declaration leaves open.
 *
 * @param owner The name of the declaration, for error messages.
 * @throws {TypeError} If a name is unknown.
 * @throws {RangeError} If a limit is not positive.
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
