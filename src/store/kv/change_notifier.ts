/**
 * Notifies watchers of a log that it may have grown. Each append writes one of a few entries of the
 * database, which all processes watch. Many logs share an entry; the heads of the watched logs then
 * show which of them have grown.
 */
import { detached } from "../../log/log.ts";
import { MAX_REQUESTS } from "./batched_reads.ts";
import { type AppendResult, Callbacks } from "../topic_store.ts";
import { pause } from "../store_connection.ts";
import { inParts, KEYS_PER_READ, type KvConnection, type KvEntry } from "./engine.ts";
import { type Incarnation, type Incarnations, logIncarnationOf, noteVersion } from "./incarnation.ts";
import { CHANGE_SHARDS, changedKey, headKey, INCARNATION_KEY, shardOf, VERSION_LENGTH } from "./keys.ts";

const SHARD_KEYS = Array.from({ length: CHANGE_SHARDS }, (_, shard) => changedKey(shard));

/** A pause as a multiple of a comparison: unwatched logs may change all the time. */
const REST = 4;
/** The longest pause: a comparison takes long while the database cannot be reached. */
const MAX_REST = 1_000;

/** If a larger part of a sample has changed, the other heads of the shard are not compared. */
const MOST_COMPARED = 0.3;

interface Shard {
  readonly logs: Map<string, WatchedLog>;
  seen: string;
  /** The version up to which the heads of all logs were compared. */
  compared: string;
}

interface WatchedLog {
  readonly callbacks: Callbacks;
  notified: string;
}

export class ChangeNotifier {
  readonly #watching: KvConnection | undefined;
  readonly #incarnations: Incarnations;
  readonly #interval: number;
  readonly #shards = SHARD_KEYS.map((): Shard => ({ logs: new Map(), seen: "", compared: "" }));
  readonly #closing = new AbortController();
  #polling: Promise<void> | undefined;
  #following: Promise<void> | undefined;
  #comparing: Promise<void> | undefined;
  /** How many polls in a row have found a change that the watch has missed. */
  #missed = 0;

  /**
   * @param watching A second connection for the watch: on a shared one, the reply of a write waits
   * 40 ms for the change that it caused. Undefined if the database notifies no other processes.
   */
  constructor(incarnations: Incarnations, watching: KvConnection | undefined, interval: number) {
    this.#watching = watching;
    this.#incarnations = incarnations;
    this.#interval = interval;
  }

  watch(name: string, onChange: () => void): () => void {
    const shard = this.#shardOf(name);
    // A watcher reads earlier messages by itself.
    const log = shard.logs.get(name) ?? { callbacks: new Callbacks(), notified: shard.seen };
    shard.logs.set(name, log);
    const remove = log.callbacks.add(onChange);
    this.#start();
    return () => {
      remove();
      if (log.callbacks.isEmpty && shard.logs.get(name) === log) shard.logs.delete(name);
    };
  }

  notify(name: string, { incarnation, outcomes }: AppendResult): void {
    const log = this.#shardOf(name).logs.get(name);
    const { known } = this.#incarnations;
    // A version of an ended incarnation would hide those of the current one.
    if (!log || !known || logIncarnationOf(name, known) !== incarnation) return;
    const newest = outcomes.reduce((newest, { cursor }) => cursor > newest ? cursor : newest, "");
    notifyUpTo(log, newest.slice(0, VERSION_LENGTH));
  }

  /** Forgets versions, which mean nothing in another incarnation, and calls all callbacks. */
  reset(): void {
    for (const shard of this.#shards) shard.seen = shard.compared = "";
    for (const log of this.#shards.flatMap(({ logs }) => [...logs.values()])) {
      log.notified = "";
      log.callbacks.call();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const { logs } of this.#shards) logs.clear();
    await Promise.all([this.#polling, this.#comparing]);
  }

  /** Resolves when the watch has ended. Close its connection before. */
  async ended(): Promise<void> {
    await this.#following;
  }

  #shardOf(name: string): Shard {
    return this.#shards[shardOf(name)]!;
  }

  #start(): void {
    if (this.#closing.signal.aborted) return;
    const watching = this.#watching;
    if (watching) this.#following ??= detached(() => this.#follow(watching));
    this.#polling ??= detached(() => this.#pollWhileWatched());
  }

  async #pollWhileWatched(): Promise<void> {
    while (this.#shards.some(({ logs }) => logs.size > 0)) {
      // The timer keeps the process alive: a program that waits for messages of others is not done.
      await pause(this.#interval, this.#closing.signal);
      await this.#poll();
    }
    this.#polling = undefined;
  }

  async #poll(): Promise<void> {
    try {
      const { known } = this.#incarnations;
      const newest = known?.newestVersion ?? "";
      const seen = this.#shards.map((shard) => shard.seen);
      const { incarnation, entries } = await this.#incarnations.get(SHARD_KEYS, this.#closing.signal);
      const isNew = this.#receive(entries, incarnation);
      // Each write sets an entry, so older ones are those of a backup.
      const versions = entries.map((entry) => entry?.version ?? "");
      const isRestored = versions.every((version) => version < newest) ||
        versions.some((version, shard) => version < seen[shard]!);
      if (incarnation === known && isRestored) await this.#incarnations.renew(incarnation, this.#closing.signal);
      if (isNew) this.#missed++;
      if (this.#missed <= 1) return;
      // The watch has missed two changes: its connection is dead.
      this.#missed = 0;
      this.#watching?.reopen();
    } catch {
      // The connection has logged it, and the next poll tries again.
    }
  }

  /** The watch stays open until the store is closed, since each one costs a connection. */
  async #follow(watching: KvConnection): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#incarnations.current(signal);
        // The connection bounds how long opening takes. The poll reopens a watch that is silent.
        const engine = await watching.use((engine) => Promise.resolve(engine), signal);
        for await (const [entry, ...entries] of engine.watch([INCARNATION_KEY, ...SHARD_KEYS])) {
          this.#missed = 0;
          if (this.#incarnations.isKnown(entry)) this.#receive(entries, this.#incarnations.known!);
        }
      } catch {
        // The poll goes on.
      }
      await pause(this.#interval, signal);
    }
  }

  /** Returns whether an entry is new. */
  #receive(entries: readonly (KvEntry | undefined)[], incarnation: Incarnation): boolean {
    let isNew = false;
    for (const [index, entry] of entries.entries()) {
      const shard = this.#shards[index]!;
      if (!entry || entry.version <= shard.seen) continue;
      noteVersion(incarnation, entry.version);
      isNew = true;
      shard.seen = entry.version;
      const log = shard.logs.get(new TextDecoder().decode(entry.value));
      if (log) notifyUpTo(log, entry.version);
    }
    this.#comparing ??= this.#compare().finally(() => this.#comparing = undefined);
    return isNew;
  }

  /** Compares the heads of the logs of changed shards: an entry has only its last change. */
  async #compare(): Promise<void> {
    const { signal } = this.#closing;
    const findChanged = () => this.#shards.filter(({ seen, compared }) => seen > compared);
    for (let changed = findChanged(); changed.length > 0 && !signal.aborted; changed = findChanged()) {
      const begin = performance.now();
      const { reads } = this.#incarnations;
      try {
        if (reads.isBatched) await Promise.all(changed.map((shard) => this.#compareShard(shard)));
        else for (const shard of changed) await this.#compareShard(shard);
      } catch {
        // The connection has logged it, and the next poll starts another comparison.
        return;
      }
      const spent = (performance.now() - begin) * (reads.isBatched ? MAX_REQUESTS : 1);
      await pause(Math.min(REST * spent, MAX_REST), signal);
    }
  }

  async #compareShard(shard: Shard): Promise<void> {
    const { seen } = shard;
    const { known, reads } = this.#incarnations;
    const logs = [...shard.logs].filter(([, { notified }]) => notified < seen).map(([name, log]) => ({ name, log }));
    /** Returns how many have changed; undefined if the incarnation has ended. */
    const compare = async (part: readonly typeof logs[number][]): Promise<number | undefined> => {
      const heads = await reads.get(part.map(({ name }) => headKey(name)), this.#closing.signal);
      // A version of an ended incarnation would hide those of the current one.
      if (this.#incarnations.known !== known) return undefined;
      return part.filter(({ log }, index) => notifyUpTo(log, heads[index]?.version ?? "")).length;
    };
    if (reads.isBatched && logs.length > 0) {
      const sample = everyNth(logs, Math.ceil(logs.length / KEYS_PER_READ));
      const changed = await compare(sample);
      if (changed === undefined) return;
      const rest = logs.filter((log) => !sample.includes(log));
      // A watcher that is called reads its log: where many have changed, that costs less.
      if (changed > sample.length * MOST_COMPARED) { for (const { log } of rest) notifyUpTo(log, seen); }
      else await Promise.all(inParts(rest, KEYS_PER_READ).map(compare));
    } else for (const part of inParts(logs, KEYS_PER_READ)) await compare(part);
    if (this.#incarnations.known === known) shard.compared = seen;
  }
}

/** Returns whether watchers were called. */
function notifyUpTo(log: WatchedLog, version: string): boolean {
  if (version <= log.notified) return false;
  log.notified = version;
  log.callbacks.call();
  return true;
}

function everyNth<Item>(items: readonly Item[], n: number): Item[] {
  return items.filter((_, index) => index % n === 0);
}
