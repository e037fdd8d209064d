/** Entries of the log about messages that are left out, one for many of them. */
import { log } from "../log/log.ts";

/** The least time between two entries, in milliseconds. */
const PAUSE = 60_000;

/** Writes to the log that messages are left out: the first at once, others together. */
export class MisfitLog {
  readonly #text: string;
  readonly #level: "warn" | "error";
  #unlogged = 0;
  #loggedAt = -Infinity;

  constructor(level: "warn" | "error", text: string) {
    this.#level = level;
    this.#text = text;
  }

  /**
   * Notes messages that are left out.
   *
   * @param count How many.
   * @param fields What is known of the last of them.
   */
  note(count: number, fields: Readonly<Record<string, unknown>>): void {
    this.#unlogged += count;
    const now = performance.now();
    if (now - this.#loggedAt < PAUSE) return;
    log(this.#level, this.#text, { ...fields, messages: this.#unlogged });
    this.#unlogged = 0;
    this.#loggedAt = now;
  }
}
