/** The messages that a node has in hand, and the handlers that run. */
import { isDiscard } from "../../topics/consume_options.ts";
import type { Cursor } from "../../store/topic_store.ts";
import type { Clock } from "./clock.ts";
import type { ReadMessage } from "./read_message.ts";

/** What became of a message in hand. It is in hand until a write has said so. */
export type Outcome =
  | {
    readonly isDone: true;
    /** Whether it was not in the log any more. */
    readonly isLost?: boolean;
  }
  | {
    readonly isDone: false;
    /** Which try is next, and when it may begin, on the clock of the store. */
    readonly attempt: number;
    readonly due: number;
  };

/** A message in hand. */
export interface Held {
  readonly at: Cursor;
  /** Undefined if it is not in the log any more. */
  readonly message: ReadMessage | undefined;
  readonly attempt: number;
  readonly deaths: number;
  readonly key: string | undefined;
  /** The beginning of the range that has it; undefined if the record has it by itself. */
  range: Cursor | undefined;
  /** Which message of the range it is. */
  index: number;
  outcome: Outcome | undefined;
}

export interface HandOptions {
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoff: number;
  /** How long a handler may take, in milliseconds. */
  readonly timeout: number;
  readonly clock: Clock;
  /** The time of the store, in milliseconds since 1970. */
  readonly time: () => number;
  /** Whether no other node can have what is in hand. */
  readonly isHeld: () => boolean;
  readonly handle: (message: ReadMessage, attempt: number, signal: AbortSignal) => unknown;
  /** Gives a message up. It never rejects; false says that it must be done again. */
  readonly giveUp: (held: Held, error: unknown) => Promise<boolean>;
  /** A try has failed, and there will be another one. */
  readonly noteFailure: (held: Held, error: unknown) => void;
  /**
   * A handler has resolved after its time was over, or when another node had the message. It is
   * done.
   */
  readonly onLate: (held: Held) => void;
  /** Something in hand has an outcome. */
  readonly onOutcome: (held: Held) => void;
}

/** A handler that runs. */
interface Run {
  readonly held: Held;
  readonly controller: AbortController;
  readonly begin: number;
  /** Whether its signal was aborted though it was in time: then what it throws is no failed try. */
  isCut: boolean;
}

/** The longest pause between two tries, unless the first one is longer. */
const MAX_BACKOFF = 3_600_000;
/** How much longer than the backoff a pause may be. */
const JITTER = 1 / 4;
/** How much one handler counts in the mean of their times. */
const MEAN_WEIGHT = 1 / 32;
/** Why a message is given up that was in hand when so many nodes ended. */
const DIED = "Cannot handle the message: the processes that had it have ended, each of them before it was done";

/** What one node has in hand. It knows nothing of the record. */
export class Hand {
  readonly #options: HandOptions;
  readonly #held = new Map<Cursor, Held>();
  /** In the order in which they were claimed. */
  #ready: Held[] = [];
  /** In the order in which they have begun. */
  readonly #runs = new Set<Run>();
  /** Messages whose handlers run, also if they are not in hand any more. */
  readonly #running = new Set<Cursor>();
  /** Keys of which a message is being handled or given up, and that message. */
  readonly #busyKeys = new Map<string, Held>();
  /** How many messages in hand have an outcome. */
  #finished = 0;
  #meanTime: number | undefined;
  #bytes = 0;
  #cancelWatchdog: (() => void) | undefined;
  #allFinished: PromiseWithResolvers<void> | undefined;
  /** Whether nothing more begins. */
  #isQuiet = false;
  #isClosed = false;

  constructor(options: HandOptions) {
    this.#options = options;
  }

  /** All messages in hand, also those that have an outcome. */
  get all(): Iterable<Held> {
    return this.#held.values();
  }

  get size(): number {
    return this.#held.size;
  }

  /** How many handlers run. */
  get running(): number {
    return this.#runs.size;
  }

  /** How many messages wait for a handler. */
  get waiting(): number {
    return this.#ready.length;
  }

  /** How many bytes of data the messages in hand have. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The mean time of a handler, in milliseconds; undefined before the first one has ended. */
  get meanTime(): number | undefined {
    return this.#meanTime;
  }

  /** How many messages in hand have an outcome. */
  get finished(): number {
    return this.#finished;
  }

  /** The message at a position; undefined if it is not in flight. */
  get(at: Cursor): Held | undefined {
    return this.#held.get(at);
  }

  /** Takes messages in hand, in their order. {@linkcode Hand.pump} begins to handle them. */
  take(claimed: readonly Held[]): void {
    if (claimed.length === 0) return;
    const failed = this.#failedKeys();
    for (const held of claimed) {
      this.#held.set(held.at, held);
      this.#bytes += held.message?.bytes ?? 0;
      const { message, key, attempt } = held;
      if (message === undefined) this.#settle(held, { isDone: true, isLost: true });
      // It was claimed while the stop began, or while an earlier one of its key has failed.
      else if (this.#isQuiet || (key !== undefined && failed.has(key))) this.#release(held);
      else if (message.fault !== undefined) void this.#giveUp(held, message.fault);
      else if (held.deaths >= this.#options.attempts) void this.#giveUp(held, new Error(DIED));
      else if (attempt > this.#options.attempts) void this.#giveUp(held, undefined);
      else this.#ready.push(held);
    }
  }

  /** Waits until all messages in hand have an outcome. */
  async whenFinished(): Promise<void> {
    if (this.#held.size === this.#finished) return;
    this.#allFinished ??= Promise.withResolvers();
    await this.#allFinished.promise;
  }

  /** Lets go of a message of which a write has said what became of it. */
  forget(held: Held): void {
    if (this.#held.get(held.at) !== held) return;
    this.#held.delete(held.at);
    this.#bytes -= held.message?.bytes ?? 0;
    if (held.outcome) this.#finished--;
    this.#noteFinished();
  }

  /** Lets go of a message that another node may have. */
  drop(held: Held): void {
    this.forget(held);
    this.#ready = this.#ready.filter((other) => other !== held);
    const { outcome } = held;
    if (outcome?.isDone && !outcome.isLost) this.#options.onLate(held);
    for (const run of this.#runs) if (run.held === held) this.#cut(run, "The message was given to another process");
  }

  /** Begins to handle what can begin. */
  pump(): void {
    const { concurrency, isHeld } = this.#options;
    if (this.#isClosed) return;
    for (let index = 0; index < this.#ready.length && this.#runs.size < concurrency;) {
      const held = this.#ready[index]!;
      // A handler whose message was taken away may still run.
      const isBusy = this.#running.has(held.at) || (held.key !== undefined && this.#busyKeys.has(held.key));
      if (isBusy) {
        index++;
        continue;
      }
      if (!isHeld()) return;
      this.#ready.splice(index, 1);
      void this.#run(held);
    }
  }

  /** Gives back what has not begun, and what is taken in hand from now on. */
  quiet(): void {
    this.#isQuiet = true;
    for (const held of this.#ready.splice(0)) this.#release(held);
  }

  /** Aborts the signals of all handlers that run. What ends by it is no failed try. */
  cut(reason: string): void {
    for (const run of this.#runs) this.#cut(run, reason);
  }

  /** Gives back all that has no outcome, though its handlers may run on. */
  close(): void {
    this.#isQuiet = this.#isClosed = true;
    this.#cancelWatchdog?.();
    this.#ready = [];
    this.#runs.clear();
    for (const held of this.#held.values()) if (!held.outcome) this.#release(held);
  }

  /** The keys of messages of which a write will say that they have failed, or are given back. */
  #failedKeys(): ReadonlySet<string | undefined> {
    const failed = new Set<string | undefined>();
    if (this.#finished === 0) return failed;
    for (const { key, outcome } of this.#held.values()) if (outcome?.isDone === false) failed.add(key);
    return failed;
  }

  async #run(held: Held): Promise<void> {
    const { clock, handle } = this.#options;
    const run: Run = { held, controller: new AbortController(), begin: clock.now(), isCut: false };
    this.#runs.add(run);
    this.#running.add(held.at);
    if (held.key !== undefined) this.#busyKeys.set(held.key, held);
    this.#watch();
    try {
      await handle(held.message!, held.attempt, run.controller.signal);
      this.#end(run, undefined);
    } catch (thrown) {
      // `undefined` can be thrown, too.
      this.#end(run, { thrown: thrown ?? new TypeError("The handler threw nothing") });
    }
  }

  /** A handler has ended, or its time is over. Afterwards it may run on. */
  #end(run: Run, failure: { readonly thrown: unknown } | undefined): void {
    const { held } = run;
    if (!this.#runs.delete(run)) {
      if (!failure) this.#options.onLate(held);
      return;
    }
    const time = this.#options.clock.now() - run.begin;
    this.#meanTime = this.#meanTime === undefined ? time : this.#meanTime + (time - this.#meanTime) * MEAN_WEIGHT;
    this.#running.delete(held.at);
    if (!this.#isInHand(held)) {
      this.#free(held);
      if (!failure) this.#options.onLate(held);
    } else if (!failure) this.#settle(held, { isDone: true });
    else if (run.isCut) this.#release(held);
    else if (isDiscard(failure.thrown) || held.attempt >= this.#options.attempts) {
      void this.#giveUp(held, failure.thrown);
    } else this.#fail(held, failure.thrown);
    this.pump();
  }

  #fail(held: Held, error: unknown): void {
    this.#options.noteFailure(held, error);
    const { attempt } = held;
    this.#settle(held, { isDone: false, attempt: attempt + 1, due: this.#dueAfter(attempt) });
  }

  /** Its key stays busy until this is done: those behind it wait. */
  async #giveUp(held: Held, error: unknown): Promise<void> {
    if (held.key !== undefined) this.#busyKeys.set(held.key, held);
    const isDone = await this.#options.giveUp(held, error);
    if (!this.#isInHand(held)) this.#free(held);
    else if (isDone) this.#settle(held, { isDone });
    else {
      // More tries than there are: the next time, it is given up and not handled.
      const attempt = Math.max(held.attempt, this.#options.attempts) + 1;
      this.#settle(held, { isDone: false, attempt, due: this.#dueAfter(this.#options.attempts) });
    }
    this.pump();
  }

  #release(held: Held): void {
    this.#settle(held, { isDone: false, attempt: held.attempt, due: 0 });
  }

  #settle(held: Held, outcome: Outcome): void {
    held.outcome = outcome;
    this.#finished++;
    this.#free(held);
    const { key } = held;
    if (key !== undefined && !outcome.isDone) {
      const behind = this.#ready.filter((other) => other.key === key);
      this.#ready = this.#ready.filter((other) => other.key !== key);
      for (const other of behind) this.#release(other);
    }
    this.#noteFinished();
    this.#options.onOutcome(held);
  }

  #noteFinished(): void {
    if (this.#held.size > this.#finished) return;
    this.#allFinished?.resolve();
    this.#allFinished = undefined;
  }

  #free(held: Held): void {
    if (held.key !== undefined && this.#busyKeys.get(held.key) === held) this.#busyKeys.delete(held.key);
  }

  #isInHand(held: Held): boolean {
    return this.#held.get(held.at) === held && held.outcome === undefined;
  }

  #cut(run: Run, reason: string): void {
    if (run.isCut) return;
    run.isCut = true;
    run.controller.abort(new DOMException(reason, "AbortError"));
  }

  /** When the next try may begin. */
  #dueAfter(attempt: number): number {
    const { backoff, time } = this.#options;
    const pause = Math.min(backoff * 2 ** (attempt - 1), Math.max(backoff, MAX_BACKOFF));
    return time() + Math.ceil(pause * (1 + Math.random() * JITTER));
  }

  /** One timer for all handlers: the first one that runs has the least time left. */
  #watch(): void {
    if (this.#cancelWatchdog) return;
    const [first] = this.#runs;
    if (first === undefined || this.#isClosed) return;
    const { clock, timeout } = this.#options;
    this.#cancelWatchdog = clock.after(Math.ceil(first.begin + timeout - clock.now()), () => {
      this.#cancelWatchdog = undefined;
      const latest = clock.now() - timeout;
      for (const run of this.#runs) {
        if (run.begin > latest) break;
        const thrown = new DOMException(`The handler has not ended within ${timeout} ms`, "TimeoutError");
        run.controller.abort(thrown);
        this.#end(run, { thrown });
      }
      this.#watch();
    });
  }
}
