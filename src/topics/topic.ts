/** A topic as applications use it, and its part in this process: publisher, log, follower. */
import { countBytes, encodeData } from "../base/json_data.ts";
import { checkOptions, type Duration, type OptionNames, quote, toMilliseconds } from "../base/options.ts";
import { tracing } from "../log/telemetry.ts";
import { toValidator, type Validator } from "../schema/check.ts";
import { toIssue } from "../schema/issues.ts";
import type { Dataset, Schema } from "../schema/schema.ts";
import { type LogRef, runsInCall, type SqlTransaction, toGeneratedId, type TopicStore } from "../store/topic_store.ts";
import {
  type BatchOptions,
  checkConsumerName,
  type ConsumeOptions,
  type ConsumerHandler,
  type DeclaredConsumer,
  type HandlerOf,
  resolveConsumeOptions,
} from "./consume_options.ts";
import type { DeclaredTopic } from "./declared_topic.ts";
import { InvalidMessageError } from "./invalid_message_error.ts";
import { LogFollower } from "./log_follower.ts";
import { isSameIncarnation } from "./message.ts";
import {
  checkMessageSize,
  type PublishedMessage,
  Publisher,
  type PublishResult,
  type ScheduledMessage,
} from "./publisher.ts";
import { encodeScheduled, SCHEDULED_LOG } from "./schedule/scheduled_log.ts";
import type { Scheduler } from "./schedule/scheduler.ts";
import { checkId, type SubscribeOptions, Subscription } from "./subscription.ts";
import { SubscriptionReader } from "./subscription_reader.ts";
import { StoredCheck, TopicLog, TopicSpans } from "./topic_log.ts";
import type { ResolvedTopicOptions } from "./topic_options.ts";

/** How a message is published. */
export interface PublishOptions {
  /**
   * The publisher's own id for the message, 1 to 256 characters, such as the id of an order.
   * Publishing the same id again, here or in another process, stores no second message.
   */
  id?: string;
  /**
   * The kind of message, one line of 1 to 256 characters. It is the event name of server-sent
   * events. Avoid `open` and `error`, which an `EventSource` uses itself.
   */
  type?: string;
  /**
   * Stops waiting for the store, such as `AbortSignal.timeout(2_000)`. Without a signal, a publish
   * waits about 30 seconds for a store that cannot be reached, and never much more than 60.
   */
  signal?: AbortSignal;
}

/**
 * How a message is published in a transaction of the database that stores the topics.
 *
 * @ignore
 */
export interface TransactionPublishOptions extends Pick<PublishOptions, "id" | "type"> {
  /**
   * The open transaction. The message is stored when it commits, and never if it is rolled back.
   */
  transaction: SqlTransaction;
  /** The message is scheduled when the transaction commits: published so long after this call. */
  after?: Duration;
  /** The message is scheduled when the transaction commits: published at this time. */
  at?: Date;
}

/**
 * How a message is published later: `after` a time from now on, or `at` a time, at most a year
 * ahead. A time that has passed means at once.
 *
 * @ignore
 */
export type ScheduleOptions =
  & PublishOptions
  & ({ after: Duration; at?: undefined } | { at: Date; after?: undefined });

type AnyPublishOptions = PublishOptions & Partial<Pick<ScheduleOptions, "after" | "at">>;

const PUBLISH_OPTIONS: OptionNames<AnyPublishOptions & TransactionPublishOptions> = {
  id: true,
  type: true,
  signal: true,
  after: true,
  at: true,
  transaction: true,
};
/** The longest time before a message is published. */
const MAX_DELAY = 366 * 24 * 60 * 60 * 1000;

let getSchema: (topic: Topic<unknown, never>) => Schema | undefined;

/** In UTF-16 units. The id is part of a key, and stores limit keys. */
const MAX_TEXT_LENGTH = 256;
const RESERVED_TYPES = "webfw.";

/**
 * A topic: every subscriber gets what is published to it, in one order. Subscribers that come back
 * get what they missed, or a gap where that is no longer stored.
 *
 * Get one by `app.topic(name)`. A topic lives in the memory of the process unless it is durable.
 *
 * `Data` is the data of messages, `Input` the input of the topic's schema. `Owner` is what
 * consumers get of the application: itself and its state.
 *
 * @example Publishing and reading
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * const prices = app.topic("prices", { schema: v.object({ item: v.string(), price: v.number() }) });
 *
 * await using subscription = prices.subscribe();
 * const { id } = await prices.publish({ item: "tea", price: 3 });
 *
 * const { value } = await subscription.next();
 * assertEquals(value && "data" in value && value.data, { item: "tea", price: 3 });
 * assertEquals(await prices.head(), id);
 * ```
 *
 * @category Topics
 */
export class Topic<Data = unknown, Input = Data, Owner = unknown> {
  /** The name of the topic. */
  readonly name: string;
  readonly #runtime: TopicRuntime<Data>;
  readonly #validator: Validator | undefined;

  static {
    getSchema = (topic) => topic.#runtime.options.schema;
  }

  /**
   * Use `app.topic()`.
   *
   * @ignore
   */
  constructor(runtime: TopicRuntime<Data>) {
    const { name, options: { schema } } = runtime;
    this.name = name;
    this.#runtime = runtime;
    this.#validator = schema && toValidator(schema);
  }

  /**
   * Publishes a message in a transaction of yours: it is stored if the transaction commits, and
   * never if it is rolled back. Its place in the order is that of the commit, so there is no
   * result.
   *
   * With a `DatabaseSync`, the statement runs in this call, and a message that cannot be published
   * throws in this call, so that synchronous code rolls back.
   *
   * @param data JSON that fits the schema.
   * @param options The transaction, and the id and type of the message.
   * @returns Resolves when the statement has run: await it before the commit.
   * @throws {TypeError} Also if the topic is not durable, or is not stored in the database of the
   * transaction; or if `transaction` is a pool or a whole client, or no transaction is open.
   *
   * @example A row and its message
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   * import { DatabaseSync } from "node:sqlite";
   *
   * const folder = await Deno.makeTempDir();
   * const file = `${folder}/shop.sqlite`;
   * const app = new App({ topics: { sqlite: file } });
   * const orders = app.topic<string>("orders", { durable: true });
   * await app.start();
   *
   * const db = new DatabaseSync(file, { timeout: 5_000 });
   * db.exec("CREATE TABLE orders (item TEXT)");
   * db.exec("BEGIN IMMEDIATE");
   * db.prepare("INSERT INTO orders VALUES (?)").run("tea");
   * const published = orders.publish("tea", { transaction: db });
   * db.exec("COMMIT");
   * await published;
   *
   * const { value } = await orders.subscribe({ from: "earliest" }).next();
   * assertEquals(value && "data" in value && value.data, "tea");
   *
   * db.close();
   * await app.stop();
   * await Deno.remove(folder, { recursive: true });
   * ```
   */
  publish(data: Input, options: TransactionPublishOptions): Promise<void>;
  /**
   * Publishes a message. When the promise resolves, the message is stored. Messages are in the
   * order of the calls; with an async schema, in the order in which their validation ends.
   *
   * @param data JSON that fits the schema.
   * @param options Its id and type, and how long to wait.
   * @returns The id of the message; for an id that was published before, that of the first message.
   * @throws {TypeError} If the data does not fit the schema, with its `issues`; if JSON cannot
   * represent it; or if an option is invalid.
   * @throws {RangeError} If the message is too large.
   * @throws {PublishOutcomeUnknownError} If the message was sent to the store, and the store
   * failed, the signal was aborted, or the application stopped before the answer: it may be stored.
   * @throws {DOMException} Or another reason of the signal, if it was aborted before the message
   * was sent: nothing is stored.
   * @throws {Error} If nothing is stored: the store cannot be opened; too many bytes wait for it;
   * or the message was not sent within 30 seconds, or before the application stopped.
   */
  publish(data: Input, options?: PublishOptions & { after?: undefined; at?: undefined }): Promise<PublishResult>;
  /**
   * Schedules a message, which is published when its time comes, within a second, by any process of
   * the application that runs then. Only then it gets its place in the topic, and its id is
   * compared with those of earlier messages. The data is validated now.
   *
   * A scheduled message is kept in the records beside the topic: it has at most about 60,000 bytes,
   * and survives what the topic survives. `cancel` takes it back.
   *
   * @returns The id of the message, and when it is published.
   * @throws {TypeError} As above; or if both `after` and `at` are given, or `at` is no valid date.
   * @throws {RangeError} If the message is too large, or its time is more than a year ahead.
   * @throws {PublishOutcomeUnknownError} If the message may be scheduled or not. Publishing it
   * again with the error's `id` is safe.
   *
   * @example A reminder, unless the order is paid before
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * const reminders = app.topic<{ order: number }>("reminders");
   *
   * const { id, at } = await reminders.publish({ order: 7 }, { id: "order 7", after: "2d" });
   * assertEquals([id, at > new Date()], ["order 7", true]);
   * assertEquals([await reminders.cancel("order 7"), await reminders.cancel("order 7")], [true, false]);
   * await app.stop();
   * ```
   */
  publish(data: Input, options: ScheduleOptions): Promise<ScheduledMessage>;
  publish(
    data: Input,
    options: AnyPublishOptions | TransactionPublishOptions = {},
  ): Promise<PublishResult | ScheduledMessage | void> {
    const isIn = typeof options === "object" && options !== null && "transaction" in options;
    return isIn ? this.#publishIn(data, options) : this.#publishNow(data, options);
  }

  async #publishNow(data: Input, options: AnyPublishOptions): Promise<PublishResult | ScheduledMessage> {
    this.#checkOptions(options);
    const due = this.#dueOf(options);
    const checked = this.#validator?.validate(data);
    // No await for a sync schema, so that messages are in the order of the calls.
    const dataset = checked instanceof Promise ? await checked : checked;
    const message = this.#toMessage(data, dataset, options);
    return await (due
      ? this.#runtime.schedule(message, due, options.signal)
      : this.#runtime.publish(message, options.signal));
  }

  #publishIn(data: Input, options: TransactionPublishOptions): Promise<void> {
    const { transaction } = options;
    const isInCall = runsInCall(transaction);
    let due: DueTime | undefined;
    try {
      this.#checkOptions(options);
      due = this.#dueOf(options);
      this.#runtime.checkTransaction(transaction);
      if (isInCall && this.#validator?.isAsync) {
        throw new TypeError(
          `Cannot publish to the topic "${this.name}" in a transaction of a DatabaseSync: the schema is asynchronous, and the transaction could end before it, make the asynchronous check before the transaction begins`,
        );
      }
    } catch (error) {
      return Promise.reject(error);
    }
    // The transaction may have ended when an asynchronous check has.
    const ready = this.#validator?.isAsync ? Promise.resolve() : undefined;
    const publish = (dataset: Dataset | undefined) =>
      this.#runtime.publishIn(transaction, this.#toMessage(data, dataset, options), due, ready);
    // A synchronous function would commit its rows despite a promise that rejects.
    if (isInCall) return publish(this.#validator?.validate(data) as Dataset | undefined);
    return Promise.try(() => this.#validator?.validate(data)).then(publish);
  }

  /**
   * Takes back a message that is scheduled by `publish` with `after` or `at`. It is no part of a
   * transaction: call it after the commit.
   *
   * @param id The id of the message.
   * @returns Whether it was still scheduled: then it is not published. False if it is published or
   * about to be, or if no message with this id was scheduled.
   * @throws {TypeError} If the id is no string of 1 to 256 characters.
   * @throws {Error} If the store cannot be opened, or does not answer for about 30 seconds: the
   * message may be taken back or not.
   */
  async cancel(id: string): Promise<boolean> {
    this.#checkText(id, "id", "cancel a message of");
    return await this.#runtime.cancel(id);
  }

  /**
   * Subscribes. The subscription gets what is published after this call.
   *
   * @param options Where to begin, and what ends it. A `from` in the future begins at the end.
   * @throws {SyntaxError} If `after` is no id.
   * @throws {TypeError} If an option is invalid.
   *
   * @example What was missed comes first
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const steps = new App().topic<string>("steps");
   * const first = await steps.publish("first");
   * await steps.publish("second");
   *
   * await using subscription = steps.subscribe({ after: first.id });
   * const { value } = await subscription.next();
   * assertEquals(value && "data" in value && value.data, "second");
   * ```
   */
  subscribe(options: SubscribeOptions = {}): Subscription<Data> {
    return this.#runtime.subscribe(options);
  }

  /**
   * Declares a consumer: a handler that gets each message that is published after the first start
   * of the consumer. Processes that declare it share the work: each message goes to one of them,
   * and is done when the handler resolves. If the handler throws, or its process ends, the message
   * is handled again, by any of them: at least once, so the handler must bear a message twice.
   *
   * It runs from the start of the application, after its lifespans, until the application stops.
   * Messages of a durable topic wait for the next start. Messages that retention removes are lost,
   * handled or not.
   *
   * @param name 1 to 64 characters without "/". A consumer with another name begins anew.
   * @param options How often a message is tried, and how many at a time.
   * @param handler Gets the message, and `attempt`, `signal`, `app` and `state`.
   * @throws {TypeError} If an argument is invalid.
   * @throws {RangeError} If an option is out of its range.
   * @throws {RouteError} `conflict`: the topic has a consumer of this name. `frozen`: the
   * application has started.
   *
   * @example A mail for each order
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * const orders = app.topic<{ customer: string }>("orders");
   * const { promise: sent, resolve } = Promise.withResolvers<string>();
   *
   * orders.consume("mail", { retry: { attempts: 3, backoff: "1m" } }, async ({ data }, { attempt }) => {
   *   resolve(`Mail to ${data.customer}, try ${attempt}`);
   * });
   *
   * await app.start();
   * await orders.publish({ customer: "Ada" });
   * assertEquals(await sent, "Mail to Ada, try 1");
   * await app.stop();
   * ```
   */
  consume(name: string, handler: ConsumerHandler<Data, Owner>): void;
  /**
   * Declares a consumer with options. With `batch`, its handler gets an array of messages, and may
   * return the ids of those that failed.
   *
   * @example Rows that are inserted together
   * ```ts
   * import { App } from "@webfw/core";
   * import { assertEquals } from "@std/assert";
   *
   * const app = new App();
   * const orders = app.topic<{ item: string }>("orders");
   * const table: string[][] = [];
   *
   * orders.consume("table", { batch: { size: 2, wait: "1s" } }, async (messages) => {
   *   const rows = messages.filter(({ data }) => data.item !== "");
   *   table.push(rows.map(({ data }) => data.item));
   *   return { failed: messages.filter((message) => !rows.includes(message)).map(({ id }) => id) };
   * });
   *
   * await app.start();
   * for (const item of ["tea", "milk", "bread"]) await orders.publish({ item });
   * await app.consumers.idle();
   * assertEquals(table, [["tea", "milk"], ["bread"]]);
   * await app.stop();
   * ```
   */
  consume<Batch extends BatchOptions | undefined = undefined>(
    name: string,
    options: ConsumeOptions<Data, Batch>,
    handler: HandlerOf<Data, Owner, Batch>,
  ): void;
  consume(name: string, ...given: never[]): void {
    const [options, handler] = given as readonly unknown[] as [
      ConsumeOptions<Data, BatchOptions | undefined>,
      unknown?,
    ];
    if (typeof options === "function" && handler === undefined) this.#runtime.consume(name, {}, options);
    else this.#runtime.consume(name, options, handler);
  }

  /**
   * The id of the newest message, for a page that is made now and subscribes later by `subscribe({
   * after: id })`. On an empty topic it is the id to resume from.
   *
   * @throws {Error} If the store cannot be opened, or has not answered for 30 seconds.
   */
  head(): Promise<string> {
    return this.#runtime.head();
  }

  #checkOptions(options: PublishOptions | TransactionPublishOptions): void {
    checkOptions(options, PUBLISH_OPTIONS, `publish to the topic "${this.name}"`);
    const { id, type } = options;
    if (id !== undefined) this.#checkText(id, "id");
    if (type !== undefined) this.#checkType(type);
    if ("transaction" in options && (options as PublishOptions).signal !== undefined) {
      throw new TypeError(
        `Cannot publish to the topic "${this.name}": signal has no effect in a transaction, leave it out and roll back instead`,
      );
    }
  }

  #toMessage(data: Input, dataset: Dataset | undefined, { id, type }: PublishOptions): PublishedMessage {
    const json = encodeData(dataset ? this.#outputOf(dataset) : data, `publish to the topic "${this.name}"`);
    return { id, type, data: json, bytes: countBytes(json) };
  }

  #outputOf({ issues, value }: Dataset): unknown {
    if (issues === undefined) return value;
    throw new InvalidMessageError(
      this.name,
      issues.map((issue) => {
        const { in: _, ...rest } = toIssue(issue, "body", []);
        return rest;
      }),
    );
  }

  #checkType(type: string): void {
    this.#checkText(type, "type");
    if (!/[\0\r\n]/.test(type) && !type.startsWith(RESERVED_TYPES)) return;
    throw new TypeError(
      `Cannot publish to the topic "${this.name}": the type must be one line that does not begin with "${RESERVED_TYPES}", got ${
        JSON.stringify(type)
      }`,
    );
  }

  #dueOf({ after, at }: AnyPublishOptions): DueTime | undefined {
    const action = `Cannot publish to the topic "${this.name}"`;
    if (after === undefined && at === undefined) return undefined;
    if (after !== undefined && at !== undefined) {
      throw new TypeError(`${action}: it has both after and at, give one of them`);
    }
    if (at !== undefined && !(at instanceof Date && !Number.isNaN(at.getTime()))) {
      throw new TypeError(`${action}: at must be a valid Date, got ${quote(at)}`);
    }
    const ms = at ? at.getTime() - Date.now() : toMilliseconds(after!, `the after of a message to "${this.name}"`);
    if (ms <= MAX_DELAY) return at ? { at: at.getTime() } : { after: ms };
    throw new RangeError(
      `${action}: ${at ? "at" : "after"} is at most a year ahead, got ${at ? at.toISOString() : quote(after)}`,
    );
  }

  #checkText(text: string, option: "id" | "type", action = "publish to"): void {
    const isText = typeof text === "string" && text.isWellFormed();
    if (isText && text.length > 0 && text.length <= MAX_TEXT_LENGTH) return;
    throw new TypeError(
      `Cannot ${action} the topic "${this.name}": the ${option} must be a string of 1 to ${MAX_TEXT_LENGTH} characters`,
    );
  }
}

export function schemaOfTopic(topic: Topic<unknown, never>): Schema | undefined {
  return getSchema(topic);
}

export interface RuntimeContext {
  /** After a stop of the application it is another store. */
  readonly store: (isDurable: boolean) => TopicStore;
  readonly isEnding: () => boolean;
  readonly followers: Set<Pick<LogFollower<unknown>, "close">>;
  readonly now: () => number;
  readonly addConsumer: (consumer: DeclaredConsumer) => void;
  /** Loads it. */
  readonly scheduler: (isDurable: boolean) => Promise<Scheduler>;
}

/** In milliseconds: from now on, or since 1970. */
type DueTime = { readonly after: number } | { readonly at: number };

const SUBSCRIBE_OPTIONS: OptionNames<SubscribeOptions> = { after: true, from: true, signal: true };

export class TopicRuntime<Data> {
  readonly declared: DeclaredTopic;
  readonly name: string;
  readonly options: ResolvedTopicOptions;
  readonly publisher: Publisher;
  readonly #context: RuntimeContext;
  readonly #ref: LogRef;
  readonly #log: TopicLog<Data>;
  readonly #spans: TopicSpans | undefined;
  readonly #check: StoredCheck | undefined;
  #follower: LogFollower<Data> | undefined;
  /**
   * Settles when the start positions of all subscriptions so far are known. Publishing waits for
   * it: no subscription misses a message that is published after it was made.
   */
  #resolvingStarts: Promise<void> | undefined;

  constructor(declared: DeclaredTopic, context: RuntimeContext, isTransient = false) {
    const { name, options } = declared;
    this.declared = declared;
    this.name = name;
    this.options = options;
    this.#context = context;
    const log = this.#ref = { name, policy: options.policy };
    const store = () => context.store(options.isDurable);
    this.#spans = tracing && new TopicSpans(tracing, log, isTransient);
    const { schema, isDurable } = options;
    // Messages in memory were published by this process.
    this.#check = isDurable ? new StoredCheck(schema, name) : undefined;
    this.#log = new TopicLog(store, log, this.#spans, this.#check);
    this.publisher = new Publisher({ store, log, ready: () => this.#resolvingStarts, now: context.now });
  }

  /** No subscription is open, and no message waits to be stored. */
  get isIdle(): boolean {
    return this.#follower === undefined && this.publisher.isIdle;
  }

  get subscribers(): number {
    return this.#follower?.size ?? 0;
  }

  publish(message: PublishedMessage, signal: AbortSignal | undefined): Promise<PublishResult> {
    if (!this.#spans) return this.publisher.publish(message, signal);
    return this.#spans.publish(message.bytes, (trace) => this.publisher.publish({ ...message, trace }, signal));
  }

  /**
   * @throws {TypeError} If the message could not become a part of any transaction, or of this one.
   */
  checkTransaction(transaction: unknown): void {
    const action = `Cannot publish to the topic "${this.name}" in a transaction`;
    if (transaction === undefined || transaction === null) {
      throw new TypeError(`${action}: transaction is ${transaction}, leave the option out to publish without one`);
    }
    const cure =
      'keep the topics in the database of the transaction, by new App({ topics: "postgres://…" }) or { sqlite: "…" }';
    if (!this.options.isDurable) {
      throw new TypeError(`${action}: the topic is in memory, declare it with durable: true and ${cure}`);
    }
    if (!this.#context.store(true).appendIn) {
      throw new TypeError(`${action}: its store is no SQL database, ${cure}`);
    }
  }

  /** Runs a statement in the transaction of the application. */
  publishIn(
    transaction: SqlTransaction,
    message: PublishedMessage,
    due: DueTime | undefined,
    ready: Promise<void> | undefined,
  ): Promise<void> {
    const store = this.#context.store(this.options.isDurable);
    checkMessageSize(message, store.capabilities, this.name);
    const { id = toGeneratedId(crypto.randomUUID(), 0) } = message;
    const isGenerated = message.id === undefined;
    const append = (trace?: string) =>
      due ? this.#scheduleIn(transaction, { ...message, id, trace }, due, ready) : store.appendIn!(
        transaction,
        this.#ref,
        { ...message, id, isGenerated, trace },
        this.#resolvingStarts ?? ready,
      );
    return this.#spans ? this.#spans.publishIn(message.bytes, append) : append();
  }

  /** Schedulers find it in a log of the framework. In a `DatabaseSync` this runs in the call. */
  #scheduleIn(
    transaction: SqlTransaction,
    message: PublishedMessage & { readonly id: string },
    due: DueTime,
    ready: Promise<void> | undefined,
  ): Promise<void> {
    const { scheduler, store: storeOf, now } = this.#context;
    const store = storeOf(true);
    const at = "at" in due ? due.at : (store.now?.() ?? now()) + due.after;
    const data = encodeScheduled(this.#ref, message, at);
    scheduler(true).then((scheduler) => scheduler.start(), () => {});
    const id = toGeneratedId(crypto.randomUUID(), 0);
    const scheduled = { id, isGenerated: true, type: undefined, data, bytes: countBytes(data) };
    return store.appendIn!(transaction, SCHEDULED_LOG, scheduled, ready);
  }

  schedule(message: PublishedMessage, due: DueTime, signal: AbortSignal | undefined): Promise<ScheduledMessage> {
    const schedule = async (trace?: string): Promise<ScheduledMessage> => {
      const scheduler = await this.#context.scheduler(this.options.isDurable);
      return await scheduler.schedule(this.#ref, { ...message, trace }, due, signal);
    };
    return this.#spans ? this.#spans.publish(message.bytes, schedule) : schedule();
  }

  async cancel(id: string): Promise<boolean> {
    return await (await this.#context.scheduler(this.options.isDurable)).cancel(this.name, id);
  }

  consume(name: string, options: ConsumeOptions<Data, BatchOptions | undefined>, handler: unknown): void {
    checkConsumerName(name, this.name);
    const resolved = resolveConsumeOptions(options, this.name, name);
    if (typeof handler !== "function") {
      throw new TypeError(
        `Cannot make the consumer "${name}" of the topic "${this.name}": its handler must be a function, write async (${
          resolved.batch ? "messages" : "message"
        }) => …, got ${quote(handler)}`,
      );
    }
    this.#context.addConsumer({
      name,
      log: this.#ref,
      isDurable: this.options.isDurable,
      options: resolved,
      check: this.#check,
      // It gets the messages of this topic, and its application.
      handler: handler as DeclaredConsumer["handler"],
    });
  }

  async head(): Promise<string> {
    return (await this.#log.bounds()).highWatermark;
  }

  /** It is closed from the start while the application ends its streams. */
  subscribe(options: SubscribeOptions): Subscription<Data> {
    checkOptions(options, SUBSCRIBE_OPTIONS, `subscribe to the topic "${this.name}"`);
    const { after, from = "now", signal } = options;
    if (after !== undefined) checkId(after);
    const isDate = from instanceof Date && !Number.isNaN(from.getTime());
    if (from !== "now" && from !== "earliest" && !isDate) {
      throw new TypeError(
        `Cannot subscribe to the topic "${this.name}": from must be "now", "earliest" or a valid Date, got "${from}"`,
      );
    }
    const follower = this.#follower ??= this.#openFollower();
    const position = after ?? this.#startOf(from, follower);
    const reader = new SubscriptionReader(follower, { position, isTrusted: after === undefined, signal });
    if (this.#context.isEnding()) reader.close();
    return new Subscription(this, reader, this.options.schema);
  }

  #openFollower(): LogFollower<Data> {
    const { isDurable, buffer, policy: { age } } = this.options;
    const { store, followers } = this.#context;
    // The clock of the store dates the messages.
    const now = () => store(isDurable).now?.() ?? this.#context.now();
    const follower: LogFollower<Data> = new LogFollower(this.#log, { buffer, age, now }, () => {
      followers.delete(follower);
      if (this.#follower === follower) this.#follower = undefined;
    });
    followers.add(follower);
    return follower;
  }

  #startOf(from: "now" | "earliest" | Date, follower: LogFollower<Data>): string | Promise<string> {
    if (from === "earliest") return this.#log.seek(new Date(0));
    const end = this.#endOf(follower);
    if (from === "now") return end;
    // By the clock of the store, the time may be in the future. What is published next must be read
    // nevertheless.
    return Promise.all([this.#log.seek(from), end]).then(([position, end]) => {
      return isSameIncarnation(position, end) && end < position ? end : position;
    });
  }

  /** What this process publishes next comes after it. */
  #endOf(follower: LogFollower<Data>): string | Promise<string> {
    const { end } = follower;
    if (end !== undefined && follower.isCurrent) {
      const { newestId } = this.publisher;
      // The follower may not have read the newest message of this process.
      return newestId !== undefined && newestId > end && isSameIncarnation(newestId, end) ? newestId : end;
    }
    const position = end === undefined ? follower.opened : this.head();
    // Earlier start positions may be resolved later than this one.
    const resolving = this.#resolvingStarts = Promise.allSettled([this.#resolvingStarts, position]).then(() => {
      if (this.#resolvingStarts === resolving) this.#resolvingStarts = undefined;
    });
    return position;
  }
}
