/**
 * Tells who watches a log that it has grown. Each write of a log rings one of a few bells, which many logs share; a node looks at all
 * of them at once, whatever the number of logs. The bells are hints: what has come, the log tells.
 */
import type { AppendResult } from "../store.ts";
import type { Connection } from "./connection.ts";
import { pause } from "./connection.ts";
import { KEYS_PER_READ, type KvEntry } from "./engine.ts";
import { type Epoch, noteVersion } from "./incarnation.ts";
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
  /** The bell of the log. */
  readonly bell: number;
  readonly wakes: Set<() => void>;
  /** The newest write of the log that they have been told of. */
  told: string;
}

const KEYS = [EPOCH_KEY, ...Array.from({ length: BELLS }, (_, bell) => bellKey(bell))];

/** Of what is told and not asked for. */
const NEVER = -1;

/** How much longer than it takes to search logs they are left alone then: others may publish all the time to logs that nobody watches here. */
const REST = 4;
/** How long they are left alone at most, in milliseconds: it also takes long where the database was away, or this process. */
const MAX_REST = 1_000;

/** Hears the bells while somebody watches. */
export class Bells {
  readonly #options: BellsOptions;
  readonly #watched = new Map<string, Watched>();
  /** The version of each bell as it was seen last. */
  readonly #seen: string[] = new Array(BELLS).fill("");
  /** The version of each bell up to which all logs that share it have been searched. */
  readonly #searched: string[] = new Array(BELLS).fill("");
  readonly #closing = new AbortController();
  #look: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #following: Promise<void> | undefined;
  #searching: Promise<void> | undefined;
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
    const bell = Bells.of(name);
    const watched = this.#watched.get(name) ?? { bell, wakes: new Set(), told: this.#seen[bell]! };
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
  ring(name: string, { incarnation, outcomes }: AppendResult): void {
    const watched = this.#watched.get(name);
    // What comes after a place of a life that has ended would never be told of.
    if (!watched || !this.#options.epoch.isPresent(name, incarnation)) return;
    const newest = outcomes.reduce((newest, { cursor }) => cursor > newest ? cursor : newest, "");
    tell(watched, newest.slice(0, VERSION_LENGTH));
  }

  /** The database is another one: all that was known means nothing any more. */
  startAnew(): void {
    this.#ended++;
    this.#seen.fill("");
    this.#searched.fill("");
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
    await Promise.all([this.#look, this.#searching]);
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
      const isNews = this.#hear(entries, changes);
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
          this.#hear(entries, NEVER);
        }
      } catch {
        // The bells are looked at in any case.
      }
      await pause(this.#options.interval, this.#closing.signal);
    }
  }

  /** Takes note of the bells. Gives whether one had rung that was not known to. */
  #hear([entry, ...bells]: readonly (KvEntry | undefined)[], changes: number): boolean {
    const life = this.#options.epoch.observe(entry, changes);
    if (!life) return false;
    let isNews = false;
    for (const [bell, entry] of bells.entries()) {
      if (!entry || entry.version <= this.#seen[bell]!) continue;
      noteVersion(life, entry.version);
      isNews = true;
      this.#seen[bell] = entry.version;
      const named = this.#watched.get(new TextDecoder().decode(entry.value));
      if (named) tell(named, entry.version);
    }
    this.#searching ??= this.#search().finally(() => this.#searching = undefined);
    return isNews;
  }

  /** Searches the logs whose bells have rung: they may have been written before the one that is named. */
  async #search(): Promise<void> {
    const { signal } = this.#closing;
    for (let rung = this.#unsearched(); rung.length > 0 && !signal.aborted; rung = this.#unsearched()) {
      const begin = performance.now();
      try {
        for (const bell of rung) await this.#searchFor(bell, this.#seen[bell]!);
      } catch {
        // The connection has told of it; they are searched when the bells are looked at.
        return;
      }
      await pause(Math.min(REST * (performance.now() - begin), MAX_REST), signal);
    }
  }

  #unsearched(): number[] {
    return [...this.#seen.keys()].filter((bell) => this.#seen[bell]! > this.#searched[bell]!);
  }

  async #searchFor(bell: number, version: string): Promise<void> {
    const ended = this.#ended;
    const sought = [...this.#watched].filter(([, watched]) => watched.bell === bell && watched.told < version);
    for (let start = 0; start < sought.length; start += KEYS_PER_READ) {
      const part = sought.slice(start, start + KEYS_PER_READ);
      const keys = part.map(([name]) => headKey(name));
      const heads = await this.#options.connection.use((engine) => engine.get(keys), this.#closing.signal);
      // What is told of a life that has ended would keep the next one from being told.
      if (this.#ended !== ended) return;
      for (const [index, [, watched]] of part.entries()) tell(watched, heads[index]?.version ?? "");
    }
    this.#searched[bell] = version;
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
