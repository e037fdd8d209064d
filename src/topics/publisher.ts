/** Publishes the messages of one topic in the order of the calls, one append at a time. */
import { OrderedMap } from "../base/ordered_map.ts";
import { countBytes } from "../base/json_data.ts";
import { captureSpan } from "../log/telemetry.ts";
import { toId } from "./message.ts";
import {
  CannotOpenError,
  type LogRef,
  type NewMessage,
  type StoreCapabilities,
  toGeneratedId,
  type TopicStore,
} from "../store/topic_store.ts";

/** The outcome of publishing a message. */
export interface PublishResult {
  /** Readers resume after it. */
  readonly id: string;
  /** Whether the publisher's id was published before. Then `id` is that of the first message. */
  readonly duplicate: boolean;
}

/**
 * The outcome of a publish with `after` or `at`: the message has no position in the topic yet.
 *
 * @ignore
 */
export interface ScheduledMessage {
  /** The id of the message: the publisher's own, or a generated one. `cancel` takes it. */
  readonly id: string;
  /** When it is published. */
  readonly at: Date;
  /** Whether a message with this id is scheduled already. Then `at` is its time, and it stays. */
  readonly duplicate: boolean;
}

/**
 * A message was sent to the store, and its outcome is unknown: the store failed or did not answer
 * in time, or the signal was aborted. The message may be stored now, later, or never. Publishing it
 * again with the error's `id` is safe: within the `dedupe` window of the topic it is stored once.
 *
 * @example Publishing again
 * ```ts
 * import { PublishOutcomeUnknownError, type Topic } from "@webfw/core";
 *
 * async function publishForSure(topic: Topic<string>, data: string): Promise<string> {
 *   for (let id: string | undefined;;) {
 *     const signal = AbortSignal.timeout(2_000);
 *     try {
 *       const published = await topic.publish(data, id === undefined ? { signal } : { id, signal });
 *       return published.id;
 *     } catch (error) {
 *       if (error instanceof PublishOutcomeUnknownError) id = error.id;
 *       // The signal's reason means that the message was not sent.
 *       else if (error !== signal.reason) throw error;
 *     }
 *   }
 * }
 * ```
 *
 * @category Topics
 */
export class PublishOutcomeUnknownError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "PublishOutcomeUnknownError";
  /** The id to publish the message with again: the publisher's own, or a generated one. */
  readonly id: string;

  /**
   * Makes the error of one message.
   *
   * @param id The id to publish the message with again.
   * @param cause Why there is no answer.
   */
  constructor(topic: string, id: string, cause: unknown) {
    super(
      `Cannot know whether the message was published to the topic "${topic}": publish it again with the id "${id}"`,
      { cause },
    );
    this.id = id;
  }
}

/** The bound of memory while a store hangs. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** The memory of a queued message besides its strings: objects, promise, listener. */
const QUEUE_OVERHEAD = 512;
/** How long a publish waits, in milliseconds. Stores retry for as long. */
export const STORE_TIMEOUT = 30_000;
/**
 * In milliseconds, by either clock of this machine: the wall clock may be set back, and
 * `performance.now()` may stop while the machine sleeps. A store may forget a session after twice
 * as long.
 */
const MAX_SESSION_IDLE = 60_000;

/** Without an id, it gets a generated one. */
export type PublishedMessage = Omit<NewMessage, "id" | "isGenerated"> & { readonly id: string | undefined };

/** Called with each message, in the async context of its publisher. */
export type PublishObserver = (topic: string, message: PublishedMessage, result: Promise<PublishResult>) => void;

/** Undefined where no application shows its board. */
let observer: PublishObserver | undefined;

/** Also passes each published message to a function, which must not throw. */
export function observePublishes(observe: PublishObserver | undefined): void {
  observer = observe;
}

interface PublisherOptions {
  readonly store: () => TopicStore;
  readonly log: LogRef;
  /** Must settle before a message that is published now is appended. */
  readonly ready: () => Promise<void> | undefined;
  readonly now: () => number;
}

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #queue = new OrderedMap<PendingMessage, true>();
  readonly #session: ProducerSession;
  #queuedBytes = 0;
  #newestId: string | undefined;
  #draining: Promise<void> | undefined;
  #stopWaiting: (cause: unknown) => void = () => {};

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#session = new ProducerSession(options.now);
  }

  get newestId(): string | undefined {
    return this.#newestId;
  }

  get isIdle(): boolean {
    return this.#draining === undefined;
  }

  async drained(): Promise<void> {
    await this.#draining;
  }

  /** All publishes reject. What was sent may still be stored. */
  abandon(cause: unknown): void {
    for (const [pending] of this.#queue) this.#drop(pending, cause);
    this.#stopWaiting(cause);
  }

  /**
   * Stores a message. When an append fails, messages that have been queued for 30 seconds fail,
   * too.
   *
   * @throws {RangeError} If the message is larger than the store accepts.
   * @throws {Error} If too many bytes are queued, or the message was not sent for 30 seconds.
   * @throws {PublishOutcomeUnknownError} If the message was sent, and then abandoned or not
   * answered.
   */
  publish(message: PublishedMessage, signal?: AbortSignal): Promise<PublishResult> {
    signal?.throwIfAborted();
    this.#checkSize(message);
    const pending = new PendingMessage(message, signal, this.#options.log.name, () => this.#dequeue(pending));
    pending.waitFor(this.#options.ready());
    this.#queue.set(pending, true);
    this.#queuedBytes += queuedBytesOf(message);
    this.#draining ??= this.#drain();
    observer?.(this.#options.log.name, message, pending.result);
    return pending.result;
  }

  async #drain(): Promise<void> {
    // Messages that are published at the same moment share an append.
    await Promise.resolve();
    for (;;) {
      const first = this.#queue.oldest?.key;
      if (!first) break;
      // Only the blocker of the first one: later messages could prolong this wait without end.
      if (first.blocker) await this.#wait(first.blocker).catch(() => {});
      const batch = this.#takeBatch(this.#options.store().capabilities);
      if (batch.length > 0) await this.#append(batch);
    }
    // No await since the queue was found empty: the next publish starts another drain.
    this.#draining = undefined;
  }

  async #append(batch: readonly PendingMessage[]): Promise<void> {
    const controller = batch.some(({ isAbortable }) => isAbortable) ? new AbortController() : undefined;
    const onAbort = () => {
      if (batch.every(({ isAborted }) => isAborted)) controller!.abort();
    };
    const { session, sequence } = this.#session.next();
    const messages = batch.map((pending, index) => pending.send(toGeneratedId(session, sequence + index), onAbort));
    try {
      const options = { signal: controller?.signal };
      const append = () => this.#options.store().append(this.#options.log, messages, options);
      const { incarnation, outcomes } = await this.#wait(batch[0]!.inContext(append));
      for (const [index, { cursor, duplicate }] of outcomes.entries()) {
        const id = toId(incarnation, cursor);
        if (!duplicate) this.#newestId = id;
        batch[index]!.resolve({ id, duplicate });
      }
      if (batch.some(({ isAborted }) => isAborted)) this.#session.end();
      else this.#session.advance(batch.length);
    } catch (error) {
      this.#session.end();
      controller?.abort(error);
      for (const pending of batch) pending.fail(error);
      this.#failOverdue(error);
    }
  }

  /** Waits until the queue is abandoned. */
  #wait<Result>(promise: Promise<Result>): Promise<Result> {
    const { promise: result, resolve, reject } = Promise.withResolvers<Result>();
    this.#stopWaiting = reject;
    promise.then(resolve, reject);
    return result;
  }

  /** Otherwise each batch would wait once more. */
  #failOverdue(cause: unknown): void {
    const latest = performance.now() - STORE_TIMEOUT;
    for (const [pending] of this.#queue) {
      // The queue is in the order of the calls.
      if (pending.begin > latest) return;
      this.#drop(pending, cause);
    }
  }

  #drop(pending: PendingMessage, cause: unknown): void {
    this.#dequeue(pending);
    pending.fail(cause);
  }

  #takeBatch({ maxBatchMessages, maxBatchBytes }: StoreCapabilities): readonly PendingMessage[] {
    const batch: PendingMessage[] = [];
    let batchBytes = 0;
    for (const [pending] of this.#queue) {
      if (pending.blocker) break;
      const { type, bytes } = pending.message;
      batchBytes += bytes + countBytes(type ?? "");
      const isFull = batch.length === maxBatchMessages || batchBytes > maxBatchBytes;
      if (batch.length > 0 && isFull) break;
      batch.push(pending);
      this.#dequeue(pending);
    }
    return batch;
  }

  #dequeue(pending: PendingMessage): void {
    if (this.#queue.delete(pending)) this.#queuedBytes -= queuedBytesOf(pending.message);
  }

  #checkSize(message: PublishedMessage): void {
    const { store, log: { name } } = this.#options;
    checkMessageSize(message, store().capabilities, name);
    if (this.#queuedBytes + queuedBytesOf(message) > MAX_QUEUED_BYTES) {
      throw new Error(
        `Cannot publish to the topic "${name}": ${this.#queuedBytes} bytes wait to be stored already, publish more slowly`,
      );
    }
  }
}

/** @throws {RangeError} If the message is larger than the store accepts. */
export function checkMessageSize(
  { bytes }: Pick<NewMessage, "bytes">,
  { maxMessageBytes }: StoreCapabilities,
  topic: string,
): void {
  if (bytes <= maxMessageBytes) return;
  throw new RangeError(
    `Cannot publish to the topic "${topic}": the message has ${bytes} bytes of JSON and may have ${maxMessageBytes}, keep its data elsewhere and publish where`,
  );
}

function queuedBytesOf({ id = "", type = "", bytes }: PublishedMessage): number {
  return QUEUE_OVERHEAD + id.length + type.length + bytes;
}

/** Its publisher may abort before the store has answered. */
class PendingMessage {
  readonly message: PublishedMessage;
  readonly #signal: AbortSignal | undefined;
  readonly #topic: string;
  readonly #answer: PromiseWithResolvers<PublishResult> = Promise.withResolvers();
  #onAbort: () => void;
  /** Undefined until the message is sent. */
  #sentId: string | undefined;
  isAborted = false;
  readonly begin: number = performance.now();
  /** Runs work in the context of the code that publishes, not of an earlier publisher. */
  readonly inContext: <Result>(work: () => Result) => Result = captureSpan();
  /** Must settle before the message is sent; undefined as soon as it has. */
  blocker: Promise<void> | undefined;

  constructor(message: PublishedMessage, signal: AbortSignal | undefined, topic: string, onAbort: () => void) {
    this.message = message;
    this.#signal = signal;
    this.#topic = topic;
    this.#onAbort = onAbort;
    signal?.addEventListener("abort", this.#abort);
  }

  get result(): Promise<PublishResult> {
    return this.#answer.promise;
  }

  get isAbortable(): boolean {
    return this.#signal !== undefined;
  }

  waitFor(blocker: Promise<void> | undefined): void {
    this.blocker = blocker?.then(() => this.blocker = undefined);
  }

  /** From now on it may be stored, even if its publisher aborts. */
  send(generatedId: string, onAbort: () => void): NewMessage {
    const { id, type, data, bytes, trace } = this.message;
    this.#onAbort = onAbort;
    this.#sentId = id ?? generatedId;
    return { id: this.#sentId, isGenerated: id === undefined, type, data, bytes, trace };
  }

  resolve(result: PublishResult): void {
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#answer.resolve(result);
  }

  fail(cause: unknown): void {
    this.#reject(cause instanceof CannotOpenError ? cause : this.#toUnknown(cause) ?? this.#toNotSent(cause));
  }

  readonly #abort = (): void => {
    this.isAborted = true;
    const reason = this.#signal?.reason;
    this.#reject(this.#toUnknown(reason) ?? reason);
    this.#onAbort();
  };

  #reject(error: unknown): void {
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#answer.reject(error);
  }

  #toUnknown(cause: unknown): PublishOutcomeUnknownError | undefined {
    const id = this.#sentId;
    return id === undefined ? undefined : new PublishOutcomeUnknownError(this.#topic, id, cause);
  }

  #toNotSent(cause: unknown): Error {
    const message = `Cannot publish to the topic "${this.#topic}": the store did not answer in time, nothing is stored`;
    return new Error(message, { cause });
  }
}

/** Numbers the messages of one publisher: see `NewMessage.isGenerated`. */
class ProducerSession {
  readonly #now: () => number;
  #id: string | undefined;
  #sequence = 0;
  #advancedAt = 0;
  #steadyAdvancedAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  next(): { readonly session: string; readonly sequence: number } {
    const idle = Math.max(this.#now() - this.#advancedAt, performance.now() - this.#steadyAdvancedAt);
    if (idle > MAX_SESSION_IDLE) this.end();
    this.#id ??= crypto.randomUUID();
    return { session: this.#id, sequence: this.#sequence };
  }

  /** Counts an append whose outcomes are all known. */
  advance(count: number): void {
    this.#sequence += count;
    this.#advancedAt = this.#now();
    this.#steadyAdvancedAt = performance.now();
  }

  /** After an unknown outcome, its sequence numbers must not be used again. */
  end(): void {
    this.#id = undefined;
    this.#sequence = 0;
  }
}
