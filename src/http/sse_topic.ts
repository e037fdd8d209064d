/** A topic as a stream of events that a client can resume. */
import type { TopicEntry, TopicGap, TopicMessage } from "../topics/message.ts";
import type { BatchReceiver } from "../topics/reader.ts";
import { requestBatch, type Subscription } from "../topics/subscription.ts";
import { BARE_FORMS, batchChunk, type BatchForm, gapChunk } from "./sse_batch.ts";
import { type Chunk, type ChunkOptions, type ChunkReceiver, type EventChunks, toChunk } from "./sse_chunks.ts";
import { resumeAfter } from "./sse_cursors.ts";
import { COMMENT, toFrame } from "./sse_frame.ts";

/** The batches of a subscription, each a chunk. The id of an event is that of its message. */
export class TopicChunks implements EventChunks, BatchReceiver<unknown> {
  readonly #subscription: Subscription;
  readonly #form: BatchForm;
  readonly #retry: number | undefined;
  #receiver: ChunkReceiver | undefined;
  /** The id that the client has got. */
  #cursor: string | undefined;

  /** Takes a subscription, which is not read yet. */
  constructor(subscription: Subscription, { encode, retry }: ChunkOptions) {
    this.#subscription = subscription;
    this.#form = BARE_FORMS[encode];
    this.#retry = retry;
  }

  resumeAfter(id: string): void {
    resumeAfter(id, [this.#subscription]);
  }

  open(receiver: ChunkReceiver): void {
    this.#receiver = receiver;
  }

  ask(): void {
    if (this.#cursor !== undefined) return requestBatch(this.#subscription, this);
    this.#subscription.cursor().then((id) => this.#begin(id)).catch((error) => this.fail(error));
  }

  /** The subscription gives a batch. */
  take(batch: readonly TopicEntry[] | undefined): void {
    try {
      this.#give(batch);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The subscription has failed. */
  fail(error: unknown): void {
    this.#receiver?.fail(error);
  }

  /** The id again, for a client that has seen nothing else. */
  heartbeat(): Chunk {
    return toChunk(this.#cursor === undefined ? COMMENT : ":\n" + toFrame({ id: this.#cursor }));
  }

  close(): void {
    this.#subscription.close();
  }

  /** An id before anything else: a client that goes before the first event comes back with it. */
  #begin(id: string | undefined): void {
    this.#cursor = id;
    this.#receiver?.take(id === undefined ? undefined : toChunk(toFrame({ id, retry: this.#retry })));
  }

  #give(batch: readonly TopicEntry[] | undefined): void {
    const last = batch?.[batch.length - 1];
    if (!last) this.#receiver?.take(undefined);
    else if ("gap" in last) void this.#giveGap(last).catch((error) => this.fail(error));
    else {
      this.#cursor = last.id;
      // A gap comes alone: what ends with a message holds nothing else.
      this.#receiver?.take(batchChunk(batch as readonly TopicMessage[], this.#form));
    }
  }

  /** A gap has no id of its own: it is where reading goes on. */
  async #giveGap(gap: TopicGap): Promise<void> {
    this.#cursor = await this.#subscription.cursor() ?? gap.gap.from;
    this.#receiver?.take(gapChunk(gap, this.#cursor));
  }
}
