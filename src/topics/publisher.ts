import { CannotOpenError, PublishOutcomeUnknown } from "./topic_errors.ts";
import { countBytes, toId } from "./message.ts";
import { type LogRef, type NewMessage, type StoreCapabilities, toGeneratedId, type TopicStore } from "./store.ts";

/** The series that the batches of one publisher make: `series_id.ts` tells what it is for. */

/**
 * After how many milliseconds it is not gone on with, by either clock of this machine: a store may
 * have forgotten it after twice as long. The wall clock may be set back, and `performance.now()`
 * may stand still while the machine sleeps.
 */
const MAX_IDLE = 60_000;

/** Counts what a publisher appends. */
export class ProducerSession {
  readonly #now: () => number;
  #key: string | undefined;
  #count = 0;
  #continuedAt = 0;
  /** The same in milliseconds of `performance.now()`. */
  #steadyAt = 0;

  /**
   * Begins with the first batch.
   *
   * @param now The time in milliseconds since 1970.
   */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** What the next batch goes on with, and the number of its first message there. */
  next(): { readonly session: string; readonly sequence: number } {
    const idle = Math.max(this.#now() - this.#continuedAt, performance.now() - this.#steadyAt);
    if (idle > MAX_IDLE) this.end();
    this.#key ??= crypto.randomUUID();
    return { session: this.#key, sequence: this.#count };
  }

  /** So many messages were appended, and everybody knows what became of theirs. */
  continue(count: number): void {
    this.#count += count;
    this.#continuedAt = this.#now();
    this.#steadyAt = performance.now();
  }

  /** Somebody does not know, and may ask by the message's number: so no later batch may take this one's place. */
  end(): void {
    this.#key = undefined;
    this.#count = 0;
  }
}

/** Brings the messages of one topic to its store: in the order of the calls, together where they wait, one append at a time. */

/** What became of a message that was published. */
export interface PublishResult {
  /** The id of the message, which readers resume after. */
  readonly id: string;
  /** Whether a message was published with this publisher's id before: there is only that one, and `id` is its. */
  readonly duplicate: boolean;
}

/** The most bytes that wait for a store, so that one that hangs does not fill the memory. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** What a message that waits takes beside its texts, rounded up: itself, its promise, and what listens to its signal. */
const WAITING_OVERHEAD = 512;
/** How long a store that is away is waited for, in milliseconds: stores try what they are asked for as long. */
export const STORE_TIMEOUT = 30_000;

/** What a queue needs. */
export interface PublisherOptions {
  /** Gives the store. */
  readonly store: () => TopicStore;
  /** Where messages go. */
  readonly log: LogRef;
  /** What has to be waited for before that is appended which is published now; never for less than before. */
  readonly ready: () => Promise<void> | undefined;
  /** The time in milliseconds since 1970. */
  readonly now: () => number;
}

/** The queue of one topic. */
export class Publisher {
  readonly #store: () => TopicStore;
  readonly #log: LogRef;
  readonly #ready: () => Promise<void> | undefined;
  readonly #queue = new Set<PendingMessage>();
  #waitingBytes = 0;
  #newest: string | undefined;
  readonly #session: ProducerSession;
  #draining: Promise<void> | undefined;
  /** Fails what the queue waits for at present. */
  #leave: (cause: unknown) => void = () => {};

  /** Makes an empty queue. */
  constructor({ store, log, ready, now }: PublisherOptions) {
    this.#store = store;
    this.#log = log;
    this.#ready = ready;
    this.#session = new ProducerSession(now);
  }

  /** The id of the message that was stored last. */
  get newest(): string | undefined {
    return this.#newest;
  }

  /** Whether nothing waits to be stored. */
  get isIdle(): boolean {
    return this.#draining === undefined;
  }

  /** Resolves when nothing waits to be stored. */
  async drained(): Promise<void> {
    await this.#draining;
  }

  /** Waits for the store no longer: whoever waits is told what is known of the message. The store may go on with what it has. */
  abandon(cause: unknown): void {
    for (const waiting of this.#queue) this.#drop(waiting, cause);
    this.#leave(cause);
  }

  /**
   * Stores a message. One that waits for its turn fails with those before it where it has waited for 30 seconds by then, or else is
   * tried for as long as they were.
   *
   * @param message The message.
   * @param signal Gives up. Its reason is thrown where the message has not been sent to the store.
   * @throws {RangeError} When it is larger than the store takes.
   * @throws {Error} When too much waits for the store already, or when it was not sent, since the store has not answered for 30
   * seconds: nothing is stored.
   * @throws {CannotOpenError} When the store cannot be opened.
   * @throws {PublishOutcomeUnknown} When it was sent, and then given up or not answered.
   */
  publish(message: NewMessage, signal?: AbortSignal): Promise<PublishResult> {
    signal?.throwIfAborted();
    this.#checkRoom(message);
    const waiting = new PendingMessage(message, signal, this.#log.name, () => this.#remove(waiting));
    waiting.hold(this.#ready());
    this.#queue.add(waiting);
    this.#waitingBytes += roomOf(message);
    this.#draining ??= this.#drain();
    return waiting.result;
  }

  async #drain(): Promise<void> {
    // Those who publish at the same moment share an append.
    await Promise.resolve();
    for (;;) {
      const [first] = this.#queue;
      if (!first) break;
      // Not for what those wait that come after it: there might be no end of them.
      if (first.held) await this.#wait(first.held).catch(() => {});
      const batch = this.#takeBatch(this.#store().capabilities);
      if (batch.length > 0) await this.#append(batch);
    }
    // At the same moment as the queue was found empty: whoever publishes now drains it anew.
    this.#draining = undefined;
  }

  async #append(batch: readonly PendingMessage[]): Promise<void> {
    const abandoned = batch.some(({ canLeave }) => canLeave) ? new AbortController() : undefined;
    const onLeave = () => {
      if (batch.every(({ hasLeft }) => hasLeft)) abandoned!.abort();
    };
    const { session, sequence } = this.#session.next();
    for (const [index, waiting] of batch.entries()) waiting.send(toGeneratedId(session, sequence + index), onLeave);
    const messages = batch.map(({ message }) => message);
    try {
      const options = { session, sequence, signal: abandoned?.signal };
      const { incarnation, outcomes } = await this.#wait(this.#store().append(this.#log, messages, options));
      for (const [index, { cursor, duplicate }] of outcomes.entries()) {
        const id = toId(incarnation, cursor);
        if (!duplicate) this.#newest = id;
        batch[index]!.resolve({ id, duplicate });
      }
      if (batch.some(({ hasLeft }) => hasLeft)) this.#session.end();
      else this.#session.continue(batch.length);
    } catch (error) {
      this.#session.end();
      abandoned?.abort(error);
      for (const waiting of batch) waiting.fail(error);
      this.#failLate(error);
    }
  }

  /** Waits for something, but no longer than until the queue is given up. */
  #wait<Result>(promise: Promise<Result>): Promise<Result> {
    const { promise: result, resolve, reject } = Promise.withResolvers<Result>();
    this.#leave = reject;
    promise.then(resolve, reject);
    return result;
  }

  /** Fails what has waited for as long as a store is tried again: each batch would be tried for that long by itself. */
  #failLate(cause: unknown): void {
    const latest = performance.now() - STORE_TIMEOUT;
    for (const waiting of this.#queue) {
      // They are in the order in which they came.
      if (waiting.begin > latest) return;
      this.#drop(waiting, cause);
    }
  }

  #drop(waiting: PendingMessage, cause: unknown): void {
    this.#remove(waiting);
    waiting.fail(cause);
  }

  #takeBatch({ maxBatchMessages, maxBatchIds, maxBatchBytes }: StoreCapabilities): readonly PendingMessage[] {
    const batch: PendingMessage[] = [];
    let bytes = 0;
    let ids = 0;
    for (const waiting of this.#queue) {
      if (waiting.held) break;
      const { id, type, bytes: size } = waiting.message;
      bytes += size + countBytes(type ?? "");
      if (id !== undefined) ids++;
      const isFull = batch.length === maxBatchMessages || ids > maxBatchIds || bytes > maxBatchBytes;
      if (batch.length > 0 && isFull) break;
      batch.push(waiting);
      this.#remove(waiting);
    }
    return batch;
  }

  #remove(waiting: PendingMessage): void {
    if (this.#queue.delete(waiting)) this.#waitingBytes -= roomOf(waiting.message);
  }

  #checkRoom(message: NewMessage): void {
    const { bytes } = message;
    const { maxMessageBytes } = this.#store().capabilities;
    const action = `Cannot publish to the topic "${this.#log.name}"`;
    if (bytes > maxMessageBytes) {
      throw new RangeError(
        `${action}: the message has ${bytes} bytes of JSON and may have ${maxMessageBytes}, keep its data elsewhere and publish where`,
      );
    }
    if (this.#waitingBytes + roomOf(message) > MAX_WAITING_BYTES) {
      throw new Error(`${action}: ${this.#waitingBytes} bytes wait to be stored already, publish more slowly`);
    }
  }
}

function roomOf({ id = "", type = "", bytes }: NewMessage): number {
  return WAITING_OVERHEAD + id.length + type.length + bytes;
}

/** A message on its way to the store, and its publisher, who may leave before there is an answer. */
class PendingMessage {
  readonly message: NewMessage;
  readonly #signal: AbortSignal | undefined;
  readonly #topic: string;
  readonly #answer: PromiseWithResolvers<PublishResult> = Promise.withResolvers();
  #onLeave: () => void;
  /** What to publish it again with; undefined until it is sent to the store. */
  #sentId: string | undefined;
  hasLeft = false;
  /** When it was published, in milliseconds of `performance.now()`. */
  readonly begin: number = performance.now();
  /** What has to be waited for before it is sent; undefined when that is over. */
  held: Promise<void> | undefined;

  constructor(message: NewMessage, signal: AbortSignal | undefined, topic: string, onLeave: () => void) {
    this.message = message;
    this.#signal = signal;
    this.#topic = topic;
    this.#onLeave = onLeave;
    signal?.addEventListener("abort", this.#leave);
  }

  get result(): Promise<PublishResult> {
    return this.#answer.promise;
  }

  get canLeave(): boolean {
    return this.#signal !== undefined;
  }

  /** It is not sent before something has been waited for, if anything. */
  hold(ready: Promise<void> | undefined): void {
    this.held = ready?.then(() => this.held = undefined);
  }

  /** From now on it may be stored, whatever the publisher does. */
  send(batchId: string, onLeave: () => void): void {
    this.#sentId = this.message.id ?? batchId;
    this.#onLeave = onLeave;
  }

  resolve(result: PublishResult): void {
    this.#signal?.removeEventListener("abort", this.#leave);
    this.#answer.resolve(result);
  }

  /** Ends it without an answer of the store. */
  fail(cause: unknown): void {
    this.#end(cause instanceof CannotOpenError ? cause : this.#unknown(cause) ?? this.#notSent(cause));
  }

  readonly #leave = (): void => {
    this.hasLeft = true;
    const reason = this.#signal?.reason;
    this.#end(this.#unknown(reason) ?? reason);
    this.#onLeave();
  };

  #end(error: unknown): void {
    this.#signal?.removeEventListener("abort", this.#leave);
    this.#answer.reject(error);
  }

  #unknown(cause: unknown): PublishOutcomeUnknown | undefined {
    const id = this.#sentId;
    return id === undefined ? undefined : new PublishOutcomeUnknown(this.#topic, id, cause);
  }

  #notSent(cause: unknown): Error {
    const message = `Cannot publish to the topic "${this.#topic}": the store did not answer in time, nothing is stored`;
    return new Error(message, { cause });
  }
}
