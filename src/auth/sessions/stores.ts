/** Stores of sessions: in memory, and in the records of the application. */
import { OrderedMap } from "../../base/ordered_map.ts";
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import { hintsOf, type Records, recordsOf } from "../../store/records.ts";
import type { StoredRecord } from "../../store/record_store.ts";

/** @ignore How a session is written. */
export interface SessionWrite {
  /** The time to live, in milliseconds. */
  readonly expiresIn: number;
  /** Write only if the key exists: a cleared session must not return. */
  readonly mustExist: boolean;
  /**
   * Write only if the key has this value: a renewal must not undo a write of another request. A
   * store that cannot compare uses `mustExist`.
   */
  readonly expect?: string;
}

/**
 * A store of sessions. Write one for a server that all processes share, such as Redis.
 *
 * A key is the hash of the id in the cookie, in 64 hexadecimal digits. A value is JSON. An error of
 * a method is a 500, and is logged.
 *
 * @example A store in Redis
 * ```ts
 * import { session, type SessionStore } from "@webfw/core/auth";
 * import * as v from "valibot";
 *
 * // The part of npm:redis that is used here.
 * interface Redis {
 *   get(key: string): Promise<string | null>;
 *   set(key: string, value: string, options: { PX: number; XX?: true }): Promise<string | null>;
 *   eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
 *   del(key: string): Promise<number>;
 * }
 *
 * const REPLACE = `if redis.call("get", KEYS[1]) ~= ARGV[1] then return nil end
 *   return redis.call("set", KEYS[1], ARGV[2], "PX", ARGV[3])`;
 *
 * function redisSessions(redis: Redis): SessionStore {
 *   return {
 *     get: (key) => redis.get(`session:${key}`),
 *     set: async (key, value, { expiresIn, mustExist, expect }) => {
 *       const name = `session:${key}`;
 *       const written = expect === undefined
 *         ? await redis.set(name, value, { PX: expiresIn, ...(mustExist && { XX: true }) })
 *         : await redis.eval(REPLACE, { keys: [name], arguments: [expect, value, `${expiresIn}`] });
 *       return written !== null;
 *     },
 *     delete: async (key) => await redis.del(`session:${key}`) > 0,
 *   };
 * }
 *
 * const User = v.object({ userId: v.number() });
 * export const visitIn = (redis: Redis) =>
 *   session(User, { store: redisSessions(redis), subject: ({ userId }) => userId });
 * ```
 *
 * @category Dependencies
 */
export interface SessionStore {
  /**
   * Whether only this thread has the sessions. Then several workers cannot start.
   *
   * @default {false}
   */
  readonly isLocal?: boolean;
  /** Returns the value of a key; null if there is none, or it has expired. */
  get(key: string): Promise<string | null>;
  /** Returns whether the value was written. */
  set(key: string, value: string, write: SessionWrite): Promise<boolean>;
  /** Returns whether the key existed. Of concurrent calls, one gets true. */
  delete(key: string): Promise<boolean>;
}

/**
 * The bounds of sessions in memory. Beyond them, the session that was set first is dropped.
 *
 * @category Dependencies
 */
export interface MemorySessionsOptions {
  /**
   * The most sessions.
   *
   * @default {100_000}
   */
  maxSessions?: number;
  /**
   * The most bytes of all sessions, estimated.
   *
   * @default {67_108_864}
   */
  maxBytes?: number;
}

const MEMORY_OPTIONS: OptionNames<MemorySessionsOptions> = { maxSessions: true, maxBytes: true };

/** The most characters of one session. */
const MAX_VALUE = 65_536;

/** Without its strings: measured with 100,000 short ones. */
const ENTRY_BYTES = 200;

/** The expired sessions that each `set` removes at most. So no timer is needed. */
const SWEPT = 2;

interface MemoryEntry {
  readonly value: string;
  /** In milliseconds since 1970. */
  readonly expires: number;
}

/**
 * A store of sessions in memory, for development, tests and applications of one process. `--reload`
 * loses them. Several workers of `webfw run` cannot start with it; do not use it with `deno serve
 * --parallel`, which cannot be detected.
 *
 * A session has at most 65,536 characters of JSON.
 *
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
  checkOptions(options, MEMORY_OPTIONS, "make a store of sessions");
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
  readonly #entries = new OrderedMap<string, MemoryEntry>();
  #bytes = 0;

  constructor(maxSessions: number, maxBytes: number) {
    this.#maxSessions = maxSessions;
    this.#maxBytes = maxBytes;
  }

  async get(key: string): Promise<string | null> {
    return this.#find(key)?.value ?? null;
  }

  // No await here: concurrent requests of one visitor write and delete the same key.
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

  /** Removes an expired entry. */
  #find(key: string): MemoryEntry | undefined {
    const entry = this.#entries.get(key);
    if (!entry || entry.expires > Date.now()) return entry;
    this.#remove(key, entry);
    return undefined;
  }

  /** Removes expired sessions, and the oldest ones beyond the bounds. */
  #makeRoom(): void {
    const now = Date.now();
    let left = SWEPT;
    for (const [key, entry] of this.#entries) {
      const isOver = this.#entries.size > this.#maxSessions || this.#bytes > this.#maxBytes;
      if (!isOver && (left-- <= 0 || entry.expires > now)) return;
      this.#remove(key, entry);
    }
  }

  #remove(key: string, entry: MemoryEntry): void {
    this.#entries.delete(key);
    this.#bytes -= sizeOf(key, entry);
  }
}

/** V8 stores a character in one byte or two. */
function sizeOf(key: string, { value }: MemoryEntry): number {
  return ENTRY_BYTES + key.length + 2 * value.length;
}

const SPACE = "sessions";

/** @ignore A store of sessions in the records of the application that serves the request. */
export class RecordSessions {
  /** @ignore The store of an application. */
  of(app: AppHandle): SessionStore & { hint(key: string, onChange: () => void): Promise<() => void> } {
    return new SessionRecords(recordsOf(app.records, SPACE));
  }
}

/**
 * A store of sessions in `app.records`. Nodes with one store of durable topics share them, and they
 * survive a restart. Without such a store, the workers of a process share them in memory.
 *
 * A session has at most 60 KiB of JSON.
 *
 * @example Sessions that all nodes share
 * ```ts
 * import { App } from "@webfw/core";
 * import { recordSessions, session } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const visit = session(v.object({ userId: v.number() }), {
 *   store: recordSessions(),
 *   subject: ({ userId }) => userId,
 * });
 *
 * const app = new App({ topics: ":memory:" });
 * app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 7 }));
 * app.get("/me", { deps: { visit } }, async (_request, { visit }) => visit.data);
 *
 * const login = await app.fetch(new Request("http://localhost/login", { method: "POST" }));
 * const cookie = login.headers.get("set-cookie")!.split(";", 1)[0]!;
 * const me = await app.fetch(new Request("http://localhost/me", { headers: { cookie } }));
 * assertEquals(await me.json(), { userId: 7 });
 * await app.stop();
 * ```
 *
 * @category Dependencies
 */
export function recordSessions(): RecordSessions {
  return new RecordSessions();
}

class SessionRecords implements SessionStore {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Returns a function that ends it. */
  hint(key: string, onChange: () => void): Promise<() => void> {
    return hintsOf(this.#records, [key], onChange);
  }

  async get(key: string): Promise<string | null> {
    return (await this.#records.get<string>([key]))?.value ?? null;
  }

  async set(key: string, value: string, { expiresIn, mustExist, expect }: SessionWrite): Promise<boolean> {
    if (!mustExist) return await this.#records.set([key], value, { expiresIn }) !== null;
    return await this.#change(key, async (entry) => {
      // The response to the previous write may have been lost.
      if (entry.value === value) return true;
      if (expect !== undefined && entry.value !== expect) return false;
      return await this.#records.set([key], value, { expiresIn, expect: entry.version }) !== null || undefined;
    });
  }

  async delete(key: string): Promise<boolean> {
    return await this.#change(key, async ({ version }) => {
      return await this.#records.delete([key], { expect: version }) || undefined;
    });
  }

  /** Retries if the result is undefined: another request has written in between. */
  async #change(
    key: string,
    change: (entry: StoredRecord<string>) => Promise<boolean | undefined>,
  ): Promise<boolean> {
    for (;;) {
      const entry = await this.#records.get<string>([key]);
      const result = entry ? await change(entry) : false;
      if (result !== undefined) return result;
    }
  }
}
