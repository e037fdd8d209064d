/** Topics in NATS JetStream: one server, or several that each keep all messages. */
import type { RecordStore } from "../record_store.ts";
import type {
  AppendOptions,
  AppendResult,
  Cursor,
  LogBounds,
  LogPage,
  LogPosition,
  LogRef,
  NewMessage,
  ReadLimits,
  StoreCapabilities,
  TopicStore,
} from "../topic_store.ts";
import { jetStreamCapabilities } from "../capabilities.ts";
import { StoreConnection } from "../store_connection.ts";
import { JetStreamRecords } from "./jetstream_records.ts";
import { LogStreams } from "./log_streams.ts";
import type { NatsClient } from "./nats_client.ts";
import { StreamAppender } from "./stream_appender.ts";
import { StreamReader } from "./stream_reader.ts";
import { StreamWatcher } from "./stream_watcher.ts";

/** Requests have timeouts of their own, after which the connection is still good. */
const NO_TIMEOUT = 2 ** 31 - 1;

/** How a store is made. */
export interface JetStreamStoreOptions {
  /** The name of the servers in messages, without secrets. */
  readonly name: string;
  /** What names of streams and subjects begin with. */
  readonly prefix: string;
  /** How many servers keep each message. */
  readonly replicas: number;
  /** Connects to the servers. */
  readonly open: () => Promise<NatsClient>;
}

/** Keeps each log in a stream, and the records in a bucket. */
export class JetStreamStore implements TopicStore {
  readonly capabilities: StoreCapabilities;
  /** The time of the servers. */
  readonly now: () => number;
  readonly #connection: StoreConnection<NatsClient>;
  /** The client that was opened last, or is being opened. */
  #client: Promise<NatsClient> | undefined;
  readonly #closing = new AbortController();
  readonly #streams: LogStreams;
  readonly #appender: StreamAppender;
  readonly #reader: StreamReader;
  readonly #watcher: StreamWatcher;
  readonly #records: JetStreamRecords;

  /** Opens nothing yet. */
  constructor({ name, prefix, replicas, open }: JetStreamStoreOptions) {
    this.capabilities = jetStreamCapabilities(replicas);
    const connection = this.#connection = new StoreConnection<NatsClient>({
      name,
      open: () => this.#client = this.#open(open),
      probe: (client) => client.call("INFO"),
      requestTimeout: NO_TIMEOUT,
    });
    const { signal } = this.#closing;
    this.now = () => connection.now();
    this.#streams = new LogStreams(connection, { prefix, replicas });
    this.#appender = new StreamAppender(connection, this.#streams);
    this.#reader = new StreamReader(connection, this.#streams, signal);
    this.#watcher = new StreamWatcher(connection, this.#streams, signal);
    this.#records = new JetStreamRecords(connection, { prefix, replicas });
  }

  open(): Promise<void> {
    return this.#connection.open();
  }

  bounds(log: LogRef): Promise<LogBounds> {
    return this.#reader.bounds(log);
  }

  append(log: LogRef, messages: readonly NewMessage[], options?: AppendOptions): Promise<AppendResult> {
    return this.#appender.append(log, messages, options);
  }

  read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    return this.#reader.read(log, after, limits);
  }

  seek(log: LogRef, time: Date): Promise<LogPosition> {
    return this.#reader.seek(log, time);
  }

  watch(log: LogRef, onChange: () => void): () => void {
    return this.#watcher.watch(log, onChange);
  }

  list(): Promise<readonly LogRef[]> {
    return this.#streams.list();
  }

  async openRecords(): Promise<RecordStore> {
    return this.#records;
  }

  async #open(open: () => Promise<NatsClient>): Promise<NatsClient> {
    const client = await open();
    client.onClosed(() => {
      if (!this.#closing.signal.aborted) this.#connection.reopen();
    });
    return client;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#watcher.close(), this.#connection.close()]);
    const client = await this.#client?.catch(() => undefined);
    await client?.closed();
  }
}
