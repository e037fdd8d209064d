import { describeError, log } from "../../log.ts";
import type { DataEncoding } from "./event.ts";

/**
 * Watches many connections for silence with one timer. A timer for each would be set anew at each event, which takes hundreds of
 * times as long as noting the turn of a wheel.
 */

/** How many turns make the silence that is noticed. It is noticed at most one turn too early. */
const TURNS = 16;

/** A timer that is told to wait longer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

const wheels = new Map<number, IdleWheel>();

/**
 * Watches a connection, whose silence begins now. All who ask for the same length share a wheel.
 *
 * @param ms The silence that is noticed, in milliseconds.
 * @param onIdle Called after each silence of that length. It tells where something happened of which the watch was not told: how
 *   many milliseconds ago.
 */
export function watchIdle(ms: number, onIdle: () => number | undefined): IdleWatch {
  let wheel = wheels.get(ms);
  if (!wheel) {
    wheel = new IdleWheel(ms, () => wheels.delete(ms));
    wheels.set(ms, wheel);
  }
  return wheel.watch(onIdle);
}

/** A timing wheel: each turn looks at those whose silence may have become long enough by then, and at no others. */
export class IdleWheel {
  /** How many turns there have been. */
  turns = 0;
  readonly #ms: number;
  readonly #onEmpty: () => void;
  readonly #slots: readonly Set<IdleWatch>[] = Array.from({ length: TURNS }, () => new Set());
  #size = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * Makes a wheel, which stands still until something is watched.
   *
   * @param ms The silence that is noticed, in milliseconds.
   * @param onEmpty Called when nothing is watched any more.
   */
  constructor(ms: number, onEmpty: () => void) {
    this.#ms = ms;
    this.#onEmpty = onEmpty;
  }

  /** Watches a connection, whose silence begins now. */
  watch(onIdle: () => number | undefined): IdleWatch {
    const watch = new IdleWatch(this, onIdle);
    this.#enter(watch);
    if (this.#size++ === 0) {
      this.#timer = setInterval(() => this.turn(), Math.min(this.#ms / TURNS, MAX_TIMEOUT));
      // What is watched keeps the program alive, or nothing does.
      Deno.unrefTimer(this.#timer);
    }
    return watch;
  }

  /** Ends a watch. */
  remove(watch: IdleWatch): void {
    if (!this.#slotAt(watch.dueAt).delete(watch) || --this.#size > 0) return;
    clearInterval(this.#timer);
    this.#onEmpty();
  }

  /** One turn, which the timer makes. */
  turn(): void {
    this.turns++;
    const due = this.#slotAt(this.turns);
    const watches = [...due];
    due.clear();
    // All are entered again before the first is called, who may end others, which are then not called any more.
    const idle = watches.filter((watch) => {
      const isIdle = this.turns - watch.activeAt >= TURNS;
      if (isIdle) watch.touch();
      this.#enter(watch);
      return isIdle;
    });
    for (const watch of idle) {
      if (!this.#slotAt(watch.dueAt).has(watch)) continue;
      const ago = watch.onIdle();
      if (ago !== undefined && this.#slotAt(watch.dueAt).delete(watch)) this.#enterSince(watch, ago);
    }
  }

  #enterSince(watch: IdleWatch, ago: number): void {
    watch.activeAt = this.turns - Math.min(Math.ceil(ago * TURNS / this.#ms), TURNS - 1);
    this.#enter(watch);
  }

  #enter(watch: IdleWatch): void {
    watch.dueAt = watch.activeAt + TURNS;
    this.#slotAt(watch.dueAt).add(watch);
  }

  #slotAt(turn: number): Set<IdleWatch> {
    return this.#slots[turn % TURNS]!;
  }
}

/** The watch over one connection. */
export class IdleWatch {
  /** Called after each silence. */
  readonly onIdle: () => number | undefined;
  /** The turn in which something happened last. */
  activeAt: number;
  /** The turn that looks at it next. */
  dueAt = 0;
  readonly #wheel: IdleWheel;

  /** Made by {@linkcode IdleWheel.watch}. */
  constructor(wheel: IdleWheel, onIdle: () => number | undefined) {
    this.#wheel = wheel;
    this.onIdle = onIdle;
    this.activeAt = wheel.turns;
  }

  /** Notes that something happened: silence begins anew. */
  touch(): void {
    this.activeAt = this.#wheel.turns;
  }

  /** Ends the watch. Ending it again changes nothing. */
  end(): void {
    this.#wheel.remove(this);
  }
}

/** Where a stream of events comes from: chunks of whole events, each made when it is asked for. */

/** Bytes of whole events. */
export type Chunk = Uint8Array<ArrayBuffer>;

/** The stream that chunks go to. */
export type ChunkController = ReadableStreamDefaultController<Chunk>;

/** Takes what it has asked for. */
export interface ChunkReceiver {
  /** Where a source that has been asked may put chunks by itself, one after the other, until it is told not to. */
  readonly controller: ChunkController | undefined;
  /**
   * The next chunk; undefined at the end. It must not ask meanwhile.
   *
   * @returns Whether it asks for the one after it.
   */
  take(chunk: Chunk | undefined): boolean;
  /** The source has failed, and gives nothing more. */
  fail(error: unknown): void;
}

/** Gives chunks, one at a time. */
export interface EventChunks {
  /**
   * Goes on after an event that the client has seen, if the source can.
   *
   * @throws {HTTPError} With 400, when no event had such an id.
   */
  resumeAfter(id: string): void;
  /** Begins to give. */
  open(receiver: ChunkReceiver): void;
  /** Asks for the next chunk. It is asked again only when the receiver has got it. */
  ask(): void;
  /** Takes the question back, for a client that takes nothing more for now. False where it cannot: then a chunk may still come. */
  withdraw(): boolean;
  /** When it last put a chunk into the stream by itself, in milliseconds of `performance.now()`. */
  readonly sentAt: number | undefined;
  /** What is sent where there has been nothing else to send for a while. */
  heartbeat(): Chunk;
  /** Ends the source, also while it is asked: the receiver may get what it asked for, or nothing. It never fails. */
  close(): Promise<void> | void;
}

/** What holds for all events of a stream. */
export interface ChunkOptions {
  /** How data becomes text. */
  readonly encode: DataEncoding;
  /** How long the client waits before it comes back, in milliseconds. */
  readonly retry: number | undefined;
}

const encoder = new TextEncoder();

/** The bytes of events. */
export function toChunk(frames: string): Chunk {
  return encoder.encode(frames);
}

/** The body of a stream of events: pulled by the client's reading, with a chunk or two waiting at most. */

/** How long a client may take nothing. One that comes back resumes; until then it costs a connection and no subscription. */
const MAX_STALL_MS = 30_000;

/**
 * Sends chunks while the client takes them, one waiting at most, and heartbeats while there are none.
 *
 * The platform's call for more is answered only when the client stops taking: as long as its queue is empty, what comes goes out
 * without being called for each time, which costs several times as much.
 */
export class EventBody implements UnderlyingDefaultSource<Chunk>, ChunkReceiver {
  readonly #chunks: EventChunks;
  readonly #heartbeatMs: number;
  readonly #stopping: AbortSignal;
  readonly #stop = (): void => this.#finish();
  #controller: ChunkController | undefined;
  #idle: IdleWatch | undefined;
  /** Tells the platform to call again when the client takes something. Undefined while it does not. */
  #pause: (() => void) | undefined;
  /** Whether the source was asked for a chunk that it has not given. */
  #isAsked = false;
  /** Came after a heartbeat that the client has not taken. */
  #waiting: Chunk | undefined;
  #stalledMs = 0;
  #ended: Promise<void> | undefined;

  /**
   * Takes a source, of which nothing is asked before the client reads.
   *
   * @param chunks The source.
   * @param heartbeatMs The silence after which a heartbeat is sent, in milliseconds.
   * @param stopping Ends the stream.
   */
  constructor(chunks: EventChunks, heartbeatMs: number, stopping: AbortSignal) {
    this.#chunks = chunks;
    this.#heartbeatMs = heartbeatMs;
    this.#stopping = stopping;
    chunks.open(this);
  }

  /** The stream that takes from it. */
  toStream(): ReadableStream<Chunk> {
    return new ReadableStream(this, { highWaterMark: 0, size: () => this.#onQueued() });
  }

  get controller(): ChunkController | undefined {
    return this.#controller;
  }

  start(controller: ChunkController): void {
    this.#controller = controller;
    if (this.#stopping.aborted) this.#finish();
    else this.#stopping.addEventListener("abort", this.#stop);
  }

  /** The client takes, and nothing is there. */
  pull(): Promise<void> {
    this.#stalledMs = 0;
    this.#idle ??= watchIdle(this.#heartbeatMs, () => this.#onIdle());
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pause = resolve;
    if (!this.#waiting || this.#send(this.#waiting)) this.#ask();
    return promise;
  }

  /** The client has gone. */
  cancel(): Promise<void> {
    return this.end();
  }

  /** The source gives a chunk. */
  take(chunk: Chunk | undefined): boolean {
    if (this.#ended) return false;
    if (!chunk) this.#finish();
    else if (!this.#pause) this.#waiting = chunk;
    else if (this.#send(chunk)) return true;
    return this.#isAsked = false;
  }

  /** The source has failed. */
  fail(error: unknown): void {
    if (this.#ended) return;
    log("error", "A stream of events broke off", { error: describeError(error) });
    this.#finish();
  }

  /** Ends the source, whether anything was read or not. Doing it again changes nothing. */
  end(): Promise<void> {
    return this.#ended ??= this.#release();
  }

  async #release(): Promise<void> {
    this.#waiting = undefined;
    this.#idle?.end();
    this.#stopping.removeEventListener("abort", this.#stop);
    await this.#chunks.close();
  }

  #finish(): void {
    if (this.#ended) return;
    this.#controller?.close();
    void this.end();
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#chunks.ask();
  }

  /** Sends a chunk, and tells whether the client takes more. */
  #send(chunk: Chunk): boolean {
    this.#waiting = undefined;
    this.#idle?.touch();
    this.#controller!.enqueue(chunk);
    return this.#pause !== undefined;
  }

  /** The platform asks for the size of what was not taken at once, and of nothing else: no more before the client takes it. */
  #onQueued(): number {
    this.#pause?.();
    this.#pause = undefined;
    if (this.#isAsked && this.#chunks.withdraw()) this.#isAsked = false;
    return 1;
  }

  /** Tells how long ago something was sent after all, where the source did it. */
  #onIdle(): number | undefined {
    if (this.#pause) {
      const { sentAt } = this.#chunks;
      const silence = sentAt === undefined ? Infinity : performance.now() - sentAt;
      if (silence < this.#heartbeatMs) return silence;
      this.#send(this.#chunks.heartbeat());
    } else {
      this.#stalledMs += this.#heartbeatMs;
      if (this.#stalledMs >= MAX_STALL_MS) this.#finish();
    }
    return undefined;
  }
}
