/** The body of a stream of events: pulled by the client's reading, with one chunk waiting at most. */
import { describeError, log } from "../log.ts";
import type { Chunk, EventChunks } from "./sse_chunks.ts";
import { type IdleWatch, watchIdle } from "./sse_idle.ts";

/** How long a client may take nothing. One that comes back resumes; until then it costs a connection and no subscription. */
const MAX_STALL_MS = 30_000;

/** Sends chunks as the client takes them, and heartbeats while there are none. */
export class EventBody implements UnderlyingDefaultSource<Chunk> {
  readonly #chunks: EventChunks;
  readonly #heartbeatMs: number;
  readonly #stopping: AbortSignal;
  readonly #stop = (): void => this.#finish();
  #controller: ReadableStreamDefaultController<Chunk> | undefined;
  #idle: IdleWatch | undefined;
  /** Whether the client has asked for a chunk that it has not got. */
  #isWanted = false;
  /** Whether the source has been asked for one. */
  #isAsked = false;
  /** Came from the source after a heartbeat had been taken in its place. */
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
  }

  start(controller: ReadableStreamDefaultController<Chunk>): void {
    this.#controller = controller;
    if (this.#stopping.aborted) this.#finish();
    else this.#stopping.addEventListener("abort", this.#stop);
  }

  /** The client takes a chunk. The platform calls again only when it has got it, and wants the next. */
  pull(): void {
    this.#idle ??= watchIdle(this.#heartbeatMs, () => this.#onIdle());
    this.#isWanted = true;
    if (this.#waiting) this.#send(this.#waiting);
    else if (!this.#isAsked) void this.#ask();
  }

  /** The client has gone. */
  cancel(): Promise<void> {
    return this.end();
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

  async #ask(): Promise<void> {
    this.#isAsked = true;
    try {
      const chunk = await this.#chunks.next();
      this.#isAsked = false;
      if (this.#ended) return;
      if (!chunk) this.#finish();
      else if (this.#isWanted) this.#send(chunk);
      else this.#waiting = chunk;
    } catch (error) {
      if (this.#ended) return;
      log("error", "A stream of events broke off", { error: describeError(error) });
      this.#finish();
    }
  }

  #send(chunk: Chunk): void {
    this.#isWanted = false;
    this.#waiting = undefined;
    this.#stalledMs = 0;
    this.#idle?.touch();
    this.#controller?.enqueue(chunk);
  }

  #onIdle(): void {
    if (this.#isWanted) return this.#send(this.#chunks.heartbeat());
    this.#stalledMs += this.#heartbeatMs;
    if (this.#stalledMs >= MAX_STALL_MS) this.#finish();
  }
}
