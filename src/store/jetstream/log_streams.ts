/** The streams of logs. Each has one subject, which ends with the incarnation of the log. */
import { OrderedMap } from "../../base/ordered_map.ts";
import { isTrace } from "../../log/telemetry.ts";
import type { StoreConnection } from "../store_connection.ts";
import {
  type Cursor,
  cursorToNumber,
  decodePolicy,
  encodePolicy,
  type LogRef,
  numberToCursor,
  type StoredMessage,
  UnsuitableStoreError,
} from "../topic_store.ts";
import {
  ERROR_CODES,
  isRefusal,
  JetStreamError,
  type NatsClient,
  type NatsMessage,
  textOf,
  unlessRefused,
} from "./nats_client.ts";

/** In milliseconds: ids are remembered for at least so long, if the age of the log allows it. */
const MIN_DEDUPE = 120_000;
/** In bytes: a server stores no message that is larger than its stream, with headers. */
const MIN_BYTES = 128 * 1024;
const MAX_LOGS = 10_000;
/**
 * How long an answer with less than earlier ones is ignored, in ms: a server that was cut off still
 * believes to be the leader. After that, the stream was restored from a backup.
 */
export const BEHIND_TIMEOUT = 3_000;
const NANOSECONDS = 1_000_000;

/** Such names of topics are in names of streams as they are. */
const PLAIN_NAME = /^[A-Za-z0-9_-]{1,64}$/;

const INCARNATION = /^[0-9a-f]{8}$/;

export interface LogStream {
  readonly name: string;
  readonly subject: string;
  readonly incarnation: string;
  readonly isAtomic: boolean;
  readonly policy: string;
  readonly replicas: number;
  newest: number;
  isDoubtful: boolean;
  /** By `performance.now()`. */
  readonly behindSince: number | undefined;
}

type Newest = Pick<LogStream, "incarnation" | "newest">;

export interface StreamState {
  readonly stream: LogStream;
  /** The sequence number of the oldest message; one after the last if there is none. */
  readonly first: number;
  /** The sequence number of the newest message, even if it was removed. */
  readonly last: number;
}

interface StreamInfo {
  readonly config: StreamConfig;
  readonly state: { readonly messages: number; readonly first_seq: number; readonly last_seq: number };
}

interface StreamConfig {
  readonly name: string;
  /** A stream that copies another one has none. */
  readonly subjects?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly allow_atomic?: boolean;
  readonly num_replicas: number;
}

type Changeable = Pick<LogStream, "incarnation" | "replicas">;

export interface StreamOptions {
  readonly prefix: string;
  readonly replicas: number;
}

export class LogStreams {
  readonly connection: StoreConnection<NatsClient>;
  readonly #options: StreamOptions;
  readonly #known = new OrderedMap<string, LogStream>();

  constructor(connection: StoreConnection<NatsClient>, options: StreamOptions) {
    this.connection = connection;
    this.#options = options;
  }

  /** A server publishes here that a stream has stored a message. */
  storedSubject(stream: string): string {
    return `${this.#options.prefix}.stored.${stream}`;
  }

  /** The stream is created if it is missing. */
  async get(client: NatsClient, log: LogRef): Promise<LogStream> {
    const known = this.#known.get(log.name);
    return known && !known.isDoubtful ? known : (await this.#ask(client, log)).stream;
  }

  /** The same for a publisher: with the policy of its declaration. */
  async declared(client: NatsClient, log: LogRef): Promise<LogStream> {
    const stream = await this.get(client, log);
    // A process with fewer replicas removes none of the others'.
    if (stream.policy === encodePolicy(log.policy) && stream.replicas >= this.#options.replicas) return stream;
    // Another process may have changed it meanwhile.
    return await this.#update(client, log, (await this.#ask(client, log)).stream);
  }

  /** The stream may be gone: the next use requests it again. */
  doubt({ name }: LogRef): void {
    const known = this.#known.get(name);
    if (known) known.isDoubtful = true;
  }

  /** One that was restored from a backup gets another incarnation. */
  async state(log: LogRef): Promise<StreamState> {
    return await this.connection.use(async (client) => {
      const state = await this.#ask(client, log);
      const { behindSince, replicas, incarnation } = state.stream;
      if (behindSince === undefined) return state;
      if (replicas > 1 && performance.now() - behindSince < BEHIND_TIMEOUT) {
        throw new Error("A server has answered that is behind the others");
      }
      await this.renew(client, log, incarnation);
      return await this.#ask(client, log);
    });
  }

  /** Begins another incarnation: a restored backup repeats sequence numbers. */
  async renew(client: NatsClient, log: LogRef, former: string): Promise<LogStream> {
    const { stream } = await this.#ask(client, log);
    if (stream.incarnation !== former) return stream;
    return await this.#update(client, log, { ...stream, incarnation: randomIncarnation() });
  }

  async list(): Promise<LogRef[]> {
    const logs: LogRef[] = [];
    for (let offset = 0;;) {
      const { streams, total } = await this.connection.use((client) =>
        client.call<{ streams: StreamInfo[] | null; total: number }>("STREAM.LIST", {
          subject: `${this.#options.prefix}.log.>`,
          offset,
        })
      );
      for (const { config: { metadata } } of streams ?? []) {
        const { "webfw.topic": name, "webfw.policy": policy } = metadata ?? {};
        if (name !== undefined && policy !== undefined) {
          logs.push({ name: JSON.parse(name), policy: decodePolicy(policy) });
        }
      }
      offset += streams?.length ?? 0;
      if (!streams?.length || offset >= total) return logs;
    }
  }

  /** The leader of the stream answers, so it is the present state. */
  async #ask(client: NatsClient, log: LogRef): Promise<StreamState> {
    const name = await this.#nameOf(log.name);
    const before = this.#newestOf(log);
    const info = await unlessRefused(client.call<StreamInfo>(`STREAM.INFO.${name}`), "streamNotFound");
    return this.#note(log, info ?? await this.#make(client, log, name), before);
  }

  /** Read before a request: messages may be stored before its answer comes. */
  #newestOf({ name }: LogRef): Newest | undefined {
    const known = this.#known.get(name);
    return known && { incarnation: known.incarnation, newest: known.newest };
  }

  async #make(client: NatsClient, log: LogRef, name: string): Promise<StreamInfo> {
    try {
      return await client.call<StreamInfo>(
        `STREAM.CREATE.${name}`,
        this.#configOf(name, log, { incarnation: randomIncarnation(), replicas: 1 }),
      );
    } catch (error) {
      // Another process has created it at the same time.
      if (isRefusal(error, "nameInUse")) return await client.call<StreamInfo>(`STREAM.INFO.${name}`);
      throw toUnsuitable(error, log.name) ?? error;
    }
  }

  async #update(client: NatsClient, log: LogRef, stream: LogStream): Promise<LogStream> {
    const { name } = stream;
    const config = this.#configOf(name, log, stream);
    const before = this.#newestOf(log);
    try {
      const info = await client.call<StreamInfo>(`STREAM.UPDATE.${name}`, config);
      return this.#note(log, info, before).stream;
    } catch (error) {
      this.doubt(log);
      throw toUnsuitable(error, log.name) ?? error;
    }
  }

  #note({ name }: LogRef, { config, state }: StreamInfo, before: Newest | undefined): StreamState {
    const [subject = ""] = config.subjects ?? [];
    const incarnation = subject.slice(subject.lastIndexOf(".") + 1);
    const isOwn = subject === this.#subjectOf(config.name, incarnation) && INCARNATION.test(incarnation) &&
      config.metadata?.["webfw.topic"] === JSON.stringify(name);
    if (!isOwn) {
      throw new UnsuitableStoreError(
        `Cannot keep the topic "${name}": another program has made the stream "${config.name}", ` +
          "remove that or give topics another prefix",
      );
    }
    const known = this.#known.get(name);
    const newest = known?.incarnation === incarnation ? known.newest : 0;
    const isBehind = before?.incarnation === incarnation && state.last_seq < before.newest;
    const behindSince = isBehind ? known?.behindSince ?? performance.now() : undefined;
    const stream: LogStream = {
      name: config.name,
      subject,
      incarnation,
      isAtomic: config.allow_atomic === true,
      policy: config.metadata?.["webfw.policy"] ?? "",
      replicas: config.num_replicas,
      newest: Math.max(newest, state.last_seq),
      isDoubtful: false,
      behindSince,
    };
    this.#known.set(name, stream);
    this.#known.shrink(MAX_LOGS);
    return { stream, first: state.messages === 0 ? state.last_seq + 1 : state.first_seq, last: state.last_seq };
  }

  /** Names of streams have no dots, spaces or slashes, and at most 255 characters. */
  async #nameOf(topic: string): Promise<string> {
    const { prefix } = this.#options;
    if (PLAIN_NAME.test(topic)) return `${prefix}_topic_${topic}`;
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(topic));
    return `${prefix}_hash_${new Uint8Array(digest).toHex()}`;
  }

  #subjectOf(stream: string, incarnation: string): string {
    return `${this.#options.prefix}.log.${stream}.${incarnation}`;
  }

  #configOf(name: string, { name: topic, policy }: LogRef, { incarnation, replicas }: Changeable): StreamConfig {
    const { age, count, bytes, dedupe } = policy;
    const subject = this.#subjectOf(name, incarnation);
    const config = {
      name,
      subjects: [subject],
      retention: "limits",
      discard: "old",
      storage: "file",
      num_replicas: Math.max(replicas, this.#options.replicas),
      max_age: age === Infinity ? 0 : Math.max(1, Math.round(age)) * NANOSECONDS,
      max_msgs: count === Infinity ? -1 : count,
      max_bytes: bytes === Infinity ? -1 : Math.max(MIN_BYTES, Math.floor(bytes)),
      // A server refuses one that is longer than the age.
      duplicate_window: Math.round(Math.min(Math.max(dedupe, MIN_DEDUPE), age)) * NANOSECONDS,
      allow_direct: true,
      allow_atomic: true,
      deny_delete: true,
      republish: { src: subject, dest: this.storedSubject(name), headers_only: true },
      metadata: { "webfw.topic": JSON.stringify(topic), "webfw.policy": encodePolicy(policy) },
    };
    return config;
  }
}

function toUnsuitable(error: unknown, topic: string): UnsuitableStoreError | undefined {
  const reason = refusalReason(error);
  return reason === undefined ? undefined : new UnsuitableStoreError(`Cannot keep the topic "${topic}": ${reason}`);
}

/** Why the servers will never create a stream; undefined for other errors. */
export function refusalReason(error: unknown): string | undefined {
  if (!(error instanceof JetStreamError)) return undefined;
  const { code, status, message } = error;
  if (code === ERROR_CODES.storageExceeded) {
    return `the servers have not as much storage as its retention may take (${message}), ` +
      "give it fewer bytes, or the servers more max_file_store";
  }
  if (code === ERROR_CODES.replicasNotSupported) {
    return "the server is in no cluster, so there are no replicas, give topics with replicas: 1";
  }
  // A server that is missing comes back.
  const isFinal = status === 400 && code !== ERROR_CODES.noPeers;
  if (!isFinal && code !== ERROR_CODES.invalidConfiguration) return undefined;
  return `the servers refuse its stream (${message}), change that there, or give topics another prefix`;
}

function randomIncarnation(): string {
  return crypto.getRandomValues(new Uint8Array(4)).toHex();
}

export const TYPE_HEADER = "Webfw-Type";
export const APPEND_HEADER = "Webfw-Append";

/** The trace of the publisher, under the name that other programs know. */
export const TRACE_HEADER = "traceparent";

/** A header is one line, whose ends are trimmed. */
export function encodeHeader(text: string): string {
  return encodeURIComponent(text);
}

export function seqOf({ headers }: NatsMessage): number {
  return Number(headers?.get("Nats-Sequence"));
}

export function toStored(message: NatsMessage): StoredMessage {
  const { data, headers } = message;
  const trace = headers?.get(TRACE_HEADER) ?? "";
  return {
    cursor: numberToCursor(seqOf(message)),
    type: headers?.has(TYPE_HEADER) ? decodeURIComponent(headers.get(TYPE_HEADER)) : undefined,
    data: textOf(data),
    bytes: data.length,
    time: Date.parse(headers?.get("Nats-Time-Stamp") ?? ""),
    ...(isTrace(trace) && { trace }),
  };
}

/** Cursors of clients may be larger than any sequence number. */
export function toSeq(cursor: Cursor): number {
  return Math.min(cursorToNumber(cursor), Number.MAX_SAFE_INTEGER - 1);
}
