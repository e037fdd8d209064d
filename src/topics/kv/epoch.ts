/** The life of the database: another one where it was lost and made anew, so that places of before mean nothing any more. */
import type { Connection } from "./connection.ts";
import type { KvCheck, KvEntry } from "./engine.ts";
import { EPOCH_KEY, hashOf, lifeKey } from "./keys.ts";

/** The entry of a life, and what it holds. */
export interface Life extends KvEntry {
  /** Another text in each life. */
  readonly text: string;
}

/** Knows the life of the database. */
export class Epoch {
  readonly #connection: Connection;
  readonly #onEnd: () => void;
  #life: Promise<Life> | undefined;
  /** As it was read last. */
  #known: Life | undefined;

  /**
   * Asks for nothing yet.
   *
   * @param connection The database.
   * @param onEnd Called when it turns out that a life has ended, whoever finds out.
   */
  constructor(connection: Connection, onEnd: () => void) {
    this.#connection = connection;
    this.#onEnd = onEnd;
  }

  /** The life as it was read last; the first who asks makes it. */
  current(): Promise<Life> {
    if (this.#life) return this.#life;
    const life = this.#life = this.#connection.use(async (engine) => {
      for (;;) {
        const [known] = await engine.get([EPOCH_KEY]);
        if (known) return this.#known = toLife(known);
        const text = crypto.randomUUID();
        const value = new TextEncoder().encode(text);
        const sets = [{ key: EPOCH_KEY, value }, { key: lifeKey(text), value: new Uint8Array() }];
        await engine.write({ checks: [{ key: EPOCH_KEY, version: null }], sets });
      }
    });
    life.catch(() => {
      if (this.#life === life) this.#life = undefined;
    });
    return life;
  }

  /** Takes note of the entry as it has been read by somebody. */
  async observe(entry: KvEntry | undefined): Promise<void> {
    const known = await this.current();
    const life = entry && toLife(entry);
    if (known.version === life?.version && known.text === life.text) return;
    this.#known = life;
    this.#life = life && Promise.resolve(life);
    this.#onEnd();
  }

  /** Whether the life of a log is the present one, as far as is known. */
  isPresent(name: string, epoch: string): boolean {
    return this.#known !== undefined && epochOf(name, this.#known) === epoch;
  }

  /** The life of a log now, of which nothing else tells: it is empty. */
  async of(name: string): Promise<string> {
    if (this.#known) {
      const [entry] = await this.#connection.use((engine) => engine.get([EPOCH_KEY]));
      await this.observe(entry);
    }
    return epochOf(name, await this.current());
  }
}

/** The life of a log: 8 hexadecimal digits that are others for another log, and in another life of the database. */
export function epochOf(name: string, life: Life): string {
  return hashOf(life.text + name).toString(16).padStart(8, "0");
}

/** Holds in a life alone: that of its entry does not, since a database made anew may give it the same version. */
export function checkOf({ text, version }: Life): KvCheck {
  return { key: lifeKey(text), version };
}

/** Reads the entry of a life. */
export function toLife(entry: KvEntry): Life {
  return { ...entry, text: new TextDecoder().decode(entry.value) };
}
