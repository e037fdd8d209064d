/** Reads the log of a topic in terms of the ids and messages that readers see. */
import { decodeMessage, markMisfit, toId, type TopicMessage, toPosition } from "./message.ts";
import type { LogBounds, LogRef, ReadLimits, StoredMessage, TopicStore } from "../store/topic_store.ts";
import type { CheckedData, StoredCheck } from "./stored_check.ts";
import type { TopicSpans } from "./topic_spans.ts";

/** How much is read at once. A slow reader holds this much in memory at most. */
export const READ_LIMITS: ReadLimits = { maxMessages: 256, maxBytes: 1024 * 1024 };

/** Where a topic begins and ends, as ids. */
export interface TopicBounds {
  /** The id of the newest message that was removed, or of the position before the first. */
  readonly lowWatermark: string;
  /** The id of the newest message. */
  readonly highWatermark: string;
}

/** A part of a topic, and the bounds of the topic at the same moment. */
export interface LogSlice<Data> extends TopicBounds {
  /** Messages in order, without a hole; also those that do not fit the schema of the topic. */
  readonly messages: readonly TopicMessage<Data>[];
  /** The bytes of data of each message. */
  readonly sizes: readonly number[];
}

export class TopicLog<Data> {
  readonly #store: () => TopicStore;
  readonly #log: LogRef;
  readonly #spans: TopicSpans | undefined;
  readonly #check: StoredCheck | undefined;
  /** Reads in progress, by the id that they read after. */
  readonly #shared = new Map<string, Promise<LogSlice<Data>>>();

  /**
   * Reads nothing yet.
   *
   * @param store Gives the store; after a stop of the application, another one.
   * @param log The log to read.
   * @param spans Notes what is read; none where OpenTelemetry is off.
   * @param check Checks what is read, if its schema may be newer.
   */
  constructor(store: () => TopicStore, log: LogRef, spans?: TopicSpans, check?: StoredCheck) {
    this.#store = store;
    this.#log = log;
    this.#spans = spans;
    this.#check = check;
  }

  async bounds(): Promise<TopicBounds> {
    return toBounds(await this.#store().bounds(this.#log));
  }

  /** Reads what follows an id, for all readers at the end. It sees all earlier appends. */
  readLive(after: string): Promise<LogSlice<Data>> {
    return this.#read(after, { ...READ_LIMITS, isLive: true });
  }

  /**
   * Reads what follows an id. Concurrent reads after the same id are one, and get the same list: it
   * may lack what was appended after the first of them began.
   */
  readShared(after: string): Promise<LogSlice<Data>> {
    let read = this.#shared.get(after);
    if (!read) {
      read = this.#read(after, READ_LIMITS).finally(() => this.#shared.delete(after));
      this.#shared.set(after, read);
    }
    return read;
  }

  /** The id after which the first message of a time follows. */
  async seek(time: Date): Promise<string> {
    const { incarnation, cursor } = await this.#store().seek(this.#log, time);
    return toId(incarnation, cursor);
  }

  /** Calls back when there may be more to read. The function that it returns ends that. */
  watch(onChange: () => void): () => void {
    return this.#store().watch(this.#log, onChange);
  }

  async #read(after: string, limits: ReadLimits): Promise<LogSlice<Data>> {
    const begin = this.#spans && Date.now();
    const { messages, ...bounds } = await this.#store().read(this.#log, toPosition(after).cursor, limits);
    if (begin !== undefined) this.#spans?.noteReceived(messages, begin);
    return {
      ...toBounds(bounds),
      messages: Object.freeze(await this.#decode(messages, bounds.incarnation)),
      sizes: messages.map(({ bytes }) => bytes),
    };
  }

  async #decode(messages: readonly StoredMessage[], incarnation: string): Promise<TopicMessage<Data>[]> {
    const check = this.#check;
    if (!check) return messages.map((message) => decodeMessage<Data>(message, incarnation));
    const results = messages.map(({ data }) => check.check(JSON.parse(data)));
    const checked = check.isAsync ? await Promise.all(results) : results as CheckedData[];
    let misfits = 0;
    let last: TopicMessage | undefined;
    let fault = "";
    const decoded = messages.map((message, index) => {
      const result = checked[index]!;
      if (result.fault === undefined) return decodeMessage<Data>(message, incarnation, result.data);
      misfits++;
      fault = result.fault;
      last = decodeMessage<Data>(message, incarnation);
      markMisfit(last);
      return last as TopicMessage<Data>;
    });
    if (last) check.note(misfits, last.id, fault);
    return decoded;
  }
}

function toBounds({ incarnation, lowWatermark, highWatermark }: LogBounds): TopicBounds {
  return { lowWatermark: toId(incarnation, lowWatermark), highWatermark: toId(incarnation, highWatermark) };
}
