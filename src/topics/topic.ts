/** A topic as applications use it. */
import { countBytes, encodeData } from "../base/json_data.ts";
import { checkOptions, type OptionNames } from "../base/options.ts";
import { toValidator, type Validator } from "../schema/check.ts";
import type { Dataset, Schema } from "../schema/schema.ts";
import { toIssue } from "../schema/issues.ts";
import type { ConsumeOptions, ConsumerHandler } from "./consume_options.ts";
import type { PublishResult } from "./publisher.ts";
import type { SubscribeOptions, Subscription } from "./subscription.ts";
import { InvalidMessageError } from "../store/store_errors.ts";
import type { TopicRuntime } from "./topic_runtime.ts";

/**
 * How a message is published.
 *
 * @category Topics
 */
export interface PublishOptions {
  /**
   * The publisher's own id for the message, 1 to 256 characters. Publishing the same id again, here
   * or by another process, stores no second message. Use what names the event, such as the id of an
   * order.
   */
  id?: string;
  /**
   * The kind of message, one line of 1 to 256 characters. It is the event name of server-sent
   * events. Avoid `open` and `error`: an `EventSource` has its own events of these names.
   */
  type?: string;
  /**
   * Gives up waiting for the store, such as `AbortSignal.timeout(2_000)`. Without a signal, a store
   * that is away is waited for for about 30 seconds, and never for much more than 60.
   */
  signal?: AbortSignal;
}

const PUBLISH_OPTIONS: OptionNames<PublishOptions> = { id: true, type: true, signal: true };

let getSchema: (topic: Topic<unknown, never>) => Schema | undefined;

/** In UTF-16 units. The id is a part of a key, and stores limit the length of keys. */
const MAX_TEXT_LENGTH = 256;
/** The prefix of the framework's own event names. */
const RESERVED_TYPES = "webfw.";

/**
 * A topic: all who subscribe get what is published to it, in one order. Subscribers that come back
 * get what they missed as far as it is kept, and a gap where it is not.
 *
 * Get one by `app.topic(name)`. A topic lives in the memory of the process unless it is declared
 * durable.
 *
 * `Data` is what messages hold, `Input` what is published: the input of the topic's schema. `Owner`
 * is what consumers get of the application: itself and its state.
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
   * Publishes a message. When the promise resolves, the message is stored: a subscription from an
   * earlier position gets it. Messages are in the order of the calls; with an async schema, in the
   * order in which their validation ends.
   *
   * @param data What the message holds: JSON that fits the schema.
   * @param options Its id and type, and how long to wait.
   * @returns The id of the message. For an id that was published before, it is that of the first
   * message.
   * @throws {TypeError} If the data does not fit the schema, with its `issues`; if JSON cannot
   * carry it; or if the id or type cannot be used, or an option is unknown.
   * @throws {RangeError} If the message is too large.
   * @throws {PublishOutcomeUnknown} If the message was sent to the store, and the store failed,
   * or the signal was aborted or the application stopped before the store had answered: it may be
   * stored.
   * @throws {DOMException} Or any other reason of the signal, if it was aborted before the
   * message was sent: nothing is stored.
   * @throws {Error} If nothing is stored: the store cannot be opened as it is configured; too
   * much waits for it already; or the message was not sent, because it had waited for 30 seconds
   * when an earlier one failed, or because the application stopped.
   */
  async publish(data: Input, options: PublishOptions = {}): Promise<PublishResult> {
    checkOptions(options, PUBLISH_OPTIONS, `publish to the topic "${this.name}"`);
    const { id, type, signal } = options;
    if (id !== undefined) this.#checkText(id, "id");
    if (type !== undefined) this.#checkType(type);
    const checked = this.#validator?.validate(data);
    // There is no await for a sync schema, so that messages are in the order of the calls.
    const dataset = checked instanceof Promise ? await checked : checked;
    const json = encodeData(dataset ? this.#outputOf(dataset) : data, `publish to the topic "${this.name}"`);
    return await this.#runtime.publish({ id, type, data: json, bytes: countBytes(json) }, signal);
  }

  /**
   * Subscribes. The subscription is live from this call: it gets what is published afterwards.
   *
   * @param options Where to begin, and what ends it. With a `from` in the future, it begins at the
   * end, with what is published next.
   * @throws {SyntaxError} If the id to begin after is none.
   * @throws {TypeError} If `from` is none of its values, or an option is unknown.
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
   * Declares a consumer: a handler that gets each message that is published from the first start of
   * the consumer on. All processes that declare it share the work, and each message goes to one of
   * them. It is done when the handler resolves. If the handler throws, or its process ends, the
   * message is handled again, by any of them: at least once, so the handler must bear a message
   * twice.
   *
   * It works from the start of the application, after its lifespans, until the application stops.
   * While messages of a topic in memory are lost with the process, those of a durable topic wait
   * for the next start. Messages that are older than the topic keeps are lost, handled or not.
   *
   * @param name The name of the consumer, 1 to 64 characters without "/". It says which messages
   * are done: a consumer with another name begins anew.
   * @param options How often a message is tried, and how many at a time.
   * @param handler Handles a message. It gets `attempt`, `signal`, `app` and `state`.
   * @throws {TypeError} If the name, an option or the handler cannot be used.
   * @throws {RangeError} If an option is out of its range.
   * @throws {RouteError} With code `conflict`, if the topic has a consumer of this name; with code
   * `frozen`, if the application has started.
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
  /** Declares a consumer with options. */
  consume(name: string, options: ConsumeOptions<Data>, handler: ConsumerHandler<Data, Owner>): void;
  consume(
    name: string,
    ...[given, handler]:
      | [ConsumerHandler<Data, Owner>]
      | [options: ConsumeOptions<Data>, handler: ConsumerHandler<Data, Owner>]
  ): void {
    if (typeof given === "function" && handler === undefined) this.#runtime.consume(name, {}, given);
    else this.#runtime.consume(name, given as ConsumeOptions<Data>, handler);
  }

  /**
   * The id of the newest message, for a page that is made now and subscribes later: `subscribe({
   * after: id })` goes on where the page ends. On an empty topic it is the id to resume from.
   *
   * @throws {Error} If the store cannot be opened, or has not answered for 30 seconds.
   */
  head(): Promise<string> {
    return this.#runtime.head();
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

  #checkText(text: string, option: "id" | "type"): void {
    const isText = typeof text === "string" && text.isWellFormed();
    if (isText && text.length > 0 && text.length <= MAX_TEXT_LENGTH) return;
    throw new TypeError(
      `Cannot publish to the topic "${this.name}": the ${option} must be a text of 1 to ${MAX_TEXT_LENGTH} characters`,
    );
  }
}

/** The schema that a topic was declared with. */
export function schemaOfTopic(topic: Topic<unknown, never>): Schema | undefined {
  return getSchema(topic);
}
