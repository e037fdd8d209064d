import { type Duration, toMilliseconds } from "../../duration.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import { Subscription } from "../../topics/subscription.ts";
import { type Chunk, type ChunkOptions, type ChunkReceiver, EventBody, type EventChunks, toChunk } from "./stream.ts";
import { COMMENT, type DataEncoding, type Misread, toEventFrame, toFrame, toRetry } from "./event.ts";
import { MergedTopicChunks, TopicChunks } from "./topic_events.ts";
import { describeError, log } from "../../log.ts";
import { contextOf, type HttpRequest } from "../request.ts";
import type { Stopping } from "../stream_reply.ts";

/** An application's own source of events. */

const HEARTBEAT = toChunk(COMMENT);

/** What an async iterable gives, each a chunk. Where a client left off is the application's to know. */
export class IterableChunks implements EventChunks {
  readonly #iterator: AsyncIterator<unknown>;
  readonly #encode: DataEncoding;
  readonly sentAt = undefined;
  #opening: Chunk | undefined;
  #receiver: ChunkReceiver | undefined;
  #isAsked = false;
  #isOver = false;

  /** Takes an iterable, whose first value is not asked for yet. */
  constructor(source: AsyncIterable<unknown>, { encode, retry }: ChunkOptions) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#encode = encode;
    this.#opening = retry === undefined ? undefined : toChunk(toFrame({ retry }));
  }

  resumeAfter(): void {}

  open(receiver: ChunkReceiver): void {
    this.#receiver = receiver;
  }

  ask(): void {
    const opening = this.#opening;
    this.#opening = undefined;
    if (!opening || this.#receiver?.take(opening)) void this.#next();
  }

  withdraw(): boolean {
    return false;
  }

  heartbeat(): Chunk {
    return HEARTBEAT;
  }

  close(): Promise<void> | void {
    if (this.#isOver) return;
    const ended = this.#return();
    // A generator that waits for something ends after that, if ever.
    if (!this.#isAsked) return ended;
  }

  async #next(): Promise<void> {
    let chunk: Chunk | undefined;
    this.#isAsked = true;
    try {
      const { done = false, value } = await this.#iterator.next();
      this.#isAsked = false;
      this.#isOver = done;
      chunk = done ? undefined : toChunk(toEventFrame(value, this.#encode));
    } catch (error) {
      // A source that fails has ended by that. One that gave what cannot be sent has not.
      this.#isOver ||= this.#isAsked;
      return this.#receiver?.fail(error);
    }
    if (this.#receiver?.take(chunk)) void this.#next();
  }

  async #return(): Promise<void> {
    try {
      await this.#iterator.return?.();
    } catch (error) {
      log("error", "The source of a stream of events failed to end", { error: describeError(error) });
    }
  }
}

/** What a handler returns to send events: `SSE()`. */

/** How events are sent. */
export interface SSEOptions {
  /** How long the client waits before it connects again. Its own choice unless given; browsers wait a few seconds. */
  retry?: Duration;
  /**
   * The silence after which a heartbeat is sent, so that no proxy takes the connection for dead and a client that has gone is
   * noticed. It may come a sixteenth of the time too early.
   *
   * @default {"15s"}
   */
  heartbeat?: Duration;
  /**
   * How data becomes text: `json`, strings too; or `text`, which sends strings as they are, and JSON of anything else. Whichever
   * way its lines end, text arrives with line feeds.
   *
   * @default {"json"}
   */
  encode?: DataEncoding;
}

const OPTIONS: OptionNames<SSEOptions> = { retry: true, heartbeat: true, encode: true };

let take: (stream: EventStream) => EventChunks;

/** Events on their way to one client: what {@linkcode SSE} makes, for a handler to return. */
export class EventStream {
  /** The silence after which a heartbeat is sent, in milliseconds. */
  readonly heartbeat: number;
  #chunks: EventChunks | undefined;

  static {
    take = (stream) => stream.#take();
  }

  /**
   * Takes a source; `SSE()` does it.
   *
   * @ignore
   */
  constructor(source: unknown, options: SSEOptions) {
    checkOptions(options, OPTIONS, "send events");
    const { retry, heartbeat = "15s", encode = "json" } = options;
    if (encode !== "json" && encode !== "text") {
      throw new TypeError(`Cannot send events: encode must be "json" or "text", got "${encode}"`);
    }
    const chunkOptions = { encode, retry: retry === undefined ? undefined : toRetry(retry) };
    this.heartbeat = toMilliseconds(heartbeat, "the heartbeat");
    this.#chunks = toChunks(source, chunkOptions);
  }

  #take(): EventChunks {
    const chunks = this.#chunks;
    if (!chunks) throw new TypeError("Cannot send the events again: call SSE() for each request");
    this.#chunks = undefined;
    return chunks;
  }
}

/**
 * Sends events to a browser's `EventSource`, or any other client of server-sent events (HTML Living Standard, section 9.2).
 *
 * A subscription to a topic resumes by itself: each event carries its place, and a client that comes back with it, in
 * `Last-Event-ID` or as `?lastEventId=`, gets what it missed. Where some of that is no longer kept it gets an event `webfw.gap`
 * first, with `{ reason, from, oldest }` as data. The type of a message is the name of its event. An id that no stream gave is
 * answered with 400. Several topics go into one stream as a list.
 *
 * Anything else that is an async iterable gives data, or objects of the form of {@linkcode ServerSentEvent}; to resume it, read
 * `request.lastEventId`.
 *
 * Nothing is read before the client takes it, and one that does not read costs no more than one chunk. The source is closed when
 * the client goes, when it has not read for 30 seconds, and when the server stops. A generator is closed where it yields: one that
 * waits for something that may never come has to be told by other means, such as `request.after()`. When the source fails, that
 * is logged and the stream ends; browsers then connect again, as they do when it ends by itself.
 *
 * @param source A subscription, a list of subscriptions to different topics, or an async iterable of data and events.
 * @param options How events are sent.
 * @throws {TypeError} When the source is none, or an option is unknown.
 * @throws {RangeError} When a time cannot be used.
 *
 * @example Events of a topic
 * ```ts
 * import { App, SSE } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * const prices = app.topic<number>("prices");
 * app.get("/prices", async () => SSE(prices.subscribe(), { retry: "2s" }));
 *
 * const { id } = await prices.publish(12);
 * await prices.publish(13, { type: "drop" });
 *
 * const missed = new Request("http://localhost/prices", { headers: { "last-event-id": id } });
 * const { body } = await app.fetch(missed);
 * const events = body!.pipeThrough(new TextDecoderStream()).getReader();
 * assertEquals((await events.read()).value, `retry: 2000\nid: ${id}\n\n`);
 * assertEquals((await events.read()).value?.split("\n").slice(1), ["event: drop", "data: 13", "", ""]);
 * await events.cancel();
 * ```
 *
 * @example Events of a generator
 * ```ts
 * import { App, SSE } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/countdown", async () => {
 *   return SSE(async function* () {
 *     yield 2;
 *     yield { event: "lift-off", data: "Go" };
 *   }());
 * });
 * const response = await app.fetch(new Request("http://localhost/countdown"));
 * assertEquals(await response.text(), 'data: 2\n\nevent: lift-off\ndata: "Go"\n\n');
 * ```
 */
export function SSE<Item>(
  source:
    | Subscription
    | readonly Subscription[]
    | (AsyncIterable<Item> & ([Misread<Item>] extends [never] ? unknown : Misread<Item>)),
  options: SSEOptions = {},
): EventStream {
  return new EventStream(source, options);
}

/** The source of a stream. It can be taken once. */
export function takeChunks(stream: EventStream): EventChunks {
  return take(stream);
}

function toChunks(source: unknown, options: ChunkOptions): EventChunks {
  if (source instanceof Subscription) return new TopicChunks(source, options);
  if (Array.isArray(source)) return new MergedTopicChunks(checkSubscriptions(source), options);
  return new IterableChunks(checkIterable(source), options);
}

function checkSubscriptions(source: readonly unknown[]): readonly Subscription[] {
  const subscriptions = source.filter((each) => each instanceof Subscription);
  if (source.length === 0 || subscriptions.length < source.length) {
    throw new TypeError("Cannot send events: a list must hold subscriptions to topics, and at least one");
  }
  const names = subscriptions.map(({ topic }) => topic.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return subscriptions;
  throw new TypeError(`Cannot send events: the topic "${twice}" is in the list twice`);
}

function checkIterable(source: unknown): AsyncIterable<unknown> {
  if (typeof source === "object" && source !== null && Symbol.asyncIterator in source) {
    return source as AsyncIterable<unknown>;
  }
  throw new TypeError(
    `Cannot send events: the source must be a subscription, a list of them or an async iterable, got ${typeof source}`,
  );
}

/** The reply that sends events. */

/** Proxies are told to pass each event on at once: nginx by a header of its own. */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

/**
 * Makes the reply that sends events. What they come from is closed with it, also where a middleware sends another one.
 *
 * @param stream What the handler returned.
 * @param request Tells what to resume after.
 * @param status The status.
 * @param stopping Tells when the server stops.
 * @throws {HTTPError} With 400, when the client resumes after what is no id.
 * @throws {TypeError} When the events were sent before.
 */
export function eventReply(
  stream: EventStream,
  request: HttpRequest,
  status: number,
  stopping: Stopping,
): Response {
  const chunks = takeChunks(stream);
  const body = new EventBody(chunks, stream.heartbeat, stopping());
  // First, so that it is closed where the client is refused, too.
  contextOf(request).addCleanup(() => body.end());
  const { lastEventId } = request;
  if (lastEventId) chunks.resumeAfter(lastEventId);
  return new Response(body.toStream(), { status, headers: HEADERS });
}
