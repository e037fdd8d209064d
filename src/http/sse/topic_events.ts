import type { TopicEntry, TopicGap, TopicMessage } from "../../topics/message.ts";
import type { BatchReceiver } from "../../topics/subscription_reader.ts";
import {
  cancelRequest,
  checkId,
  currentCursor,
  lastBroadcastAt,
  requestBatch,
  type Subscription,
} from "../../topics/subscription.ts";
import type { Broadcaster } from "../../topics/log_follower.ts";
import {
  type Chunk,
  type ChunkController,
  type ChunkOptions,
  type ChunkReceiver,
  type EventChunks,
  toChunk,
} from "./stream.ts";
import { COMMENT, type DataEncoding, toData, toFrame } from "./event.ts";
import { HTTPError } from "../../errors.ts";

/**
 * The ids of events of topics: what a client has got of each. Of one topic it is the id of the message; of several it holds the
 * names, as they stand in URLs: `orders=3f9a0c21-000…,prices=77b1e0d4-000…`.
 */

/** How far a client has come in one of several topics. */
export interface TopicCursor {
  /** What stands before the cursor in an id. */
  readonly label: string;
  /** The id of the message that it got last. Undefined where the topic ended before that was known. */
  readonly cursor: string | undefined;
}

/** The label of a topic. */
export function toLabel(topic: string): string {
  return `${encodeURIComponent(topic)}=`;
}

/** The parts of an id. */
export function toParts(cursors: readonly TopicCursor[]): string[] {
  return cursors.flatMap(({ label, cursor }) => cursor === undefined ? [] : [label + cursor]);
}

/** The id of an event of several topics. */
export function toEventId(cursors: readonly TopicCursor[]): string {
  return toParts(cursors).join(",");
}

/**
 * Makes subscriptions go on after an event that a client has got. Topics that its stream did not have begin where they would.
 *
 * @param id What the client sent.
 * @param subscriptions The topics of the stream.
 * @throws {HTTPError} With 400, when no event can have had this id.
 */
export function resumeAfter(id: string, subscriptions: readonly Subscription[]): void {
  try {
    const cursors = parseEventId(id, subscriptions);
    for (const subscription of subscriptions) {
      const cursor = cursors.get(subscription.topic.name);
      if (cursor !== undefined) subscription.resumeAfter(cursor);
    }
  } catch (cause) {
    // SyntaxError of an id, URIError of a name. Anything else is a fault of the application.
    if (!(cause instanceof SyntaxError || cause instanceof URIError)) throw cause;
    throw new HTTPError(400, "The stream cannot go on after the last event id: no event of it has such an id", {
      cause,
    });
  }
}

function parseEventId(id: string, subscriptions: readonly Subscription[]): ReadonlyMap<string, string> {
  const [first] = subscriptions;
  const isBare = subscriptions.length === 1 && first !== undefined && !id.includes("=");
  const pairs = isBare ? [[first.topic.name, id] as const] : id.split(",").map(parsePart);
  for (const [, cursor] of pairs) checkId(cursor);
  return new Map(pairs);
}

function parsePart(part: string): readonly [topic: string, cursor: string] {
  const equals = part.indexOf("=");
  if (equals < 0) throw new SyntaxError("Cannot read the id of an event of several topics: a topic is missing");
  return [decodeURIComponent(part.slice(0, equals)), part.slice(equals + 1)];
}

/** What a topic gives, as events. */

/** The name of the event that tells of missing messages. */
const GAP = "webfw.gap";

/** How the messages of a batch become events. Readers for whom it is the same can share the bytes. */
export interface BatchForm {
  /** How data becomes text. */
  readonly encode: DataEncoding;
  /** What stands before the id of a message in the id of its event. */
  readonly before: string;
  /** What stands after it. */
  readonly after: string;
}

/** The forms of batches whose ids stand by themselves. */
export const BARE_FORMS: Readonly<Record<DataEncoding, BatchForm>> = {
  json: { encode: "json", before: "", after: "" },
  text: { encode: "text", before: "", after: "" },
};

interface EncodedBatch extends BatchForm {
  /** Held weakly: a topic holds its batches ready for longer than anyone may read at these places. */
  readonly chunk: WeakRef<Chunk>;
}

/** The latest form of each batch. */
const encoded = new WeakMap<readonly TopicMessage[], EncodedBatch>();

/**
 * The events of a batch, as one chunk. It is encoded once for all readers at the same place: they have the very same batch.
 *
 * @throws {TypeError} When the data has no JSON form.
 */
export function batchChunk(batch: readonly TopicMessage[], form: BatchForm): Chunk {
  return sharedChunk(batch, form) ?? encodeBatch(batch, form);
}

function sharedChunk(batch: readonly TopicMessage[], form: BatchForm): Chunk | undefined {
  const known = encoded.get(batch);
  return known && isSameForm(known, form) ? known.chunk.deref() : undefined;
}

function encodeBatch(batch: readonly TopicMessage[], { encode, before, after }: BatchForm): Chunk {
  let frames = "";
  for (const { id, type, data } of batch) {
    frames += toFrame({ event: type, id: before + id + after, data: toData(data, encode) });
  }
  const chunk = toChunk(frames);
  encoded.set(batch, { encode, before, after, chunk: new WeakRef(chunk) });
  return chunk;
}

/**
 * The event that tells of missing messages.
 *
 * @param gap What is missing.
 * @param id What to resume after.
 * @param topic The topic, where there are several.
 */
export function gapChunk({ gap }: TopicGap, id: string, topic?: string): Chunk {
  const data = JSON.stringify(topic === undefined ? gap : { ...gap, topic });
  return toChunk(toFrame({ event: GAP, id, data }));
}

function isSameForm(one: BatchForm, other: BatchForm): boolean {
  return one.before === other.before && one.after === other.after && one.encode === other.encode;
}

/** A topic as a stream of events that a client can resume. */

/** Puts batches into the streams of all clients who wait at the end of a topic: one chunk, which nobody else is asked about. */
class EventBroadcaster implements Broadcaster<ChunkController> {
  readonly #form: BatchForm;

  constructor(form: BatchForm) {
    this.#form = form;
  }

  broadcast(batch: readonly TopicMessage[], subscribers: Iterable<ChunkController>): void {
    const chunk = batchChunk(batch, this.#form);
    for (const controller of subscribers) controller.enqueue(chunk);
  }
}

const BROADCASTERS = { json: new EventBroadcaster(BARE_FORMS.json), text: new EventBroadcaster(BARE_FORMS.text) };

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

  get broadcaster(): Broadcaster<ChunkController> {
    return BROADCASTERS[this.#encode];
  }

  get subscriber(): ChunkController | undefined {
    return this.#receiver?.controller;
  }

  withdraw(): boolean {
    return cancelRequest(this.#subscription);
  }

  get sentAt(): number | undefined {
    return lastBroadcastAt(this.#subscription);
  }

  /** The subscription gives a batch. */
  receive(batch: readonly TopicEntry[] | undefined): boolean {
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

/** Several topics in one stream of events that a client can resume. */

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
