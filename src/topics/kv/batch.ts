/**
 * A batch on its way into a log, and the dedup entries that tell which of its messages are stored
 * already: one for each id that a publisher gave, and one for each producer session.
 */
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
import { countKeyBytes, idKey, INCARNATION_KEY, newestIdsKey, sessionKey, toCursor } from "./keys.ts";

/**
 * The most bytes of names and ids in the keys of one write. Deno KV takes 80 KiB, with what it adds
 * to each key.
 */
const MAX_KEY_BYTES = 48 * 1024;
/** An upper bound of what a key has besides the name and the id. */
const KEY_OVERHEAD = 32;

/** A message of a batch. */
export interface Pending {
  /** The message. */
  readonly message: NewMessage;
  /** Its index in the batch. */
  readonly index: number;
  /** Where it is stored; undefined until that is known. */
  outcome: AppendOutcome | undefined;
}

/** The messages of one append. */
export class Batch {
  /** The log that they go to. */
  readonly log: LogRef;
  /** The producer session of the batch. */
  readonly session: string;
  /** The sequence number of its first message there. */
  readonly sequence: number;
  readonly #all: readonly Pending[];
  /** For each message the first one with its id. */
  readonly #firsts: readonly Pending[];
  /** Those that are no duplicates of others in the batch. */
  readonly #distinct: readonly Pending[];
  #pending: readonly Pending[];
  #hasIds: boolean;
  #isSplit = false;

  /** Makes a batch of which nothing is stored. */
  constructor(log: LogRef, messages: readonly NewMessage[], { session, sequence }: AppendOptions) {
    this.log = log;
    this.session = session;
    this.sequence = sequence;
    const all = this.#all = messages.map((message, index): Pending => ({ message, index, outcome: undefined }));
    this.#hasIds = messages.some(({ id }) => id !== undefined);
    const firsts = this.#firsts = this.#hasIds ? findFirsts(all) : all;
    this.#distinct = firsts === all ? all : all.filter((pending, index) => firsts[index] === pending);
    this.#pending = this.#distinct;
  }

  /** The messages that are not known to be stored, in order. */
  get pending(): readonly Pending[] {
    const isKnown = this.#pending.some(({ outcome }) => outcome !== undefined);
    return isKnown ? this.#pending = this.#pending.filter(({ outcome }) => outcome === undefined) : this.#pending;
  }

  /** Whether some of its messages have a dedup entry of their own. */
  get hasIds(): boolean {
    return this.#hasIds;
  }

  /**
   * Whether several writes store it. The session's entry holds one write only, so that each message
   * without an id then has the id that {@linkcode toGeneratedId} gives it.
   */
  get isSplit(): boolean {
    return this.#isSplit;
  }

  /** The outcomes of all messages, once none is pending. */
  get outcomes(): AppendOutcome[] {
    return this.#all.map((pending, index) => {
      const { outcome } = this.#firsts[index]!;
      return this.#firsts[index] === pending ? outcome! : { ...outcome!, duplicate: true };
    });
  }

  /** The id of a message's dedup entry; undefined if the session's entry holds it. */
  idOf({ message: { id }, index }: Pending): string | undefined {
    return id ?? (this.#isSplit ? toGeneratedId(this.session, this.sequence + index) : undefined);
  }

  /** How many pending messages have an id. */
  countIds(): number {
    return this.#hasIds ? this.pending.filter((pending) => this.idOf(pending) !== undefined).length : 0;
  }

  /** Has several writes store it from now on. */
  split(): void {
    this.#isSplit = true;
    this.#hasIds = true;
  }

  /** The messages of the next write: all that are pending, unless they have too many ids. */
  nextPart(maxIds: number): readonly Pending[] {
    const { pending } = this;
    const length = this.#countFitting(pending, maxIds);
    if (length === pending.length || this.#isSplit) return pending.slice(0, length);
    this.split();
    return this.nextPart(maxIds);
  }

  /** Notes that a write has stored a part. */
  settle(part: readonly Pending[], version: string): void {
    for (const [index, pending] of part.entries()) {
      pending.outcome = { cursor: toCursor(version, index, part.length), duplicate: false };
    }
  }

  /**
   * Whether all that this append has stored, and did not find, comes after a cursor, and in order.
   */
  isStoredAfter(cursor: Cursor): boolean {
    let last = cursor;
    for (const { outcome } of this.#distinct) {
      if (outcome!.duplicate) continue;
      if (outcome!.cursor <= last) return false;
      last = outcome!.cursor;
    }
    return true;
  }

  #countFitting(pending: readonly Pending[], maxIds: number): number {
    if (!this.#hasIds) return pending.length;
    const nameBytes = countKeyBytes(this.log.name) + KEY_OVERHEAD;
    let ids = 0;
    let bytes = 0;
    for (const [count, message] of pending.entries()) {
      const id = this.idOf(message);
      if (id === undefined) continue;
      bytes += nameBytes + countKeyBytes(id);
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

/**
 * The dedup entry of an id: the session and the sequence number of the batch that brought it, the
 * index of its message in the record, and how many messages that has.
 */
type IdEntry = readonly [session: string, sequence: number, index: number, count: number];

/**
 * The dedup entry of a session: of its last batch the sequence number, the number of messages in
 * the record, the version of the record, then for each message without an id its index in the batch
 * and in the record. The version is null while it is that of the entry itself. Otherwise the
 * session is fenced: it cannot store messages any more.
 */
type SessionEntry = readonly [sequence: number, count: number, version: string | null, ...indexes: number[]];

/** Writes the dedup entry of an id. */
export function encodeIdEntry(...entry: IdEntry): Uint8Array {
  return encode(entry);
}

/** Writes the dedup entry of a session. */
export function encodeSessionEntry(sequence: number, count: number, indexes: readonly number[]): Uint8Array {
  return encode([sequence, count, null, ...indexes] satisfies SessionEntry);
}

/** Writes the dedup entry that fences a session. */
function encodeFence(entry: KvEntry | undefined): Uint8Array {
  if (!entry) return encode([0, 0, ""] satisfies SessionEntry);
  const [sequence, count, , ...indexes] = decode<SessionEntry>(entry);
  return encode([sequence, count, entry.version, ...indexes] satisfies SessionEntry);
}

/**
 * Looks for the message of a sequence number in the entry of its session. Undefined means that the
 * session may store it later; `"none"`, that it never will: the number belongs to an earlier batch,
 * or the session is fenced.
 */
function findInSession(entry: KvEntry, number: number): Cursor | "none" | undefined {
  const [sequence, count, version, ...indexes] = decode<SessionEntry>(entry);
  for (let pair = 0; pair < indexes.length; pair += 2) {
    if (sequence + indexes[pair]! === number) return toCursor(version ?? entry.version, indexes[pair + 1]!, count);
  }
  return number < sequence || version !== null ? "none" : undefined;
}

/** What a read of a session's entry has found. */
export interface SessionState {
  /** The incarnation entry. */
  readonly incarnation: KvEntry | undefined;
  /** The version of the session's entry; null if there is none. */
  readonly version: string | null;
}

/** Looks for the messages of a batch that have no id, and notes their outcomes. */
export async function findBatch(batch: Batch, engine: KvEngine): Promise<SessionState> {
  const [incarnation, entry] = await engine.get([INCARNATION_KEY, sessionKey(batch.log.name, batch.session)]);
  for (const pending of entry ? batch.pending : []) {
    if (pending.message.id !== undefined) continue;
    const found = findInSession(entry!, batch.sequence + pending.index);
    // Somebody has republished one of them, and so has fenced the session.
    if (found === "none") batch.split();
    else if (found !== undefined) pending.outcome = { cursor: found, duplicate: false };
  }
  return { incarnation, version: entry?.version ?? null };
}

/** What reads of ids have found. */
export interface IdsState {
  /** The incarnation entry of each read. */
  readonly incarnations: readonly (KvEntry | undefined)[];
  /**
   * The version of the newest write with ids at the moment of all reads; null if there is none,
   * undefined if it changed from one read to the next.
   */
  readonly newest: string | null | undefined;
}

/**
 * Looks for messages by their ids, and notes their outcomes.
 *
 * @param batch The batch.
 * @param sought Messages of it that have ids.
 * @param engine The database.
 * @param newest The version of the newest write with ids, if it is known; otherwise it is read.
 */
export async function findIds(
  batch: Batch,
  sought: readonly Pending[],
  engine: KvEngine,
  newest: string | undefined,
): Promise<IdsState> {
  const { log: { name } } = batch;
  const guard = newest === undefined ? [newestIdsKey(name)] : [];
  const versions = new Set<string | null>(newest === undefined ? [] : [newest]);
  const incarnations = await inParts(sought, KEYS_PER_READ - 1 - guard.length, async (part) => {
    const keys = part.map((pending) => idKey(name, batch.idOf(pending)!));
    const [incarnation, ...entries] = await engine.get([INCARNATION_KEY, ...keys, ...guard]);
    for (const [index, pending] of part.entries()) {
      const entry = entries[index];
      if (entry) pending.outcome = outcomeOfId(entry, batch);
    }
    if (guard.length > 0) versions.add(entries[part.length]?.version ?? null);
    return incarnation;
  });
  const [version] = versions;
  return { incarnations, newest: versions.size === 1 ? version : undefined };
}

function outcomeOfId(entry: KvEntry, batch: Batch): AppendOutcome {
  const [session, sequence, index, count] = decode<IdEntry>(entry);
  // An earlier attempt of the same append may have stored it: then it is no duplicate.
  const isOwn = session === batch.session && sequence === batch.sequence;
  return { cursor: toCursor(entry.version, index, count), duplicate: !isOwn };
}

/**
 * A message that is republished by the id of a `PublishOutcomeUnknown`, which names its session.
 */
interface Republished extends GeneratedId {
  readonly pending: Pending;
}

/** The republished messages of a batch, by their original sessions. */
export function republishedOf({ pending }: Batch): ReadonlyMap<string, readonly Republished[]> {
  const republished = pending.flatMap((pending) => {
    const generated = pending.message.id === undefined ? undefined : parseGeneratedId(pending.message.id);
    return generated ? [{ pending, ...generated }] : [];
  });
  return Map.groupBy(republished, ({ session }) => session);
}

/**
 * Looks for republished messages, and notes their outcomes. If the original batch was not stored,
 * its session is fenced, so that a late write of it cannot store the message a second time.
 *
 * @param name The name of the log.
 * @param republished The messages, by session.
 * @param engine The database.
 * @param expireIn How long a fence is kept, in milliseconds.
 * @returns The incarnation entry of each read.
 */
export function findRepublished(
  name: string,
  republished: ReadonlyMap<string, readonly Republished[]>,
  engine: KvEngine,
  expireIn: number,
): Promise<(KvEntry | undefined)[]> {
  return inParts([...republished], KEYS_PER_READ - 1, async (part) => {
    const keys = part.map(([session]) => sessionKey(name, session));
    for (;;) {
      const [incarnation, ...entries] = await engine.get([INCARNATION_KEY, ...keys]);
      const checks: KvCheck[] = [];
      const sets: KvSet[] = [];
      for (const [index, [, messages]] of part.entries()) {
        const [key, entry] = [keys[index]!, entries[index]];
        if (noteRepublished(messages, entry)) continue;
        checks.push({ key, version: entry?.version ?? null });
        sets.push({ key, value: encodeFence(entry), expireIn });
      }
      if (checks.length === 0) return incarnation;
      await engine.write({ checks, sets });
    }
  });
}

/**
 * Notes the outcomes of messages of one session. Returns whether the session can store none of them
 * later.
 */
function noteRepublished(messages: readonly Republished[], entry: KvEntry | undefined): boolean {
  let isFinal = true;
  for (const { pending, sequence } of messages) {
    const found = entry && findInSession(entry, sequence);
    if (found === undefined) isFinal = false;
    else if (found !== "none") pending.outcome = { cursor: found, duplicate: true };
  }
  return isFinal;
}

/** Reads items part by part, all parts at once; at least one part. */
function inParts<Item, Result>(
  items: readonly Item[],
  size: number,
  read: (part: readonly Item[]) => Promise<Result>,
): Promise<Result[]> {
  const parts = Math.max(1, Math.ceil(items.length / size));
  return Promise.all(Array.from({ length: parts }, (_, part) => read(items.slice(part * size, (part + 1) * size))));
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function encode(value: readonly unknown[]): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

function decode<Value>({ value }: KvEntry): Value {
  return JSON.parse(decoder.decode(value)) as Value;
}
