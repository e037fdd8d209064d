/** The reader of a topic as applications use it. */
import { isId, type TopicEntry } from "./message.ts";
import type { Batch, BatchReceiver, SubscriptionReader } from "./subscription_reader.ts";

let request: (subscription: Subscription, receiver: BatchReceiver<unknown>) => void;
let readerOf: (subscription: Subscription) => SubscriptionReader<unknown>;

/** A batch that `next()` gives piece by piece. */
interface BegunBatch<Data> {
  readonly batch: Batch<Data>;
  given: number;
}

/**
 * A reader of a topic, live from the moment it was made. It is an async iterable of messages and, where some are missing, of a gap.
 *
 * It is pulled: nothing is read for it before it asks, and one that does not ask costs no more than its place. When it asks again
 * it gets what has come since, or is told that some of it is no longer kept.
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
 */
export class Subscription<Data = unknown> implements AsyncIterableIterator<TopicEntry<Data>>, AsyncDisposable {
  /** The topic that is read. */
  readonly topic: { readonly name: string };
  readonly #reader: SubscriptionReader<Data>;
  #hasBegun = false;
  #entries: AsyncGenerator<TopicEntry<Data>, void, void> | undefined;
  /** A batch of which `next()` has given a part. */
  #begun: BegunBatch<Data> | undefined;

  static {
    request = (subscription, receiver) => {
      subscription.#hasBegun = true;
      subscription.#reader.request(receiver);
    };
    readerOf = (subscription) => subscription.#reader;
  }

  /**
   * Wraps a reader; the topic does it.
   *
   * @ignore
   */
  constructor(topic: { readonly name: string }, reader: SubscriptionReader<Data>) {
    this.topic = topic;
    this.#reader = reader;
  }

  /**
   * Goes on after a message that was read before, in place of where the subscription would begin.
   *
   * @param id The id of the message.
   * @throws {SyntaxError} When it is no id.
   * @throws {TypeError} When reading has begun.
   */
  resumeAfter(id: string): void {
    if (this.#hasBegun) {
      throw new TypeError(`Cannot resume the subscription to "${this.topic.name}": reading has begun`);
    }
    checkId(id);
    this.#reader.resumeAfter(id);
  }

  /**
   * The id to resume from: that of the last message that was read; before there was one, of the place where reading begins. It
   * waits until that is known. Undefined where the subscription was closed before.
   *
   * @throws {Error} When the store could not be read.
   */
  async cursor(): Promise<string | undefined> {
    const { batch, given = 0 } = this.#begun ?? {};
    const last = batch?.[given - 1];
    return last && !("gap" in last) ? last.id : await this.#reader.place();
  }

  /**
   * All that waits for this reader, up to a bound, oldest first; it waits until there is something. Readers at the same place get
   * the very same list. A gap comes alone.
   *
   * @returns Undefined when the subscription is closed.
   * @throws {TypeError} When another read is waiting.
   * @throws {Error} When the store cannot be opened, or has not answered for 30 seconds: the subscription has ended.
   */
  nextBatch(): Promise<readonly TopicEntry<Data>[] | undefined> {
    const rest = this.#reader.isReading ? undefined : this.#takeRest();
    return rest ? Promise.resolve(rest) : this.#read((batch) => batch);
  }

  /**
   * The next message or gap; it waits until there is one.
   *
   * @throws {Error} When the store cannot be opened, or has not answered for 30 seconds: the subscription has ended.
   */
  next(): Promise<IteratorResult<TopicEntry<Data>, void>> {
    this.#entries ??= this.#iterate();
    return this.#entries.next();
  }

  /** Ends the subscription. A read that waits gives nothing any more. */
  close(): void {
    this.#reader.close();
  }

  /** Ends the subscription, as leaving a `for await` does. */
  return(): Promise<IteratorResult<TopicEntry<Data>, void>> {
    this.close();
    this.#entries ??= this.#iterate();
    return this.#entries.return();
  }

  /** The subscription itself: there is one place, whoever reads. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the subscription, as `await using` does. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async *#iterate(): AsyncGenerator<TopicEntry<Data>, void, void> {
    for (let begun = await this.#begin(); begun; begun = await this.#begin()) {
      // Its first entry was on its way before anyone closed the subscription: the place is behind it.
      yield begun.batch[0]!;
      // Whoever asks for a batch in between gets the rest of this one.
      while (this.#begun === begun && begun.given < begun.batch.length) {
        if (this.#reader.isClosed) return;
        yield begun.batch[begun.given++]!;
      }
    }
  }

  /** Reads a batch for `next()`. It is noted when it comes: before its promise is seen to, others may ask for the rest, or close. */
  #begin(): Promise<BegunBatch<Data> | undefined> {
    return this.#read((batch) => this.#begun = batch && { batch, given: 1 });
  }

  /** Reads a batch, and makes something of it at the moment when it comes. */
  #read<Result>(toResult: (batch: Batch<Data> | undefined) => Result): Promise<Result> {
    this.#hasBegun = true;
    if (!this.#reader.isReading) return this.#reader.read(toResult);
    const message = `Cannot read the subscription to "${this.topic.name}": another read is waiting`;
    return Promise.reject(new TypeError(message));
  }

  #takeRest(): Batch<Data> | undefined {
    if (!this.#begun || this.#reader.isClosed) return undefined;
    const { batch, given } = this.#begun;
    this.#begun = undefined;
    return given < batch.length ? batch.slice(given) : undefined;
  }
}

/** Requests the next batch like {@linkcode Subscription.nextBatch}, without a promise. Nobody else may read the subscription. */
export function requestBatch(subscription: Subscription, receiver: BatchReceiver<unknown>): void {
  request(subscription, receiver);
}

/** Cancels what {@linkcode requestBatch} requested, if that waits at the end of the topic. False where it does not. */
export function cancelRequest(subscription: Subscription): boolean {
  return readerOf(subscription).cancelRequest();
}

/** What {@linkcode Subscription.cursor} resolves to, where that is known now and nothing is read with `next()`. */
export function currentCursor(subscription: Subscription): string | undefined {
  return readerOf(subscription).currentPlace;
}

/** The time of the last broadcast to a subscription that waits for one, in milliseconds of `performance.now()`. */
export function lastBroadcastAt(subscription: Subscription): number | undefined {
  return readerOf(subscription).lastBroadcastAt;
}

/**
 * Checks an id to resume after.
 *
 * @throws {SyntaxError} When it is no id.
 */
export function checkId(id: unknown): asserts id is string {
  if (!isId(id)) throw new SyntaxError(`Cannot resume after "${id}": it is not the id of a message`);
}
