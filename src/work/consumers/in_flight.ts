/** The messages that a node has claimed, and their handlers. It does not know the record. */
import { isDiscard } from "../../topics/consume_options.ts";
import type { Cursor } from "../../store/topic_store.ts";
import type { Clock } from "../../base/clock.ts";
import type { ReadMessage } from "./log_window.ts";

/** A delivery is in flight until the record has its outcome. */
export type Outcome =
  | {
    readonly isDone: true;
    /** The message is no longer in the log. */
    readonly isLost?: boolean;
  }
  | {
    readonly isDone: false;
    /** The next attempt, and when it may begin on the clock of the store. */
    readonly attempt: number;
    readonly due: number;
  };

export interface Delivery {
  readonly at: Cursor;
  /** Undefined if it is no longer in the log. */
  readonly message: ReadMessage | undefined;
  readonly attempt: number;
  readonly crashCount: number;
  readonly key: string | undefined;
  /** The position of its dead letter, if that is redelivered. */
  readonly letter?: Cursor | undefined;
  /** The start of its range; undefined if it is in none. */
  range: Cursor | undefined;
  index: number;
  outcome: Outcome | undefined;
}

export interface InFlightOptions {
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoff: number;
  readonly timeout: number;
  readonly clock: Clock;
  /** The time of the store, in milliseconds since 1970. */
  readonly time: () => number;
  readonly isHeld: () => boolean;
  readonly handle: (message: ReadMessage, attempt: number, signal: AbortSignal) => unknown;
  /** Publishes a dead letter or stores the failure. It never rejects; false: try again later. */
  readonly park: (delivery: Delivery, error: unknown) => Promise<boolean>;
  /** Another attempt will follow. */
  readonly onFailure: (delivery: Delivery, error: unknown) => void;
  /** A handler resolved after its timeout, or after another node got the message: it is done. */
  readonly onLateResult: (delivery: Delivery) => void;
  readonly onOutcome: (delivery: Delivery) => void;
}

interface Run {
  readonly delivery: Delivery;
  readonly controller: AbortController;
  readonly begin: number;
  /** Its signal was aborted before its timeout: an error counts as no attempt. */
  isInterrupted: boolean;
}

/** The longest backoff in milliseconds, unless the first one is longer. */
const MAX_BACKOFF = 3_600_000;
/** The largest random part of a backoff that is added. */
const JITTER = 1 / 4;
/** The weight of one handler in the mean time. */
const MEAN_WEIGHT = 1 / 32;
const CRASHED = "Cannot handle the message: the processes that had it have ended, each of them before it was done";

export class InFlight {
  readonly #options: InFlightOptions;
  readonly #deliveries = new Map<Cursor, Delivery>();
  #ready: Delivery[] = [];
  /** The oldest first. */
  readonly #runs = new Set<Run>();
  /** The messages whose handlers run, also those that are no longer in flight. */
  readonly #running = new Set<Cursor>();
  /** Keys of a message that is being handled or parked. */
  readonly #busyKeys = new Map<string, Delivery>();
  #finished = 0;
  #meanTime: number | undefined;
  #bytes = 0;
  #cancelWatchdog: (() => void) | undefined;
  #allFinished: PromiseWithResolvers<void> | undefined;
  #isDraining = false;
  #isClosed = false;

  constructor(options: InFlightOptions) {
    this.#options = options;
  }

  get all(): Iterable<Delivery> {
    return this.#deliveries.values();
  }

  get size(): number {
    return this.#deliveries.size;
  }

  get running(): number {
    return this.#runs.size;
  }

  get waiting(): number {
    return this.#ready.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** In milliseconds; undefined before the first handler has ended. */
  get meanTime(): number | undefined {
    return this.#meanTime;
  }

  /** Deliveries whose outcome is not stored yet. */
  get finished(): number {
    return this.#finished;
  }

  get(at: Cursor): Delivery | undefined {
    return this.#deliveries.get(at);
  }

  /** Adds deliveries in their order, without running handlers. */
  take(claimed: readonly Delivery[]): void {
    if (claimed.length === 0) return;
    const failed = this.#failedKeys();
    for (const delivery of claimed) {
      this.#deliveries.set(delivery.at, delivery);
      this.#bytes += delivery.message?.bytes ?? 0;
      const { message, key } = delivery;
      if (message === undefined) this.#settle(delivery, { isDone: true, isLost: true });
      // The node is stopping, or an earlier message of its key has failed.
      else if (this.#isDraining || (key !== undefined && failed.has(key))) this.#release(delivery);
      else if (message.fault !== undefined) void this.#park(delivery, message.fault);
      else if (delivery.crashCount >= this.#options.attempts) void this.#park(delivery, new Error(CRASHED));
      else if (isToPark(delivery, this.#options)) void this.#park(delivery, undefined);
      else this.#ready.push(delivery);
    }
  }

  async whenFinished(): Promise<void> {
    if (this.#deliveries.size === this.#finished) return;
    this.#allFinished ??= Promise.withResolvers();
    await this.#allFinished.promise;
  }

  /** Drops a delivery whose outcome is stored. */
  remove(delivery: Delivery): void {
    if (this.#deliveries.get(delivery.at) !== delivery) return;
    this.#deliveries.delete(delivery.at);
    this.#bytes -= delivery.message?.bytes ?? 0;
    if (delivery.outcome) this.#finished--;
    this.#resolveIfFinished();
  }

  /** Drops a delivery that another node may have. */
  revoke(delivery: Delivery): void {
    this.remove(delivery);
    this.#ready = this.#ready.filter((other) => other !== delivery);
    const { outcome } = delivery;
    if (outcome?.isDone && !outcome.isLost) this.#options.onLateResult(delivery);
    for (const run of this.#runs) {
      if (run.delivery === delivery) {
        this.#abort(run, new DOMException("The message was given to another process", "AbortError"));
      }
    }
  }

  dispatch(): void {
    const { concurrency, isHeld } = this.#options;
    if (this.#isClosed) return;
    for (let index = 0; index < this.#ready.length && this.#runs.size < concurrency;) {
      const delivery = this.#ready[index]!;
      // After a revocation the handler may still run.
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

  /** Releases messages without a handler, also those that are added from now on. */
  drain(): void {
    this.#isDraining = true;
    this.releaseWaiting();
  }

  /** Releases the messages that wait for a handler. */
  releaseWaiting(): void {
    for (const delivery of this.#ready.splice(0)) this.#release(delivery);
  }

  /** If a handler then throws, this counts as no attempt. */
  abortAll(reason: DOMException): void {
    for (const run of this.#runs) this.#abort(run, reason);
  }

  /** Handlers may still run. */
  close(): void {
    this.#isDraining = this.#isClosed = true;
    this.#cancelWatchdog?.();
    this.#ready = [];
    this.#runs.clear();
    for (const delivery of this.#deliveries.values()) if (!delivery.outcome) this.#release(delivery);
  }

  /** The keys of failed or released deliveries. */
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

  /** The handler has ended, or timed out and may still run. */
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

  /** The key stays busy until then, so later messages of the key wait. */
  async #park(delivery: Delivery, error: unknown): Promise<void> {
    if (delivery.key !== undefined) this.#busyKeys.set(delivery.key, delivery);
    const isDone = await this.#options.park(delivery, error);
    if (!this.#isInFlight(delivery)) this.#free(delivery);
    else if (isDone) this.#settle(delivery, { isDone });
    else {
      const attempt = attemptToPark(delivery, this.#options);
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

  #abort(run: Run, reason: DOMException): void {
    if (run.isInterrupted) return;
    run.isInterrupted = true;
    run.controller.abort(reason);
  }

  #dueAfter(attempt: number): number {
    const { backoff, time } = this.#options;
    const pause = Math.min(backoff * 2 ** (attempt - 1), Math.max(backoff, MAX_BACKOFF));
    return time() + Math.ceil(pause * (1 + Math.random() * JITTER));
  }

  /** One timer for all handlers: the oldest one has the least time left. */
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

type Attempts = Pick<InFlightOptions, "attempts">;

/**
 * The next attempt of a message that failed for good and could not be parked: one too many, so
 * whichever node claims the message parks it without a handler.
 */
function attemptToPark({ attempt }: Delivery, { attempts }: Attempts): number {
  return Math.max(attempt, attempts) + 1;
}

function isToPark({ attempt }: Delivery, { attempts }: Attempts): boolean {
  return attempt > attempts;
}
