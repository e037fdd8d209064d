/** `SSE()`, by which handlers send events. The code that sends them loads on first use. */
import { checkOptions, type Duration, type OptionNames, quote, toMilliseconds } from "../../base/options.ts";
import type { Mistake } from "../../schema/schema.ts";
import type { TopicMessage } from "../../topics/message.ts";
import { Subscription } from "../../topics/subscription.ts";

/**
 * An event with more than data: an object with `data` and no other keys than these. Wrap data that
 * looks like an event: `{ data: { id: 1, data: "…" } }`.
 */
export interface ServerSentEvent<Data = unknown> {
  /** The data, as JSON. Without data the page gets no event. */
  readonly data: Data;
  /** The name of the event, which pages listen to. The default is `message`. */
  readonly event?: string | undefined;
  /** Sent back as `Last-Event-ID` when the client reconnects. The default is the previous id. */
  readonly id?: string | undefined;
  /** How long the client waits before it reconnects. */
  readonly retry?: Duration | undefined;
}

const EVENT_KEYS: ReadonlySet<string> = new Set<keyof ServerSentEvent>(["data", "event", "id", "retry"]);

export function isEvent(item: unknown): item is ServerSentEvent {
  return typeof item === "object" && item !== null && Object.hasOwn(item, "data") &&
    Object.keys(item).every((key) => EVENT_KEYS.has(key));
}

/** @ignore How data is encoded: everything as JSON, or strings unchanged and the rest as JSON. */
export type DataEncoding = "json" | "text";

/**
 * @ignore An event as the compiler infers it from a `yield`: the literal of `retry` is a string
 * there.
 */
export type YieldedEvent = Omit<ServerSentEvent, "retry"> & { readonly retry?: number | string | undefined };

/** @ignore Items that look like events, but have a field of an invalid type. */
export type Misread<Item> = Item extends { readonly data: unknown }
  ? keyof Item extends keyof ServerSentEvent
    ? Item extends YieldedEvent ? never : Mistake<"An event's id and name are strings. Send data as { data: … }">
  : never
  : never;

/** @ignore The data of the events of a source. */
export type SentData<Source> = Source extends Subscription<infer Data> ? Data
  : Source extends readonly Subscription<infer Data>[] ? Data
  : Source extends AsyncIterable<infer Item> ? ItemData<Item>
  : unknown;

/** @ignore The data of the items of an async iterable, which may be events. */
export type ItemData<Item> = Item extends { readonly data: infer Data }
  ? FilledKeys<Item> extends keyof ServerSentEvent ? Exclude<Data, undefined> : Item
  : Item;

/**
 * @ignore The keys with a value. The compiler gives each of several literals the keys of the
 * others.
 */
export type FilledKeys<Item> = {
  [Key in keyof Item]-?: [Exclude<Item[Key], undefined>] extends [never] ? never : Key;
}[keyof Item];

/** @ignore The messages for `filter` and `map`, which only subscriptions have. */
export type SourceMessage<Source> = Source extends Subscription<infer Data> ? TopicMessage<Data>
  : Source extends readonly Subscription<infer Data>[] ? TopicMessage<Data>
  : never;

/** @ignore A source whose items cannot be mistaken for events. */
export type CheckedSource<Source> = Source extends Subscription ? unknown
  : Source extends AsyncIterable<infer Item> ? [Misread<Item>] extends [never] ? unknown : AsyncIterable<Misread<Item>>
  : unknown;

/** How events are sent. `Message` is that of a subscription, `Sent` the data of the events. */
export interface SSEOptions<Message = TopicMessage, Sent = unknown> {
  /** How long the client waits before it reconnects. Browsers choose a few seconds. */
  retry?: Duration;
  /**
   * The silence before a heartbeat, by which proxies keep a quiet connection, and the server
   * notices that a client has disconnected. It may come a sixteenth of this time too early.
   *
   * @default {"15s"}
   */
  heartbeat?: Duration;
  /**
   * How data is encoded: `json` sends everything as JSON, strings too; `text` sends strings
   * unchanged, with line feeds for all line ends, and the rest as JSON.
   *
   * @default {"json"}
   */
  encode?: DataEncoding;
  /**
   * Whether this reader of a subscription gets a message. Its position also advances over the
   * others. If it throws, the error is logged, and the stream ends before the message.
   */
  filter?(message: Message, topic: string): boolean | Promise<boolean>;
  /**
   * Makes the data of a message for this reader of a subscription. Id and name of the event are
   * kept. If it throws, the error is logged, and the stream ends before the message.
   */
  map?(message: Message, topic: string): Sent | Promise<Sent>;
}

const OPTIONS: OptionNames<SSEOptions> = { retry: true, heartbeat: true, encode: true, filter: true, map: true };

export type SSESource = Subscription | readonly Subscription[] | AsyncIterable<unknown>;

export interface EventStreamParts {
  readonly source: SSESource;
  readonly encode: DataEncoding;
  readonly retry: number | undefined;
  readonly filter: SSEOptions["filter"];
  readonly map: SSEOptions["map"];
}

let take: (stream: EventStream) => EventStreamParts;

/**
 * A stream of events to one client, made by {@linkcode SSE}. `Data` is what the events hold.
 *
 * @ignore
 */
export class EventStream<Data = unknown> {
  /**
   * Carries the type; absent at run time.
   *
   * @ignore
   */
  declare readonly "~data"?: Data;
  /** The silence before a heartbeat, in milliseconds. */
  readonly heartbeat: number;
  #parts: EventStreamParts | undefined;

  static {
    take = (stream) => {
      const parts = stream.#parts;
      if (!parts) throw new TypeError("Cannot send the events again: call SSE() for each request");
      stream.#parts = undefined;
      return parts;
    };
  }

  /**
   * Takes a source; `SSE()` calls it.
   *
   * @ignore
   */
  constructor(source: unknown, options: SSEOptions) {
    checkOptions(options, OPTIONS, "send events");
    const { retry, heartbeat = "15s", encode = "json", filter, map } = options;
    if (encode !== "json" && encode !== "text") {
      throw new TypeError(`Cannot send events: encode must be "json" or "text", got "${encode}"`);
    }
    const retryMs = retry === undefined ? undefined : toRetry(retry);
    this.heartbeat = toMilliseconds(heartbeat, "the heartbeat");
    this.#parts = { source: checkSource(source), encode, retry: retryMs, filter, map };
    checkReaderOptions(this.#parts);
  }
}

/**
 * Sends server-sent events (HTML Living Standard, section 9.2), such as to a browser's
 * `EventSource`.
 *
 * The source is a subscription, an array of subscriptions to different topics, or any async
 * iterable of data and objects like {@linkcode ServerSentEvent}. Subscriptions resume: a client
 * that reconnects gets what it missed after its last event id, behind an event `webfw.gap` if some
 * of it is no longer stored; an unknown id is a 400. The type of a message is the name of its
 * event.
 *
 * The source is read at the client's pace, and closed when the client disconnects, has not read for
 * 30 seconds, or the server stops. If it fails, the error is logged and the stream ends.
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
 * @category Streams
 */
export function SSE<
  Source extends Subscription | readonly Subscription[] | AsyncIterable<unknown>,
  Sent = SentData<Source>,
>(
  source: Source & CheckedSource<Source>,
  options: SSEOptions<SourceMessage<Source>, Sent> = {},
): EventStream<Sent> {
  return new EventStream(source, options as SSEOptions);
}

/** Throws a TypeError at the second call. */
export function takeParts(stream: EventStream): EventStreamParts {
  return take(stream);
}

/** In whole milliseconds. */
export function toRetry(retry: Duration): number {
  const ms = toMilliseconds(retry, "retry");
  if (Number.isSafeInteger(ms)) return ms;
  throw new RangeError(`Cannot set retry: it must be a length of time that clients can wait, got ${quote(retry)}`);
}

function checkReaderOptions({ source, filter, map }: EventStreamParts): void {
  for (const [name, given] of Object.entries({ filter, map })) {
    if (given === undefined) continue;
    if (typeof given !== "function") {
      throw new TypeError(`Cannot send events: ${name} must be a function, got ${quote(given)}`);
    }
    if (source instanceof Subscription || Array.isArray(source)) continue;
    throw new TypeError(
      `Cannot send events: ${name} is for subscriptions to topics, change what the async iterable yields`,
    );
  }
}

function checkSource(source: unknown): SSESource {
  if (Array.isArray(source)) return checkSubscriptions(source);
  // A subscription is an async iterable, too.
  if (typeof source === "object" && source !== null && Symbol.asyncIterator in source) return source as SSESource;
  throw new TypeError(
    `Cannot send events: the source must be a subscription, an array of them or an async iterable, got ${typeof source}`,
  );
}

function checkSubscriptions(source: readonly unknown[]): readonly Subscription[] {
  const subscriptions = source.filter((each) => each instanceof Subscription);
  if (source.length === 0 || subscriptions.length < source.length) {
    throw new TypeError("Cannot send events: an array must have only subscriptions to topics, and at least one");
  }
  const names = subscriptions.map(({ topic }) => topic.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return subscriptions;
  throw new TypeError(`Cannot send events: the topic "${twice}" is in the array twice`);
}
