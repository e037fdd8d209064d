/**
 * The ids of messages whose publisher gave none: the key of the series that they were appended in, and their number there,
 * `b9c3a9f0-5f0e-4b0e-9b1c-8a1d3c1e7f42.3`. A series is what one publisher appends, batch after batch, for as long as every outcome
 * is known; so a store needs to remember but the last batch of each.
 */

const PATTERN = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(0|[1-9][0-9]{0,11})$/;

/** A message as one of a series. */
export interface SeriesPlace {
  /** The key of the series. */
  readonly series: string;
  /** The number of the message in the series, which begins at 0. */
  readonly number: number;
}

/** The id of a message of a series. */
export function toSeriesId(series: string, number: number): string {
  return `${series}.${number}`;
}

/** The place in a series that an id names; undefined for any other id. */
export function toSeriesPlace(id: string): SeriesPlace | undefined {
  const [, series, number] = PATTERN.exec(id) ?? [];
  return series === undefined ? undefined : { series, number: Number(number) };
}

/**
 * What topics ask of the store that keeps their messages: a log for each topic. Several processes may share it, and none is told
 * what the others do: what a topic knows of its log, it has read there.
 */

/**
 * A place in a log: just after one of its messages. 22 lower-case hexadecimal digits, so that the order of the texts is the order
 * of the places.
 */
export type Cursor = string;

/** The place before the first message of any log. */
export const LOG_START: Cursor = "0".repeat(22);

/** A log by its name, and how long it keeps what. */
export interface LogRef {
  /** The name of the topic. */
  readonly name: string;
  /** What is kept. */
  readonly policy: LogPolicy;
}

/** What a log keeps. Whatever is beyond one of the bounds is removed, the oldest message first. */
export interface LogPolicy {
  /** How old messages become, in milliseconds; `Infinity` where their age does not matter. */
  readonly age: number;
  /** How many messages there are; `Infinity` where their number does not matter. */
  readonly count: number;
  /** How many bytes of data there are. */
  readonly bytes: number;
  /** How long ids of messages are remembered, in milliseconds. */
  readonly dedupe: number;
}

/** Where a log begins and ends. */
export interface LogBounds {
  /** The life of the log, 8 lower-case hexadecimal digits chosen at random: cursors of another life mean nothing in this one. */
  readonly epoch: string;
  /** The place of the newest message that was removed, {@linkcode LOG_START} where none was. */
  readonly low: Cursor;
  /** The place of the newest message, `low` where none is kept. */
  readonly head: Cursor;
}

/** A place in one life of a log. */
export interface LogPlace {
  /** The life of the log. */
  readonly epoch: string;
  /** The place. */
  readonly cursor: Cursor;
}

/** A message that is to be appended. */
export interface NewMessage {
  /**
   * The publisher's own id: whoever appends it again, appends nothing. Undefined where there is none: it is
   * {@linkcode toSeriesId} of the append's series and the message's number there, which cannot be in the log yet.
   */
  readonly id: string | undefined;
  /** The kind of message. */
  readonly type: string | undefined;
  /** The data as JSON. */
  readonly data: string;
  /** The size of `data` in UTF-8. */
  readonly bytes: number;
}

/** A message of a log. */
export interface StoredMessage extends Pick<NewMessage, "type" | "data" | "bytes"> {
  /** Its place. */
  readonly cursor: Cursor;
  /** When it was stored, in milliseconds since 1970. */
  readonly time: number;
}

/** How a batch is appended. */
export interface AppendOptions {
  /**
   * Names the series of batches that this one goes on with, and gives, with its number there, an id to each message without one. These
   * ids have to be remembered like others where the publisher may never learn the outcome: where the append has a signal, or can fail
   * after it has stored. Those of the batches before it need not: all outcomes of these are known, or the series had ended. It ends, too,
   * when nothing was appended for a minute.
   */
  readonly series: string;
  /** The number of the batch's first message in the series. */
  readonly first: number;
  /** Gives up: the promise rejects at once, and the messages may be stored or not. The same holds wherever it rejects. */
  readonly signal?: AbortSignal | undefined;
}

/** What became of a batch. */
export interface AppendResult {
  /** The life of the log. */
  readonly epoch: string;
  /** What became of each message, in the order in which they were given. */
  readonly outcomes: readonly AppendOutcome[];
}

/** What became of a message. */
export interface AppendOutcome {
  /** Its place; that of the first message with its id where it is a duplicate. */
  readonly cursor: Cursor;
  /** Whether a message of this id was there already, in the log or before it in the batch: it was not stored again. */
  readonly duplicate: boolean;
}

/** How much is read at once. A message that is larger than the bytes comes alone. */
export interface ReadLimits {
  /** The most messages. */
  readonly maxMessages: number;
  /** The most bytes of data. */
  readonly maxBytes: number;
  /**
   * Whether all who wait for the newest messages in this process wait for this: it should not wait for those who are behind.
   *
   * @default {false}
   */
  readonly isUrgent?: boolean;
}

/** A part of a log, and its bounds at the same moment. */
export interface LogPage extends LogBounds {
  /** Messages in order, without a hole. */
  readonly messages: readonly StoredMessage[];
}

/** What a store can do. */
export interface StoreCapabilities {
  /** What a resolved append has outlived: nothing, a crash of the machine, the loss of a machine. */
  readonly durability: "memory" | "disk" | "quorum";
  /** The most bytes of data that a message can have. */
  readonly maxMessageBytes: number;
  /** The most messages of a batch. */
  readonly maxBatchMessages: number;
  /** The most messages of a batch that have an id of their publisher. */
  readonly maxBatchIds: number;
  /** The most bytes of data and types of a batch that has more than one message. */
  readonly maxBatchBytes: number;
}

/**
 * Keeps the logs of topics. A log comes to be when it is first used. `tests/contract/topic_store.ts` holds what every store must
 * do.
 *
 * Passing trouble, such as a lost connection, is the store's to overcome. Where a method rejects, the store has given up.
 */
export interface TopicStore {
  /** What it can do. */
  readonly capabilities: StoreCapabilities;

  /**
   * Finds out whether it can work as it is configured: an application that has durable topics does
   * so when it starts. One that is away for a while can.
   *
   * @throws {Error} When it cannot: the application does not start, and the message says why.
   */
  open?(): Promise<void>;

  /** Where a log begins and ends. */
  bounds(log: LogRef): Promise<LogBounds>;

  /**
   * Appends messages in their order, together or in parts: where it rejects, the first of them may be stored without the others. What
   * was appended before is before them, for whoever reads. A log is appended to by one call at a time in each process.
   *
   * @param log The log.
   * @param messages The messages, within the capabilities.
   * @param options The name of the batch, and what gives it up.
   */
  append(log: LogRef, messages: readonly NewMessage[], options: AppendOptions): Promise<AppendResult>;

  /**
   * Reads what comes after a place, from the oldest message on where those after it were removed. It sees every append that was
   * resolved before, whichever process made it.
   *
   * @param log The log.
   * @param after The place; where it is beyond the head, nothing is read.
   * @param limits How much is read at most. At least one message is, where there is one.
   */
  read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage>;

  /** The place before the first message that was stored at a time or later; the head where there is none. */
  seek(log: LogRef, time: Date): Promise<LogPlace>;

  /**
   * Calls back when the log may have grown, whichever process appended. It is a hint: it may come for nothing, and late, but an
   * append is followed by a call within a second or so.
   *
   * @returns Ends the calls.
   */
  watch(log: LogRef, wake: () => void): () => void;

  /** Removes what the policy does not keep. The store does it by itself within 30 seconds. */
  trim(log: LogRef): Promise<LogBounds>;

  /**
   * The time in milliseconds since 1970 by the clock that messages have their times from. Without
   * it, that is this machine's.
   */
  now?(): number;

  /** All logs that were ever appended to, for operators. A store without it cannot be listed. */
  list?(): Promise<readonly LogRef[]>;

  /** Ends whatever goes on. Nothing can be asked of the store afterwards. */
  close(): Promise<void>;
}
