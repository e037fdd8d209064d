/** The options of `topic.consume()`, and the context of its handler. */
import { checkOptions, type Duration, type OptionNames, quote, readOptions, toMilliseconds } from "../base/options.ts";
import { describeError, type Log, log } from "../log/log.ts";
import type { TopicMessage } from "./message.ts";
import type { LogRef } from "../store/topic_store.ts";
import type { StoredCheck } from "./topic_log.ts";
import { toBound } from "./topic_options.ts";

/** How often a message is tried. */
export interface RetryOptions {
  /**
   * In all, 1 to 100. By default 5; with an array as `backoff`, one more than its durations.
   */
  attempts?: number;
  /**
   * How long the second try waits at least. Each further one waits twice as long, one hour at most.
   * An array has the pauses themselves, such as `["1m", "1h", "1d"]`; the last one is repeated. A
   * function returns the pause after an error and the number of tries so far, such as the time that
   * a service has asked for, or undefined for that of `"10s"`. All pauses are up to a quarter
   * longer at random.
   *
   * @default {"10s"}
   */
  backoff?: Duration | readonly Duration[] | ((error: unknown, attempt: number) => Duration | undefined);
}

/** Messages that a consumer handles together. */
export interface BatchOptions {
  /** The most messages of a batch, 1 to 256. */
  size: number;
  /**
   * How long the first message of a batch waits for more, one minute at most.
   *
   * @default {"200ms"}
   */
  wait?: Duration;
}

/** The options of a consumer. They must be equal in all processes that share the consumer. */
export interface ConsumeOptions<Data = unknown, Batch extends BatchOptions | undefined = undefined> {
  /**
   * How many messages, or batches of messages, each process handles at the same time, 1 to 256. A
   * process may lease up to as many more, to handle them next, if the handler is quick.
   *
   * @default {16}
   */
  concurrency?: number;
  /** How often a message is tried: by default 5 times, after pauses that begin with 10 seconds. */
  retry?: RetryOptions;
  /**
   * The name of a topic of this application, to which messages that are given up are published. It
   * must be durable if this topic is. Dead letters of its own consumers must not come back to this
   * topic. Without it, their ids are stored for `webfw topics --retry`.
   */
  deadLetter?: string;
  /**
   * How long the messages of a process that has died stay assigned to it, 1 second to 1 hour. Then
   * another process gets them.
   *
   * @default {"30s"}
   */
  lease?: Duration;
  /**
   * How long the handler may take for a message. Then its `signal` is aborted, and the try has
   * failed. A handler that ignores the signal runs beside those of other messages.
   *
   * @default {"5m"}
   */
  timeout?: Duration;
  /**
   * Where the consumer begins when it starts for the first time: at the messages that are published
   * from then on, or at the oldest stored one.
   *
   * @default {"now"}
   */
  from?: "now" | "earliest";
  /** Messages with the same key, a string, are handled in order, one at a time. */
  key?: (message: TopicMessage<Data>) => string;
  /**
   * The handler gets an array of messages: at most `size` of them, with one key if the consumer has
   * `key`, and all for the same attempt. It may return the ids of those that failed, also with an
   * error for each: they are retried, and the others are done.
   */
  // Further options are a mistake.
  batch?: Batch & { readonly [Name in Exclude<keyof Batch, keyof BatchOptions>]: never };
  /**
   * The most messages that handlers get in any time of the length `per`, in all processes together
   * and with retries: such as `{ limit: 10, per: "1s" }` for a service that allows ten calls in a
   * second. The limit is at most 1,000,000, and at least the `size` of a batch; the time is from 1
   * second to 1 day.
   */
  rate?: { limit: number; per: Duration };
}

/**
 * The second argument of a consumer's handler.
 *
 * @category Topics
 */
export interface ConsumerContext {
  /** From 1. The messages of a batch have one number. */
  readonly attempt: number;
  /**
   * Aborted when the handler takes too long, when the grace period of a stop is over, and when the
   * store cannot be reached for so long that another process may get the message.
   */
  readonly signal: AbortSignal;
  /**
   * The log, for entries that carry `topic`, `consumer`, `message_id` and `attempt`, and `messages`
   * for a batch. They go to stderr, or to the option `log` of the application.
   */
  readonly log: Log;
}

export type ConsumerTry = Pick<ConsumerContext, "attempt" | "signal">;

/**
 * Handles a message. The message is done when the handler, or its promise, resolves. `Owner` is
 * what the application adds to the context: itself and its state.
 *
 * @ignore
 */
export type ConsumerHandler<Data, Owner> = (
  message: TopicMessage<Data>,
  context: ConsumerContext & Owner,
) => unknown;

/**
 * Handles a batch. All of its messages are done when the handler, or its promise, resolves, except
 * those in `failed`. If it throws, all have failed. An `error` is what would be thrown for one.
 *
 * @ignore
 */
export type BatchHandler<Data, Owner> = (
  messages: readonly TopicMessage<Data>[],
  context: ConsumerContext & Owner,
) => void | { failed: readonly FailedMessage[] } | Promise<void | { failed: readonly FailedMessage[] }>;

/** @ignore The id of a message of a batch that failed, alone or with its error. */
export type FailedMessage = string | { readonly id: string; readonly error: unknown };

/**
 * The handler of a consumer with or without `batch`. `Batch` is `never` for options of a declared
 * type.
 *
 * @ignore
 */
export type HandlerOf<Data, Owner, Batch> = [Batch] extends [never] ? ConsumerHandler<Data, Owner>
  : [Batch] extends [BatchOptions] ? BatchHandler<Data, Owner>
  : ConsumerHandler<Data, Owner>;

/**
 * The data of a message to the topic `deadLetter`, for a message that was given up.
 *
 * @category Topics
 */
export interface DeadLetter<Data = unknown> {
  /** The name of the topic. */
  readonly topic: string;
  /** The name of the consumer. */
  readonly consumer: string;
  /** The id of the message. */
  readonly id: string;
  /** Null if it has none. */
  readonly type: string | null;
  /** Null if it is too large to be published again. */
  readonly data: Data | null;
  /** Whether the data was too large. */
  readonly truncated?: true;
  /** The last error, 1 KiB at most. */
  readonly error: string;
  /** How often it was tried. */
  readonly attempts: number;
}

const DISCARD = Symbol.for("webfw.Discard");

/**
 * The error that the handler of a consumer throws to give a message up without another try. As with
 * any error, `return` does the same as `throw`.
 *
 * @example A message that can never be handled
 * ```ts
 * import { App, Discard } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * const orders = app.topic<{ total: number }>("orders");
 * const failed = app.topic<{ error: string; attempts: number }>("orders.failed");
 * orders.consume("bill", { deadLetter: "orders.failed" }, ({ data }) => {
 *   if (data.total < 0) throw new Discard("The total is negative");
 * });
 *
 * await app.start();
 * await using letters = failed.subscribe();
 * await orders.publish({ total: -1 });
 * const { value } = await letters.next();
 * assertEquals(value && "data" in value && value.data.error, "The total is negative");
 * await app.stop();
 * ```
 *
 * @category Topics
 */
export class Discard extends Error {
  /** The name of the class, for logs. */
  override readonly name = "Discard";
  /**
   * Identifies the class across copies of the package.
   *
   * @ignore
   */
  readonly [DISCARD] = true;
}

/** Recognizes those of another copy of the package, too. */
export function isDiscard(value: unknown): value is Discard {
  try {
    return value instanceof Error && DISCARD in value;
  } catch {
    // A proxy may throw for any operation.
    return false;
  }
}

export interface DeclaredConsumer {
  readonly name: string;
  readonly log: LogRef;
  readonly isDurable: boolean;
  readonly options: ResolvedConsumeOptions;
  readonly check: StoredCheck | undefined;
  /** With the option `batch` it takes an array. */
  readonly handler: (messages: never, context: ConsumerContext) => unknown;
}

/** Durations are in milliseconds. */
export interface ResolvedConsumeOptions {
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoff: number;
  /** In place of the backoff: those after each try. The last one is repeated. */
  readonly pauses?: readonly number[];
  /** In place of the backoff, unless it returns undefined. It never throws. */
  readonly pauseAfter?: (error: unknown, attempt: number) => number | undefined;
  readonly deadLetter: string | undefined;
  readonly lease: number;
  readonly timeout: number;
  readonly from: "now" | "earliest";
  readonly key: ((message: TopicMessage<unknown>) => unknown) | undefined;
  readonly batch: ResolvedBatch | undefined;
  readonly rate: ResolvedRate | undefined;
}

export interface ResolvedRate {
  readonly limit: number;
  /** In milliseconds. */
  readonly per: number;
}

export interface ResolvedBatch {
  readonly size: number;
  /** In milliseconds. */
  readonly wait: number;
}

const OPTIONS: OptionNames<ConsumeOptions> = {
  concurrency: true,
  retry: true,
  deadLetter: true,
  lease: true,
  timeout: true,
  from: true,
  key: true,
  batch: true,
  rate: true,
};
const RETRY_OPTIONS: OptionNames<RetryOptions> = { attempts: true, backoff: true };
const RATE_OPTIONS: OptionNames<NonNullable<ConsumeOptions["rate"]>> = { limit: true, per: true };
const BATCH_OPTIONS: OptionNames<BatchOptions> = { size: true, wait: true };

const DEFAULT_BACKOFF = "10s";
const MAX_CONCURRENCY = 256;
const MAX_BATCH = 256;
const MAX_WAIT = 60_000;
const MAX_RATE = 1_000_000;
const MIN_PER = 1_000;
const MAX_PER = 86_400_000;
const MAX_ATTEMPTS = 100;
const MIN_LEASE = 1_000;
const MAX_LEASE = 3_600_000;
/** A name is part of a key, and stores limit keys. */
const MAX_NAME_LENGTH = 64;
/** Two slashes and the id of a message, besides the names. */
const LETTER_ID_LENGTH = 33;
const MAX_LETTER_ID_LENGTH = 256;

/** @throws {TypeError} If it is invalid. */
export function checkConsumerName(name: string, topic: string): void {
  const isText = typeof name === "string" && name.isWellFormed() && name.length > 0 && name.length <= MAX_NAME_LENGTH;
  if (isText && !name.includes("/")) return;
  throw new TypeError(
    `Cannot consume the topic "${topic}": the name of the consumer must be a string of 1 to ${MAX_NAME_LENGTH} characters without "/", got ${
      quote(name)
    }`,
  );
}

/**
 * @throws {TypeError} If an option is unknown or of the wrong type.
 * @throws {RangeError} If an option is out of its range.
 */
export function resolveConsumeOptions<Data>(
  options: ConsumeOptions<Data, BatchOptions | undefined>,
  topic: string,
  consumer: string,
): ResolvedConsumeOptions {
  const action = `make the consumer "${consumer}" of the topic "${topic}"`;
  checkOptions(options, OPTIONS, action);
  const { concurrency = 16, deadLetter, lease = "30s", timeout = "5m", from = "now", key } = options;
  const retry = readOptions(options.retry ?? {}, RETRY_OPTIONS, action, "retry.");
  const { backoff = DEFAULT_BACKOFF } = retry;
  const owner = `the consumer "${consumer}" of the topic "${topic}"`;
  const pauses = Array.isArray(backoff) ? resolvePauses(backoff, action, owner) : undefined;
  const pauseAfter = typeof backoff === "function" ? resolvePauseAfter(backoff, { topic, consumer }, owner) : undefined;
  const { attempts = pauses ? pauses.length + 1 : 5 } = retry;
  if (from !== "now" && from !== "earliest") {
    throw new TypeError(`Cannot ${action}: from must be "now" or "earliest", got ${quote(from)}`);
  }
  if (key !== undefined && typeof key !== "function") {
    throw new TypeError(
      `Cannot ${action}: key must be a function, write (message) => message.data.customer, got ${quote(key)}`,
    );
  }
  if (deadLetter !== undefined) checkDeadLetter(deadLetter, topic, consumer, action);
  const leaseTime = toMilliseconds(lease, `the lease of ${owner}`);
  if (leaseTime < MIN_LEASE || leaseTime > MAX_LEASE) {
    throw new RangeError(`Cannot ${action}: lease must be from 1 second to 1 hour, got ${quote(lease)}`);
  }
  const batch = options.batch === undefined ? undefined : resolveBatch(options.batch, action, owner);
  return {
    concurrency: toBound(concurrency, MAX_CONCURRENCY, `the concurrency of ${owner}`),
    attempts: toBound(attempts, MAX_ATTEMPTS, `the retry.attempts of ${owner}`),
    backoff: pauses?.[0] ??
      toMilliseconds(pauseAfter ? DEFAULT_BACKOFF : backoff as Duration, `the retry.backoff of ${owner}`),
    ...(pauses && { pauses }),
    ...(pauseAfter && { pauseAfter }),
    deadLetter,
    lease: leaseTime,
    timeout: toMilliseconds(timeout, `the timeout of ${owner}`),
    from,
    key: key as ResolvedConsumeOptions["key"],
    batch,
    rate: options.rate === undefined ? undefined : resolveRate(options.rate, batch, action, owner),
  };
}

function resolvePauses(backoff: readonly Duration[], action: string, owner: string): number[] {
  if (backoff.length === 0) {
    throw new TypeError(`Cannot ${action}: retry.backoff must have a duration, got an empty array`);
  }
  return backoff.map((pause, index) => toMilliseconds(pause, `the retry.backoff[${index}] of ${owner}`));
}

function resolvePauseAfter(
  backoff: (error: unknown, attempt: number) => Duration | undefined,
  names: { readonly topic: string; readonly consumer: string },
  owner: string,
): ResolvedConsumeOptions["pauseAfter"] {
  return (error, attempt) => {
    try {
      const pause = backoff(error, attempt);
      return pause === undefined ? undefined : toMilliseconds(pause, `the result of retry.backoff of ${owner}`);
    } catch (failure) {
      log("error", "The backoff of a consumer failed, and its default applies", {
        ...names,
        error: describeError(failure),
      });
      return undefined;
    }
  };
}

function resolveRate(
  given: NonNullable<ConsumeOptions["rate"]>,
  batch: ResolvedBatch | undefined,
  action: string,
  owner: string,
): ResolvedRate {
  const { limit, per } = readOptions(given, RATE_OPTIONS, action, "rate.");
  const rate = {
    limit: toBound(limit, MAX_RATE, `the rate.limit of ${owner}`),
    per: toMilliseconds(per, `the rate.per of ${owner}`),
  };
  if (rate.per < MIN_PER || rate.per > MAX_PER) {
    throw new RangeError(`Cannot ${action}: rate.per must be from 1 second to 1 day, got ${quote(per)}`);
  }
  if (batch && batch.size > rate.limit) {
    throw new RangeError(
      `Cannot ${action}: a batch of ${batch.size} messages exceeds the rate.limit ${rate.limit}, use a smaller batch.size`,
    );
  }
  return rate;
}

function resolveBatch(given: BatchOptions, action: string, owner: string): ResolvedBatch {
  const { size, wait = "200ms" } = readOptions(given, BATCH_OPTIONS, action, "batch.");
  const ms = toMilliseconds(wait, `the batch.wait of ${owner}`);
  if (ms > MAX_WAIT) {
    throw new RangeError(`Cannot ${action}: batch.wait must be at most 1 minute, got ${quote(wait)}`);
  }
  return { size: toBound(size, MAX_BATCH, `the batch.size of ${owner}`), wait: ms };
}

function checkDeadLetter(deadLetter: string, topic: string, consumer: string, action: string): void {
  if (typeof deadLetter !== "string" || deadLetter === "") {
    throw new TypeError(`Cannot ${action}: deadLetter must be the name of a topic, got ${quote(deadLetter)}`);
  }
  if (deadLetter === topic) {
    throw new TypeError(`Cannot ${action}: deadLetter is the topic itself, name another topic`);
  }
  if (topic.length + consumer.length + LETTER_ID_LENGTH <= MAX_LETTER_ID_LENGTH) return;
  throw new TypeError(
    `Cannot ${action}: with deadLetter, both names have ${
      MAX_LETTER_ID_LENGTH - LETTER_ID_LENGTH
    } characters at most together, use shorter ones`,
  );
}
