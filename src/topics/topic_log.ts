/**
 * The log of a topic, by the ids and messages that readers get. Messages may be older than the
 * schema of the topic, against which they are checked.
 */
import { parseData } from "../base/json_data.ts";
import { ThrottledLog } from "../log/log.ts";
import { type Span, SpanKind, traceOf, type Tracing } from "../log/telemetry.ts";
import { toValidator, type Validator } from "../schema/check.ts";
import { summarizeIssues } from "../schema/issues.ts";
import { outputSchema } from "../schema/output_schema.ts";
import { type Dataset, nodeOf, type Schema } from "../schema/schema.ts";
import type { LogBounds, LogRef, ReadLimits, StoredMessage, TopicStore } from "../store/topic_store.ts";
import { decodeMessage, markMisfit, toId, type TopicMessage, toPosition } from "./message.ts";
import type { PublishResult } from "./publisher.ts";

/** The size of one read, which a slow reader holds in memory. */
export const READ_LIMITS: ReadLimits = { maxMessages: 256, maxBytes: 1024 * 1024 };

/** The bounds of a topic, as ids. */
export interface TopicBounds {
  /** Of the newest removed message, or of the position before the first. */
  readonly lowWatermark: string;
  readonly highWatermark: string;
}

/** A part of a topic, with its bounds at the same moment. */
export interface LogSlice<Data> extends TopicBounds {
  /** In order, without a hole; also those that do not fit the schema of the topic. */
  readonly messages: readonly TopicMessage<Data>[];
  readonly sizes: readonly number[];
}

export class TopicLog<Data> {
  readonly #store: () => TopicStore;
  readonly #log: LogRef;
  readonly #spans: TopicSpans | undefined;
  readonly #check: StoredCheck | undefined;
  /** Reads in progress, by the id after which they read. */
  readonly #shared = new Map<string, Promise<LogSlice<Data>>>();

  /** After a stop of the application, `store` returns another store. */
  constructor(store: () => TopicStore, log: LogRef, spans?: TopicSpans, check?: StoredCheck) {
    this.#store = store;
    this.#log = log;
    this.#spans = spans;
    this.#check = check;
  }

  async bounds(): Promise<TopicBounds> {
    return toBounds(await this.#store().bounds(this.#log));
  }

  /** Reads for all readers at the end. It sees all earlier appends. */
  readLive(after: string): Promise<LogSlice<Data>> {
    return this.#read(after, { ...READ_LIMITS, isLive: true });
  }

  /** Concurrent reads after one id share a result, which may lack what was appended meanwhile. */
  readShared(after: string): Promise<LogSlice<Data>> {
    let read = this.#shared.get(after);
    if (!read) {
      read = this.#read(after, READ_LIMITS).finally(() => this.#shared.delete(after));
      this.#shared.set(after, read);
    }
    return read;
  }

  /** The id before the first message of a time. */
  async seek(time: Date): Promise<string> {
    const { incarnation, cursor } = await this.#store().seek(this.#log, time);
    return toId(incarnation, cursor);
  }

  watch(onChange: () => void): () => void {
    return this.#store().watch(this.#log, onChange);
  }

  async #read(after: string, limits: ReadLimits): Promise<LogSlice<Data>> {
    const begin = this.#spans && Date.now();
    const { messages, ...bounds } = await this.#store().read(this.#log, toPosition(after).cursor, limits);
    if (begin !== undefined) this.#spans?.recordReceived(messages, begin);
    return {
      ...toBounds(bounds),
      messages: Object.freeze(await this.#decode(messages, bounds.incarnation)),
      sizes: messages.map(({ bytes }) => bytes),
    };
  }

  async #decode(messages: readonly StoredMessage[], incarnation: string): Promise<TopicMessage<Data>[]> {
    const check = this.#check;
    if (!check) return messages.map((message) => decodeMessage<Data>(message, incarnation));
    const results = messages.map(({ data }) => check.check(data));
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

/** The name of the data in error messages. */
const DATA = "its data";
const LOGGED = "Stored messages do not fit the schema of their topic: readers get a gap, give new entries a default";

export type CheckedData = { readonly data: unknown; readonly fault?: undefined } | { readonly fault: string };

export class StoredCheck {
  readonly #topic: string;
  readonly #validator: Validator | undefined;
  readonly #log = new ThrottledLog("warn", LOGGED);

  /** The schema is that of the topic: messages are its output. */
  constructor(schema: Schema | undefined, topic: string) {
    this.#topic = topic;
    this.#validator = schema && toValidator(outputSchema(nodeOf(schema)));
  }

  get isAsync(): boolean {
    return this.#validator?.isAsync ?? false;
  }

  /** Adds the defaults of properties that are newer than the data. */
  check(json: string): CheckedData | Promise<CheckedData> {
    let data: unknown;
    try {
      data = parseData(json);
    } catch (error) {
      return { fault: `${DATA} is ${error instanceof RangeError ? "nested too deeply" : "no JSON"}` };
    }
    if (!this.#validator) return { data };
    try {
      const dataset = this.#validator.validate(data, true);
      return dataset instanceof Promise ? dataset.then(toChecked, toFault) : toChecked(dataset);
    } catch (error) {
      return toFault(error);
    }
  }

  note(count: number, id: string, fault: string): void {
    this.#log.note(count, { topic: this.#topic, message_id: id, fault });
  }
}

function toChecked({ issues, value }: Dataset): CheckedData {
  return issues ? { fault: summarizeIssues(issues, DATA) } : { data: value };
}

/** A check of the application may throw where data is not what it expects. */
function toFault(error: unknown): CheckedData {
  return { fault: `a check has thrown ${error}` };
}

/** The attributes of OpenTelemetry's conventions for messaging. */
export function messagingAttributes(topic: string, operation: string, type = operation): Record<string, string> {
  return {
    "messaging.system": "webfw",
    "messaging.destination.name": topic,
    "messaging.operation.name": operation,
    "messaging.operation.type": type,
  };
}

export class TopicSpans {
  readonly #tracing: Tracing;
  readonly #log: LogRef;
  /** The end of a span's name: empty if the name of the topic may come from a client. */
  readonly #suffix: string;

  constructor(tracing: Tracing, log: LogRef, isTransient: boolean) {
    this.#tracing = tracing;
    this.#log = log;
    this.#suffix = isTransient ? "" : ` ${log.name}`;
  }

  publish<Result extends Pick<PublishResult, "id">>(
    bytes: number,
    publish: (trace: string) => Promise<Result>,
  ): Promise<Result> {
    return this.#run(bytes, async (span) => {
      const result = await publish(traceOf(span));
      span.setAttribute("messaging.message.id", result.id);
      return result;
    });
  }

  /** The span ends when the statement has run: the commit is not known. May throw in the call. */
  publishIn(bytes: number, publish: (trace: string) => Promise<void>): Promise<void> {
    let thrown: { readonly error: unknown } | undefined;
    const published = this.#run(bytes, (span) => {
      try {
        return publish(traceOf(span));
      } catch (error) {
        thrown = { error };
        return Promise.reject(error);
      }
    });
    if (!thrown) return published;
    published.catch(() => {});
    throw thrown.error;
  }

  #run<Result>(bytes: number, publish: (span: Span) => Promise<Result>): Promise<Result> {
    const attributes = {
      ...messagingAttributes(this.#log.name, "publish", "send"),
      "messaging.message.body.size": bytes,
    };
    return this.#tracing.run(`publish${this.#suffix}`, { kind: SpanKind.PRODUCER, attributes }, publish);
  }

  /** Records one span for all subscribers of this process, with links to publishers. */
  recordReceived(messages: readonly StoredMessage[], startTime: number): void {
    if (!messages.some(({ trace }) => trace !== undefined)) return;
    const options = {
      kind: SpanKind.CONSUMER,
      attributes: {
        ...messagingAttributes(this.#log.name, "receive"),
        "messaging.batch.message_count": messages.length,
      },
      links: messages.map(({ trace }) => trace),
    };
    this.#tracing.record(`receive${this.#suffix}`, options, startTime);
  }
}
