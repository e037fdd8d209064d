/**
 * The incarnation of the database. Another one begins when the database is created again or
 * restored from a backup: then all earlier cursors are invalid.
 */
import { OrderedMap } from "../../base/ordered_map.ts";
import { orAborted } from "../topic_store.ts";
import { BatchedReads } from "./batched_reads.ts";
import type { KvCheck, KvConnection, KvEntry, KvKey, KvSet } from "./engine.ts";
import { fencingTokenKey, hashOf, INCARNATION_KEY } from "./keys.ts";

const MAX_ENDED = 100;

export interface Incarnation {
  readonly id: string;
  readonly version: string;
  /**
   * The newest versions of an append and of a record's write seen here. If the database has only
   * older ones, a backup was restored. They are apart, since polls find only appends.
   */
  newestVersion: string;
  newestRecord: string;
  /** When a write last checked that it is current, by `performance.now()`. */
  confirmedAt: number;
}

export interface Snapshot {
  readonly incarnation: Incarnation;
  readonly entries: readonly (KvEntry | undefined)[];
}

export class Incarnations {
  readonly connection: KvConnection;
  readonly reads: BatchedReads;
  readonly #onEnd: () => void;
  #known: Incarnation | undefined;
  #changes = 0;
  readonly #ended = new OrderedMap<string, true>();
  #reading: Promise<Snapshot> | undefined;

  /** `isRemote`: the database is on the network, so that reads share requests. */
  constructor(connection: KvConnection, onEnd: () => void, isRemote = false) {
    this.connection = connection;
    this.reads = new BatchedReads(connection, isRemote);
    this.#onEnd = onEnd;
  }

  get known(): Incarnation | undefined {
    return this.#known;
  }

  /** The read goes on when a caller stops waiting: it finds out that the connection hangs. */
  async current(signal?: AbortSignal): Promise<Incarnation> {
    if (this.#known) return this.#known;
    this.#reading ??= this.get([]).finally(() => this.#reading = undefined);
    return (await (signal ? orAborted(this.#reading, signal) : this.#reading)).incarnation;
  }

  /**
   * Reads up to nine entries together with the incarnation. It begins an incarnation in an empty
   * database, and in place of one that has ended: then an older backup was restored.
   */
  async get(keys: readonly KvKey[], signal?: AbortSignal): Promise<Snapshot> {
    for (;;) {
      const changes = this.#changes;
      const read = [INCARNATION_KEY, ...keys];
      const [entry, ...entries] = await this.reads.get(read, signal);
      if (this.isKnown(entry)) return { incarnation: this.#known!, entries };
      // This read may be outdated, since another one has seen a change after it began.
      if (changes !== this.#changes) continue;
      const id = idOf(entry);
      if (entry && !this.#ended.has(id)) return { incarnation: this.#adopt(id, entry.version), entries };
      await this.#replace(id, signal);
    }
  }

  isKnown(entry: KvEntry | undefined): boolean {
    return entry !== undefined && this.#known?.version === entry.version && this.#known.id === idOf(entry);
  }

  /** Begins another incarnation: a restored backup repeats cursors. */
  async renew({ id }: Incarnation, signal?: AbortSignal): Promise<void> {
    await this.#replace(id, signal);
    await this.get([], signal);
  }

  /**
   * Begins another incarnation if the fencing token is missing or was rewritten, such as in an
   * incomplete copy of a database: writes that check it would be refused for ever.
   */
  async confirm(incarnation: Incarnation, signal: AbortSignal | undefined): Promise<void> {
    const { key, version } = checkOf(incarnation);
    const { incarnation: current, entries: [token] } = await this.get([key], signal);
    if (current === incarnation && token?.version !== version) await this.renew(incarnation, signal);
  }

  #adopt(id: string, version: string): Incarnation {
    const known = this.#known;
    const adopted = this.#known = { id, version, newestVersion: "", newestRecord: "", confirmedAt: -Infinity };
    this.#changes++;
    if (known) {
      this.#ended.set(known.id, true);
      this.#ended.shrink(MAX_ENDED);
      this.#onEnd();
    }
    return adopted;
  }

  /** Only if the entry still has this id; `""` stands for no entry. */
  async #replace(id: string, signal: AbortSignal | undefined): Promise<void> {
    const key = fencingTokenKey(id);
    await this.connection.use(async (engine) => {
      const [entry, token] = await engine.get([INCARNATION_KEY, key]);
      if (idOf(entry) !== id) return;
      const checks = [{ key: INCARNATION_KEY, version: entry?.version ?? null }, {
        key,
        version: token?.version ?? null,
      }];
      await engine.write({ checks, sets: newIncarnation(), deletes: token ? [key] : [] });
    }, signal);
  }
}

/** 8 hexadecimal digits that differ between logs, and between incarnations of the database. */
export function logIncarnationOf(name: string, { id }: Incarnation): string {
  return hashOf(id + name).toString(16).padStart(8, "0");
}

/** Holds in one incarnation: databases that are created again repeat versions, but no ids. */
export function checkOf({ id, version }: Incarnation): KvCheck {
  return { key: fencingTokenKey(id), version };
}

export function noteVersion(incarnation: Incarnation, version: string): void {
  if (version > incarnation.newestVersion) incarnation.newestVersion = version;
}

function newIncarnation(): KvSet[] {
  const id = crypto.randomUUID();
  return [{ key: INCARNATION_KEY, value: new TextEncoder().encode(id) }, {
    key: fencingTokenKey(id),
    value: new Uint8Array(),
  }];
}

function idOf(entry: KvEntry | undefined): string {
  return entry ? new TextDecoder().decode(entry.value) : "";
}
