/** Counts in the records of an application, which all of its nodes share. */
import { type Records, recordsOf } from "../store/records.ts";
import { boundedCaller } from "./caller.ts";
import type { Count, CountedLimit, Counts } from "./counts.ts";

/** The part of the records that holds counts. */
const SPACE = "rate limits";

/**
 * How often a count is written again after another node was quicker. Each node writes one count at
 * a time for a caller, so this is enough for more nodes than tries.
 */
const MAX_TRIES = 20;

/** The longest pause before the next try, in milliseconds: nodes that tried together spread. */
const MAX_PAUSE_MS = 8;

/** The requests of a caller since its time began, as they are stored. */
interface StoredWindow {
  readonly count: number;
  /** In milliseconds since 1970, by the clock of the node that began it. */
  readonly ends: number;
}

/** A request that waits for its count. */
interface Waiting {
  readonly resolve: (count: Count) => void;
  readonly reject: (error: unknown) => void;
}

/** Counts of one limit in records. */
export class RecordCounts implements Counts {
  readonly #records: Records;
  readonly #place: string | Promise<string>;
  /** The requests that wait while a count of their caller is written. They are counted together. */
  readonly #waiting = new Map<string, Waiting[]>();

  /**
   * @param records The records of the application.
   * @param place Names the limit. It is the same on all nodes.
   */
  constructor(records: Records, place: string) {
    this.#records = recordsOf(records, SPACE);
    this.#place = boundedCaller(place);
  }

  count(limit: CountedLimit, caller: string): Promise<Count> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(caller);
      if (waiting) return void waiting.push({ resolve, reject });
      this.#waiting.set(caller, [{ resolve, reject }]);
      void this.#work(limit, caller);
    });
  }

  /** Counts the requests of a caller until none waits. */
  async #work(limit: CountedLimit, caller: string): Promise<void> {
    for (;;) {
      const batch = this.#waiting.get(caller)!;
      if (batch.length === 0) break;
      this.#waiting.set(caller, []);
      try {
        const { before, resetMs } = await this.#add(limit, caller, batch.length);
        batch.forEach(({ resolve }, index) => {
          const rest = limit.limit - before - index;
          resolve({ isRefused: rest <= 0, remaining: Math.max(0, rest - 1), resetMs });
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#waiting.delete(caller);
  }

  /**
   * Adds requests to a count, at most up to the limit.
   *
   * @returns The count before, and the time until it begins again.
   * @throws {Error} If the store fails, or other nodes are quicker each time.
   */
  async #add({ limit, perMs }: CountedLimit, caller: string, requests: number) {
    // A part of a key is not empty, and has no half of a surrogate pair.
    const key = [await this.#place, `:${caller.toWellFormed()}`];
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const entry = await this.#records.get<StoredWindow>(key);
      const now = Date.now();
      const known = entry && entry.value.ends > now ? entry.value : undefined;
      // A node whose clock is ahead must not make the time longer.
      const ends = known ? Math.min(known.ends, now + perMs) : now + perMs;
      const before = known?.count ?? 0;
      const counted = { before, resetMs: ends - now };
      if (before >= limit) return counted;
      const count = Math.min(limit, before + requests);
      const write = { expect: entry?.version ?? null, expiresIn: Math.max(1, Math.ceil(ends - now)) };
      if (await this.#records.set(key, { count, ends }, write) !== null) return counted;
      const pause = Math.random() * Math.min(tries, MAX_PAUSE_MS);
      await new Promise<void>((resolve) => setTimeout(resolve, pause));
    }
    throw new Error(`Cannot count the request: other nodes wrote its count before, ${MAX_TRIES} times`);
  }
}
