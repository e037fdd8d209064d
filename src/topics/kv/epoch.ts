/** The life of the database: another one where it was lost and made anew, so that places of before mean nothing any more. */
import type { Connection } from "./connection.ts";
import type { KvEntry } from "./engine.ts";
import { EPOCH_KEY, hashOf } from "./keys.ts";

const decoder = new TextDecoder();

/** Knows the life of the database. */
export class Epoch {
  readonly #connection: Connection;
  #entry: Promise<KvEntry> | undefined;

  /** Asks for nothing yet. */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The life as it was read last; the first who asks makes it. */
  current(): Promise<KvEntry> {
    if (this.#entry) return this.#entry;
    const entry = this.#entry = this.#connection.use(async (engine) => {
      for (;;) {
        const [known] = await engine.get([EPOCH_KEY]);
        if (known) return known;
        const value = new TextEncoder().encode(crypto.randomUUID());
        await engine.write({ checks: [{ key: EPOCH_KEY, version: null }], sets: [{ key: EPOCH_KEY, value }] });
      }
    });
    entry.catch(() => {
      if (this.#entry === entry) this.#entry = undefined;
    });
    return entry;
  }

  /**
   * Takes note of the entry as it has been read by somebody.
   *
   * @returns Whether it is another life than the one that was known.
   */
  async observe(entry: KvEntry | undefined): Promise<boolean> {
    const known = await this.current();
    if (entry && known.version === entry.version && textOf(known) === textOf(entry)) return false;
    this.#entry = entry && Promise.resolve(entry);
    return true;
  }

  /** The life of a log: 8 hexadecimal digits that are others for another log, and in another life of the database. */
  async of(name: string): Promise<string> {
    return hashOf(textOf(await this.current()) + name).toString(16).padStart(8, "0");
  }
}

function textOf({ value }: KvEntry): string {
  return decoder.decode(value);
}
