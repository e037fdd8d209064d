/** Several topics in one stream of events that a client can resume. */
import type { TopicEntry, TopicMessage } from "../topics/message.ts";
import { currentCursor, type Subscription } from "../topics/subscription.ts";
import { batchChunk, gapChunk } from "./sse_batch.ts";
import { type Chunk, type ChunkOptions, type ChunkReceiver, type EventChunks, toChunk } from "./sse_chunks.ts";
import { resumeAfter, toEventId, toLabel, toParts, type TopicCursor } from "./sse_cursors.ts";
import { COMMENT, toFrame } from "./sse_frame.ts";

/** One of the topics. */
class Source implements TopicCursor {
  readonly subscription: Subscription;
  readonly label: string;
  cursor: string | undefined;
  /** Came when that of another topic had been given in its place. */
  waiting: readonly TopicEntry[] | undefined;
  isAsked = false;
  hasEnded = false;

  constructor(subscription: Subscription) {
    this.subscription = subscription;
    this.label = toLabel(subscription.topic.name);
  }
}

/**
 * The batches of subscriptions, each a chunk. One of each topic is read ahead at most. The id of an event says how far the client
 * has come in each topic.
 */
export class MergedTopicChunks implements EventChunks {
  readonly sentAt = undefined;
  readonly #sources: readonly Source[];
  readonly #options: ChunkOptions;
  readonly #fail = (error: unknown): void => this.#receiver?.fail(error);
  #receiver: ChunkReceiver | undefined;
  #hasBegun = false;
  #isAsked = false;

  /** Takes subscriptions to different topics, which are not read yet. */
  constructor(subscriptions: readonly Subscription[], options: ChunkOptions) {
    this.#sources = subscriptions.map((each) => new Source(each));
    this.#options = options;
  }

  resumeAfter(id: string): void {
    resumeAfter(id, this.#sources.map(({ subscription }) => subscription));
  }

  open(receiver: ChunkReceiver): void {
    this.#receiver = receiver;
  }

  ask(): void {
    this.#isAsked = true;
    if (this.#hasBegun) this.#answer();
    else void this.#begin().catch(this.#fail);
  }

  withdraw(): boolean {
    return false;
  }

  heartbeat(): Chunk {
    return toChunk(this.#hasBegun ? ":\n" + toFrame({ id: toEventId(this.#sources) }) : COMMENT);
  }

  close(): void {
    for (const { subscription } of this.#sources) subscription.close();
  }

  async #begin(): Promise<void> {
    await Promise.all(this.#sources.map(async (source) => source.cursor = await source.subscription.cursor()));
    this.#hasBegun = true;
    const id = toEventId(this.#sources);
    this.#give(id === "" ? undefined : toChunk(toFrame({ id, retry: this.#options.retry })));
    this.#answer();
  }

  /** Not with a race of promises: that of a quiet topic would keep what each race hangs on it. */
  #read(source: Source): void {
    if (source.isAsked || source.hasEnded) return;
    source.isAsked = true;
    source.subscription.nextBatch().then((batch) => {
      source.isAsked = false;
      source.waiting = batch;
      source.hasEnded = batch === undefined;
      this.#answer();
    }).catch(this.#fail);
  }

  /** Gives what the topics have ready for as long as it is asked for, and the end where all have ended. */
  #answer(): void {
    try {
      while (this.#isAsked) {
        const source = this.#sources.find(({ waiting }) => waiting);
        if (source?.waiting) this.#give(this.#toChunk(source, source.waiting));
        else if (this.#sources.every(({ hasEnded }) => hasEnded)) this.#give(undefined);
        else return this.#sources.forEach((source) => this.#read(source));
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #toChunk(source: Source, batch: readonly TopicEntry[]): Chunk {
    const { subscription } = source;
    const last = batch.at(-1)!;
    source.waiting = undefined;
    if ("gap" in last) {
      source.cursor = currentCursor(subscription) ?? source.cursor;
      return gapChunk(last, toEventId(this.#sources), subscription.topic.name);
    }
    source.cursor = last.id;
    const index = this.#sources.indexOf(source);
    const before = [...toParts(this.#sources.slice(0, index)), source.label].join(",");
    const after = ["", ...toParts(this.#sources.slice(index + 1))].join(",");
    return batchChunk(batch as readonly TopicMessage[], { encode: this.#options.encode, before, after });
  }

  #give(chunk: Chunk | undefined): void {
    this.#isAsked = this.#receiver?.take(chunk) ?? false;
  }
}
