/** The messages that a node has in hand, and the handlers that run. */
import { isDiscard } from "../../topics/consume_options.ts";
import type { Cursor } from "../../store/topic_store.ts";
import type { Clock } from "./clock.ts";
import type { ReadMessage } from "./log_window.ts";

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
export interface Delivery {
  readonly at: Cursor;
  /** Undefined if it is not in the log any more. */
  readonly message: ReadMessage | undefined;
  readonly attempt: number;
  readonly crashCount: number;
  readonly key: string | undefined;
  /** The beginning of the range that has it; undefined if the record has it by itself. */
  range: Cursor | undefined;
  /** Which message of the range it is. */
  index: number;
  outcome: Outcome | undefined;
}

export interface InFlightOptions {
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
  readonly park: (delivery: Delivery, error: unknown) => Promise<boolean>;
  /** A try has failed, and there will be another one. */
  readonly onFailure: (delivery: Delivery, error: unknown) => void;
  /**
   * A handler has resolved after its time was over, or when another node had the message. It is
   * done.
   */
  readonly onLateResult: (delivery: Delivery) => void;
  /** Something in hand has an outcome. */
  readonly onOutcome: (delivery: Delivery) => void;
}

/** A handler that runs. */
interface Run {
  readonly delivery: Delivery;
  readonly controller: AbortController;
  readonly begin: number;
  /** Whether its signal was aborted though it was in time: then what it throws is no failed try. */
  isInterrupted: boolean;
}

/** The longest pause between two tries, unless the first one is longer. */
const MAX_BACKOFF = 3_600_000;
/** How much longer than the backoff a pause may be. */
const JITTER = 1 / 4;
/** How much one handler counts in the mean of their times. */
const MEAN_WEIGHT = 1 / 32;
/** Why a message is given up that was in hand when so many nodes ended. */
const CRASHED = "Cannot handle the message: the processes that had it have ended, each of them before it was done";

/** What one node has in hand. It knows nothing of the record. */
export class InFlight {
  readonly #options: InFlightOptions;
  readonly #deliveries = new Map<Cursor, Delivery>();
  /** In the order in which they were claimed. */
  #ready: Delivery[] = [];
  /** In the order in which they have begun. */
  readonly #runs = new Set<Run>();
  /** Messages whose handlers run, also if they are not in hand any more. */
  readonly #running = new Set<Cursor>();
  /** Keys of which a message is being handled or given up, and that message. */
  readonly #busyKeys = new Map<string, Delivery>();
  /** How many messages in hand have an outcome. */
  #finished = 0;
  #meanTime: number | undefined;
  #bytes = 0;
  #cancelWatchdog: (() => void) | undefined;
  #allFinished: PromiseWithResolvers<void> | undefined;
  /** Whether nothing more begins. */
  #isDraining = false;
  #isClosed = false;

  constructor(options: InFlightOptions) {
    this.#options = options;
  }

  /** All messages in hand, also those that have an outcome. */
  get all(): Iterable<Delivery> {
    return this.#deliveries.values();
  }

  get size(): number {
    return this.#deliveries.size;
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
  get(at: Cursor): Delivery | undefined {
    return this.#deliveries.get(at);
  }

  /** Takes messages in hand, in their order. {@linkcode InFlight.pump} begins to handle them. */
  take(claimed: readonly Delivery[]): void {
    if (claimed.length === 0) return;
    const failed = this.#failedKeys();
    for (const delivery of claimed) {
      this.#deliveries.set(delivery.at, delivery);
      this.#bytes += delivery.message?.bytes ?? 0;
      const { message, key, attempt } = delivery;
      if (message === undefined) this.#settle(delivery, { isDone: true, isLost: true });
      // It was claimed while the stop began, or while an earlier one of its key has failed.
      else if (this.#isDraining || (key !== undefined && failed.has(key))) this.#release(delivery);
      else if (message.fault !== undefined) void this.#park(delivery, message.fault);
      else if (delivery.crashCount >= this.#options.attempts) void this.#park(delivery, new Error(CRASHED));
      else if (attempt > this.#options.attempts) void this.#park(delivery, undefined);
      else this.#ready.push(delivery);
    }
  }

  /** Waits until all messages in hand have an outcome. */
  async whenFinished(): Promise<void> {
    if (this.#deliveries.size === this.#finished) return;
    this.#allFinished ??= Promise.withResolvers();
    await this.#allFinished.promise;
  }

  /** Lets go of a message of which a write has said what became of it. */
  remove(delivery: Delivery): void {
    if (this.#deliveries.get(delivery.at) !== delivery) return;
    this.#deliveries.delete(delivery.at);
    this.#bytes -= delivery.message?.bytes ?? 0;
    if (delivery.outcome) this.#finished--;
    this.#resolveIfFinished();
  }

  /** Lets go of a message that another node may have. */
  revoke(delivery: Delivery): void {
    this.remove(delivery);
    this.#ready = this.#ready.filter((other) => other !== delivery);
    const { outcome } = delivery;
    if (outcome?.isDone && !outcome.isLost) this.#options.onLateResult(delivery);
    for (const run of this.#runs) {
      if (run.delivery === delivery) this.#abort(run, "The message was given to another process");
    }
  }

  /** Begins to handle what can begin. */
  dispatch(): void {
    const { concurrency, isHeld } = this.#options;
    if (this.#isClosed) return;
    for (let index = 0; index < this.#ready.length && this.#runs.size < concurrency;) {
      const delivery = this.#ready[index]!;
      // A handler whose message was taken away may still run.
      const isBusy = this.#running.has(delivery.at) || (delivery.key !== undefined && this.#busyKeys.has(delivery.key));
      if (isBusy) {
        index++;
        continue;
      }
      if (!isHeld()) return;
      this.#ready.splice(index, 1);
      void this.#run(delivery);
    }
  }

  /** Gives back what has not begun, and what is taken in hand from now on. */
  drain(): void {
    this.#isDraining = true;
    for (const delivery of this.#ready.splice(0)) this.#release(delivery);
  }

  /** Aborts the signals of all handlers that run. What ends by it is no failed try. */
  abortAll(reason: string): void {
    for (const run of this.#runs) this.#abort(run, reason);
  }

  /** Gives back all that has no outcome, though its handlers may run on. */
  close(): void {
    this.#isDraining = this.#isClosed = true;
    this.#cancelWatchdog?.();
    this.#ready = [];
    this.#runs.clear();
    for (const delivery of this.#deliveries.values()) if (!delivery.outcome) this.#release(delivery);
  }

  /** The keys of messages of which a write will say that they have failed, or are given back. */
  #failedKeys(): ReadonlySet<string | undefined> {
    const failed = new Set<string | undefined>();
    if (this.#finished === 0) return failed;
    for (const { key, outcome } of this.#deliveries.values()) if (outcome?.isDone === false) failed.add(key);
    return failed;
  }

  async #run(delivery: Delivery): Promise<void> {
    const { clock, handle } = this.#options;
    const run: Run = { delivery, controller: new AbortController(), begin: clock.now(), isInterrupted: false };
    this.#runs.add(run);
    this.#running.add(delivery.at);
    if (delivery.key !== undefined) this.#busyKeys.set(delivery.key, delivery);
    this.#watch();
    try {
      await handle(delivery.message!, delivery.attempt, run.controller.signal);
      this.#end(run, undefined);
    } catch (thrown) {
      // `undefined` can be thrown, too.
      this.#end(run, { thrown: thrown ?? new TypeError("The handler threw nothing") });
    }
  }

  /** A handler has ended, or its time is over. Afterwards it may run on. */
  #end(run: Run, failure: { readonly thrown: unknown } | undefined): void {
    const { delivery } = run;
    if (!this.#runs.delete(run)) {
      if (!failure) this.#options.onLateResult(delivery);
      return;
    }
    const time = this.#options.clock.now() - run.begin;
    this.#meanTime = this.#meanTime === undefined ? time : this.#meanTime + (time - this.#meanTime) * MEAN_WEIGHT;
    this.#running.delete(delivery.at);
    if (!this.#isInFlight(delivery)) {
      this.#free(delivery);
      if (!failure) this.#options.onLateResult(delivery);
    } else if (!failure) this.#settle(delivery, { isDone: true });
    else if (run.isInterrupted) this.#release(delivery);
    else if (isDiscard(failure.thrown) || delivery.attempt >= this.#options.attempts) {
      void this.#park(delivery, failure.thrown);
    } else this.#fail(delivery, failure.thrown);
    this.dispatch();
  }

  #fail(delivery: Delivery, error: unknown): void {
    this.#options.onFailure(delivery, error);
    const { attempt } = delivery;
    this.#settle(delivery, { isDone: false, attempt: attempt + 1, due: this.#dueAfter(attempt) });
  }

  /** Its key stays busy until this is done: those behind it wait. */
  async #park(delivery: Delivery, error: unknown): Promise<void> {
    if (delivery.key !== undefined) this.#busyKeys.set(delivery.key, delivery);
    const isDone = await this.#options.park(delivery, error);
    if (!this.#isInFlight(delivery)) this.#free(delivery);
    else if (isDone) this.#settle(delivery, { isDone });
    else {
      // More tries than there are: the next time, it is given up and not handled.
      const attempt = Math.max(delivery.attempt, this.#options.attempts) + 1;
      this.#settle(delivery, { isDone: false, attempt, due: this.#dueAfter(this.#options.attempts) });
    }
    this.dispatch();
  }

  #release(delivery: Delivery): void {
    this.#settle(delivery, { isDone: false, attempt: delivery.attempt, due: 0 });
  }

  #settle(delivery: Delivery, outcome: Outcome): void {
    delivery.outcome = outcome;
    this.#finished++;
    this.#free(delivery);
    const { key } = delivery;
    if (key !== undefined && !outcome.isDone) {
      const behind = this.#ready.filter((other) => other.key === key);
      this.#ready = this.#ready.filter((other) => other.key !== key);
      for (const other of behind) this.#release(other);
    }
    this.#resolveIfFinished();
    this.#options.onOutcome(delivery);
  }

  #resolveIfFinished(): void {
    if (this.#deliveries.size > this.#finished) return;
    this.#allFinished?.resolve();
    this.#allFinished = undefined;
  }

  #free(delivery: Delivery): void {
    if (delivery.key !== undefined && this.#busyKeys.get(delivery.key) === delivery) {
      this.#busyKeys.delete(delivery.key);
    }
  }

  #isInFlight(delivery: Delivery): boolean {
    return this.#deliveries.get(delivery.at) === delivery && delivery.outcome === undefined;
  }

  #abort(run: Run, reason: string): void {
    if (run.isInterrupted) return;
    run.isInterrupted = true;
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
