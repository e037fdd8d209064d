/**
 * Reads of a database on the network. Those that wait at the same time share a request: with a
 * thousand topics, requests of their own would cost most of the time of a node.
 */
import { orAborted } from "../topic_store.ts";
import { KEYS_PER_READ, type KvConnection, type KvEngine, type KvEntry, type KvKey, type KvRange } from "./engine.ts";

/** How many requests are under way at once. */
export const MAX_REQUESTS = 4;

/** Entries in the order of their keys. */
export interface Listing {
  readonly entries: readonly KvEntry[];
  readonly isAll: boolean;
  /** An attempt before has failed, so that fewer were requested. */
  readonly isRepeated: boolean;
}

interface PendingRead {
  readonly ranges: readonly KvRange[];
  readonly answer: PromiseWithResolvers<readonly Listing[]>;
  /** When it began to wait, by `performance.now()`. */
  readonly since: number;
}

export class BatchedReads {
  readonly connection: KvConnection;
  readonly isBatched: boolean;
  #queue: PendingRead[] = [];
  #requests = 0;
  #isFlushing = false;

  /** Reads of a file are not batched: they cost no requests. */
  constructor(connection: KvConnection, isBatched: boolean) {
    this.connection = connection;
    this.isBatched = isBatched;
  }

  /** Reads at most {@linkcode KEYS_PER_READ} entries at one moment, in the order of the keys. */
  async get(keys: readonly KvKey[], signal?: AbortSignal): Promise<(KvEntry | undefined)[]> {
    if (!this.isBatched) return await this.connection.use((engine) => engine.get(keys), signal);
    const listings = await this.#read(keys.map((key) => ({ key })), signal);
    return listings.map(({ entries: [entry] }) => entry);
  }

  /**
   * At most 500 entries at one moment. `to` is excluded. After a failed attempt, one entry is
   * requested: a slow line may not transfer more in time.
   */
  async list(from: KvKey, to: KvKey, limit: number, signal?: AbortSignal): Promise<Listing> {
    if (this.isBatched) return (await this.#read([{ from, to, limit }], signal))[0]!;
    let asked = limit;
    return await this.connection.use(async (engine) => {
      const count = asked;
      const isRepeated = asked < limit;
      asked = 1;
      const entries = await engine.list(from, to, count);
      return { entries, isAll: entries.length < count, isRepeated };
    }, signal);
  }

  async #read(ranges: readonly KvRange[], signal: AbortSignal | undefined): Promise<readonly Listing[]> {
    this.connection.throwIfClosed();
    const answer = Promise.withResolvers<readonly Listing[]>();
    this.#queue.push({ ranges, answer, since: performance.now() });
    void this.#flush();
    return await (signal ? orAborted(answer.promise, signal) : answer.promise);
  }

  async #flush(): Promise<void> {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // Reads that begin at the same moment share a request.
    await Promise.resolve();
    this.#isFlushing = false;
    while (this.#queue.length > 0 && this.#requests < MAX_REQUESTS) {
      this.#requests++;
      void this.#send(this.#takeBatch()).finally(() => {
        this.#requests--;
        void this.#flush();
      });
    }
  }

  /** The first reads whose ranges fit into a request. Many reads have the same ones. */
  #takeBatch(): readonly PendingRead[] {
    const names = new Set<string>();
    let count = 0;
    for (const { ranges } of this.#queue) {
      const added = new Set(ranges.map(nameOf)).difference(names);
      if (count > 0 && names.size + added.size > KEYS_PER_READ) break;
      for (const name of added) names.add(name);
      count++;
    }
    return this.#queue.splice(0, count);
  }

  async #send(batch: readonly PendingRead[]): Promise<void> {
    let sent: readonly PendingRead[] = batch;
    let isFirst = true;
    try {
      const listings = await this.connection.use((engine) => {
        if (!isFirst) sent = sent.slice(0, Math.ceil(sent.length / 2));
        const read = readRanges(engine, sent.flatMap(({ ranges }) => ranges), isFirst);
        isFirst = false;
        return read;
      });
      this.#queue.unshift(...batch.slice(sent.length));
      let from = 0;
      for (const { ranges, answer } of sent) answer.resolve(listings.slice(from, from += ranges.length));
    } catch (error) {
      // The database cannot be reached: those that wait would fail, too, one after another.
      const latest = performance.now() - this.connection.retryTimeout;
      const late = this.#queue.filter(({ since }) => since <= latest);
      this.#queue = this.#queue.filter(({ since }) => since > latest);
      for (const { answer } of [...batch, ...late]) answer.reject(error);
    }
  }
}

/** The result has a listing for each range. */
async function readRanges(engine: KvEngine, ranges: readonly KvRange[], isFirst: boolean): Promise<readonly Listing[]> {
  const distinct = new Map(ranges.map((range) => [nameOf(range), range]));
  const asked = Array.from(distinct.values(), (range) => "key" in range || isFirst ? range : { ...range, limit: 1 });
  const found = await engine.read!(asked);
  const listings = new Map<string, Listing>();
  for (const [index, name] of [...distinct.keys()].entries()) {
    const range = asked[index]!;
    const entries = found[index]!;
    listings.set(name, { entries, isAll: !("key" in range) && entries.length < range.limit, isRepeated: !isFirst });
  }
  return ranges.map((range) => listings.get(nameOf(range))!);
}

function nameOf(range: KvRange): string {
  return "key" in range ? range.key.join("\0") : `${range.from.join("\0")}\0\0${range.to.join("\0")}\0\0${range.limit}`;
}
