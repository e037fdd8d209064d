/**
 * Identifies one incarnation of the database. Recreating the database, or restoring a backup,
 * starts a new one, and every cursor of an earlier one is invalid from then on.
 */
import { OrderedMap } from "../../base/ordered_map.ts";
import { orAborted } from "../topic_store.ts";
import type { KvCheck, KvConnection, KvEntry, KvKey, KvSet } from "./engine.ts";
import { hashOf, INCARNATION_KEY, markKey } from "./keys.ts";

/** How many ended incarnations are remembered. */
const MAX_ENDED = 100;

/** One incarnation, and what this process knows of it. */
export interface Incarnation {
  /** A random UUID. */
  readonly id: string;
  /** The version of the entries that the first write of the incarnation made. */
  readonly version: string;
  /**
   * The newest version of an append seen here, and that of the write of a record. A database whose
   * newest write is older was set back. They are apart, since only appends leave a trace that polls
   * find: see `ChangeNotifier`.
   */
  newestVersion: string;
  newestRecord: string;
  /** When a write last checked that it is current, in milliseconds of `performance.now()`. */
  confirmedAt: number;
}

/** Entries, and the incarnation that they are of. */
export interface Snapshot {
  readonly incarnation: Incarnation;
  readonly entries: readonly (KvEntry | undefined)[];
}

/** Tracks which incarnation is current. */
export class Incarnations {
  readonly #connection: KvConnection;
  readonly #onEnd: () => void;
  #known: Incarnation | undefined;
  /** How often the known incarnation has changed. */
  #changes = 0;
  /** The ids of ended incarnations, oldest first. */
  readonly #ended = new OrderedMap<string, true>();
  /** The read that all callers share until an incarnation is known. */
  #reading: Promise<Snapshot> | undefined;

  /** `onEnd` is called when an incarnation turns out to have ended. */
  constructor(connection: KvConnection, onEnd: () => void) {
    this.#connection = connection;
    this.#onEnd = onEnd;
  }

  /** The incarnation read last; undefined before the first read. */
  get known(): Incarnation | undefined {
    return this.#known;
  }

  /**
   * The incarnation read last. The first caller reads it. The read goes on when a caller gives up:
   * otherwise impatient callers would never find out that the connection hangs.
   */
  async current(signal?: AbortSignal): Promise<Incarnation> {
    if (this.#known) return this.#known;
    this.#reading ??= this.get([]).finally(() => this.#reading = undefined);
    return (await (signal ? orAborted(this.#reading, signal) : this.#reading)).incarnation;
  }

  /**
   * Reads up to nine entries together with the incarnation. It starts a new incarnation in an empty
   * database, and in place of one that has ended: then an older backup was restored.
   */
  async get(keys: readonly KvKey[], signal?: AbortSignal): Promise<Snapshot> {
    for (;;) {
      const changes = this.#changes;
      const read = [INCARNATION_KEY, ...keys];
      const [entry, ...entries] = await this.#connection.use((engine) => engine.get(read), signal);
      if (this.isKnown(entry)) return { incarnation: this.#known!, entries };
      // This read may be outdated, since another one has noticed a change after it began.
      if (changes !== this.#changes) continue;
      const id = idOf(entry);
      if (entry && !this.#ended.has(id)) return { incarnation: this.#adopt(id, entry.version), entries };
      await this.#replace(id, signal);
    }
  }

  /** Whether an incarnation entry is that of the known incarnation. */
  isKnown(entry: KvEntry | undefined): boolean {
    return entry !== undefined && this.#known?.version === entry.version && this.#known.id === idOf(entry);
  }

  /**
   * Starts a new incarnation in place of a given one, after the database was set back. Otherwise it
   * would give the same cursors to other messages. Does nothing if another one has begun already.
   */
  async renew({ id }: Incarnation, signal?: AbortSignal): Promise<void> {
    await this.#replace(id, signal);
    await this.get([], signal);
  }

  /**
   * Starts a new incarnation if the mark of the given one is missing or was rewritten. Every write
   * that checks the mark would be refused for ever, for example in an incomplete copy of a
   * database.
   */
  async confirm(incarnation: Incarnation, signal: AbortSignal | undefined): Promise<void> {
    const { key, version } = checkOf(incarnation);
    const { incarnation: current, entries: [mark] } = await this.get([key], signal);
    if (current === incarnation && mark?.version !== version) await this.renew(incarnation, signal);
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

  /** Starts a new incarnation if the entry still has this id; `""` stands for no entry. */
  async #replace(id: string, signal: AbortSignal | undefined): Promise<void> {
    const key = markKey(id);
    await this.#connection.use(async (engine) => {
      const [entry, mark] = await engine.get([INCARNATION_KEY, key]);
      if (idOf(entry) !== id) return;
      const checks = [{ key: INCARNATION_KEY, version: entry?.version ?? null }, {
        key,
        version: mark?.version ?? null,
      }];
      await engine.write({ checks, sets: newIncarnation(), deletes: mark ? [key] : [] });
    }, signal);
  }
}

/**
 * The incarnation of a log: 8 hexadecimal digits that differ between logs and between incarnations
 * of the database.
 */
export function logIncarnationOf(name: string, { id }: Incarnation): string {
  return hashOf(id + name).toString(16).padStart(8, "0");
}

/**
 * A check that holds in one incarnation only. It names the mark, whose key has the id: a recreated
 * database may give its incarnation entry the same version as before.
 */
export function checkOf({ id, version }: Incarnation): KvCheck {
  return { key: markKey(id), version };
}

/** Takes note of a version that a write got. */
export function noteVersion(incarnation: Incarnation, version: string): void {
  if (version > incarnation.newestVersion) incarnation.newestVersion = version;
}

function newIncarnation(): KvSet[] {
  const id = crypto.randomUUID();
  return [{ key: INCARNATION_KEY, value: new TextEncoder().encode(id) }, { key: markKey(id), value: new Uint8Array() }];
}

function idOf(entry: KvEntry | undefined): string {
  return entry ? new TextDecoder().decode(entry.value) : "";
}
