/** The inside of a topic in this process: what publishes to its log, and what follows it while somebody reads. */
import { checkOptions, type OptionNames } from "../options.ts";
import { TopicLog } from "./topic_log.ts";
import { isSameIncarnation } from "./message.ts";
import { Publisher, type PublishResult } from "./publisher.ts";
import { SubscriptionReader } from "./subscription_reader.ts";
import type { LogRef, NewMessage, TopicStore } from "./store.ts";
import { checkId, Subscription } from "./subscription.ts";
import { LogFollower } from "./log_follower.ts";
import type { ResolvedTopicOptions } from "./topic_options.ts";

/** What the topics of an application share. */
export interface RuntimeContext {
  /** The store of durable topics, or that of the others; another one after the application was stopped. */
  readonly store: (isDurable: boolean) => TopicStore;
  /** Whether the application is ending its streams. */
  readonly isEnding: () => boolean;
  /** All that follow a log at present. */
  readonly tails: Set<Pick<LogFollower<unknown>, "close">>;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/** Where a subscription begins, and what ends it. */
export interface SubscribeOptions {
  /** The id of the message to go on after: what is kept of those that followed it comes first. It wins over `from`. */
  after?: string;
  /**
   * Where to begin: at the messages to come, at the oldest that is kept, or at the first of a time by the clock of the store.
   *
   * @default {"now"}
   */
  from?: "now" | "earliest" | Date;
  /** Closes the subscription when it is aborted. */
  signal?: AbortSignal;
}

const SUBSCRIBE_OPTIONS: OptionNames<SubscribeOptions> = { after: true, from: true, signal: true };

/** Publishes to a log, and reads it. */
export class TopicRuntime<Data> {
  /** The name of the topic. */
  readonly name: string;
  /** What the topic was declared with. */
  readonly options: ResolvedTopicOptions;
  readonly #context: RuntimeContext;
  readonly #reader: TopicLog<Data>;
  readonly #publisher: Publisher;
  #tail: LogFollower<Data> | undefined;
  /** Settles when it is known where each subscription begins that was made so far: nothing is appended before that is published now. */
  #finding: Promise<void> | undefined;

  /** Makes a channel. Nothing is asked of the store for it. */
  constructor(name: string, options: ResolvedTopicOptions, context: RuntimeContext) {
    this.name = name;
    this.options = options;
    this.#context = context;
    const log: LogRef = { name, policy: options.policy };
    const store = () => context.store(options.isDurable);
    this.#reader = new TopicLog(store, log);
    this.#publisher = new Publisher({ store, log, ready: () => this.#finding, now: context.now });
  }

  /** Whether nobody reads or waits for a message to be stored. */
  get isIdle(): boolean {
    return this.#tail === undefined && !this.isPublishing;
  }

  /** Whether something waits to be stored. */
  get isPublishing(): boolean {
    return !this.#publisher.isIdle;
  }

  /** Stores a message. */
  publish(message: NewMessage, signal: AbortSignal | undefined): Promise<PublishResult> {
    return this.#publisher.publish(message, signal);
  }

  /** The id of the newest message. */
  async head(): Promise<string> {
    return (await this.#reader.bounds()).highWatermark;
  }

  /** Makes a reader. It is closed from the start while the application ends its streams. */
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
    const tail = this.#tail ??= this.#openTail();
    const place = after ?? this.#placeOf(from, tail);
    const reader = new SubscriptionReader(tail, { place, isOwn: after === undefined, signal });
    if (this.#context.isEnding()) reader.close();
    return new Subscription(this, reader);
  }

  /** Resolves when nothing waits to be stored. */
  settled(): Promise<void> {
    return this.#publisher.drained();
  }

  /** Waits no longer for what is being published. */
  giveUp(cause: unknown): void {
    this.#publisher.abandon(cause);
  }

  #openTail(): LogFollower<Data> {
    const { buffer, policy: { age } } = this.options;
    const { store, tails } = this.#context;
    // Messages have their times by the clock of the store.
    const now = () => store(this.options.isDurable).now?.() ?? this.#context.now();
    const tail: LogFollower<Data> = new LogFollower(this.#reader, { buffer, age, now }, () => {
      tails.delete(tail);
      if (this.#tail === tail) this.#tail = undefined;
    });
    tails.add(tail);
    return tail;
  }

  #placeOf(from: "now" | "earliest" | Date, tail: LogFollower<Data>): string | Promise<string> {
    if (from === "earliest") return this.#reader.seek(new Date(0));
    const end = this.#endOf(tail);
    if (from === "now") return end;
    // Which messages are of that time is by the clock of the store. What is published next must not be missed, whichever time it is then.
    return Promise.all([this.#reader.seek(from), end]).then(([place, end]) => {
      return isSameIncarnation(place, end) && end < place ? end : place;
    });
  }

  /** Where the topic ends now: what is published here next comes after it. */
  #endOf(tail: LogFollower<Data>): string | Promise<string> {
    const { end } = tail;
    if (end !== undefined && tail.isCurrent) {
      const { newest } = this.#publisher;
      // What was published here before may not have been read back yet.
      return newest !== undefined && newest > end && isSameIncarnation(newest, end) ? newest : end;
    }
    const place = end === undefined ? this.#beginOf(tail) : this.head();
    // The answer to an earlier one may come later.
    const finding = this.#finding = Promise.allSettled([this.#finding, place]).then(() => {
      if (this.#finding === finding) this.#finding = undefined;
    });
    return place;
  }

  async #beginOf(tail: LogFollower<Data>): Promise<string> {
    await tail.opened;
    if (tail.end === undefined) throw tail.failure;
    return tail.end;
  }
}
