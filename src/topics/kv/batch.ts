/** A batch on its way into a log, of which some messages may be stored already. */
import {
  type AppendOptions,
  type AppendOutcome,
  type Cursor,
  type GeneratedId,
  type LogRef,
  type NewMessage,
  parseGeneratedId,
  toGeneratedId,
} from "../store.ts";
import { KEYS_PER_READ, type KvCheck, type KvEngine, type KvEntry, type KvSet } from "./engine.ts";
import { countKeyBytes, EPOCH_KEY, idKey, idsKey, seriesKey, toCursor } from "./keys.ts";

/** A message on its way, and where it turned out to be. */
export interface Pending {
  /** The message. */
  readonly message: NewMessage;
  /** Its index in the batch. */
  readonly index: number;
  /** Undefined while it is not known to be stored. */
  outcome: AppendOutcome | undefined;
}

/** The most bytes of names and ids in the keys of one write, of which a database takes 80 KiB with all that belongs to keys. */
const MAX_KEY_BYTES = 48 * 1024;
/** What a key has beside the name and the id, and more. */
const KEY_BYTES = 32;

/** The messages of one append. */
export class Batch {
  /** Where they go. */
  readonly log: LogRef;
  /** The series that it belongs to. */
  readonly series: string;
  /** The number of its first message there. */
  readonly first: number;
  readonly #all: readonly Pending[];
  /** For each message the first one of its id, which is itself but for duplicates. */
  readonly #firsts: readonly Pending[];
  /** Those that are not duplicates of others. */
  readonly #distinct: readonly Pending[];
  readonly #nameBytes: number;
  #pending: readonly Pending[];
  #hasIds: boolean;
  #isSplit = false;

  /** Makes a batch of which nothing is stored. */
  constructor(log: LogRef, messages: readonly NewMessage[], { session, sequence }: AppendOptions) {
    this.log = log;
    this.series = session;
    this.first = sequence;
    this.#nameBytes = countKeyBytes(log.name);
    const all = this.#all = messages.map((message, index): Pending => ({ message, index, outcome: undefined }));
    this.#hasIds = messages.some(({ id }) => id !== undefined);
    const firsts = this.#firsts = this.#hasIds ? findFirsts(all) : all;
    this.#distinct = firsts === all ? all : all.filter((pending, index) => firsts[index] === pending);
    this.#pending = this.#distinct;
  }

  /** What is not known to be stored, in its order. */
  get pending(): readonly Pending[] {
    const isKnown = this.#pending.some(({ outcome }) => outcome !== undefined);
    return isKnown ? this.#pending = this.#pending.filter(({ outcome }) => outcome === undefined) : this.#pending;
  }

  /** Whether some of its messages are known by ids. */
  get hasIds(): boolean {
    return this.#hasIds;
  }

  /** Whether it is stored by several writes. Then the messages without an id are known by the ids that the series gives them. */
  get isSplit(): boolean {
    return this.#isSplit;
  }

  /** All of them, when nothing is pending any more. */
  get outcomes(): AppendOutcome[] {
    return this.#all.map((pending, index) => {
      const { outcome } = this.#firsts[index]!;
      return this.#firsts[index] === pending ? outcome! : { ...outcome!, duplicate: true };
    });
  }

  /** The id that a message is known by. Undefined where it is known by its batch. */
  idOf({ message: { id }, index }: Pending): string | undefined {
    return id ?? (this.#isSplit ? toGeneratedId(this.series, this.first + index) : undefined);
  }

  /** How many ids the messages have that are pending. */
  countIds(): number {
    return this.#hasIds ? this.pending.filter((pending) => this.idOf(pending) !== undefined).length : 0;
  }

  /** From now on it is stored by several writes. */
  split(): void {
    this.#isSplit = true;
    this.#hasIds = true;
  }

  /** The messages of the next write: all that are pending, if that has no more ids than allowed. */
  nextPart(maxIds: number): readonly Pending[] {
    const { pending } = this;
    const length = this.#countFitting(pending, maxIds);
    if (length === pending.length || this.#isSplit) return pending.slice(0, length);
    this.split();
    return this.nextPart(maxIds);
  }

  /** A part was stored by a write. */
  settle(part: readonly Pending[], version: string): void {
    for (const [index, waiting] of part.entries()) {
      waiting.outcome = { cursor: toCursor(version, index, part.length), duplicate: false };
    }
  }

  /** Whether what it has stored itself, which is all but duplicates, is after a place, and in its order. */
  isStoredAfter(place: Cursor): boolean {
    let last = place;
    for (const { outcome } of this.#distinct) {
      if (outcome!.duplicate) continue;
      if (outcome!.cursor <= last) return false;
      last = outcome!.cursor;
    }
    return true;
  }

  #countFitting(pending: readonly Pending[], maxIds: number): number {
    if (!this.#hasIds) return pending.length;
    let ids = 0;
    let bytes = 0;
    for (const [count, waiting] of pending.entries()) {
      const id = this.idOf(waiting);
      if (id === undefined) continue;
      bytes += this.#nameBytes + countKeyBytes(id) + KEY_BYTES;
      if (++ids > maxIds || ids > 1 && bytes > MAX_KEY_BYTES) return count;
    }
    return pending.length;
  }
}

function findFirsts(all: readonly Pending[]): readonly Pending[] {
  const byId = new Map<string, Pending>();
  return all.map((pending) => {
    const { id } = pending.message;
    if (id === undefined) return pending;
    const first = byId.get(id) ?? pending;
    byId.set(id, first);
    return first;
  });
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * What is remembered of an id: the series and the number of the first message of the batch that brought it, the index of its message in
 * the frame, and how many that has.
 */
type IdRecord = readonly [series: string, first: number, index: number, count: number];

/**
 * What is remembered of the last batch of a series: the number of its first message, how many messages its frame has, the version of
 * that, then of each message without an id its index in the batch and that in the frame. The version is null as long as it is that of
 * the entry; otherwise somebody has made sure that the series brings no messages after these.
 */
type BatchRecord = readonly [first: number, count: number, version: string | null, ...indexes: number[]];

/** Writes what is remembered of an id. */
export function encodeId(...record: IdRecord): Uint8Array {
  return encode(record);
}

/** Writes what is remembered of a batch. */
export function encodeBatch(first: number, count: number, indexes: readonly number[]): Uint8Array {
  const record: BatchRecord = [first, count, null, ...indexes];
  return encode(record);
}

/** Writes what is remembered of a series when it must not bring messages any more. */
export function encodeEnd(entry: KvEntry | undefined): Uint8Array {
  if (!entry) return encode([0, 0, ""] satisfies BatchRecord);
  const [first, count, , ...indexes] = decode<BatchRecord>(entry);
  return encode([first, count, entry.version, ...indexes] satisfies BatchRecord);
}

/**
 * Reads where the message of a number in a series is. Undefined where the series may bring it later; `"none"` where it cannot: it was in
 * an earlier batch, or the series must not bring any more.
 */
export function placeInSeries(entry: KvEntry, number: number): Cursor | "none" | undefined {
  const [first, count, version, ...indexes] = decode<BatchRecord>(entry);
  for (let pair = 0; pair < indexes.length; pair += 2) {
    if (first + indexes[pair]! === number) return toCursor(version ?? entry.version, indexes[pair + 1]!, count);
  }
  return number < first || version !== null ? "none" : undefined;
}

/** Reads what became of the message of an id, for the batch that looks for it. */
export function outcomeOfId(entry: KvEntry, batch: Batch): AppendOutcome {
  const [series, first, index, count] = decode<IdRecord>(entry);
  // Where an earlier attempt of the same append has stored it, it is no duplicate.
  const isOwn = series === batch.series && first === batch.first;
  return { cursor: toCursor(entry.version, index, count), duplicate: !isOwn };
}

function encode(value: readonly unknown[]): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

function decode<Value>({ value }: KvEntry): Value {
  return JSON.parse(decoder.decode(value)) as Value;
}

/** A message that is published again by the id that it had in a series. */
interface Recalled extends GeneratedId {
  readonly pending: Pending;
}

/** What is remembered of a series, and the life of the database. */
export interface BatchState {
  /** The life of the database. */
  readonly life: KvEntry | undefined;
  /** The version of what is remembered of the series; null where nothing is. */
  readonly version: string | null;
}

/** What is known of a log's writes with ids, and the life of the database. */
export interface IdsState {
  /** The life of the database, as each reading has found it. */
  readonly lives: readonly (KvEntry | undefined)[];
  /** The version of the newest write with ids as of when all were read; null where there is none, undefined where it changed meanwhile. */
  readonly newest: string | null | undefined;
}

/** Looks whether messages without an id are stored already, and notes it in the batch. */
export async function findBatch(batch: Batch, engine: KvEngine): Promise<BatchState> {
  const [life, stored] = await engine.get([EPOCH_KEY, seriesKey(batch.log.name, batch.series)]);
  for (const waiting of stored ? batch.pending : []) {
    if (waiting.message.id !== undefined) continue;
    const place = placeInSeries(stored!, batch.first + waiting.index);
    // Somebody has published one of them again, and made sure that the series brings none.
    if (place === "none") batch.split();
    else if (place !== undefined) waiting.outcome = { cursor: place, duplicate: false };
  }
  return { life, version: stored?.version ?? null };
}

/**
 * Looks which messages are stored already, by their ids, and notes it in them.
 *
 * @param batch The batch.
 * @param sought Messages of it that have ids.
 * @param engine The database.
 * @param newest The version of the newest write with ids, where that is known before; it is read otherwise.
 */
export async function findIds(
  batch: Batch,
  sought: readonly Pending[],
  engine: KvEngine,
  newest: string | undefined,
): Promise<IdsState> {
  const { log: { name } } = batch;
  const guard = newest === undefined ? [idsKey(name)] : [];
  const perRead = KEYS_PER_READ - 1 - guard.length;
  const versions = new Set<string | null>(newest === undefined ? [] : [newest]);
  const lives = await inParts(sought, perRead, async (some) => {
    const keys = some.map((pending) => idKey(name, batch.idOf(pending)!));
    const [life, ...entries] = await engine.get([EPOCH_KEY, ...keys, ...guard]);
    for (const [index, pending] of some.entries()) {
      const entry = entries[index];
      if (entry) pending.outcome = outcomeOfId(entry, batch);
    }
    if (guard.length > 0) versions.add(entries[some.length]?.version ?? null);
    return life;
  });
  const [version] = versions;
  return { lives, newest: versions.size === 1 ? version : undefined };
}

/** The messages of a batch that are published again by the ids that they had in series, by series. */
export function recalledOf({ pending }: Batch): ReadonlyMap<string, readonly Recalled[]> {
  const recalled = pending.flatMap((pending) => {
    const place = pending.message.id === undefined ? undefined : parseGeneratedId(pending.message.id);
    return place ? [{ pending, ...place }] : [];
  });
  return Map.groupBy(recalled, ({ session }) => session);
}

/**
 * Looks for messages that are published again, and notes it in them. Where their series has not brought one, it is ended: it must not
 * bring the message later, when that has been appended anew.
 *
 * @param name The name of the log.
 * @param recalled The messages, by series.
 * @param engine The database.
 * @param expireIn How long an end is remembered, in milliseconds.
 * @returns The life of the database, as each reading has found it.
 */
export function findRecalled(
  name: string,
  recalled: ReadonlyMap<string, readonly Recalled[]>,
  engine: KvEngine,
  expireIn: number,
): Promise<(KvEntry | undefined)[]> {
  return inParts([...recalled], KEYS_PER_READ - 1, async (part) => {
    const keys = part.map(([series]) => seriesKey(name, series));
    for (;;) {
      const [life, ...entries] = await engine.get([EPOCH_KEY, ...keys]);
      const checks: KvCheck[] = [];
      const sets: KvSet[] = [];
      for (const [index, [, messages]] of part.entries()) {
        const [key, entry] = [keys[index]!, entries[index]];
        if (noteRecalled(messages, entry)) continue;
        checks.push({ key, version: entry?.version ?? null });
        sets.push({ key, value: encodeEnd(entry), expireIn });
      }
      if (checks.length === 0) return life;
      await engine.write({ checks, sets });
    }
  });
}

/** Notes where messages of a series are. Gives whether it is known of all, so that the series brings none of them later. */
function noteRecalled(messages: readonly Recalled[], entry: KvEntry | undefined): boolean {
  let isKnown = true;
  for (const { pending, sequence } of messages) {
    const place = entry && placeInSeries(entry, sequence);
    if (place === undefined) isKnown = false;
    else if (place !== "none") pending.outcome = { cursor: place, duplicate: true };
  }
  return isKnown;
}

/** Asks for items part by part, at the same time; at least once. */
function inParts<Item, Result>(
  items: readonly Item[],
  size: number,
  ask: (part: readonly Item[]) => Promise<Result>,
): Promise<Result[]> {
  const parts = Math.max(1, Math.ceil(items.length / size));
  return Promise.all(Array.from({ length: parts }, (_, part) => ask(items.slice(part * size, (part + 1) * size))));
}
