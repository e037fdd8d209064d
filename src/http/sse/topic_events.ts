/** Topics as streams of events that a client can resume. */
import { HTTPError } from "../../base/errors.ts";
import { idBefore, type TopicEntry, type TopicGap, type TopicMessage } from "../../topics/message.ts";
import type { Broadcaster } from "../../topics/log_follower.ts";
import { checkId, readerOf, type Subscription } from "../../topics/subscription.ts";
import { captureContext, type RunInContext } from "../../base/async_context.ts";
import { nodeTimers } from "../../base/runtime.ts";
import type { BatchReceiver, SubscriptionReader } from "../../topics/subscription_reader.ts";
import type { Chunk, PullSink, PullSource } from "../pull_stream.ts";
import { encodeData, formatEvent, toChunk } from "./event.ts";
import { type DataReducer, MISFIT } from "../replies/model.ts";
import type { DataEncoding, EventStreamParts } from "./sse.ts";

const GAP_EVENT = "webfw.gap";

interface TopicEventOptions extends Pick<EventStreamParts, "filter" | "map"> {
  readonly encode: DataEncoding;
  readonly retry: number | undefined;
  readonly reducer: DataReducer | undefined;
}

/** The messages of one topic. The id of an event is that of its message. */
export class TopicSource implements PullSource, BatchReceiver<unknown> {
  readonly #subscription: Subscription;
  readonly #reader: SubscriptionReader<unknown>;
  readonly #retry: number | undefined;
  readonly #broadcaster: EventBroadcaster;
  #sink: PullSink | undefined;
  #hasBegun = false;

  constructor(subscription: Subscription, { encode, retry, reducer }: TopicEventOptions) {
    this.#subscription = subscription;
    this.#reader = readerOf(subscription);
    this.#retry = retry;
    this.#broadcaster = broadcasterOf(encode, necessary(reducer, subscription));
  }

  pull(sink: PullSink): void {
    this.#sink = sink;
    if (this.#hasBegun) this.#reader.request(this);
    else void this.#begin(sink);
  }

  cancelPull(): boolean {
    return this.#reader.cancelRequest();
  }

  get lastBroadcastAt(): number | undefined {
    return this.#reader.lastBroadcastAt;
  }

  get broadcaster(): Broadcaster<Subscriber> | undefined {
    return this.#broadcaster.format.reducer?.isAsync ? undefined : this.#broadcaster;
  }

  get subscriber(): Subscriber | undefined {
    return this.#sink?.controller;
  }

  receive(batch: readonly TopicEntry[] | undefined): boolean {
    const sink = this.#sink!;
    try {
      if (!batch) sink.end();
      else {
        const chunk = this.#toChunk(batch);
        if (!(chunk instanceof Promise)) return sink.write(chunk);
        void this.#writeLater(chunk, sink);
      }
    } catch (error) {
      sink.fail(error);
    }
    return false;
  }

  fail(error: unknown): void {
    this.#sink?.fail(error);
  }

  heartbeat(): Chunk | undefined {
    const id = this.#hasBegun ? this.#reader.currentPosition : undefined;
    return id === undefined ? undefined : heartbeatChunk(id);
  }

  close(): void {
    this.#subscription.close();
  }

  /** Sends an id before the first event, so that a client without events can resume, too. */
  async #begin(sink: PullSink): Promise<void> {
    try {
      const id = await this.#subscription.cursor();
      if (id === undefined) return sink.end();
      this.#hasBegun = true;
      if (sink.write(toChunk(formatEvent({ id, retry: this.#retry })))) this.pull(sink);
    } catch (error) {
      sink.fail(error);
    }
  }

  async #writeLater(chunk: Promise<Chunk>, sink: PullSink): Promise<void> {
    try {
      if (sink.write(await chunk)) this.pull(sink);
    } catch (error) {
      sink.fail(error);
    }
  }

  #toChunk(batch: readonly TopicEntry[]): Chunk | Promise<Chunk> {
    // A gap is alone in its batch. It has no id: the client resumes at the reader's position.
    const last = batch[batch.length - 1]!;
    if ("gap" in last) return gapChunk(last, this.#reader.currentPosition ?? last.gap.from);
    return batchChunk(batch as readonly TopicMessage[], this.#broadcaster.format);
  }
}

/** A stream that waits at the end of a topic. */
type Subscriber = ReadableStreamDefaultController<Chunk>;

/** Sends a batch as one chunk to all clients that wait at the end of a topic. */
class EventBroadcaster implements Broadcaster<Subscriber> {
  readonly format: BatchFormat;

  constructor(format: BatchFormat) {
    this.format = format;
  }

  broadcast(batch: readonly TopicMessage[], subscribers: Iterable<Subscriber>): void {
    // Only used if no reducer is async.
    const chunk = batchChunk(batch, this.format) as Chunk;
    for (const controller of subscribers) controller.enqueue(chunk);
  }
}

class MergedTopic {
  readonly subscription: Subscription;
  /** The prefix of the cursor in an event id: the URL-encoded name of the topic, and `=`. */
  readonly label: string;
  readonly reducer: DataReducer | undefined;
  readonly name: string | undefined;
  /** The id of the last sent message. Undefined if the topic ended before. */
  cursor: string | undefined;
  /** A batch that was read while another topic was sent. */
  batch: readonly TopicEntry[] | undefined;
  isReading = false;
  hasEnded = false;

  constructor(subscription: Subscription, { map, reducer }: TopicEventOptions, isOnly: boolean) {
    this.subscription = subscription;
    this.reducer = map ? reducer : necessary(reducer, subscription);
    this.name = isOnly ? undefined : subscription.topic.name;
    this.label = isOnly ? "" : `${encodeURIComponent(subscription.topic.name)}=`;
  }
}

/**
 * The messages of several topics, or those that one reader gets. At most one batch of each topic is
 * read ahead. The id of an event is that of the message, or the client's position in all topics:
 * `orders=3f9a0c21-000…,prices=77b1e0d4-000…`.
 */
export class ReaderSource implements PullSource {
  readonly #topics: readonly MergedTopic[];
  readonly #options: TopicEventOptions;
  /** `filter` and `map` run in the async context of their request. */
  readonly #runInContext: RunInContext | undefined;
  #sink: PullSink | undefined;
  #hasBegun = false;
  #isPulled = false;
  #isClosed = false;
  /** Why the stream ends after its last chunk. */
  #failure: { readonly error: unknown } | undefined;

  constructor(subscriptions: readonly Subscription[], options: TopicEventOptions) {
    const isOnly = subscriptions.length === 1;
    this.#topics = subscriptions.map((subscription) => new MergedTopic(subscription, options, isOnly));
    this.#options = options;
    this.#runInContext = options.filter || options.map ? captureContext() : undefined;
  }

  pull(sink: PullSink): void {
    this.#sink = sink;
    this.#isPulled = true;
    if (this.#hasBegun) this.#answer(sink);
    else void this.#begin(sink);
  }

  heartbeat(): Chunk | undefined {
    return this.#hasBegun ? heartbeatChunk(toEventId(this.#topics)) : undefined;
  }

  close(): void {
    this.#isClosed = true;
    for (const { subscription } of this.#topics) subscription.close();
  }

  async #begin(sink: PullSink): Promise<void> {
    try {
      await Promise.all(this.#topics.map(async (topic) => topic.cursor = await topic.subscription.cursor()));
      this.#hasBegun = true;
      const id = toEventId(this.#topics);
      if (id === "") return sink.end();
      this.#isPulled = sink.write(toChunk(formatEvent({ id, retry: this.#options.retry })));
      this.#answer(sink);
    } catch (error) {
      sink.fail(error);
    }
  }

  /** Writes batches that were read, else reads all topics. */
  #answer(sink: PullSink): void {
    try {
      while (this.#isPulled) {
        if (this.#failure) return sink.fail(this.#failure.error);
        const topic = this.#topics.find(({ batch }) => batch);
        if (topic?.batch) {
          const chunk = this.#toChunk(topic, topic.batch);
          if (chunk instanceof Promise) return void this.#writeLater(chunk, sink);
          this.#isPulled = sink.write(chunk);
        } else if (this.#topics.every(({ hasEnded }) => hasEnded)) return sink.end();
        else return this.#topics.forEach((each) => void this.#read(each, sink));
      }
    } catch (error) {
      sink.fail(error);
    }
  }

  /** No Promise.race: the pending promise of a quiet topic would leak one reaction per race. */
  async #read(topic: MergedTopic, sink: PullSink): Promise<void> {
    if (topic.isReading || topic.hasEnded) return;
    topic.isReading = true;
    try {
      topic.batch = await topic.subscription.nextBatch();
    } catch (error) {
      return sink.fail(error);
    }
    topic.isReading = false;
    topic.hasEnded = topic.batch === undefined;
    this.#answer(sink);
  }

  /** Until then, the sink does not pull, and batches wait in their topics. */
  async #writeLater(promise: Promise<Chunk | undefined>, sink: PullSink): Promise<void> {
    this.#isPulled = false;
    try {
      const chunk = await promise;
      this.#isPulled = chunk === undefined || sink.write(chunk);
      this.#answer(sink);
    } catch (error) {
      sink.fail(error);
    }
  }

  #toChunk(topic: MergedTopic, batch: readonly TopicEntry[]): Chunk | Promise<Chunk | undefined> {
    const { subscription, label, reducer } = topic;
    topic.batch = undefined;
    const last = batch.at(-1)!;
    if ("gap" in last) {
      topic.cursor = readerOf(subscription).currentPosition ?? topic.cursor;
      return gapChunk(last, toEventId(this.#topics), topic.name);
    }
    const index = this.#topics.indexOf(topic);
    const prefix = [...toIdParts(this.#topics.slice(0, index)), label].join(",");
    const suffix = ["", ...toIdParts(this.#topics.slice(index + 1))].join(",");
    const { encode } = this.#options;
    const format: BatchFormat = { encode, prefix, suffix, reducer, topic: topic.name };
    const messages = batch as readonly TopicMessage[];
    if (this.#runInContext) return this.#runInContext(() => this.#toReaderChunk(topic, messages, format));
    const chunk = batchChunk(messages, format);
    // A heartbeat must not have the id of an event before the event was sent.
    if (chunk instanceof Promise) return chunk.finally(() => topic.cursor = last.id);
    topic.cursor = last.id;
    return chunk;
  }

  /** Undefined if the reader gets nothing of the batch. */
  async #toReaderChunk(
    topic: MergedTopic,
    batch: readonly TopicMessage[],
    format: BatchFormat,
  ): Promise<Chunk | undefined> {
    let events = "";
    let { cursor } = topic;
    /** The position before messages that are left out. */
    let missing: string | undefined;
    try {
      for (const [index, message] of batch.entries()) {
        if (this.#isClosed) return undefined;
        const pending = this.#toReaderEvent(message, topic, format);
        const event = isPromise(pending) ? await pending : pending;
        if (event === MISFIT) missing ??= cursor ?? idBefore(message.id);
        else if (event !== "") {
          if (missing !== undefined) events += gapText(missing, message.id, cursor!, format);
          missing = undefined;
          events += event;
        }
        cursor = message.id;
        // Heartbeats advance the client while nothing passes, however long the filter takes.
        if (events === "" && missing === undefined) topic.cursor = cursor;
        else if (isPromise(pending) && message !== batch.at(-1)) {
          // Send what has passed before filtering the rest.
          topic.batch = batch.slice(index + 1);
          break;
        }
      }
    } catch (error) {
      this.#failure = { error };
    }
    if (missing !== undefined) events += gapText(missing, null, cursor!, format);
    topic.cursor = cursor;
    if (events !== "") return toChunk(events);
    // Yield to other work: a store in memory has all messages of a topic at once.
    await new Promise<void>((resolve) => nodeTimers().setImmediate(resolve));
    return undefined;
  }

  /** Empty if the filter refuses the message. */
  #toReaderEvent(message: TopicMessage, { subscription, reducer }: MergedTopic, format: BatchFormat): ReaderEvent {
    const { filter, map } = this.#options;
    const { name } = subscription.topic;
    const passes = filter ? filter(message, name) : true;
    const toEvent = (data: unknown) => data === MISFIT ? MISFIT : toEventText(message, data, format);
    const toData = () => {
      if (!map) return reducer ? reducer.reduceMessage(message) : message.data;
      return then(map(message, name), (data) => reducer ? reducer.reduce(data) : data);
    };
    return then<unknown, string | typeof MISFIT>(passes, (passes) => passes ? then(toData(), toEvent) : "");
  }
}

type ReaderEvent = string | typeof MISFIT | Promise<string | typeof MISFIT>;

/** Continues synchronously with a value: a promise per message is expensive. */
function then<Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value);
}

/** Also thenables of libraries: as a value, that of a filter would let each message pass. */
function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  if (value instanceof Promise) return true;
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** A topic that the id lacks begins as without an id. Throws a 400 for an invalid id. */
export function resumeAfter(id: string, subscriptions: readonly Subscription[]): void {
  try {
    const cursors = parseEventId(id, subscriptions);
    for (const subscription of subscriptions) {
      const cursor = cursors.get(subscription.topic.name);
      if (cursor !== undefined) subscription.resumeAfter(cursor);
    }
  } catch (cause) {
    // A SyntaxError of the id, or a URIError of a name. Other errors are the application's.
    if (!(cause instanceof SyntaxError || cause instanceof URIError)) throw cause;
    throw new HTTPError(400, "The stream cannot resume after the last event id: none of its events has such an id", {
      cause,
    });
  }
}

function parseEventId(id: string, subscriptions: readonly Subscription[]): ReadonlyMap<string, string> {
  const [first] = subscriptions;
  const isSingle = subscriptions.length === 1 && first !== undefined && !id.includes("=");
  const pairs = isSingle ? [[first.topic.name, id] as const] : id.split(",").map(parseIdPart);
  for (const [, cursor] of pairs) checkId(cursor);
  return new Map(pairs);
}

function parseIdPart(part: string): readonly [topic: string, cursor: string] {
  const equals = part.indexOf("=");
  if (equals < 0) throw new SyntaxError("Cannot read the id of an event of several topics: a topic is missing");
  return [decodeURIComponent(part.slice(0, equals)), part.slice(equals + 1)];
}

function toEventId(topics: readonly MergedTopic[]): string {
  return toIdParts(topics).join(",");
}

function toIdParts(topics: readonly MergedTopic[]): string[] {
  return topics.flatMap(({ label, cursor }) => cursor === undefined ? [] : [label + cursor]);
}

/** Streams with the same format share the bytes. */
interface BatchFormat {
  readonly encode: DataEncoding;
  /** The prefix of a message id in the id of its event. */
  readonly prefix: string;
  readonly suffix: string;
  readonly reducer: DataReducer | undefined;
  /** The name of the topic in gaps; undefined for a single topic. */
  readonly topic?: string | undefined;
}

const NO_REDUCER = {};
const broadcasters = new WeakMap<object, Readonly<Record<DataEncoding, EventBroadcaster>>>();

function broadcasterOf(encode: DataEncoding, reducer: DataReducer | undefined): EventBroadcaster {
  const key = reducer ?? NO_REDUCER;
  let known = broadcasters.get(key);
  if (!known) {
    const make = (encode: DataEncoding) => new EventBroadcaster({ encode, prefix: "", suffix: "", reducer });
    broadcasters.set(key, known = { json: make("json"), text: make("text") });
  }
  return known[encode];
}

/** The reducer, if it may change messages of the topic. */
function necessary(reducer: DataReducer | undefined, subscription: Subscription): DataReducer | undefined {
  return reducer?.reducesMessagesOf(subscription) ? reducer : undefined;
}

interface EncodedBatch {
  readonly format: BatchFormat;
  /** Weak, because a topic keeps batches longer than clients read at their positions. */
  readonly chunk: WeakRef<Chunk | Promise<Chunk>>;
}

/** The latest encoding of each batch. */
const encodedBatches = new WeakMap<readonly TopicMessage[], EncodedBatch>();

/** Encodes a batch once for all streams at one position, which get the same array. */
function batchChunk(batch: readonly TopicMessage[], format: BatchFormat): Chunk | Promise<Chunk> {
  const encoded = encodedBatches.get(batch);
  const shared = encoded && isSameFormat(encoded.format, format) ? encoded.chunk.deref() : undefined;
  if (shared) return shared;
  const { reducer } = format;
  const reduced = reducer ? batch.map((message) => reducer.reduceMessage(message)) : undefined;
  const chunk = reducer?.isAsync
    ? Promise.all(reduced!).then((data) => encodeBatch(batch, data, format))
    : encodeBatch(batch, reduced, format);
  encodedBatches.set(batch, { format, chunk: new WeakRef(chunk) });
  return chunk;
}

function encodeBatch(
  batch: readonly TopicMessage[],
  reduced: readonly unknown[] | undefined,
  format: BatchFormat,
): Chunk {
  if (!reduced) return toChunk(batch.reduce((text, message) => text + toEventText(message, message.data, format), ""));
  let events = "";
  for (let index = 0; index < batch.length; index++) {
    const begin = index;
    while (index < batch.length && reduced[index] === MISFIT) index++;
    const message = batch[index];
    if (index > begin) {
      const from = batch[begin - 1]?.id ?? idBefore(batch[begin]!.id);
      events += gapText(from, message?.id ?? null, batch[index - 1]!.id, format);
    }
    if (message) events += toEventText(message, reduced[index], format);
  }
  return toChunk(events);
}

/** A gap in place of messages that do not fit the declared schema. */
function gapText(from: string, oldest: string | null, last: string, { prefix, suffix, topic }: BatchFormat): string {
  return formatGap({ reason: "schema", from, oldest }, prefix + last + suffix, topic);
}

function toEventText({ id, type }: TopicMessage, data: unknown, { encode, prefix, suffix }: BatchFormat): string {
  return formatEvent({ event: type, id: prefix + id + suffix, data: encodeData(data, encode) });
}

function isSameFormat(one: BatchFormat, other: BatchFormat): boolean {
  return one.prefix === other.prefix && one.suffix === other.suffix && one.encode === other.encode &&
    one.reducer === other.reducer;
}

/** Of several topics, the gap has the name of its topic. */
function formatGap(gap: TopicGap["gap"], id: string, topic: string | undefined): string {
  const data = JSON.stringify(topic === undefined ? gap : { ...gap, topic });
  return formatEvent({ event: GAP_EVENT, id, data });
}

function gapChunk({ gap }: TopicGap, id: string, topic?: string): Chunk {
  return toChunk(formatGap(gap, id, topic));
}

/** Repeats the id, for clients that have received nothing else. */
function heartbeatChunk(id: string): Chunk {
  return toChunk(":\n" + formatEvent({ id }));
}
