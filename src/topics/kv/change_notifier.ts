/**
 * Notifies watchers of a log that it may have grown. Each append writes one of a few entries of the
 * database, which all processes watch. Many logs share an entry; the heads of the watched logs then
 * tell which of them have grown.
 */
import type { AppendResult } from "../store.ts";
import { type Connection, pause } from "./connection.ts";
import { KEYS_PER_READ, type KvEntry } from "./engine.ts";
import { type Incarnations, noteVersion } from "./incarnation.ts";
import { CHANGE_SHARDS, changedKey, headKey, INCARNATION_KEY, shardOf, VERSION_LENGTH } from "./keys.ts";

const KEYS = [INCARNATION_KEY, ...Array.from({ length: CHANGE_SHARDS }, (_, shard) => changedKey(shard))];

/**
 * After a comparison of heads the next one waits for so many times its duration: others may append
 * to logs all the time that nobody watches here, and comparing must not take more than a fifth of
 * the time.
 */
const REST = 4;
/**
 * The longest such wait, in milliseconds: a comparison also takes long while the database is away.
 */
const MAX_REST = 1_000;
/** Stands for the number of changes of a result that was not asked for. */
const UNASKED = -1;

/** What a notifier needs. */
export interface ChangeNotifierOptions {
  /** The database. */
  readonly connection: Connection;
  /**
   * A second connection, for the watch: on a shared one, the reply of a write waits 40 ms for the
   * change that it caused. Undefined if the database does not notify across processes.
   */
  readonly watching: Connection | undefined;
  /** How often the database is polled, in milliseconds. */
  readonly interval: number;
  /** The incarnation of the database. */
  readonly incarnations: Incarnations;
}

/** A log that somebody watches. */
interface WatchedLog {
  readonly name: string;
  readonly shard: number;
  readonly callbacks: Set<() => void>;
  /** The newest version that the callbacks were called for. */
  notified: string;
}

/** Watches the database while somebody watches a log. */
export class ChangeNotifier {
  readonly #options: ChangeNotifierOptions;
  readonly #logs = new Map<string, WatchedLog>();
  /** By shard, the version of its entry seen last. */
  readonly #seen: string[] = new Array(CHANGE_SHARDS).fill("");
  /** By shard, the version of its entry up to which the heads of all its logs were compared. */
  readonly #compared: string[] = new Array(CHANGE_SHARDS).fill("");
  readonly #closing = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #polling: Promise<void> | undefined;
  #following: Promise<void> | undefined;
  #comparing: Promise<void> | undefined;
  /** How many incarnations have ended. */
  #ended = 0;
  /** How many polls in a row have found a change that the watch should have told. */
  #missed = 0;

  /** Watches nothing yet. */
  constructor(options: ChangeNotifierOptions) {
    this.#options = options;
  }

  /** Calls back when a log may have grown, until the returned function is called. */
  watch(name: string, onChange: () => void): () => void {
    // A watcher reads what was written before by itself.
    const shard = shardOf(name);
    const log = this.#logs.get(name) ?? { name, shard, callbacks: new Set(), notified: this.#seen[shard]! };
    this.#logs.set(name, log);
    log.callbacks.add(onChange);
    this.#start();
    return () => {
      log.callbacks.delete(onChange);
      if (log.callbacks.size === 0 && this.#logs.get(name) === log) this.#logs.delete(name);
      if (this.#logs.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Notifies the watchers in this process of an append by this process. */
  notify(name: string, { incarnation, outcomes }: AppendResult): void {
    const log = this.#logs.get(name);
    // A version of an ended incarnation would hide those of the current one.
    if (!log || !this.#options.incarnations.isCurrent(name, incarnation)) return;
    const newest = outcomes.reduce((newest, { cursor }) => cursor > newest ? cursor : newest, "");
    notifyUpTo(log, newest.slice(0, VERSION_LENGTH));
  }

  /** Forgets all versions, which mean nothing in another incarnation, and calls all callbacks. */
  reset(): void {
    this.#ended++;
    this.#seen.fill("");
    this.#compared.fill("");
    for (const log of this.#logs.values()) {
      log.notified = "";
      for (const onChange of [...log.callbacks]) onChange();
    }
  }

  /** Stops polling. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    this.#logs.clear();
    await Promise.all([this.#polling, this.#comparing]);
  }

  /** Resolves when the watch has ended. Its connection must be closed before. */
  async ended(): Promise<void> {
    await this.#following;
  }

  #start(): void {
    if (this.#closing.signal.aborted) return;
    if (!this.#polling) this.#timer ??= this.#pollLater();
    const { watching } = this.#options;
    if (watching) this.#following ??= this.#follow(watching);
  }

  #pollLater(): ReturnType<typeof setTimeout> {
    // The timer keeps the process alive: a program that waits for messages of others is not done.
    return setTimeout(() => {
      this.#timer = undefined;
      this.#polling = this.#poll().finally(() => {
        this.#polling = undefined;
        if (this.#logs.size > 0) this.#start();
      });
    }, this.#options.interval);
  }

  async #poll(): Promise<void> {
    try {
      const { connection, incarnations } = this.#options;
      const { known, changes } = incarnations;
      const newest = known?.newestVersion ?? "";
      const seen = [...this.#seen];
      const entries = await connection.use((engine) => engine.get(KEYS), this.#closing.signal);
      const isSame = known !== undefined && incarnations.observe(entries[0], changes) === known;
      const versions = entries.slice(1).map((entry) => entry?.version ?? "");
      const isNew = this.#take(entries, changes);
      // Each write sets an entry, so older ones are those of a backup.
      const isSetBack = versions.every((version) => version < newest) ||
        versions.some((version, shard) => version < seen[shard]!);
      if (isSame && isSetBack) await incarnations.renew(known, this.#closing.signal);
      if (isNew) this.#missed++;
      if (this.#missed <= 1) return;
      // The watch has missed two changes: its connection is dead.
      this.#missed = 0;
      this.#options.watching?.reopen();
    } catch {
      // The connection has logged it, and the next poll tries again.
    }
  }

  /**
   * Takes changes as they come. The watch stays open until the store is closed, since each one
   * costs a connection.
   */
  async #follow(watching: Connection): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        // The connection bounds how long opening takes. A watch that is silent is reopened by the
        // poll.
        const engine = await watching.use((engine) => Promise.resolve(engine), this.#closing.signal);
        for await (const entries of engine.watch(KEYS)) {
          this.#missed = 0;
          this.#take(entries, UNASKED);
        }
      } catch {
        // The poll goes on.
      }
      await pause(this.#options.interval, this.#closing.signal);
    }
  }

  /** Takes note of the entries. Returns whether one is new. */
  #take([incarnation, ...entries]: readonly (KvEntry | undefined)[], changes: number): boolean {
    const current = this.#options.incarnations.observe(incarnation, changes);
    if (!current) return false;
    let isNew = false;
    for (const [shard, entry] of entries.entries()) {
      if (!entry || entry.version <= this.#seen[shard]!) continue;
      noteVersion(current, entry.version);
      isNew = true;
      this.#seen[shard] = entry.version;
      const log = this.#logs.get(new TextDecoder().decode(entry.value));
      if (log) notifyUpTo(log, entry.version);
    }
    this.#comparing ??= this.#compare().finally(() => this.#comparing = undefined);
    return isNew;
  }

  /**
   * Compares the heads of the watched logs of changed shards: an entry names its last change only.
   */
  async #compare(): Promise<void> {
    const { signal } = this.#closing;
    for (let changed = this.#changedShards(); changed.length > 0 && !signal.aborted; changed = this.#changedShards()) {
      const begin = performance.now();
      try {
        for (const shard of changed) await this.#compareShard(shard, this.#seen[shard]!);
      } catch {
        // The connection has logged it, and the next poll starts another comparison.
        return;
      }
      await pause(Math.min(REST * (performance.now() - begin), MAX_REST), signal);
    }
  }

  #changedShards(): number[] {
    return [...this.#seen.keys()].filter((shard) => this.#seen[shard]! > this.#compared[shard]!);
  }

  async #compareShard(shard: number, version: string): Promise<void> {
    const ended = this.#ended;
    const logs = [...this.#logs.values()].filter((log) => log.shard === shard && log.notified < version);
    for (let start = 0; start < logs.length; start += KEYS_PER_READ) {
      const part = logs.slice(start, start + KEYS_PER_READ);
      const keys = part.map(({ name }) => headKey(name));
      const heads = await this.#options.connection.use((engine) => engine.get(keys), this.#closing.signal);
      // A version of an ended incarnation would hide those of the current one.
      if (this.#ended !== ended) return;
      for (const [index, log] of part.entries()) notifyUpTo(log, heads[index]?.version ?? "");
    }
    this.#compared[shard] = version;
  }
}

function notifyUpTo(log: WatchedLog, version: string): void {
  if (version <= log.notified) return;
  log.notified = version;
  for (const onChange of [...log.callbacks]) onChange();
}
