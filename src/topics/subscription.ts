/** A subscription to a topic, as applications use it. */
import type { Schema } from "../schema/schema.ts";
import { isId, type TopicEntry } from "./message.ts";
import type { Batch, SubscriptionReader } from "./subscription_reader.ts";

/** Where a subscription begins, and what ends it. */
export interface SubscribeOptions {
  /** The id of the message to go on after. It takes precedence over `from`. */
  after?: string;
  /**
   * Where to begin: with the messages to come, the oldest stored one, or the first of a time by the
   * clock of the store.
   *
   * @default {"now"}
   */
  from?: "now" | "earliest" | Date;
  /** Closes the subscription when it is aborted. */
  signal?: AbortSignal;
}

interface PartialBatch<Data> {
  readonly batch: Batch<Data>;
  count: number;
}

let getReader: (subscription: Subscription) => SubscriptionReader<unknown>;
let getSchema: (subscription: Subscription) => Schema | undefined;

/**
 * A subscription to a topic, live from the moment when it was made. It is an async iterable of
 * messages, and of gaps where messages are missing.
 *
 * Nothing is read before it is asked for, so an idle subscription costs only the memory of its
 * position. The next read gets what was published meanwhile, or a gap if that is no longer stored.
 *
 * @example Reading with a loop
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * const prices = app.topic<number>("prices");
 *
 * const subscription = prices.subscribe();
 * await prices.publish(12);
 * for await (const entry of subscription) {
 *   if ("gap" in entry) continue;
 *   assertEquals(entry.data, 12);
 *   break; // closes the subscription
 * }
 * ```
 *
 * @category Topics
 */
export class Subscription<Data = unknown> implements AsyncIterableIterator<TopicEntry<Data>>, AsyncDisposable {
  /** The topic that is read. */
  readonly topic: { readonly name: string };
  readonly #reader: SubscriptionReader<Data>;
  readonly #schema: Schema | undefined;
  #entries: AsyncGenerator<TopicEntry<Data>, void, void> | undefined;
  #partial: PartialBatch<Data> | undefined;

  static {
    getReader = (subscription) => subscription.#reader;
    getSchema = (subscription) => subscription.#schema;
  }

  /**
   * Use `topic.subscribe()`.
   *
   * @ignore
   */
  constructor(topic: { readonly name: string }, reader: SubscriptionReader<Data>, schema?: Schema) {
    this.topic = topic;
    this.#reader = reader;
    this.#schema = schema;
  }

  /**
   * Continues after a message that was read before, instead of where the subscription would begin.
   *
   * @throws {SyntaxError} If it is no id.
   * @throws {TypeError} If reading has begun.
   */
  resumeAfter(id: string): void {
    if (this.#reader.hasBegun) {
      throw new TypeError(`Cannot resume the subscription to "${this.topic.name}": reading has begun`);
    }
    checkId(id);
    this.#reader.resumeAfter(id);
  }

  /**
   * The id to resume from: that of the last message that was read. Before the first one, it is the
   * position where reading begins. Undefined if the subscription was closed before that is known.
   *
   * @throws {Error} If the store could not be read.
   */
  async cursor(): Promise<string | undefined> {
    const { batch, count = 0 } = this.#partial ?? {};
    const last = batch?.[count - 1];
    return last && !("gap" in last) ? last.id : await this.#reader.position();
  }

  /**
   * All entries that wait for this subscription, up to a bound, oldest first, as soon as there is
   * one. Subscriptions at the same position get the same array. A gap comes alone.
   *
   * @returns Undefined when the subscription is closed.
   * @throws {TypeError} If another read is waiting.
   * @throws {Error} If the store cannot be reached, as for {@linkcode Subscription.next}.
   */
  nextBatch(): Promise<readonly TopicEntry<Data>[] | undefined> {
    const rest = this.#reader.isReading ? undefined : this.#takeRest();
    return rest ? Promise.resolve(rest) : this.#read((batch) => batch);
  }

  /**
   * The next message or gap, as soon as there is one.
   *
   * @throws {Error} If the store cannot be opened, or has not answered for 30 seconds: the
   * subscription has ended.
   */
  next(): Promise<IteratorResult<TopicEntry<Data>, void>> {
    this.#entries ??= this.#iterate();
    return this.#entries.next();
  }

  /** Ends the subscription. A pending read ends, too. */
  close(): void {
    this.#reader.close();
  }

  /** Ends the subscription, as leaving a `for await` does. */
  return(): Promise<IteratorResult<TopicEntry<Data>, void>> {
    this.close();
    this.#entries ??= this.#iterate();
    return this.#entries.return();
  }

  /** The subscription itself: all its iterators share one position. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the subscription, as `await using` does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async *#iterate(): AsyncGenerator<TopicEntry<Data>, void, void> {
    for (let partial = await this.#readPartial(); partial; partial = await this.#readPartial()) {
      // The position is behind this entry already. So it is yielded even if the subscription was
      // closed meanwhile.
      yield partial.batch[0]!;
      // A call of nextBatch() in between takes the rest of this batch.
      while (this.#partial === partial && partial.count < partial.batch.length) {
        if (this.#reader.isClosed) return;
        yield partial.batch[partial.count++]!;
      }
    }
  }

  /** Sets the batch when it arrives: nextBatch() may take its rest before the promise resolves. */
  #readPartial(): Promise<PartialBatch<Data> | undefined> {
    return this.#read((batch) => this.#partial = batch && { batch, count: 1 });
  }

  #read<Result>(toResult: (batch: Batch<Data> | undefined) => Result): Promise<Result> {
    if (!this.#reader.isReading) return this.#reader.read(toResult);
    const message = `Cannot read the subscription to "${this.topic.name}": another read is waiting`;
    return Promise.reject(new TypeError(message));
  }

  #takeRest(): Batch<Data> | undefined {
    if (!this.#partial || this.#reader.isClosed) return undefined;
    const { batch, count } = this.#partial;
    this.#partial = undefined;
    return count < batch.length ? batch.slice(count) : undefined;
  }
}

/** The reader, for a receiver of batches without promises. */
export function readerOf(subscription: Subscription): SubscriptionReader<unknown> {
  return getReader(subscription);
}

export function schemaOf(subscription: Subscription): Schema | undefined {
  return getSchema(subscription);
}

/** @throws {SyntaxError} If it is no id. */
export function checkId(id: unknown): asserts id is string {
  if (!isId(id)) throw new SyntaxError(`Cannot resume after "${id}": it is not the id of a message`);
}
