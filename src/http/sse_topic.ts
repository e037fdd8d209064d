/** A topic as a stream of events that a client can resume. */
import type { TopicEntry, TopicMessage } from "../topics/message.ts";
import type { BatchReceiver } from "../topics/reader.ts";
import { currentCursor, lastGiven, requestBatch, type Subscription, withdrawRequest } from "../topics/subscription.ts";
import type { FanOut } from "../topics/tail.ts";
import { BARE_FORMS, batchChunk, type BatchForm, gapChunk } from "./sse_batch.ts";
import {
  type Chunk,
  type ChunkController,
  type ChunkOptions,
  type ChunkReceiver,
  type EventChunks,
  toChunk,
} from "./sse_chunks.ts";
import { resumeAfter } from "./sse_cursors.ts";
import type { DataEncoding } from "./sse_event.ts";
import { COMMENT, toFrame } from "./sse_frame.ts";

/** Puts batches into the streams of all clients who wait at the end of a topic: one chunk, which nobody else is asked about. */
class EventFanOut implements FanOut<ChunkController> {
  readonly #form: BatchForm;

  constructor(form: BatchForm) {
    this.#form = form;
  }

  give(batch: readonly TopicMessage[], members: Iterable<ChunkController>): void {
    const chunk = batchChunk(batch, this.#form);
    for (const controller of members) controller.enqueue(chunk);
  }
}

const FAN_OUTS = { json: new EventFanOut(BARE_FORMS.json), text: new EventFanOut(BARE_FORMS.text) };

/** The batches of a subscription, each a chunk. The id of an event is that of its message. */
export class TopicChunks implements EventChunks, BatchReceiver<unknown> {
  readonly #subscription: Subscription;
  readonly #encode: DataEncoding;
  readonly #retry: number | undefined;
  #receiver: ChunkReceiver | undefined;
  #hasBegun = false;

  /** Takes a subscription, which is not read yet. */
  constructor(subscription: Subscription, { encode, retry }: ChunkOptions) {
    this.#subscription = subscription;
    this.#encode = encode;
    this.#retry = retry;
  }

  resumeAfter(id: string): void {
    resumeAfter(id, [this.#subscription]);
  }

  open(receiver: ChunkReceiver): void {
    this.#receiver = receiver;
  }

  ask(): void {
    if (this.#hasBegun) requestBatch(this.#subscription, this);
    else this.#subscription.cursor().then((id) => this.#begin(id)).catch((error) => this.fail(error));
  }

  get fanOut(): FanOut<ChunkController> {
    return FAN_OUTS[this.#encode];
  }

  get member(): ChunkController | undefined {
    return this.#receiver?.controller;
  }

  withdraw(): boolean {
    return withdrawRequest(this.#subscription);
  }

  get sentAt(): number | undefined {
    return lastGiven(this.#subscription);
  }

  /** The subscription gives a batch. */
  take(batch: readonly TopicEntry[] | undefined): boolean {
    try {
      return this.#receiver!.take(batch && this.#toChunk(batch));
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** The subscription has failed. */
  fail(error: unknown): void {
    this.#receiver?.fail(error);
  }

  /** The id again, for a client that has seen nothing else. */
  heartbeat(): Chunk {
    const id = this.#hasBegun ? currentCursor(this.#subscription) : undefined;
    return toChunk(id === undefined ? COMMENT : ":\n" + toFrame({ id }));
  }

  close(): void {
    this.#subscription.close();
  }

  /** An id before anything else: a client that goes before the first event comes back with it. */
  #begin(id: string | undefined): void {
    this.#hasBegun = id !== undefined;
    const chunk = this.#hasBegun ? toChunk(toFrame({ id, retry: this.#retry })) : undefined;
    if (this.#receiver?.take(chunk)) this.ask();
  }

  #toChunk(batch: readonly TopicEntry[]): Chunk {
    const last = batch[batch.length - 1]!;
    // A gap comes alone: what ends with a message holds nothing else. It has no id of its own: it is where reading goes on.
    if ("gap" in last) return gapChunk(last, currentCursor(this.#subscription) ?? last.gap.from);
    return batchChunk(batch as readonly TopicMessage[], BARE_FORMS[this.#encode]);
  }
}
