/** The stores of sessions: where the data is that a cookie only points to. */

/**
 * How a session is written.
 *
 * @category Dependencies
 */
export interface SessionWrite {
  /** After how many milliseconds the store must no longer return it. */
  readonly expiresIn: number;
  /**
   * Whether to write only if the key is there, so that a renewal does not bring back a session that
   * has been cleared meanwhile.
   */
  readonly mustExist: boolean;
}

/**
 * A store of sessions. Write one for a server that all processes share, such as Redis.
 *
 * A key is a text of 64 hexadecimal digits, the hash of the id in the cookie: who reads the store
 * cannot make a cookie from it. A value is JSON text. What a method throws becomes a 500, and is
 * logged.
 *
 * @example A store in Redis
 * ```ts
 * import { session, type SessionStore } from "@webfw/core/auth";
 * import * as v from "valibot";
 *
 * // The part of npm:redis that is used here.
 * interface Redis {
 *   get(key: string): Promise<string | null>;
 *   set(key: string, value: string, options: { PX: number; XX?: true }): Promise<unknown>;
 *   del(key: string): Promise<unknown>;
 * }
 *
 * function redisSessions(redis: Redis): SessionStore {
 *   return {
 *     get: (key) => redis.get(`session:${key}`),
 *     set: async (key, value, { expiresIn, mustExist }) => {
 *       await redis.set(`session:${key}`, value, { PX: expiresIn, ...(mustExist && { XX: true }) });
 *     },
 *     delete: async (key) => void await redis.del(`session:${key}`),
 *   };
 * }
 *
 * const User = v.object({ userId: v.number() });
 * export const visitIn = (redis: Redis) => session(User, { store: redisSessions(redis) });
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
  /** Writes a value, which replaces an earlier one. */
  set(key: string, value: string, write: SessionWrite): Promise<void>;
  /** Deletes a key. It may be missing. */
  delete(key: string): Promise<void>;
}
