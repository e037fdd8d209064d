/** A batch on its way into a log, of which some messages may be stored already. */
import { toSeriesId } from "../series_id.ts";
import type { AppendOptions, AppendOutcome, Cursor, LogRef, NewMessage } from "../store.ts";
import { toCursor } from "./keys.ts";
import { countKeyBytes } from "./packed_key.ts";

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
  constructor(log: LogRef, messages: readonly NewMessage[], { series, first }: AppendOptions) {
    this.log = log;
    this.series = series;
    this.first = first;
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
    return id ?? (this.#isSplit ? toSeriesId(this.series, this.first + index) : undefined);
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
