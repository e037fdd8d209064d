/**
 * Notifies watchers of a log that it may have grown. Each append to any log writes one entry of the database, which all
 * processes watch; the heads of the watched logs then tell which of them have grown.
 */
import type { AppendResult } from "../store.ts";
import { type Connection, pause } from "./connection.ts";
import { KEYS_PER_READ, type KvEntry } from "./engine.ts";
import { type Incarnations, noteVersion } from "./incarnation.ts";
import { CHANGED_KEY, headKey, INCARNATION_KEY, VERSION_LENGTH } from "./keys.ts";

const KEYS = [INCARNATION_KEY, CHANGED_KEY];

/**
 * After a comparison of heads the next one waits for so many times its duration: others may append to logs all the time
 * that nobody watches here, and comparing must not take more than a fifth of the time.
 */
const REST = 4;
/** The bounds of that wait, in milliseconds. A comparison also takes long while the database is away. */
const [MIN_REST, MAX_REST] = [20, 1_000];
/** Stands for the number of changes of a result that was not asked for. */
const UNASKED = -1;

/** What a notifier needs. */
export interface ChangeNotifierOptions {
  /** The database. */
  readonly connection: Connection;
  /**
   * A second connection, for the watch: on a shared one, the reply of a write waits 40 ms for the change that it caused.
   * Undefined if the database does not notify across processes.
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
  readonly callbacks: Set<() => void>;
  /** The newest version that the callbacks were called for. */
  notified: string;
  /** The newest version that the head had; empty if it was not seen yet. */
  head: string;
}

/** Watches the database while somebody watches a log. */
export class ChangeNotifier {
  readonly #options: ChangeNotifierOptions;
  readonly #logs = new Map<string, WatchedLog>();
  /** The version of the changed entry seen last. */
  #seen = "";
  /** The version of the changed entry up to which the heads of all logs were compared. */
  #compared = "";
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
    const log = this.#logs.get(name) ?? { name, callbacks: new Set(), notified: this.#seen, head: "" };
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
    this.#seen = "";
    this.#compared = "";
    for (const log of this.#logs.values()) {
      log.notified = log.head = "";
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
      const seen = this.#seen;
      const entries = await connection.use((engine) => engine.get(KEYS), this.#closing.signal);
      const isSame = known !== undefined && incarnations.observe(entries[0], changes) === known;
      const version = entries[1]?.version ?? "";
      const isNew = this.#take(entries, changes);
      if (isSame && (version < newest || version < seen)) {
        // Each write sets the entry, so an older one is that of a backup.
        await incarnations.renew(known, this.#closing.signal);
      }
      if (isNew) this.#missed++;
      if (this.#missed <= 1) return;
      // The watch has missed two changes: its connection is dead.
      this.#missed = 0;
      this.#options.watching?.reopen();
    } catch {
      // The connection has logged it, and the next poll tries again.
    }
  }

  /** Takes changes as they come. The watch stays open until the store is closed, since each one costs a connection. */
  async #follow(watching: Connection): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        // The connection bounds how long opening takes. A watch that is silent is reopened by the poll.
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

  /** Takes note of the changed entry. Returns whether it is new. */
  #take([incarnation, changed]: readonly (KvEntry | undefined)[], changes: number): boolean {
    const current = this.#options.incarnations.observe(incarnation, changes);
    if (!current) return false;
    const isNew = changed !== undefined && changed.version > this.#seen;
    if (isNew) {
      noteVersion(current, changed.version);
      this.#seen = changed.version;
      const log = this.#logs.get(new TextDecoder().decode(changed.value));
      if (log) notifyUpTo(log, changed.version);
    }
    this.#comparing ??= this.#compare().finally(() => this.#comparing = undefined);
    return isNew;
  }

  /** Compares the heads of the watched logs: the entry names the last change only. */
  async #compare(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#seen > this.#compared && !signal.aborted) {
      const begin = performance.now();
      try {
        await this.#compareUpTo(this.#seen);
      } catch {
        // The connection has logged it, and the next poll starts another comparison.
        return;
      }
      const rest = REST * (performance.now() - begin);
      await pause(Math.min(Math.max(rest, MIN_REST), MAX_REST), signal);
    }
  }

  async #compareUpTo(version: string): Promise<void> {
    const { connection, incarnations } = this.#options;
    const { known } = incarnations;
    const ended = this.#ended;
    const logs = [...this.#logs.values()].filter(({ notified }) => notified < version);
    for (let start = 0; start < logs.length; start += KEYS_PER_READ) {
      const part = logs.slice(start, start + KEYS_PER_READ);
      const before = part.map(({ head }) => head);
      const keys = part.map(({ name }) => headKey(name));
      const heads = await connection.use((engine) => engine.get(keys), this.#closing.signal);
      // A version of an ended incarnation would hide those of the current one.
      if (this.#ended !== ended) return;
      const versions = heads.map((head) => head?.version ?? "");
      // A head only grows, so an older one is that of a backup.
      if (known && versions.some((version, index) => version < before[index]!)) {
        return await incarnations.renew(known, this.#closing.signal);
      }
      for (const [index, log] of part.entries()) notifyUpTo(log, versions[index]!);
    }
    this.#compared = version;
  }
}

function notifyUpTo(log: WatchedLog, version: string): void {
  if (version > log.head) log.head = version;
  if (version <= log.notified) return;
  log.notified = version;
  for (const onChange of [...log.callbacks]) onChange();
}
