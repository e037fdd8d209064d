/**
 * Tells who watches a log that it has grown. Each write of a log rings one of a few bells, which many logs share; a node looks at all
 * of them at once, whatever the number of logs. The bells are hints: what has come, the log tells.
 */
import type { AppendResult } from "../store.ts";
import type { Connection } from "./connection.ts";
import { pause } from "./connection.ts";
import { KEYS_PER_READ, type KvEngine, type KvEntry } from "./engine.ts";
import { type Epoch, noteVersion } from "./epoch.ts";
import { bellKey, BELLS, EPOCH_KEY, hashOf, headKey, VERSION_LENGTH } from "./keys.ts";

/** How bells are heard. */
export interface BellsOptions {
  /** The database. */
  readonly connection: Connection;
  /**
   * Another connection to it, on which the bells are watched: a reply would wait for 40 ms behind the change that it caused. Undefined
   * where the database tells one process nothing of what another has written.
   */
  readonly watching: Connection | undefined;
  /** How often the bells are looked at, in milliseconds. */
  readonly interval: number;
  /** Its life. */
  readonly epoch: Epoch;
}

/** Who watches a log. */
interface Watched {
  readonly wakes: Set<() => void>;
  /** The newest write of the log that they have been told of. */
  told: string;
}

const KEYS = [EPOCH_KEY, ...Array.from({ length: BELLS }, (_, bell) => bellKey(bell))];

/** Of what is told and not asked for. */
const NEVER = -1;

/** Hears the bells while somebody watches. */
export class Bells {
  readonly #options: BellsOptions;
  readonly #watched = new Map<string, Watched>();
  /** The version of each bell as it was seen last. */
  readonly #seen: string[] = new Array(BELLS).fill("");
  readonly #closing = new AbortController();
  #look: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #following: Promise<void> | undefined;
  /** How many lives of the database have ended. */
  #ended = 0;
  /** How often in a row a look has found what the watch should have told. */
  #unheard = 0;

  /** Looks at nothing yet. */
  constructor(options: BellsOptions) {
    this.#options = options;
  }

  /** The bell of a log. */
  static of(name: string): number {
    return hashOf(name) % BELLS;
  }

  /** Calls back when a log may have grown, until it is ended. */
  watch(name: string, wake: () => void): () => void {
    // Whoever begins to watch reads what had been written before.
    const watched = this.#watched.get(name) ?? { wakes: new Set(), told: this.#seen[Bells.of(name)]! };
    this.#watched.set(name, watched);
    watched.wakes.add(wake);
    this.#listen();
    return () => {
      watched.wakes.delete(wake);
      if (watched.wakes.size === 0 && this.#watched.get(name) === watched) this.#watched.delete(name);
      if (this.#watched.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  /** This process has written a log. */
  ring(name: string, { epoch, outcomes }: AppendResult): void {
    const watched = this.#watched.get(name);
    // What comes after a place of a life that has ended would never be told of.
    if (!watched || !this.#options.epoch.isPresent(name, epoch)) return;
    const newest = outcomes.reduce((newest, { cursor }) => cursor > newest ? cursor : newest, "");
    tell(watched, newest.slice(0, VERSION_LENGTH));
  }

  /** The database is another one: all that was known means nothing any more. */
  startAnew(): void {
    this.#ended++;
    this.#seen.fill("");
    for (const watched of this.#watched.values()) {
      watched.told = "";
      for (const wake of [...watched.wakes]) wake();
    }
  }

  /** Hears nothing any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#watched.clear();
    await this.#look;
  }

  /** Resolves when the watch has ended; its connection has to be closed for that. */
  async ended(): Promise<void> {
    await this.#following;
  }

  #listen(): void {
    if (this.#closing.signal.aborted) return;
    if (!this.#look) this.#timer ??= this.#lookLater();
    const { watching } = this.#options;
    if (watching) this.#following ??= this.#follow(watching);
  }

  #lookLater(): ReturnType<typeof setTimeout> {
    // Not unrefed: a program that waits for what others publish has something to do.
    return setTimeout(() => {
      this.#timer = undefined;
      this.#look = this.#lookAtAll().finally(() => {
        this.#look = undefined;
        if (this.#watched.size > 0) this.#listen();
      });
    }, this.#options.interval);
  }

  async #lookAtAll(): Promise<void> {
    try {
      const { connection, epoch } = this.#options;
      const { known, changes } = epoch;
      const newest = known?.newest ?? "";
      const seen = [...this.#seen];
      const entries = await connection.use((engine) => engine.get(KEYS), this.#closing.signal);
      const isPresent = known !== undefined && epoch.observe(entries[0], changes) === known;
      const isSetBack = isPresent && isBefore(entries.slice(1), newest, seen);
      const isNews = await this.#hear(entries, changes);
      if (isSetBack) await epoch.renew(known, this.#closing.signal);
      if (isNews) this.#unheard++;
      if (this.#unheard <= 1) return;
      // What a watch does not tell in time it will not tell at all.
      this.#unheard = 0;
      this.#options.watching?.reopen();
    } catch {
      // The connection has told of it, and is tried again.
    }
  }

  /** Hears of changes as they come. It goes on until the store is closed, since each watch of a database costs a connection. */
  async #follow(watching: Connection): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        // Opening has its deadline there; the watch itself has none, and is given up by whoever looks.
        const engine = await watching.use((engine) => Promise.resolve(engine), this.#closing.signal);
        for await (const entries of engine.watch(KEYS)) {
          this.#unheard = 0;
          // However late it comes, it is of the life that is known; of another one a look tells.
          await this.#hear(entries, NEVER);
        }
      } catch {
        // The bells are looked at in any case.
      }
      await pause(this.#options.interval, this.#closing.signal);
    }
  }

  /** Takes note of the bells. Gives whether one had rung that was not known to. */
  async #hear([entry, ...bells]: readonly (KvEntry | undefined)[], changes: number): Promise<boolean> {
    const life = this.#options.epoch.observe(entry, changes);
    if (!life) return false;
    const ended = this.#ended;
    let isNews = false;
    for (const [bell, entry] of bells.entries()) {
      // What is told of a life that has ended would keep the next one from being told.
      if (this.#ended !== ended) break;
      if (!entry || entry.version <= this.#seen[bell]!) continue;
      noteVersion(life, entry.version);
      isNews = true;
      await this.#tellOf(bell, entry);
      // Not before: where the logs that share it cannot be looked at, they are the next time.
      if (this.#ended === ended && entry.version > this.#seen[bell]!) this.#seen[bell] = entry.version;
    }
    return isNews;
  }

  async #tellOf(bell: number, { value, version }: KvEntry): Promise<void> {
    const ended = this.#ended;
    const named = new TextDecoder().decode(value);
    const others: [name: string, watched: Watched][] = [];
    for (const [name, watched] of this.#watched) {
      if (Bells.of(name) !== bell || watched.told >= version) continue;
      if (name === named) tell(watched, version);
      else others.push([name, watched]);
    }
    // They may have been written before the one that is named.
    for (let start = 0; start < others.length; start += KEYS_PER_READ) {
      const part = others.slice(start, start + KEYS_PER_READ);
      const keys = part.map(([name]) => headKey(name));
      const heads = await this.#options.connection.use((engine: KvEngine) => engine.get(keys), this.#closing.signal);
      if (this.#ended !== ended) return;
      for (const [index, [, watched]] of part.entries()) {
        const head = heads[index]?.version ?? "";
        if (head > watched.told) tell(watched, head);
      }
    }
  }
}

/** Whether bells are as they were before something that is known: one is older, or none is as new as the newest message. */
function isBefore(bells: readonly (KvEntry | undefined)[], newest: string, seen: readonly string[]): boolean {
  const versions = bells.map((entry) => entry?.version ?? "");
  return versions.every((version) => version < newest) || versions.some((version, bell) => version < seen[bell]!);
}

function tell(watched: Watched, version: string): void {
  if (version <= watched.told) return;
  watched.told = version;
  for (const wake of [...watched.wakes]) wake();
}
