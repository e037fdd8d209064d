/** The engine of all streamed bodies: reads of the client pull chunks from a source. */
import { captureContext, outsideRequests } from "../base/async_context.ts";
import { describeError, type Logger, PROCESS_LOGGER } from "../log/log.ts";
import { tracing } from "../log/telemetry.ts";
import { acquireSlot, skipLog, streamProgress } from "./open_streams.ts";
import { type SignedIn, whileSignedIn } from "./sign_in.ts";
import { MAX_TIMER_MS } from "../base/options.ts";

/** A client that accepts nothing for this long is disconnected. An event stream can resume. */
const MAX_STALL_MS = 30_000;

export type Chunk = Uint8Array<ArrayBuffer>;

export interface PullSink {
  /** While a pull waits, the source may enqueue here directly: one chunk reaches many clients. */
  readonly controller: ReadableStreamDefaultController<Chunk> | undefined;
  /** Answers a pull. True: pull the next chunk too; false: wait for the next call of `pull`. */
  write(chunk: Chunk): boolean;
  end(): void;
  fail(error: unknown): void;
}

/** Produces the chunks of a stream, one per pull. */
export interface PullSource {
  /** Requests one chunk, now or later. Not called again before it arrives. */
  pull(sink: PullSink): void;
  /** Cancels the pending pull. If false or absent, a chunk may still arrive. */
  cancelPull?(): boolean;
  /** When the source last enqueued a chunk itself, as `performance.now()`. */
  readonly lastBroadcastAt?: number | undefined;
  /** A heartbeat with more content than that of the stream's kind. */
  heartbeat?(): Chunk | undefined;
  /** Releases the source, also during a pull. Resolves when the source has ended; never rejects. */
  close(): Promise<void> | void;
  setLogger?(logger: Logger): void;
}

export interface StreamOwner extends Logger, SignedIn {
  readonly matched: SignedIn["matched"] & { readonly limits: { readonly streams: number } };
  addCleanup(cleanup: () => unknown): void;
  streamFailed(thrown: unknown): void;
}

export interface StreamKind {
  /** What log entries call such a stream, after "A". */
  readonly name: string;
  /** Whether to pull ahead of the client: each `pull()` of the platform costs more than a chunk. */
  readonly readsAhead: boolean;
  /** Whether a failure or a stop errors the stream, so that no client takes it for complete. */
  readonly breaksOff: boolean;
  readonly heartbeat?: Chunk;
  /** The last chunk when the server stops. */
  readonly farewell?: () => Chunk;
}

/** Pulls chunks from a source at the pace of the client. At most two chunks are buffered. */
export class PullStream implements UnderlyingDefaultSource<Chunk>, PullSink {
  readonly #source: PullSource;
  readonly #kind: StreamKind;
  readonly #stopping: AbortSignal | undefined;
  readonly #heartbeatMs: number | undefined;
  readonly #stop = (): void => {
    if (!this.#closed && this.#kind.farewell) this.controller?.enqueue(this.#kind.farewell());
    this.#endEarly(breakOff("the server stops"));
  };
  controller: ReadableStreamDefaultController<Chunk> | undefined;
  #idleTimer: IdleTimer | undefined;
  /** Settles the pending `pull()` of the platform. Undefined while the client reads nothing. */
  #settlePull: (() => void) | undefined;
  #isPulling = false;
  /** A chunk that arrived while a heartbeat was still queued. */
  #waiting: Chunk | undefined;
  #stalledMs = 0;
  #closed: Promise<void> | undefined;
  #owner: StreamOwner | undefined;
  #releaseSlot: (() => void) | undefined;
  #signedIn: SignedIn | undefined;
  #unwatchSignIn: (() => void) | undefined;

  /** Only a stream with heartbeats disconnects a stalled client. */
  constructor(source: PullSource, kind: StreamKind, stopping?: AbortSignal, heartbeatMs?: number) {
    this.#source = source;
    this.#kind = kind;
    this.#stopping = stopping;
    this.#heartbeatMs = heartbeatMs;
  }

  /**
   * Ends the stream with the client's sign-in, watched from the first read on, and closes its
   * source before the dependencies of the request, whatever reply middleware sends. Throws a 503 if
   * too many streams are open.
   */
  bindTo(owner: StreamOwner): void {
    this.#owner = owner;
    this.#signedIn = owner;
    this.#source.setLogger?.(owner);
    owner.addCleanup(() => this.close());
    this.#releaseSlot = acquireSlot(owner.matched.limits.streams);
  }

  toReadable(): ReadableStream<Chunk> {
    const size = () => this.#onQueued();
    return new ReadableStream(this, this.#kind.readsAhead ? { highWaterMark: 0, size } : { highWaterMark: 0 });
  }

  start(controller: ReadableStreamDefaultController<Chunk>): void {
    this.controller = controller;
    if (!this.#closed) streamProgress.open++;
    if (this.#stopping?.aborted) this.#stop();
    else this.#stopping?.addEventListener("abort", this.#stop);
  }

  pull(): Promise<void> {
    this.#stalledMs = 0;
    if (this.#signedIn) this.#watchSignIn(this.#signedIn);
    if (this.#heartbeatMs !== undefined) this.#idleTimer ??= startIdleTimer(this.#heartbeatMs, () => this.#onIdle());
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#settlePull = resolve;
    if (!this.#waiting || this.#send(this.#waiting)) this.#pullSource();
    return promise;
  }

  cancel(): Promise<void> {
    return this.close();
  }

  write(chunk: Chunk): boolean {
    this.#isPulling = false;
    if (this.#closed) return false;
    if (this.#settlePull) return this.#isPulling = this.#send(chunk);
    this.#waiting = chunk;
    return false;
  }

  end(): void {
    if (this.#closed) return;
    this.controller?.close();
    void this.close();
  }

  fail(error: unknown): void {
    if (this.#closed) return;
    tracing?.fail(error);
    this.#owner?.streamFailed(error);
    (this.#owner ?? PROCESS_LOGGER).log("error", `A ${this.#kind.name} broke off`, { error: describeError(error) });
    skipLog(error);
    this.#endEarly(error);
  }

  #endEarly(reason: unknown): void {
    if (!this.#kind.breaksOff) return this.end();
    if (this.#closed) return;
    this.controller?.error(reason);
    void this.close();
  }

  close(): Promise<void> {
    return this.#closed ??= this.#release();
  }

  async #release(): Promise<void> {
    this.#waiting = undefined;
    this.#releaseSlot?.();
    if (this.controller) streamProgress.open--;
    this.#idleTimer?.stop();
    this.#unwatchSignIn?.();
    this.#stopping?.removeEventListener("abort", this.#stop);
    await this.#source.close();
  }

  #pullSource(): void {
    if (this.#isPulling) return;
    this.#isPulling = true;
    this.#source.pull(this);
  }

  /** Returns whether the client accepts another chunk. */
  #send(chunk: Chunk): boolean {
    this.#waiting = undefined;
    this.#idleTimer?.reset();
    streamProgress.chunks++;
    this.controller!.enqueue(chunk);
    if (!this.#kind.readsAhead) this.#endPull();
    return this.#settlePull !== undefined;
  }

  /** Called only for a chunk that no read awaits: `pull()` follows when the client has read it. */
  #onQueued(): number {
    this.#endPull();
    if (this.#isPulling && this.#source.cancelPull?.()) this.#isPulling = false;
    return 1;
  }

  #watchSignIn(request: SignedIn): void {
    this.#signedIn = undefined;
    this.#unwatchSignIn = whileSignedIn(request, () => this.#endEarly(breakOff("the sign-in has ended")));
  }

  #endPull(): void {
    this.#settlePull?.();
    this.#settlePull = undefined;
  }

  /** Sends a heartbeat, or ends a stalled stream. Returns the age of a recent broadcast. */
  #onIdle(): number | undefined {
    const heartbeatMs = this.#heartbeatMs!;
    if (this.#settlePull) {
      const { lastBroadcastAt = -Infinity } = this.#source;
      const silence = performance.now() - lastBroadcastAt;
      if (silence < heartbeatMs) return silence;
      const heartbeat = this.#source.heartbeat?.() ?? this.#kind.heartbeat;
      if (heartbeat) this.#send(heartbeat);
    } else {
      this.#stalledMs += heartbeatMs;
      if (this.#stalledMs >= MAX_STALL_MS) this.end();
    }
    return undefined;
  }
}

/** Deno.serve prints the stack of this error, which says nothing here. */
function breakOff(reason: string): Error {
  const error = new Error(`A streamed reply broke off, because ${reason}`);
  error.stack = String(error);
  skipLog(error);
  return error;
}

export interface NextValue {
  readonly done?: boolean | undefined;
  readonly value?: unknown;
}

export interface ValueIterator {
  next(): Promise<NextValue>;
  return?(): Promise<unknown>;
}

interface IteratorSourceOptions {
  /** A value without bytes is skipped. */
  readonly encode: (value: unknown) => Chunk;
  readonly kind: StreamKind;
  readonly opening?: Chunk | undefined;
}

export class IteratorSource implements PullSource {
  readonly #iterator: ValueIterator;
  readonly #encode: (value: unknown) => Chunk;
  readonly #kind: StreamKind;
  /** The iterator runs in the async context of its request. */
  readonly #runInContext = captureContext();
  #opening: Chunk | undefined;
  #peeked: Promise<NextValue> | undefined;
  #isBusy = false;
  #logger = PROCESS_LOGGER;
  /** Whether the iterator has ended itself: `return()` must not be called then. */
  #hasEnded = false;
  #isClosed = false;

  constructor(iterator: ValueIterator, { encode, kind, opening }: IteratorSourceOptions) {
    this.#iterator = iterator;
    this.#encode = encode;
    this.#kind = kind;
    this.#opening = opening;
  }

  setLogger(logger: Logger): void {
    this.#logger = logger;
  }

  /** Produces the first value before the stream is read. It is still sent. */
  peek(): Promise<NextValue> {
    return this.#peeked = this.#first();
  }

  pull(sink: PullSink): void {
    const opening = this.#opening;
    this.#opening = undefined;
    if (!opening || sink.write(opening)) void this.#runInContext(() => this.#write(sink));
  }

  /** Does not wait for a value in progress, which may never come. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isBusy) await this.#runInContext(() => this.#return());
    // V8 loses the async context of a generator whose `return()` is called while it runs.
    else if (!isGenerator(this.#iterator)) void this.#return();
  }

  async #write(sink: PullSink): Promise<void> {
    let chunk: Chunk;
    do {
      try {
        this.#isBusy = true;
        const { done = false, value } = await (this.#peeked ?? this.#iterator.next());
        this.#isBusy = false;
        this.#peeked = undefined;
        this.#hasEnded = done;
        if (this.#isClosed) return isGenerator(this.#iterator) ? await this.#return() : undefined;
        if (done) return sink.end();
        chunk = this.#encode(value);
      } catch (error) {
        // An iterator that throws has ended. One whose value cannot be encoded has not.
        this.#hasEnded ||= this.#isBusy;
        return sink.fail(error);
      }
    } while (chunk.length === 0 || sink.write(chunk));
  }

  async #first(): Promise<NextValue> {
    this.#isBusy = true;
    try {
      const result = await this.#iterator.next();
      this.#isBusy = false;
      this.#hasEnded = result.done === true;
      return result;
    } catch (error) {
      this.#hasEnded = true;
      throw error;
    }
  }

  async #return(): Promise<void> {
    try {
      if (!this.#hasEnded) await this.#iterator.return?.();
    } catch (error) {
      this.#logger.log("error", `The source of a ${this.#kind.name} failed to end`, { error: describeError(error) });
    }
  }
}

/** A generator queues `return()` until it has produced its value. */
function isGenerator(iterator: ValueIterator): boolean {
  return Object.prototype.toString.call(iterator) === "[object AsyncGenerator]";
}

/** The turns in one silence, which is noticed up to one turn early. */
const TURNS = 16;

const wheels = new Map<number, TimingWheel>();

/** `onIdle` can return the age of other activity in milliseconds: the silence counts from there. */
export function startIdleTimer(ms: number, onIdle: () => number | undefined): IdleTimer {
  let wheel = wheels.get(ms);
  if (!wheel) {
    wheel = new TimingWheel(ms, () => wheels.delete(ms));
    wheels.set(ms, wheel);
  }
  return wheel.start(onIdle);
}

/**
 * Idle timers of many connections on one interval of the platform: resetting a platform timer at
 * each event costs hundreds of times as much as storing the number of a turn. Each turn checks only
 * the timers that may be due.
 */
export class TimingWheel {
  turns = 0;
  readonly #ms: number;
  readonly #onEmpty: () => void;
  readonly #slots: readonly Set<IdleTimer>[] = Array.from({ length: TURNS }, () => new Set());
  #size = 0;
  #interval: ReturnType<typeof setInterval> | undefined;

  constructor(ms: number, onEmpty: () => void) {
    this.#ms = ms;
    this.#onEmpty = onEmpty;
  }

  start(onIdle: () => number | undefined): IdleTimer {
    const timer = new IdleTimer(this, onIdle);
    this.#insert(timer);
    if (this.#size++ === 0) void outsideRequests(() => this.#startInterval());
    return timer;
  }

  #startInterval(): void {
    if (this.#size === 0 || this.#interval !== undefined) return;
    this.#interval = setInterval(() => this.turn(), Math.min(this.#ms / TURNS, MAX_TIMER_MS));
    // Connections keep the program alive, not their timers.
    Deno.unrefTimer(this.#interval);
  }

  stop(timer: IdleTimer): void {
    if (!this.#slotAt(timer.dueAt).delete(timer) || --this.#size > 0) return;
    clearInterval(this.#interval);
    this.#interval = undefined;
    this.#onEmpty();
  }

  turn(): void {
    this.turns++;
    const due = this.#slotAt(this.turns);
    const timers = [...due];
    due.clear();
    // Insert all timers again before the first one fires: it may stop others.
    const idle = timers.filter((timer) => {
      const isIdle = this.turns - timer.activeAt >= TURNS;
      if (isIdle) timer.reset();
      this.#insert(timer);
      return isIdle;
    });
    for (const timer of idle) {
      if (!this.#slotAt(timer.dueAt).has(timer)) continue;
      const ago = timer.onIdle();
      if (ago === undefined || !this.#slotAt(timer.dueAt).delete(timer)) continue;
      timer.activeAt = this.turns - Math.min(Math.ceil(ago * TURNS / this.#ms), TURNS - 1);
      this.#insert(timer);
    }
  }

  #insert(timer: IdleTimer): void {
    timer.dueAt = timer.activeAt + TURNS;
    this.#slotAt(timer.dueAt).add(timer);
  }

  #slotAt(turn: number): Set<IdleTimer> {
    return this.#slots[turn % TURNS]!;
  }
}

export class IdleTimer {
  readonly onIdle: () => number | undefined;
  activeAt: number;
  /** The turn that checks this timer next. */
  dueAt = 0;
  readonly #wheel: TimingWheel;

  constructor(wheel: TimingWheel, onIdle: () => number | undefined) {
    this.#wheel = wheel;
    this.onIdle = onIdle;
    this.activeAt = wheel.turns;
  }

  reset(): void {
    this.activeAt = this.#wheel.turns;
  }

  stop(): void {
    this.#wheel.stop(this);
  }
}
