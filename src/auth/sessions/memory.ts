/** Sessions in the memory of the process. */
import { OrderedMap } from "../../base/ordered_map.ts";
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";
import type { SessionStore, SessionWrite } from "./store.ts";

/**
 * The bounds of sessions in memory. Beyond them, the session that was set first is given up.
 *
 * @category Dependencies
 */
export interface MemorySessionsOptions {
  /**
   * How many sessions are kept.
   *
   * @default {100_000}
   */
  maxSessions?: number;
  /**
   * How many bytes all of them take, estimated.
   *
   * @default {67_108_864}
   */
  maxBytes?: number;
}

const OPTIONS: OptionNames<MemorySessionsOptions> = { maxSessions: true, maxBytes: true };

/** The most characters of one session. */
const MAX_VALUE = 65_536;

/** What an entry takes besides its texts, in bytes: measured with 100,000 short ones. */
const ENTRY_BYTES = 200;

/** How many expired sessions are looked for with each that is set, so that no timer is needed. */
const SWEPT = 2;

interface Entry {
  readonly value: string;
  /** In milliseconds since 1970. */
  readonly expires: number;
}

/**
 * A store of sessions in the memory of the process. They are lost when it ends or is restarted by
 * `--reload`, and other processes do not see them: it is for development, tests and applications of
 * one process. With several workers, `webfw run` reports an error at the start; `deno serve
 * --parallel` cannot be detected, and must not be used with it.
 *
 * A session has at most 65,536 characters of JSON.
 *
 * @param options The bounds.
 * @throws {TypeError} If an option is unknown.
 * @throws {RangeError} If a bound is not a positive number.
 *
 * @example Sign-out that holds
 * ```ts
 * import { App } from "@webfw/core";
 * import { memorySessions, session } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const visit = session(v.object({ userId: v.number() }), {
 *   store: memorySessions(),
 *   subject: ({ userId }) => userId,
 * });
 *
 * const app = new App();
 * app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
 * app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
 * app.get("/me", { deps: { visit } }, async (_request, { visit }) => visit.data);
 *
 * const ask = (method: string, path: string, cookie = "") =>
 *   app.fetch(new Request(`http://localhost${path}`, { method, headers: { cookie } }));
 * const cookie = (await ask("POST", "/login")).headers.get("set-cookie")!.split(";", 1)[0];
 * assertEquals(await (await ask("GET", "/me", cookie)).json(), { userId: 7 });
 * await ask("POST", "/logout", cookie);
 * assertEquals(await (await ask("GET", "/me", cookie)).json(), null);
 * ```
 *
 * @category Dependencies
 */
export function memorySessions(options: MemorySessionsOptions = {}): SessionStore {
  checkOptions(options, OPTIONS, "make a store of sessions");
  const { maxSessions = 100_000, maxBytes = 64 * 2 ** 20 } = options;
  for (const [name, bound] of Object.entries({ maxSessions, maxBytes })) {
    if (typeof bound === "number" && bound > 0) continue;
    throw new RangeError(`Cannot make a store of sessions: ${name} must be a positive number, got ${quote(bound)}`);
  }
  return new MemorySessions(maxSessions, maxBytes);
}

class MemorySessions implements SessionStore {
  readonly isLocal = true;
  readonly #maxSessions: number;
  readonly #maxBytes: number;
  readonly #entries = new OrderedMap<string, Entry>();
  #bytes = 0;

  constructor(maxSessions: number, maxBytes: number) {
    this.#maxSessions = maxSessions;
    this.#maxBytes = maxBytes;
  }

  async get(key: string): Promise<string | null> {
    return this.#find(key)?.value ?? null;
  }

  // Nothing is awaited here: requests of one visitor replace and delete the same key at once.
  async set(key: string, value: string, { expiresIn, mustExist, expect }: SessionWrite): Promise<boolean> {
    const earlier = this.#find(key);
    if (mustExist && !earlier) return false;
    if (expect !== undefined && earlier?.value !== expect) return false;
    if (value.length > MAX_VALUE) {
      throw new RangeError(
        `Cannot keep the session in memory: it has ${value.length} characters, and at most ${MAX_VALUE} are kept`,
      );
    }
    if (earlier) this.#remove(key, earlier);
    const entry = { value, expires: Date.now() + expiresIn };
    this.#entries.set(key, entry);
    this.#bytes += sizeOf(key, entry);
    this.#makeRoom();
    return true;
  }

  async delete(key: string): Promise<boolean> {
    const entry = this.#find(key);
    if (entry) this.#remove(key, entry);
    return entry !== undefined;
  }

  /** The entry of a key, which is removed if it has expired. */
  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.expires > Date.now()) return entry;
    this.#remove(key, entry);
    return undefined;
  }

  /**
   * Drops some that have expired, and those that were set first until the rest is within bounds.
   */
  #makeRoom(): void {
    const now = Date.now();
    let left = SWEPT;
    for (const [key, entry] of this.#entries) {
      const isOver = this.#entries.size > this.#maxSessions || this.#bytes > this.#maxBytes;
      if (!isOver && (left-- <= 0 || entry.expires > now)) return;
      this.#remove(key, entry);
    }
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#bytes -= sizeOf(key, entry);
  }
}

/** The engine keeps a character in one byte or in two. */
function sizeOf(key: string, { value }: Entry): number {
  return ENTRY_BYTES + key.length + 2 * value.length;
}
