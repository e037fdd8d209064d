/** The messages that a node has claimed, and their handlers. It does not know the record. */
import { type FailedMessage, isDiscard, type ResolvedBatch } from "../../topics/consume_options.ts";
import type { Cursor } from "../../store/topic_store.ts";
import type { Clock } from "../../base/clock.ts";
import type { ReadMessage } from "./log_window.ts";
import type { PermitNeed, Permits } from "./permits.ts";
import { type DueMessages, ReadyMessages } from "./ready_messages.ts";
import type { Delivery, Outcome } from "./delivery.ts";

export interface InFlightOptions {
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoff: number;
  readonly pauses?: readonly number[];
  readonly pauseAfter?: (error: unknown, attempt: number) => number | undefined;
  readonly timeout: number;
  readonly batch: ResolvedBatch | undefined;
  /** Undefined if the consumer has no rate. */
  readonly permits: Permits | undefined;
  /** Messages wait for permits. */
  readonly onWithoutPermits: () => void;
  readonly clock: Clock;
  /** The time of the store, in milliseconds since 1970. */
  readonly time: () => number;
  readonly isHeld: () => boolean;
  /** The result is the messages that failed. */
  readonly handle: (
    messages: readonly ReadMessage[],
    attempt: number,
    signal: AbortSignal,
  ) => Promise<readonly FailedMessage[]>;
  /** Publishes a dead letter or stores the failure. It never rejects; false: try again later. */
  readonly park: (delivery: Delivery, error: unknown) => Promise<boolean>;
  /** Another attempt will follow. */
  readonly onFailure: (deliveries: readonly Delivery[], error: unknown) => void;
  /** A handler resolved after its timeout, or after another node got the message: it is done. */
  readonly onLateResult: (delivery: Delivery) => void;
  readonly onOutcome: (delivery: Delivery) => void;
}

interface Run {
  /** One, or those of a batch. */
  readonly deliveries: readonly Delivery[];
  readonly controller: AbortController;
  readonly begin: number;
  /** Its signal was aborted before its timeout: an error counts as no attempt. */
  isInterrupted: boolean;
}

/** The deliveries that failed, with their errors. */
type Failed = ReadonlyMap<Delivery, unknown>;

/** The longest backoff in milliseconds, unless the first one is longer. */
const MAX_BACKOFF = 3_600_000;
/** The largest random part of a backoff that is added. */
const JITTER = 1 / 4;
/** The weight of one handler in the mean time. */
const MEAN_WEIGHT = 1 / 32;
const RETURNED = withoutStack("The handler returned the message as failed");
const CRASHED = "Cannot handle the message: the processes that had it have ended, each of them before it was done";

export class InFlight {
  readonly #options: InFlightOptions;
  readonly #deliveries = new Map<Cursor, Delivery>();
  readonly #ready: ReadyMessages;
  /** The oldest first. */
  readonly #runs = new Set<Run>();
  /** The messages whose handlers run, also those that are no longer in flight. */
  readonly #running = new Set<Cursor>();
  /** Keys of messages that are being handled or parked. */
  readonly #busyKeys = new Map<string, Set<Delivery>>();
  #finished = 0;
  #meanTime: number | undefined;
  #bytes = 0;
  #cancelWatchdog: (() => void) | undefined;
  #cancelBatch: (() => void) | undefined;
  #allFinished: PromiseWithResolvers<void> | undefined;
  #isDraining = false;
  #isClosed = false;

  constructor(options: InFlightOptions) {
    this.#options = options;
    this.#ready = new ReadyMessages(options.batch);
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
    return this.#ready.size;
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
    const now = this.#options.clock.now();
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
      else this.#ready.add(delivery, now);
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
    this.#ready.remove([delivery]);
    const { outcome } = delivery;
    if (outcome?.isDone && !outcome.isLost) this.#options.onLateResult(delivery);
    for (const run of this.#runs) {
      // The rest of a batch goes on.
      if (!run.deliveries.includes(delivery) || run.deliveries.some((other) => this.#isInFlight(other))) continue;
      this.#abort(run, new DOMException("The message was given to another process", "AbortError"));
    }
  }

  dispatch(): void {
    const { concurrency, isHeld, clock } = this.#options;
    this.#cancelBatch?.();
    this.#cancelBatch = undefined;
    let now = clock.now();
    for (; !this.#isClosed && this.#runs.size < concurrency; now = clock.now()) {
      const [due] = this.#ready.due(now, this.#isBusy);
      if (due === undefined) break;
      if (!isHeld()) return;
      const deliveries = this.#permitted(due);
      if (deliveries.length === 0) {
        this.#options.onWithoutPermits();
        break;
      }
      this.#ready.remove(deliveries);
      void this.#run(deliveries);
    }
    this.#watchBatch(now);
  }

  /**
   * Uses permits for the messages of a handler: for all of them, or for a part if they are late.
   */
  #permitted(due: DueMessages): readonly Delivery[] {
    const { permits } = this.#options;
    if (!permits) return due.deliveries;
    const count = Math.min(due.deliveries.length, Math.max(this.#leastOf(due), permits.usable));
    return permits.use(count) ? due.deliveries.slice(0, count) : [];
  }

  /** A batch waits for permits of all its messages, but no longer than in which all are renewed. */
  #leastOf(due: DueMessages): number {
    return this.#options.clock.now() < this.#patienceOf(due) ? due.deliveries.length : 1;
  }

  #patienceOf({ since }: DueMessages): number {
    const { batch, permits } = this.#options;
    return since + (batch?.wait ?? 0) + permits!.per;
  }

  /** The messages that could begin now and lack permits, by handlers. */
  get withoutPermits(): readonly PermitNeed[] {
    const { permits, concurrency, clock } = this.#options;
    if (!permits) return [];
    let { usable } = permits;
    const needs: PermitNeed[] = [];
    let free = concurrency - this.#runs.size;
    for (const due of this.#ready.due(clock.now(), this.#isBusy)) {
      if (free-- <= 0) break;
      const all = due.deliveries.length - usable;
      usable = Math.max(0, -all);
      if (all > 0) needs.push({ all, least: Math.min(all, this.#leastOf(due)), patientUntil: this.#patienceOf(due) });
    }
    return needs;
  }

  /**
   * When a batch has waited long enough, its handler begins. `now` is the time of the last look.
   */
  #watchBatch(now: number): void {
    const { concurrency, batch, clock } = this.#options;
    if (!batch || this.#isClosed || this.#runs.size >= concurrency) return;
    const next = this.#ready.nextDue(now, this.#isBusy);
    if (next < Infinity) this.#cancelBatch = clock.after(Math.ceil(next - now), () => this.dispatch());
  }

  // After a revocation the handler may still run.
  readonly #isBusy = ({ at, key }: Delivery): boolean => {
    return this.#running.has(at) || (key !== undefined && this.#busyKeys.has(key));
  };

  /** Releases messages without a handler, also those that are added from now on. */
  drain(): void {
    this.#isDraining = true;
    this.releaseWaiting();
  }

  /** Releases the messages that wait for a handler. */
  releaseWaiting(): void {
    for (const delivery of this.#ready.removeAll()) this.#release(delivery);
  }

  /** If a handler then throws, this counts as no attempt. */
  abortAll(reason: DOMException): void {
    for (const run of this.#runs) this.#abort(run, reason);
  }

  /** Handlers may still run. */
  close(): void {
    this.#isDraining = this.#isClosed = true;
    this.#cancelWatchdog?.();
    this.#cancelBatch?.();
    this.#ready.removeAll();
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

  async #run(deliveries: readonly Delivery[]): Promise<void> {
    const { clock, handle } = this.#options;
    const run: Run = { deliveries, controller: new AbortController(), begin: clock.now(), isInterrupted: false };
    this.#runs.add(run);
    for (const delivery of deliveries) {
      this.#running.add(delivery.at);
      this.#occupy(delivery);
    }
    this.#watch();
    try {
      const messages = deliveries.map(({ message }) => message!);
      this.#end(run, withErrors(deliveries, await handle(messages, deliveries[0]!.attempt, run.controller.signal)));
    } catch (thrown) {
      // `undefined` can be thrown, too.
      const error = thrown ?? new TypeError("The handler threw nothing");
      this.#end(run, new Map(deliveries.map((delivery) => [delivery, error])));
    }
  }

  /** The handler has ended, or timed out and may still run. */
  #end(run: Run, failed: Failed): void {
    const isLate = !this.#runs.delete(run);
    const done = run.deliveries.filter((delivery) => !failed.has(delivery));
    if (isLate) {
      for (const delivery of done) this.#options.onLateResult(delivery);
      return;
    }
    const time = this.#options.clock.now() - run.begin;
    this.#meanTime = this.#meanTime === undefined ? time : this.#meanTime + (time - this.#meanTime) * MEAN_WEIGHT;
    for (const delivery of run.deliveries) this.#running.delete(delivery.at);
    for (const delivery of done) {
      if (this.#isInFlight(delivery)) this.#settle(delivery, { isDone: true });
      else {
        this.#free(delivery);
        this.#options.onLateResult(delivery);
      }
    }
    if (failed.size > 0) this.#endFailed(run, failed);
    this.dispatch();
  }

  #endFailed({ isInterrupted }: Run, failed: Failed): void {
    // One time for all, so that they are one batch again.
    const after = this.#backoff();
    for (const [error, deliveries] of Map.groupBy(failed.keys(), (delivery) => failed.get(delivery))) {
      for (const delivery of deliveries) if (!this.#isInFlight(delivery)) this.#free(delivery);
      const own = deliveries.filter((delivery) => this.#isInFlight(delivery));
      if (own.length === 0) continue;
      // The messages of a batch are for the same attempt.
      const { attempt } = own[0]!;
      if (isInterrupted) { for (const delivery of own) this.#release(delivery); }
      else if (isDiscard(error) || attempt >= this.#options.attempts) {
        for (const delivery of own) void this.#park(delivery, error);
      } else {
        this.#options.onFailure(own, error);
        const due = after(attempt, error);
        for (const delivery of own) this.#settle(delivery, { isDone: false, attempt: attempt + 1, due });
      }
    }
  }

  /** The key stays busy until then, so later messages of the key wait. */
  async #park(delivery: Delivery, error: unknown): Promise<void> {
    this.#occupy(delivery);
    const isDone = await this.#options.park(delivery, error);
    if (!this.#isInFlight(delivery)) this.#free(delivery);
    else if (isDone) this.#settle(delivery, { isDone });
    else {
      const attempt = attemptToPark(delivery, this.#options);
      this.#settle(delivery, { isDone: false, attempt, due: this.#backoff()(this.#options.attempts) });
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
      for (const other of this.#ready.removeAll(key)) this.#release(other);
    }
    this.#resolveIfFinished();
    this.#options.onOutcome(delivery);
  }

  #resolveIfFinished(): void {
    if (this.#deliveries.size > this.#finished) return;
    this.#allFinished?.resolve();
    this.#allFinished = undefined;
  }

  #occupy(delivery: Delivery): void {
    const { key } = delivery;
    if (key === undefined) return;
    const holders = this.#busyKeys.get(key) ?? new Set();
    this.#busyKeys.set(key, holders.add(delivery));
  }

  #free(delivery: Delivery): void {
    const holders = delivery.key === undefined ? undefined : this.#busyKeys.get(delivery.key);
    if (holders?.delete(delivery) && holders.size === 0) this.#busyKeys.delete(delivery.key!);
  }

  #isInFlight(delivery: Delivery): boolean {
    return this.#deliveries.get(delivery.at) === delivery && delivery.outcome === undefined;
  }

  #abort(run: Run, reason: DOMException): void {
    if (run.isInterrupted) return;
    run.isInterrupted = true;
    run.controller.abort(reason);
  }

  /** Returns when the attempt after another one is due. */
  #backoff(): (attempt: number, error?: unknown) => number {
    const { backoff, pauses, pauseAfter, time } = this.#options;
    const now = time();
    const stretch = 1 + Math.random() * JITTER;
    return (attempt, error) => {
      const pause = (error === undefined ? undefined : pauseAfter?.(error, attempt)) ??
        pauses?.[Math.min(attempt, pauses.length) - 1] ??
        Math.min(backoff * 2 ** (attempt - 1), Math.max(backoff, MAX_BACKOFF));
      return now + Math.ceil(pause * stretch);
    };
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
        this.#end(run, new Map(run.deliveries.map((delivery) => [delivery, thrown])));
      }
      this.#watch();
    });
  }
}

function withErrors(deliveries: readonly Delivery[], failed: readonly FailedMessage[]): Failed {
  if (failed.length === 0) return new Map();
  const errors = new Map(
    failed.map((entry) => typeof entry === "string" ? [entry, RETURNED] : [entry.id, entry.error]),
  );
  return new Map(deliveries.flatMap((delivery) => {
    const { id } = delivery.message!.message;
    // `undefined` is an error, too.
    return errors.has(id) ? [[delivery, errors.get(id) ?? RETURNED] as const] : [];
  }));
}

function withoutStack(message: string): Error {
  const error = new Error(message);
  error.stack = `${error.name}: ${message}`;
  return error;
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
