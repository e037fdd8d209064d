/** One reader of a topic: a place in the log, and no queue of its own. */
import type { TopicBounds } from "./log_reader.ts";
import type { GapReason, TopicEntry, TopicGap, TopicMessage } from "./message.ts";
import { isId, isSameEpoch } from "./message_id.ts";
import type { Tail, TailReader } from "./tail.ts";

/** Where a subscription begins, and what ends it. */
export interface SubscriptionStart {
  /** The id to begin after. */
  readonly place: string | Promise<string>;
  /** Whether the id came from the log itself, and not from a client. */
  readonly isOwn: boolean;
  /** Closes the subscription. */
  readonly signal: AbortSignal | undefined;
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
  readonly #tail: Tail<Data>;
  readonly #signal: AbortSignal | undefined;
  readonly #reader: TailReader = {
    wake: () => this.#wake?.(),
    fail: (error) => this.#end({ error }),
    close: () => this.close(),
  };
  readonly #close = (): void => this.close();
  readonly #entries: AsyncGenerator<TopicEntry<Data>, void, void>;
  #place: string | Promise<string>;
  /** Whether the place is known to be one of the log. */
  #isCertain: boolean;
  /** A batch of which `next()` has given a part. */
  #opened: { readonly batch: readonly TopicEntry<Data>[]; given: number } | undefined;
  /** Messages that were read with a gap, and come after it. */
  #next: readonly TopicMessage<Data>[] | undefined;
  #hasBegun = false;
  #isReading = false;
  #lossReason: GapReason;
  #closed: { readonly error?: unknown } | undefined;
  readonly #ended: PromiseWithResolvers<undefined> = Promise.withResolvers();
  #wake: (() => void) | undefined;

  /**
   * Makes a reader; the topic does it.
   *
   * @ignore
   */
  constructor(topic: { readonly name: string }, tail: Tail<Data>, start: SubscriptionStart) {
    this.topic = topic;
    this.#tail = tail;
    this.#place = start.place;
    this.#isCertain = start.isOwn;
    this.#lossReason = start.isOwn ? "slow" : "retention";
    this.#signal = start.signal;
    this.#entries = this.#iterate();
    tail.add(this.#reader);
    if (typeof start.place !== "string") start.place.catch(this.#reader.fail);
    if (start.signal?.aborted) this.close();
    else start.signal?.addEventListener("abort", this.#close, { once: true });
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
    this.#place = id;
    this.#isCertain = false;
    this.#lossReason = "retention";
  }

  /**
   * The id to resume from: that of the last message that was read; before there was one, of the place where reading begins. It
   * waits until that is known. Undefined where the subscription was closed before.
   */
  async cursor(): Promise<string | undefined> {
    const { batch, given = 0 } = this.#opened ?? {};
    const last = batch?.[given - 1];
    if (last && !("gap" in last)) return last.id;
    while (typeof this.#place !== "string") {
      const pending = this.#place;
      const place = await Promise.race([pending, this.#ended.promise]);
      if (place === undefined) return undefined;
      // Unless it was told to resume elsewhere meanwhile.
      if (this.#place === pending) this.#place = place;
    }
    return this.#place;
  }

  /**
   * All that waits for this reader, up to a bound, oldest first; it waits until there is something. Readers at the same place get
   * the very same list. A gap comes alone.
   *
   * @returns Undefined when the subscription is closed.
   * @throws {TypeError} When another read is waiting.
   */
  async nextBatch(): Promise<readonly TopicEntry<Data>[] | undefined> {
    if (this.#isReading) {
      throw new TypeError(`Cannot read the subscription to "${this.topic.name}": another read is waiting`);
    }
    this.#hasBegun = this.#isReading = true;
    try {
      return this.#takeRest() ?? await this.#read();
    } catch (error) {
      this.#end({});
      throw error;
    } finally {
      this.#isReading = false;
    }
  }

  /** The next message or gap; it waits until there is one. */
  next(): Promise<IteratorResult<TopicEntry<Data>, void>> {
    return this.#entries.next();
  }

  /** Ends the subscription. A read that waits gives nothing any more. */
  close(): void {
    this.#end({});
  }

  /** Ends the subscription, as leaving a `for await` does. */
  return(): Promise<IteratorResult<TopicEntry<Data>, void>> {
    this.close();
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
    for (let batch = await this.nextBatch(); batch; batch = await this.nextBatch()) {
      const opened = this.#opened = { batch, given: 0 };
      // Whoever asks for a batch in between gets the rest of this one.
      while (this.#opened === opened && opened.given < batch.length) {
        if (this.#closed) return;
        yield batch[opened.given++]!;
      }
    }
  }

  #takeRest(): readonly TopicEntry<Data>[] | undefined {
    if (!this.#opened || this.#closed) return undefined;
    const { batch, given } = this.#opened;
    this.#opened = undefined;
    return given < batch.length ? batch.slice(given) : undefined;
  }

  async #read(): Promise<readonly TopicEntry<Data>[] | undefined> {
    while (!this.#closed) {
      const place = typeof this.#place === "string" ? this.#place : await this.cursor();
      if (place === undefined) break;
      if (this.#next) return this.#advance(this.#next);
      this.#isCertain ||= this.#tail.covers(place);
      const batch = this.#isCertain ? this.#tail.after(place) : undefined;
      if (batch?.length) return this.#advance(batch);
      if (batch) await new Promise<void>((resolve) => this.#wake = resolve);
      else {
        const found = await this.#catchUp(place);
        if (found && !this.#closed) return found;
      }
    }
    if (this.#closed && "error" in this.#closed) throw this.#closed.error;
    return undefined;
  }

  /** Reads from the log what the tail does not hold ready. */
  async #catchUp(place: string): Promise<readonly TopicEntry<Data>[] | undefined> {
    await this.#tail.opened;
    const slice = await this.#tail.read(place);
    const reason = isSameEpoch(place, slice.head) ? lossBetween(place, slice, this.#lossReason) : "epoch";
    this.#isCertain = true;
    if (reason === undefined) return slice.messages.length > 0 ? this.#advance(slice.messages) : undefined;
    const { low, messages } = await this.#tail.read(slice.low);
    this.#place = low;
    // They come next, whatever is removed meanwhile: a reader who is slower than the removal still gets some.
    if (messages.length > 0) this.#next = messages;
    const gap: TopicGap["gap"] = { reason, from: place, oldest: messages[0]?.id ?? null };
    return [{ gap }];
  }

  #advance(batch: readonly TopicMessage<Data>[]): readonly TopicMessage<Data>[] {
    this.#place = batch.at(-1)!.id;
    this.#next = undefined;
    this.#lossReason = "slow";
    return batch;
  }

  #end(closed: { readonly error?: unknown }): void {
    if (this.#closed) return;
    this.#closed = closed;
    this.#signal?.removeEventListener("abort", this.#close);
    this.#tail.remove(this.#reader);
    this.#ended.resolve(undefined);
    this.#wake?.();
  }
}

/**
 * Checks an id to resume after.
 *
 * @throws {SyntaxError} When it is no id.
 */
export function checkId(id: unknown): asserts id is string {
  if (!isId(id)) throw new SyntaxError(`Cannot resume after "${id}": it is not the id of a message`);
}

/** Why messages are missing between a place and what was read after it, if some are. */
function lossBetween(place: string, { low, head }: TopicBounds, reason: GapReason): GapReason | undefined {
  return place > head ? "ahead" : place < low ? reason : undefined;
}
