// A database of keys and values in memory, as Deno KV is one: versions that grow, checks, entries
// that expire, its limits.

import { KEYS_PER_READ, type KvEntry, type KvKey, type KvWrite } from "../../../src/store/kv/engine.ts";
import type { Random } from "../../../tests/unit/support/random.ts";

interface Stored extends KvEntry {
  readonly expiresAt: number;
}

/** The content of a database at some time. */
export interface Backup {
  readonly entries: ReadonlyMap<string, Stored>;
  readonly version: number;
}

const EMPTY: Backup = { entries: new Map(), version: 0 };

const MAX_CHECKS = 10;
const MAX_MUTATIONS = 1_000;
const MAX_KEY_BYTES = 2_048;
const MAX_VALUE_BYTES = 65_536;
const MAX_WRITE_BYTES = 819_200;
const MAX_KEYS_BYTES = 81_920;
const MAX_ENTRIES_PER_READ = 500;

/** A database in memory. Each operation completes at once. */
export class SimulatedDatabase {
  readonly #random: Random;
  #entries = new Map<string, Stored>();
  /** Their keys as strings, in order. */
  #order: string[] = [];
  readonly #watchers = new Set<() => void>();
  #version = 0;
  #losses = 0;
  #setBacks = 0;

  /**
   * Makes an empty database.
   *
   * @param random Chooses how late entries expire, and the distances of versions.
   */
  constructor(random: Random) {
    this.#random = random;
  }

  /** That of the newest write. */
  get version(): number {
    return this.#version;
  }

  /** How often it was lost. */
  get losses(): number {
    return this.#losses;
  }

  /** How many of these times it was restored from a backup. */
  get setBacks(): number {
    return this.#setBacks;
  }

  /** Reads entries by their keys. */
  get(keys: readonly KvKey[]): (KvEntry | undefined)[] {
    if (keys.length > KEYS_PER_READ) throw new TypeError("Too many keys");
    return keys.map((key) => this.#find(textOf(key)));
  }

  /** Reads entries in order. */
  list(from: KvKey, to: KvKey, limit: number): KvEntry[] {
    if (limit > MAX_ENTRIES_PER_READ) throw new TypeError("Too many entries");
    const [start, end] = [textOf(from), textOf(to)];
    const found: KvEntry[] = [];
    for (let index = this.#indexOf(start); index < this.#order.length && found.length < limit; index++) {
      const text = this.#order[index]!;
      if (text >= end) break;
      const entry = this.#entries.get(text)!;
      if (entry.expiresAt > Date.now()) found.push(entry);
    }
    return found;
  }

  /** Writes if all checks hold. */
  write(write: KvWrite): string | undefined {
    checkLimits(write);
    const { checks = [], sets = [], deletes = [], append } = write;
    if (checks.some(({ key, version }) => (this.#find(textOf(key))?.version ?? null) !== version)) return undefined;
    this.#version += 1 + this.#random.below(9);
    const version = this.#version.toString(16).padStart(16, "0") + "0000";
    for (const { key, value, expireIn } of sets) this.#put({ key, value, version, expiresAt: this.#endOf(expireIn) });
    for (const key of deletes) this.#remove(textOf(key));
    if (append) {
      this.#put({ key: [...append.prefix, version], value: append.value, version, expiresAt: Infinity });
    }
    for (const wake of [...this.#watchers]) wake();
    return version;
  }

  /** Calls back after each write, until it is ended. */
  watch(wake: () => void): () => void {
    this.#watchers.add(wake);
    return () => this.#watchers.delete(wake);
  }

  /** The present content, for a later restore. */
  backUp(): Backup {
    return { entries: new Map(this.#entries), version: this.#version };
  }

  /**
   * Loses the database. The new one has the content of a backup, or none, and counts versions from
   * there. Returns the lost database.
   */
  lose(backup?: Backup): SimulatedDatabase {
    const { entries, version } = backup ?? EMPTY;
    const lost = new SimulatedDatabase(this.#random);
    [lost.#entries, lost.#version, lost.#order] = [this.#entries, this.#version, this.#order];
    [this.#entries, this.#version, this.#order] = [new Map(entries), version, [...entries.keys()].sort()];
    this.#losses++;
    if (backup) this.#setBacks++;
    for (const wake of [...this.#watchers]) wake();
    return lost;
  }

  #find(text: string): KvEntry | undefined {
    const entry = this.#entries.get(text);
    if (!entry || entry.expiresAt > Date.now()) return entry;
    this.#remove(text);
    return undefined;
  }

  #put(entry: Stored): void {
    const text = textOf(entry.key);
    if (!this.#entries.has(text)) this.#order.splice(this.#indexOf(text), 0, text);
    this.#entries.set(text, entry);
  }

  #remove(text: string): void {
    if (this.#entries.delete(text)) this.#order.splice(this.#indexOf(text), 1);
  }

  /** The index of the first key that is not before a string. */
  #indexOf(text: string): number {
    let [low, high] = [0, this.#order.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#order[middle]! < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** An entry exists until its time, and for up to a minute longer. */
  #endOf(expireIn: number | undefined): number {
    if (expireIn === undefined) return Infinity;
    return Date.now() + expireIn + (this.#random.oneIn(2) ? 0 : this.#random.below(60_000));
  }
}

/**
 * Parts of keys have no character below the separator, so that keys are in the order of their
 * texts.
 */
function textOf(key: KvKey): string {
  return key.join("\0");
}

function checkLimits({ checks = [], sets = [], deletes = [], append }: KvWrite): void {
  const keys = [...sets.map(({ key }) => key), ...deletes, ...append ? [[...append.prefix, "0".repeat(20)]] : []];
  const values = [...sets.map(({ value }) => value), ...append ? [append.value] : []];
  const keyBytes = keys.map((key) => new TextEncoder().encode(textOf(key)).length + 2);
  const sum = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
  const isWithin = checks.length <= MAX_CHECKS && keys.length <= MAX_MUTATIONS &&
    keyBytes.every((bytes) => bytes <= MAX_KEY_BYTES) && values.every(({ length }) => length <= MAX_VALUE_BYTES) &&
    sum(keyBytes) <= MAX_KEYS_BYTES && sum(keyBytes) + sum(values.map(({ length }) => length)) <= MAX_WRITE_BYTES;
  if (!isWithin) throw new TypeError("A write is beyond the limits of a database");
}
