/** What a topic needs in this process: its publisher, its log, and a follower of the log. */
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { tracing } from "../log/telemetry.ts";
import {
  checkConsumerName,
  type ConsumeOptions,
  type ConsumerHandler,
  type DeclaredConsumer,
  resolveConsumeOptions,
} from "./consume_options.ts";
import { LogFollower } from "./log_follower.ts";
import { isSameIncarnation } from "./message.ts";
import { type PublishedMessage, Publisher, type PublishResult } from "./publisher.ts";
import type { LogRef, TopicStore } from "../store/topic_store.ts";
import { StoredCheck } from "./stored_check.ts";
import { checkId, type SubscribeOptions, Subscription } from "./subscription.ts";
import { SubscriptionReader } from "./subscription_reader.ts";
import { TopicLog } from "./topic_log.ts";
import type { ResolvedTopicOptions } from "./topic_options.ts";
import { TopicSpans } from "./topic_spans.ts";

/** What the topics of an application share. */
export interface RuntimeContext {
  /** Gives the store. After a stop of the application it is another one. */
  readonly store: (isDurable: boolean) => TopicStore;
  /** Whether the application is ending its streams. */
  readonly isEnding: () => boolean;
  /** All followers of the application. */
  readonly followers: Set<Pick<LogFollower<unknown>, "close">>;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
  /** Declares a consumer of a topic. */
  readonly addConsumer: (consumer: DeclaredConsumer) => void;
}

const SUBSCRIBE_OPTIONS: OptionNames<SubscribeOptions> = { after: true, from: true, signal: true };

export class TopicRuntime<Data> {
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
   * it, so that no subscription misses a message that is published after it was made.
   */
  #resolvingStarts: Promise<void> | undefined;

  /**
   * Reads and publishes nothing yet.
   *
   * @param name The name of the topic.
   * @param options Its options.
   * @param context What it shares with others.
   * @param isTransient Whether its name may come from a client.
   */
  constructor(name: string, options: ResolvedTopicOptions, context: RuntimeContext, isTransient = false) {
    this.name = name;
    this.options = options;
    this.#context = context;
    const log = this.#ref = { name, policy: options.policy };
    const store = () => context.store(options.isDurable);
    this.#spans = tracing && new TopicSpans(tracing, log, isTransient);
    const { schema, isDurable } = options;
    // What is in memory was published by this process.
    this.#check = schema && isDurable ? new StoredCheck(schema, name) : undefined;
    this.#log = new TopicLog(store, log, this.#spans, this.#check);
    this.publisher = new Publisher({ store, log, ready: () => this.#resolvingStarts, now: context.now });
  }

  /** Whether nobody subscribes, and no message waits to be stored. */
  get isIdle(): boolean {
    return this.#follower === undefined && this.publisher.isIdle;
  }

  /** How many subscriptions are open. */
  get subscribers(): number {
    return this.#follower?.size ?? 0;
  }

  /** Stores a message: see {@linkcode Publisher.publish}. */
  publish(message: PublishedMessage, signal: AbortSignal | undefined): Promise<PublishResult> {
    if (!this.#spans) return this.publisher.publish(message, signal);
    return this.#spans.publish(message.bytes, (trace) => this.publisher.publish({ ...message, trace }, signal));
  }

  /** Declares a consumer. */
  consume<Owner>(name: string, options: ConsumeOptions<Data>, handler: ConsumerHandler<Data, Owner> | undefined): void {
    checkConsumerName(name, this.name);
    const resolved = resolveConsumeOptions(options, this.name, name);
    if (typeof handler !== "function") {
      throw new TypeError(
        `Cannot make the consumer "${name}" of the topic "${this.name}": its handler must be a function, write async (message) => …, got ${
          quote(handler)
        }`,
      );
    }
    this.#context.addConsumer({
      name,
      log: this.#ref,
      isDurable: this.options.isDurable,
      options: resolved,
      check: this.#check,
      // It gets the messages of this topic, and its application.
      handler: handler as unknown as DeclaredConsumer["handler"],
    });
  }

  async head(): Promise<string> {
    return (await this.#log.bounds()).highWatermark;
  }

  /** Makes a subscription. It is closed from the start while the application ends its streams. */
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
    // By the clock of the store, the time may still be to come. What is published next must be read
    // nevertheless.
    return Promise.all([this.#log.seek(from), end]).then(([position, end]) => {
      return isSameIncarnation(position, end) && end < position ? end : position;
    });
  }

  /** The end of the topic now. What is published in this process next comes after it. */
  #endOf(follower: LogFollower<Data>): string | Promise<string> {
    const { end } = follower;
    if (end !== undefined && follower.isCurrent) {
      const { newestId } = this.publisher;
      // The follower may not have read the last message that was published here.
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
