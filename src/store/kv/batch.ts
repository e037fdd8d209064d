/**
 * A batch to append, and the dedup entries that show which of its messages are stored already: one
 * for each id of a publisher, and one for each producer session.
 */
import {
  type AppendOutcome,
  type Cursor,
  type GeneratedId,
  type LogRef,
  type NewMessage,
  parseGeneratedId,
} from "../topic_store.ts";
import type { KvEntry } from "./engine.ts";
import { toCursor } from "./keys.ts";

/** The most bytes of ids in the keys of one write. Deno KV allows 80 KiB of keys with checks. */
const MAX_KEY_BYTES = 56 * 1024;
/** An upper bound of a key without the name and the id. */
const KEY_OVERHEAD = 32;
/** The most bytes of a UTF-16 code unit in a key. */
const UNIT_BYTES = 3;

export interface Pending {
  readonly message: NewMessage;
  readonly index: number;
  /** Undefined if the dedup entry of the session has it. */
  id: string | undefined;
  outcome: AppendOutcome | undefined;
}

/** The producer session of a batch, and the sequence number of its first message. */
export function sessionOf(messages: readonly NewMessage[]): GeneratedId {
  const index = messages.findIndex(({ isGenerated }) => isGenerated);
  const generated = index === -1 ? undefined : parseGeneratedId(messages[index]!.id);
  if (!generated) return { session: crypto.randomUUID(), sequence: 0 };
  return { session: generated.session, sequence: generated.sequence - index };
}

export class Batch {
  readonly log: LogRef;
  readonly session: string;
  readonly sequence: number;
  readonly #firsts: readonly Pending[];
  #isSplit = false;

  constructor(log: LogRef, messages: readonly NewMessage[], { session, sequence }: GeneratedId) {
    this.log = log;
    this.session = session;
    this.sequence = sequence;
    const byId = new Map<string, Pending>();
    this.#firsts = messages.map((message, index) => {
      const id = message.isGenerated ? undefined : message.id;
      const first = id === undefined ? undefined : byId.get(id);
      if (first) return first;
      const pending: Pending = { message, index, id, outcome: undefined };
      if (id !== undefined) byId.set(id, pending);
      return pending;
    });
  }

  get pending(): readonly Pending[] {
    return this.#firsts.filter(({ outcome, index }, at) => outcome === undefined && index === at);
  }

  get isSplit(): boolean {
    return this.#isSplit;
  }

  get outcomes(): AppendOutcome[] {
    return this.#firsts.map(({ outcome, index }, at) => index === at ? outcome! : { ...outcome!, duplicate: true });
  }

  /** Makes several writes store it. Then messages with generated ids get dedup entries, too. */
  split(): void {
    this.#isSplit = true;
    for (const pending of this.#firsts) pending.id ??= pending.message.id;
  }

  nextPart(maxIds: number): readonly Pending[] {
    const { pending } = this;
    let [ids, bytes] = [0, 0];
    const end = pending.findIndex(({ id }) => {
      if (id === undefined) return false;
      bytes += KEY_OVERHEAD + UNIT_BYTES * (this.log.name.length + id.length);
      return ++ids > maxIds || ids > 1 && bytes > MAX_KEY_BYTES;
    });
    if (end === -1) return pending;
    if (this.#isSplit) return pending.slice(0, end);
    this.split();
    return this.nextPart(maxIds);
  }

  noteStored(part: readonly Pending[], version: string): void {
    for (const [index, pending] of part.entries()) {
      pending.outcome = { cursor: toCursor(version, index, part.length), duplicate: false };
    }
  }

  noteSession(entry: KvEntry): void {
    for (const pending of this.pending) {
      if (!pending.message.isGenerated) continue;
      const found = findInSession(entry, this.sequence + pending.index);
      // A message was republished, which has fenced the session.
      if (found === "none") this.split();
      else if (found !== undefined) pending.outcome = { cursor: found, duplicate: false };
    }
  }

  noteId(pending: Pending, entry: KvEntry): void {
    const [session, sequence, index, count] = decode<IdEntry>(entry);
    // An earlier attempt of the same append may have stored it: then it is no duplicate.
    const isOwn = session === this.session && sequence === this.sequence;
    pending.outcome = { cursor: toCursor(entry.version, index, count), duplicate: !isOwn };
  }

  isStoredAfter(cursor: Cursor): boolean {
    let last = cursor;
    return this.#firsts.every(({ outcome, index }, at) => {
      if (index !== at || outcome!.duplicate) return true;
      const isLater = outcome!.cursor > last;
      last = outcome!.cursor;
      return isLater;
    });
  }
}

/** The dedup entry of an id: its batch, its index in the stored one, and the size of that. */
type IdEntry = readonly [session: string, sequence: number, index: number, count: number];

/**
 * The dedup entry of a session: of its last batch the sequence number, the number of messages in
 * the stored batch, its version, then for each message without an id its index in the batch and in
 * the stored one. The version is null while it is that of the entry itself. Otherwise the session
 * is fenced: it cannot store messages any more.
 */
type SessionEntry = readonly [sequence: number, count: number, version: string | null, ...indexes: number[]];

export function encodeIdEntry(...entry: IdEntry): Uint8Array {
  return encode(entry);
}

export function encodeSessionEntry(...entry: SessionEntry): Uint8Array {
  return encode(entry);
}

export function encodeFence(entry: KvEntry | undefined): Uint8Array {
  if (!entry) return encodeSessionEntry(0, 0, "");
  const [sequence, count, , ...indexes] = decode<SessionEntry>(entry);
  return encodeSessionEntry(sequence, count, entry.version, ...indexes);
}

/**
 * Finds the message of a sequence number. Undefined: the session may still store it. "none": it
 * never will, since the number is of an earlier batch, or the session is fenced.
 */
function findInSession(entry: KvEntry, number: number): Cursor | "none" | undefined {
  const [sequence, count, version, ...indexes] = decode<SessionEntry>(entry);
  for (let pair = 0; pair < indexes.length; pair += 2) {
    if (sequence + indexes[pair]! === number) return toCursor(version ?? entry.version, indexes[pair + 1]!, count);
  }
  return number < sequence || version !== null ? "none" : undefined;
}

/** A message that is published again by the id of a `PublishOutcomeUnknownError`. */
export interface Republished extends GeneratedId {
  readonly pending: Pending;
}

/** Republished messages by their original sessions. */
export function republishedOf({ pending }: Batch): Map<string, readonly Republished[]> {
  const republished = pending.flatMap((pending) => {
    const generated = pending.id === undefined ? undefined : parseGeneratedId(pending.id);
    return generated ? [{ pending, ...generated }] : [];
  });
  return Map.groupBy(republished, ({ session }) => session);
}

/** Returns whether the session can store none of these messages later. */
export function noteRepublished(messages: readonly Republished[], entry: KvEntry | undefined): boolean {
  let isFinal = true;
  for (const { pending, sequence } of messages) {
    const found = entry && findInSession(entry, sequence);
    if (found === undefined) isFinal = false;
    else if (found !== "none") pending.outcome = { cursor: found, duplicate: true };
  }
  return isFinal;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function encode(value: readonly unknown[]): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

function decode<Value>({ value }: KvEntry): Value {
  return JSON.parse(decoder.decode(value)) as Value;
}
