/** The live end of a topic in this process: follows the log once for all who read it here. */
import { nodeTimers } from "../node.ts";
import type { LogReader, LogSlice } from "./log_reader.ts";
import type { TopicMessage } from "./message.ts";
import { isSameEpoch } from "./message_id.ts";
import { Window } from "./window.ts";

/** The most bytes of data that are held ready for readers; one larger message is held all the same. */
const MAX_WINDOW_BYTES = 1024 * 1024;

/** Waits until the event loop has seen to what has come from elsewhere. */
function turn(): Promise<void> {
  return new Promise((resolve) => nodeTimers().setImmediate(resolve));
}

/** Someone who reads at the tail. */
export interface TailReader<Data> {
  /**
   * What came after the end, for a reader who waits there.
   *
   * @returns Whether it goes on waiting at the end, which is now behind these messages.
   */
  give(batch: readonly TopicMessage<Data>[]): boolean;
  /** There may be more to read. */
  wake(): void;
  /** The tail has gone on elsewhere than after this place, where the reader waited. */
  leave(place: string): void;
  /** The log cannot be read any more. */
  fail(error: unknown): void;
  /** Nothing more will come. */
  close(): void;
}

/** What a tail holds ready, and for how long. */
export interface TailOptions {
  /** How many messages are held ready. */
  readonly buffer: number;
  /** How old they become, in milliseconds. */
  readonly age: number;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Follows a log for as long as somebody waits for what comes; while all its readers are busy elsewhere it falls behind, at no cost.
 * Its knowledge grows by reading the log alone: being called is but a hint.
 */
export class Tail<Data> {
  readonly #log: LogReader<Data>;
  readonly #options: TailOptions;
  readonly #onEnd: () => void;
  readonly #readers = new Set<TailReader<Data>>();
  /** Who waits at the end. It is not noted where each of them is. */
  readonly #atEnd = new Set<TailReader<Data>>();
  /** Who waits elsewhere, or came while messages were given out. */
  #elsewhere = new Set<TailReader<Data>>();
  #isGiving = false;
  readonly #unwatch: () => void;
  #window: Window<Data> | undefined;
  #hasEnded = false;
  #isReading = false;
  #isBehind = false;
  /** Whether several messages came at once the last time: more are likely to be on their way when the next one comes. */
  #isBusy = false;
  /** How long it took to hand out what was read last, in milliseconds. */
  #cost = 0;

  /** Resolves when it is known where the log ends, or will never be. It never rejects: readers are told of a failure. */
  readonly opened: Promise<void>;

  /**
   * Begins to follow.
   *
   * @param log The log.
   * @param options What is held ready.
   * @param onEnd Called when nobody reads any more, or the log cannot be read.
   */
  constructor(log: LogReader<Data>, options: TailOptions, onEnd: () => void) {
    this.#log = log;
    this.#options = options;
    this.#onEnd = onEnd;
    // Before the log is looked at, so that nothing appended in between goes unnoticed.
    this.#unwatch = log.watch(() => {
      this.#isBehind = true;
      void this.#follow();
    });
    this.opened = this.#open();
  }

  /** The id up to which the log has been read. Undefined until it is opened. */
  get end(): string | undefined {
    return this.#window?.end;
  }

  /** Whether it has read all that it was called for, or is about to. */
  get isCurrent(): boolean {
    return this.#window !== undefined && (!this.#isBehind || this.#isAwaited);
  }

  /** Adds a reader. */
  add(reader: TailReader<Data>): void {
    this.#readers.add(reader);
  }

  /**
   * Has a reader wait until there is more than the tail holds ready now. One that is at the end is given what comes, for as long as
   * it says that it waits; any other is woken, once.
   *
   * @returns Whether it is at the end.
   */
  wait(reader: TailReader<Data>, place: string): boolean {
    const isAtEnd = place === this.end && !this.#isGiving;
    (isAtEnd ? this.#atEnd : this.#elsewhere).add(reader);
    if (this.#isBehind) void this.#follow();
    return isAtEnd;
  }

  /** Removes a reader; the last one ends the tail. */
  remove(reader: TailReader<Data>): void {
    this.#readers.delete(reader);
    this.#atEnd.delete(reader);
    this.#elsewhere.delete(reader);
    if (this.#readers.size === 0) this.#end();
  }

  /** Closes all readers, which ends the tail. */
  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  /** Whether an id is known to be a place in the log. */
  covers(id: string): boolean {
    return this.#window?.covers(id) ?? false;
  }

  /** What is held ready after an id: the same list for all. Undefined where it has to be read from the log. */
  after(id: string): readonly TopicMessage<Data>[] | undefined {
    const { age, now } = this.#options;
    if (age !== Infinity) this.#window?.expire(now() - age);
    return this.#window?.after(id);
  }

  /** Reads what comes after an id from the log, for a reader who is behind. */
  async read(after: string): Promise<LogSlice<Data>> {
    const slice = await this.#log.readShared(after);
    // The log has begun a new life, and nobody may have called.
    if (this.#window && !isSameEpoch(slice.head, this.#window.end)) this.#restart(slice.head);
    return slice;
  }

  async #open(): Promise<void> {
    try {
      this.#restart((await this.#log.bounds()).head);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Reads up to the end of the log, one reading at a time. A call meanwhile has it read once more. */
  async #follow(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#isBehind && this.#isAwaited && this.#window) {
        await this.#gather();
        if (this.#hasEnded) return;
        const window = this.#window;
        this.#isBehind = false;
        const slice = await this.#log.read(window.end);
        const begin = performance.now();
        this.#take(window, slice);
        this.#isBusy = slice.messages.length > 1;
        await turn();
        this.#cost = performance.now() - begin;
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isReading = false;
    }
  }

  /**
   * Lets what is published at about the same time come together: with many readers, each handing out costs more than such a wait.
   * Requests that publish are seen to meanwhile.
   */
  async #gather(): Promise<void> {
    const end = performance.now() + (this.#isBusy ? this.#cost / 8 : 0);
    do await turn(); while (performance.now() < end);
  }

  get #isAwaited(): boolean {
    return this.#atEnd.size > 0 || this.#elsewhere.size > 0;
  }

  #take(window: Window<Data>, slice: LogSlice<Data>): void {
    const place = window.end;
    if (window.isContinuedBy(slice)) window.extend(slice);
    else this.#restart(slice.head);
    const { end } = this;
    if (end !== undefined && end < slice.head) this.#isBehind = true;
    const batch = this.after(place);
    if (!batch) this.#leave(place);
    else if (batch.length > 0) this.#giveOut(batch);
    const elsewhere = this.#elsewhere;
    this.#elsewhere = new Set();
    for (const reader of elsewhere) reader.wake();
  }

  /** With many readers this is what takes the time: for each, only what it alone can do is done. */
  #giveOut(batch: readonly TopicMessage<Data>[]): void {
    this.#isGiving = true;
    for (const reader of this.#atEnd) if (!reader.give(batch)) this.#atEnd.delete(reader);
    this.#isGiving = false;
  }

  #leave(place: string): void {
    for (const reader of this.#atEnd) {
      reader.leave(place);
      this.#elsewhere.add(reader);
    }
    this.#atEnd.clear();
  }

  /** Goes on at another place. Readers who have not come there find what they miss, or that they miss it, in the log. */
  #restart(place: string): void {
    if (this.#window) this.#leave(this.#window.end);
    this.#window = new Window(place, this.#options.buffer, MAX_WINDOW_BYTES);
  }

  #fail(error: unknown): void {
    const readers = [...this.#readers];
    this.#end();
    for (const reader of readers) reader.fail(error);
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#readers.clear();
    this.#atEnd.clear();
    this.#elsewhere.clear();
    this.#unwatch();
    this.#onEnd();
  }
}
