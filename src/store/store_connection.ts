/** A connection to a store. It abandons requests that hang, and repeats those that fail. */
import { detached, log } from "../log/log.ts";
import { Semaphore } from "./semaphore.ts";
import { cannotOpen, innermostReason, reasonOf } from "./cannot_open.ts";
import { CannotOpenError, UnsuitableStoreError } from "./topic_store.ts";

export interface StoreEngine {
  /** In milliseconds since 1970, by the store; by default the time of this machine. */
  now?(): number;
  refreshClock?(): Promise<unknown> | undefined;
  close(): void;
}

export interface StoreConnectionOptions<Engine> {
  readonly name: string;
  /** The signal abandons it. A {@linkcode CannotOpenError} is final. */
  readonly open: (signal: AbortSignal) => Promise<Engine>;
  /** A request without an effect. */
  readonly probe: (engine: Engine) => Promise<unknown>;
  /** Another process uses the store for some milliseconds. */
  readonly isBusy?: (error: unknown) => boolean;
  /** The store has answered that it has too many connections. */
  readonly isFull?: (error: unknown) => boolean;
  /** In ms, 3 s by default: then the request is abandoned, and the store opened again. */
  readonly requestTimeout?: number;
  /** In milliseconds, 30 s by default. */
  readonly retryTimeout?: number;
  /** How long a start waits for the first answer, in milliseconds, 10 s by default. */
  readonly openTimeout?: number;
  /** How many writes are under way at once, each on a connection of its own; all by default. */
  readonly maxWrites?: number;
  /** By default true. One of several connections logs outages. */
  readonly isLogged?: boolean;
}

/** A full disk still serves reads, so there are outages of two kinds. */
export type Kind = "read" | "write";

interface PendingRequest {
  readonly answer: Promise<unknown>;
  readonly abandon: (reason: unknown) => void;
}

const DEFAULTS = {
  isBusy: () => false,
  isFull: () => false,
  requestTimeout: 3_000,
  retryTimeout: 30_000,
  openTimeout: 10_000,
  maxWrites: Infinity,
  isLogged: true,
};
/** How long a close waits for requests, in milliseconds. */
const CLOSE_TIMEOUT = 3_000;
/** A file that is busy for longer is logged, in milliseconds. */
const MAX_BUSY = 3_000;
const MAX_PAUSE = 500;
/** Without another attempt, an outage of one kind is forgotten after so many milliseconds. */
const OUTAGE_MEMORY = 60_000;
/** Another process locks a file for a few milliseconds. */
const MAX_BUSY_PAUSE = 20;

export class StoreConnection<Engine extends StoreEngine> {
  readonly #options: Required<StoreConnectionOptions<Engine>>;
  readonly #closing = new AbortController();
  /** Abandoned requests stay here until they end. */
  readonly #pending = new Set<PendingRequest>();
  #engine: Promise<Engine> | undefined;
  /** The last one, also while it is being replaced. */
  #latest: Engine | undefined;
  #opening = new AbortController();
  /** The kinds that fail now, with their last failure by `performance.now()`. */
  readonly #outages = new Map<Kind, number>();

  readonly #writes: Semaphore;

  constructor(options: StoreConnectionOptions<Engine>) {
    this.#options = { ...DEFAULTS, ...options };
    this.#writes = new Semaphore(this.#options.maxWrites);
  }

  get retryTimeout(): number {
    return this.#options.retryTimeout;
  }

  /** By the store, or by this machine before it is open. */
  now(): number {
    return this.#latest?.now?.() ?? Date.now();
  }

  /**
   * Sends a request, and repeats it when it fails or has no answer. It must be safe to repeat: the
   * store may carry out an abandoned request at any later time.
   *
   * @throws {CannotOpenError} If the store cannot be opened, and never was.
   * @throws {UnsuitableStoreError} If the request can never be carried out.
   */
  async use<Result>(
    action: (engine: Engine) => Promise<Result>,
    signal?: AbortSignal,
    kind: Kind = "read",
  ): Promise<Result> {
    if (kind === "read" || this.#options.maxWrites === Infinity) return await this.#repeat(action, signal, kind);
    try {
      return await this.#writes.use(() => this.#repeat(action, signal, kind));
    } catch (error) {
      // The store cannot be reached: the waiting writes would fail, too, one after another.
      if (!signal?.aborted) this.#writes.failWaiters(error, this.retryTimeout);
      throw error;
    }
  }

  async #repeat<Result>(
    action: (engine: Engine) => Promise<Result>,
    signal: AbortSignal | undefined,
    kind: Kind,
  ): Promise<Result> {
    const begin = performance.now();
    for (let attempt = 1;; attempt++) {
      this.throwIfClosed();
      signal?.throwIfAborted();
      try {
        const result = await this.#attempt(action, signal);
        if (this.#outages.size > 0) this.#recordSuccess(kind);
        return result;
      } catch (error) {
        this.throwIfClosed();
        signal?.throwIfAborted();
        if (error instanceof UnsuitableStoreError) throw error;
        // A store that was open before may be restarting behind a proxy. An earlier attempt may
        // have written.
        if (error instanceof CannotOpenError && !this.#latest) throw error;
        const isBusy = this.#options.isBusy(error);
        const time = performance.now() - begin;
        if (isBusy ? time > MAX_BUSY : attempt > 1) this.#recordFailure(kind, error);
        if (time > this.retryTimeout) throw this.#noAnswer(error);
        const longest = isBusy ? MAX_BUSY_PAUSE : Math.min(MAX_PAUSE, 10 * 2 ** attempt);
        const end = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
        await pause(Math.random() * longest, end);
      }
    }
  }

  /**
   * Opens the store and sends one request. It is repeated for some seconds: the store may start at
   * the same time, and a wrong address must not look like an outage.
   *
   * @throws {CannotOpenError} If the store can never be opened, or nothing has answered.
   */
  async open(): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#options.openTimeout);
    const end = AbortSignal.any([late.signal, this.#closing.signal]);
    let reason = "no answer";
    let isRefused = false;
    try {
      while (!end.aborted) {
        try {
          await this.#attempt(this.#options.probe, end);
          if (this.#outages.size > 0) this.#recordSuccess("read");
          return;
        } catch (error) {
          if (error instanceof CannotOpenError) throw error;
          if (end.aborted) break;
          reason = innermostReason(error);
          isRefused = this.#options.isFull(error);
          this.#recordFailure("read", error);
          await pause(MAX_PAUSE, end);
        }
      }
    } finally {
      clearTimeout(timer);
    }
    this.throwIfClosed();
    const [what, cure] = isRefused
      ? ["it has refused each connection", "close some there, or raise its limits"]
      : ["nothing has answered there", "check the address, or start the store before"];
    throw cannotOpen(this.#options.name, `${what} for ${this.#options.openTimeout / 1_000} s (${reason}), ${cure}`);
  }

  /** The next request opens the store again. */
  reopen(): void {
    const engine = this.#engine;
    this.#engine = undefined;
    // It may never finish opening.
    this.#opening.abort();
    engine?.then((engine) => closeQuietly(engine), () => {});
  }

  /** Waits for requests, for a short time. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const drained = new AbortController();
    const answers = Promise.allSettled(Array.from(this.#pending, ({ answer }) => answer));
    await Promise.race([answers, pause(Math.min(CLOSE_TIMEOUT, this.#options.requestTimeout), drained.signal)]);
    drained.abort();
    this.#closing.abort();
    for (const { abandon } of this.#pending) abandon(this.#closing.signal.reason);
    this.reopen();
  }

  #attempt<Result>(action: (engine: Engine) => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
    const opening = this.#opened();
    const answer = opening.then((engine) => {
      const refreshing = engine.refreshClock?.();
      return refreshing ? refreshing.then(() => action(engine)) : action(engine);
    });
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const release = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const abandon = (reason: unknown): void => {
      release();
      reject(reason);
    };
    const onAbort = (): void => abandon(signal!.reason);
    const timer = setTimeout(() => {
      abandon(new Error(`No answer within ${this.#options.requestTimeout} ms`));
      if (this.#engine === opening) this.reopen();
    }, this.#options.requestTimeout);
    // The request itself keeps the process alive.
    Deno.unrefTimer(timer);
    signal?.addEventListener("abort", onAbort);
    const request: PendingRequest = { answer, abandon };
    this.#pending.add(request);
    answer.then(resolve, reject).finally(() => {
      this.#pending.delete(request);
      release();
    });
    return promise;
  }

  #opened(): Promise<Engine> {
    if (this.#engine) return this.#engine;
    this.#opening = new AbortController();
    const { signal } = this.#opening;
    const opening = this.#engine = detached(() => this.#options.open(signal));
    opening.then((engine) => this.#latest = engine, () => {
      if (this.#engine === opening) this.#engine = undefined;
    });
    return opening;
  }

  /** @throws {Error} If it is closed. */
  throwIfClosed(): void {
    if (this.#closing.signal.aborted) {
      throw new Error(`Cannot use the store of topics "${this.#options.name}": it is closed`);
    }
  }

  #noAnswer(cause: unknown): Error {
    const seconds = Math.round(this.retryTimeout / 1000);
    const message = `Cannot use the store of topics "${this.#options.name}": it did not answer for ${seconds} s, ${
      reasonOf(cause)
    }`;
    return new Error(message, { cause });
  }

  #recordFailure(kind: Kind, error: unknown): void {
    const isKnown = this.#outages.size > 0;
    this.#outages.set(kind, performance.now());
    if (isKnown || !this.#options.isLogged) return;
    const fields = { store: this.#options.name, reason: reasonOf(error) };
    log("warn", "The store of topics does not answer and is retried", fields);
  }

  #recordSuccess(kind: Kind): void {
    for (const [failing, time] of this.#outages) {
      // A request of the other kind may never be repeated.
      if (failing === kind || performance.now() - time > OUTAGE_MEMORY) this.#outages.delete(failing);
    }
    if (this.#outages.size > 0 || !this.#options.isLogged) return;
    log("info", "The store of topics answers again", { store: this.#options.name });
  }
}

function closeQuietly(engine: StoreEngine): void {
  try {
    engine.close();
  } catch {
    // It is closed already.
  }
}

/** Or until the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end);
  return promise;
}

/** In ms. If the clocks of this machine differ by more, the store's time is requested. */
const CLOCK_TOLERANCE = 2_000;
const CLOCK_INTERVAL = 1_000;

/**
 * An estimate of a store's clock by its replies. Between them it advances by `performance.now()`,
 * since the wall clock may be set at any moment.
 */
export class StoreClock {
  readonly #precision: number;
  /** To `performance.now()`, in milliseconds; undefined before the first reply. */
  #skew: number | undefined;
  #notedAt = -Infinity;
  /** The wall clock at that moment, less `performance.now()`. */
  #wallSkew = 0;

  /** `precision`: so many milliseconds may the times of replies be behind. */
  constructor(precision = 0) {
    this.#precision = precision;
  }

  /** In milliseconds since 1970; this machine's time before the first reply. */
  now(): number {
    return this.#skew === undefined ? Date.now() : performance.now() + this.#skew;
  }

  get isDue(): boolean {
    return performance.now() - this.#notedAt > CLOCK_INTERVAL || this.isUncertain;
  }

  /**
   * The two clocks of this machine disagree about the time since the last reply: the wall clock was
   * set, or the machine slept and `performance.now()` stood still.
   */
  get isUncertain(): boolean {
    return this.#skew !== undefined && Math.abs(wallSkew() - this.#wallSkew) > CLOCK_TOLERANCE;
  }

  /**
   * Reads the time of a reply.
   *
   * @param time As `Date.parse` reads it; it may be missing or malformed.
   * @param begin When the request was sent, by `performance.now()`.
   */
  note(time: string | null, begin: number): void {
    const now = performance.now();
    this.#notedAt = now;
    this.#wallSkew = wallSkew();
    const sent = Date.parse(time ?? "");
    if (Number.isNaN(sent)) return;
    // The reply bounds the difference. A known one that fits is more exact than the bounds.
    const known = this.#skew ?? this.#wallSkew;
    this.#skew = Math.min(Math.max(known, sent - now), sent + this.#precision - begin);
  }
}

function wallSkew(): number {
  return Date.now() - performance.now();
}
