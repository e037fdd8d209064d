/** Limits for what clients send. */
import { type Duration, quote, readOptions, toMilliseconds } from "../base/options.ts";

/**
 * Limits for what clients send. Each can be set on the application and on a route.
 *
 * @category Applications
 */
export interface Limits {
  /**
   * The bytes of a JSON, text or urlencoded body, or of all text fields of a multipart body
   * together. For a `Stream()` body, only a limit of the route itself applies.
   *
   * @default {1048576} 1 MiB
   */
  body?: number;
  /**
   * The bytes of a multipart body.
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
   * The bytes of one file of a form.
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
   * The bytes of a WebSocket message. Deno joins frames before, without a limit, and closes the
   * connection at a frame of more than 64 MiB.
   *
   * @default {1048576} 1 MiB
   */
  message?: number;
  /**
   * How many WebSockets, event streams and other streamed replies, except files, may be open when
   * another one begins. Beyond it, clients get a 503 with `Retry-After`. Each process or worker
   * counts its own, of all routes together. An open stream takes some 20 KiB and a file descriptor.
   *
   * @default {Infinity} limited only by the file descriptors
   */
  streams?: number;
  /**
   * The time to read a body. For multipart, the time without a byte: an upload may last as long as
   * it averages 16 KiB/s after the first 30 s. For a `Stream()` body, only a limit of the route
   * itself applies, to each chunk.
   *
   * @default {30000} 30 s
   */
  readTimeout?: Duration;
  /**
   * Whether bodies may have the `Content-Encoding` gzip, deflate or br. All limits count the
   * decompressed bytes. Without it, such a body is refused with 415.
   *
   * @default {false}
   */
  decompress?: boolean;
}

/** In bytes, counts and milliseconds. */
export interface ResolvedLimits extends Readonly<Record<Exclude<keyof Limits, "decompress">, number>> {
  readonly decompress: boolean;
}

/** A content coding that a body can have (RFC 9110, section 8.4.1). */
export type Coding = "gzip" | "deflate" | "br";

const CODINGS: readonly Coding[] = ["gzip", "deflate", "br"];

/** The codings that the server removes. */
export function acceptedCodings({ decompress }: ResolvedLimits): readonly Coding[] {
  return decompress ? CODINGS : [];
}

export const DEFAULT_LIMITS: ResolvedLimits = {
  body: 1024 * 1024,
  multipart: 32 * 1024 * 1024,
  parts: 1000,
  file: Infinity,
  query: 1000,
  message: 1024 * 1024,
  streams: Infinity,
  readTimeout: 30_000,
  decompress: false,
};

/** Completes limits. `owner` is the name of the declaration, for error messages. */
export function resolveLimits(
  given: Limits | undefined,
  base: ResolvedLimits,
  owner: string,
): ResolvedLimits {
  if (given === undefined) return base;
  const resolved = { ...base };
  const limits = readOptions<Limits>(given, DEFAULT_LIMITS, `set the limits of ${owner}`);
  for (
    const [key, value] of Object.entries(limits) as { [Key in keyof Limits]-?: [Key, Limits[Key]] }[keyof Limits][]
  ) {
    if (key === "readTimeout") resolved[key] = toMilliseconds(value!, `the readTimeout of ${owner}`);
    else if (key === "decompress") resolved[key] = toBoolean(value, key, owner);
    else resolved[key] = toBound(value, key, owner);
  }
  return resolved;
}

function toBoolean(value: unknown, key: keyof Limits, owner: string): boolean {
  if (typeof value === "boolean") return value;
  throw new TypeError(`Cannot set the limits of ${owner}: "${key}" must be true or false, got ${quote(value)}`);
}

function toBound(value: unknown, key: keyof Limits, owner: string): number {
  if (typeof value === "number" && value > 0) return value;
  throw new RangeError(`Cannot set the limits of ${owner}: "${key}" must be a positive number, got ${quote(value)}`);
}
