/**
 * The life of the database: another one where it was lost and made anew, or set back by a backup, so that places of before mean nothing
 * any more.
 */
import type { Connection } from "./connection.ts";
import type { KvCheck, KvEntry, KvSet } from "./engine.ts";
import { EPOCH_KEY, hashOf, lifeKey } from "./keys.ts";

/** The entry of a life, and what it holds. */
export interface Life extends KvEntry {
  /** Another text in each life. */
  readonly text: string;
  /** The newest version that a message is known to have: what is asked from now on tells of it, or of a newer one. */
  newest: string;
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
        await engine.write({ checks: [{ key: EPOCH_KEY, version: null }], sets: newLife() });
      }
    });
    life.catch(() => {
      if (this.#life === life) this.#life = undefined;
    });
    return life;
  }

  /** Takes note of the entry as it has been read by somebody. Gives the life that it is of. */
  async observe(entry: KvEntry | undefined): Promise<Life | undefined> {
    const known = await this.current();
    const life = entry && toLife(entry);
    if (known.version === life?.version && known.text === life.text) return known;
    this.#known = life;
    this.#life = life && Promise.resolve(life);
    this.#onEnd();
    return life;
  }

  /**
   * Begins another life of a database that turns out to be set back, which would give its places once more: all who have come further
   * are told, whenever they come again.
   */
  async renew(life: Life, signal?: AbortSignal): Promise<void> {
    const write = {
      checks: [{ key: EPOCH_KEY, version: life.version }, checkOf(life)],
      sets: newLife(),
      deletes: [lifeKey(life.text)],
    };
    const entry = await this.#connection.use(async (engine) => {
      await engine.write(write);
      return (await engine.get([EPOCH_KEY]))[0];
    }, signal);
    await this.observe(entry);
  }

  /** Whether the life of a log is the present one, as far as is known. */
  isPresent(name: string, epoch: string): boolean {
    return this.#known !== undefined && epochOf(name, this.#known) === epoch;
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

/** Takes note of the version of a message. */
export function noteVersion(life: Life, version: string): void {
  if (version > life.newest) life.newest = version;
}

/** Reads the entry of a life. */
export function toLife(entry: KvEntry): Life {
  return { ...entry, text: new TextDecoder().decode(entry.value), newest: "" };
}

function newLife(): KvSet[] {
  const text = crypto.randomUUID();
  return [{ key: EPOCH_KEY, value: new TextEncoder().encode(text) }, { key: lifeKey(text), value: new Uint8Array() }];
}
