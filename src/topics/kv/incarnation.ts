/**
 * Identifies one incarnation of the database. Recreating the database, or restoring a backup,
 * starts a new one, and every cursor of an earlier one is invalid from then on.
 */
import type { Connection } from "./connection.ts";
import type { KvCheck, KvEntry, KvSet } from "./engine.ts";
import { hashOf, INCARNATION_KEY, markKey } from "./keys.ts";

/** How many ended incarnations are remembered. */
const MAX_ENDED = 100;

/** One incarnation, and what this process knows of it. */
export interface Incarnation {
  /** A random UUID. */
  readonly id: string;
  /** The version of the entries that the first write of the incarnation made. */
  readonly version: string;
  /** The newest version seen here. A database whose newest write is older was set back. */
  newestVersion: string;
  /**
   * When a write last checked that the incarnation is current, in milliseconds of
   * `performance.now()`.
   */
  confirmedAt: number;
}

/** Tracks which incarnation is current. */
export class Incarnations {
  readonly #connection: Connection;
  readonly #onEnd: () => void;
  #known: Incarnation | undefined;
  #changes = 0;
  /** The read that all callers share until the incarnation is known. */
  #reading: Promise<Incarnation> | undefined;
  /** The running replacement of an incarnation that a backup brought back. */
  #renewal: Promise<void> | undefined;
  /** The ids of ended incarnations, oldest first. */
  readonly #ended = new Set<string>();

  /**
   * Reads nothing yet.
   *
   * @param connection The database.
   * @param onEnd Called when an incarnation turns out to have ended.
   */
  constructor(connection: Connection, onEnd: () => void) {
    this.#connection = connection;
    this.#onEnd = onEnd;
  }

  /** The incarnation read last; undefined before the first read. */
  get known(): Incarnation | undefined {
    return this.#known;
  }

  /** How often the known incarnation has changed. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * The incarnation read last. The first caller reads it, and creates it in an empty database.
   *
   * @param signal Stops waiting. The shared read goes on.
   */
  async current(signal?: AbortSignal): Promise<Incarnation> {
    if (this.#known && !this.#renewal) return this.#known;
    signal?.throwIfAborted();
    return await (signal ? abortable(this.#current(), signal) : this.#current());
  }

  async #current(): Promise<Incarnation> {
    // An ended incarnation must not be used while its replacement is on its way.
    while (this.#renewal) await this.#renewal;
    return this.#known ?? await (this.#reading ??= this.#read().finally(() => this.#reading = undefined));
  }

  #read(): Promise<Incarnation> {
    return this.#connection.use(async (engine) => {
      for (;;) {
        const changes = this.#changes;
        const [entry] = await engine.get([INCARNATION_KEY]);
        const known = entry && this.observe(entry, changes);
        if (known) return known;
        await this.#renewal;
        if (!entry) await engine.write({ checks: [{ key: INCARNATION_KEY, version: null }], sets: newIncarnation() });
      }
    });
  }

  /**
   * Takes note of the incarnation entry that somebody has read.
   *
   * @param entry The entry.
   * @param changes The value of {@linkcode changes} before the read began. An older read may be
   * outdated.
   * @returns The incarnation of the entry; undefined if it is not the current one.
   */
  observe(entry: KvEntry | undefined, changes: number): Incarnation | undefined {
    const known = this.#known;
    const read = entry && toIncarnation(entry);
    if (known && read && known.version === read.version && known.id === read.id) return known;
    if (known && changes !== this.#changes) return undefined;
    if (read && this.#ended.has(read.id)) {
      // An older backup was restored. If the renewal fails, the next read tries again.
      this.#renewal ??= this.renew(read).catch(() => {}).finally(() => this.#renewal = undefined);
      return undefined;
    }
    if (!read && !known) return undefined;
    this.#changes++;
    this.#known = read;
    if (known) this.#end(known);
    return read;
  }

  #end({ id }: Incarnation): void {
    this.#ended.add(id);
    const [oldest] = this.#ended;
    if (this.#ended.size > MAX_ENDED) this.#ended.delete(oldest!);
    this.#onEnd();
  }

  /**
   * Starts a new incarnation in place of a given one, after the database was set back. Otherwise it
   * would give the same cursors to other messages. Does nothing if the given one is not there any
   * more.
   */
  async renew({ id }: Incarnation, signal?: AbortSignal): Promise<void> {
    const key = markKey(id);
    const changes = this.#changes;
    const entry = await this.#connection.use(async (engine) => {
      const [present, mark] = await engine.get([INCARNATION_KEY, key]);
      if (!present || toIncarnation(present).id !== id) return present;
      const checks = [{ key: INCARNATION_KEY, version: present.version }, { key, version: mark?.version ?? null }];
      await engine.write({ checks, sets: newIncarnation(), deletes: [key] });
      return (await engine.get([INCARNATION_KEY]))[0];
    }, signal);
    this.observe(entry, changes);
  }

  /**
   * Starts a new incarnation if the mark of the given one is missing or was rewritten. Every write
   * that checks the mark would be refused for ever, for example in an incomplete copy of a
   * database.
   */
  async confirm(incarnation: Incarnation, signal: AbortSignal | undefined): Promise<void> {
    const { key, version } = checkOf(incarnation);
    const changes = this.#changes;
    const [entry, mark] = await this.#connection.use((engine) => engine.get([INCARNATION_KEY, key]), signal);
    if (this.observe(entry, changes) === incarnation && mark?.version !== version) {
      await this.renew(incarnation, signal);
    }
  }

  /** Whether a log's incarnation is the current one, as far as this process knows. */
  isCurrent(name: string, logIncarnation: string): boolean {
    return this.#known !== undefined && logIncarnationOf(name, this.#known) === logIncarnation;
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

/** Reads an incarnation entry. */
export function toIncarnation({ value, version }: KvEntry): Incarnation {
  return { id: new TextDecoder().decode(value), version, newestVersion: "", confirmedAt: -Infinity };
}

function newIncarnation(): KvSet[] {
  const id = crypto.randomUUID();
  return [{ key: INCARNATION_KEY, value: new TextEncoder().encode(id) }, { key: markKey(id), value: new Uint8Array() }];
}

function abortable<Result>(running: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  signal.addEventListener("abort", leave);
  return Promise.race([running, aborted]).finally(() => signal.removeEventListener("abort", leave));
}
