/** The body of a stream of events: pulled by the client's reading, with a chunk or two waiting at most. */
import { describeError, log } from "../log.ts";
import type { Chunk, ChunkController, ChunkReceiver, EventChunks } from "./sse_chunks.ts";
import { type IdleWatch, watchIdle } from "./sse_idle.ts";

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
