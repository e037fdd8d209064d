/**
 * The life of the database: another one where it was lost and made anew, or set back by a backup, so that places of before mean nothing
 * any more.
 */
import type { Connection } from "./connection.ts";
import type { KvCheck, KvEntry, KvSet } from "./engine.ts";
import { EPOCH_KEY, hashOf, lifeKey } from "./keys.ts";

/** How many lives that have ended are known. */
const MAX_OVER = 100;

/** The entry of a life, and what it holds. */
export interface Life extends KvEntry {
  /** Another text in each life. */
  readonly text: string;
  /** The newest version that a message is known to have: what is asked from now on tells of it, or of a newer one. */
  newest: string;
  /** When a write was made that holds in it alone, in milliseconds of `performance.now()`. */
  confirmedAt: number;
}

/** Knows the life of the database. */
export class Epoch {
  readonly #connection: Connection;
  readonly #onEnd: () => void;
  #life: Promise<Life> | undefined;
  #known: Life | undefined;
  #changes = 0;
  /** On its way, since a life was read that had ended. */
  #renewal: Promise<void> | undefined;
  /** The texts of lives that have ended, the last of them. */
  readonly #over = new Set<string>();

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

  /** The life as it was read last, where it was. */
  get known(): Life | undefined {
    return this.#known;
  }

  /**
   * The life as it was read last; the first who asks makes it.
   *
   * @param signal Gives up waiting for it.
   */
  async current(signal?: AbortSignal): Promise<Life> {
    if (this.#known && !this.#renewal) return this.#known;
    signal?.throwIfAborted();
    // Nobody's own signal ends what all wait for.
    return await (signal ? abortable(this.#current(), signal) : this.#current());
  }

  #current(): Promise<Life> {
    // Until it has ended there is none: whoever wants to use one would ask again and again.
    if (this.#renewal) return this.#renewal.then(() => this.#current());
    if (this.#life) return this.#life;
    const life = this.#life = this.#connection.use(async (engine) => {
      for (;;) {
        const changes = this.#changes;
        const [entry] = await engine.get([EPOCH_KEY]);
        const known = entry && this.observe(entry, changes);
        if (known) return known;
        await this.#renewal;
        if (!entry) await engine.write({ checks: [{ key: EPOCH_KEY, version: null }], sets: newLife() });
      }
    });
    life.catch(() => {
      if (this.#life === life) this.#life = undefined;
    });
    return life;
  }

  /** How often another life has turned out to be the present one. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Takes note of the entry as it has been read by somebody.
   *
   * @param entry The entry.
   * @param changes Those before it was asked for: what was asked for before the last of them may be late.
   * @returns The life that it is of; none where that is not the present one.
   */
  observe(entry: KvEntry | undefined, changes: number): Life | undefined {
    const known = this.#known;
    const life = entry && toLife(entry);
    if (known && life && known.version === life.version && known.text === life.text) return known;
    if (known && changes !== this.#changes) return undefined;
    if (life && this.#over.has(life.text)) {
      // An older backup was put back. Where this fails, the next who reads it tries again.
      this.#renewal ??= this.renew(life).catch(() => {}).finally(() => this.#renewal = undefined);
      return undefined;
    }
    this.#changes++;
    this.#known = life;
    if (life || known) this.#life = life && Promise.resolve(life);
    if (known) this.#end(known);
    return life;
  }

  #end({ text }: Life): void {
    this.#over.add(text);
    const [first] = this.#over;
    if (this.#over.size > MAX_OVER) this.#over.delete(first!);
    this.#onEnd();
  }

  /**
   * Begins another life of a database that turns out to be set back, which would give its places once more: all who have come further
   * are told, whenever they come again. Where the life is not there any more, nothing is done.
   */
  async renew(life: Life, signal?: AbortSignal): Promise<void> {
    const key = lifeKey(life.text);
    const changes = this.#changes;
    const entry = await this.#connection.use(async (engine) => {
      const [present, own] = await engine.get([EPOCH_KEY, key]);
      if (!present || toLife(present).text !== life.text) return present;
      const checks = [{ key: EPOCH_KEY, version: present.version }, { key, version: own?.version ?? null }];
      await engine.write({ checks, sets: newLife(), deletes: [key] });
      return (await engine.get([EPOCH_KEY]))[0];
    }, signal);
    this.observe(entry, changes);
  }

  /** Begins another life where nothing holds in the present one: something else has written its entries. */
  async confirm(life: Life, signal: AbortSignal | undefined): Promise<void> {
    const { key, version } = checkOf(life);
    const changes = this.#changes;
    const [entry, own] = await this.#connection.use((engine) => engine.get([EPOCH_KEY, key]), signal);
    if (this.observe(entry, changes) === life && own?.version !== version) await this.renew(life, signal);
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
  return { ...entry, text: new TextDecoder().decode(entry.value), newest: "", confirmedAt: -Infinity };
}

function newLife(): KvSet[] {
  const text = crypto.randomUUID();
  return [{ key: EPOCH_KEY, value: new TextEncoder().encode(text) }, { key: lifeKey(text), value: new Uint8Array() }];
}

function abortable<Result>(running: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  signal.addEventListener("abort", leave);
  return Promise.race([running, aborted]).finally(() => signal.removeEventListener("abort", leave));
}
