/** The stores of sessions: where the data is that a cookie only points to. */

/**
 * How a session is written.
 *
 * @category Dependencies
 */
export interface SessionWrite {
  /** After how many milliseconds the store must no longer return it. */
  readonly expiresIn: number;
  /** Whether to write only if the key is there: a session that was cleared must not come back. */
  readonly mustExist: boolean;
  /**
   * The value that the key must have, or else nothing is written: a renewal must not undo what
   * another request has set meanwhile. A store that cannot compare goes by `mustExist`.
   */
  readonly expect?: string;
}

/**
 * A store of sessions. Write one for a server that all processes share, such as Redis.
 *
 * A key is a string of 64 hexadecimal digits, the hash of the id in the cookie: it is of
 * no use for making a cookie. A value is JSON. What a method throws becomes a 500, and is logged.
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
   * Whether only this thread sees the sessions. Then several workers are an error at the start.
   *
   * @default {false}
   */
  readonly isLocal?: boolean;
  /** Returns the value of a key; null if there is none, or it has expired. */
  get(key: string): Promise<string | null>;
  /** Writes a value, which replaces an earlier one. Returns whether it was written. */
  set(key: string, value: string, write: SessionWrite): Promise<boolean>;
  /** Deletes a key. Returns whether it was there: of several at once, one gets true. */
  delete(key: string): Promise<boolean>;
}
