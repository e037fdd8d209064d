/** Appends batches to streams. Each message is stored once, whatever happens to requests. */
import {
  type AppendOptions,
  type AppendOutcome,
  type AppendResult,
  type LogRef,
  type NewMessage,
  numberToCursor,
  orAborted,
  UnsuitableStoreError,
} from "../topic_store.ts";
import {
  APPEND_HEADER,
  encodeHeader,
  type LogStream,
  type LogStreams,
  TRACE_HEADER,
  TYPE_HEADER,
} from "./log_streams.ts";
import { isRefusal, isRefused, type NatsClient, type NatsHeaders, unlessRefused } from "./nats_client.ts";

/** A message whose id no earlier one of the batch has. */
interface Pending {
  readonly message: NewMessage;
  outcome: AppendOutcome | undefined;
}

export class StreamAppender {
  readonly #streams: LogStreams;

  constructor(streams: LogStreams) {
    this.#streams = streams;
  }

  /**
   * The server finds messages of an earlier attempt by their ids; a header shows whose they are.
   */
  async append(log: LogRef, messages: readonly NewMessage[], { signal }: AppendOptions = {}): Promise<AppendResult> {
    const batch = new StreamBatch(messages);
    const appending = this.#streams.connection.use(
      (client) =>
        this.#try(client, log, batch).catch((error) => {
          // That error means that nothing was stored, so it must not be the last one here.
          throw error instanceof UnsuitableStoreError && batch.hasBegun ? new Error(error.message) : error;
        }),
      signal,
      "write",
    );
    const stored = await (signal ? orAborted(appending, signal) : appending);
    return { incarnation: stored, outcomes: batch.outcomes };
  }

  async #try(client: NatsClient, log: LogRef, batch: StreamBatch): Promise<string> {
    const stream = await this.#streams.declared(client, log);
    batch.begin(stream.incarnation);
    try {
      await batch.store(client, stream);
    } catch (error) {
      // No stream has this subject: it was removed or renewed, or has no leader at present.
      if (!isRefused(error)) this.#streams.doubt(log);
      throw error;
    }
    if (batch.oldestStored <= stream.newest) batch.isRestored = true;
    if (batch.isRestored) return (await this.#streams.renew(client, log, stream.incarnation)).incarnation;
    stream.newest = Math.max(stream.newest, batch.newestStored);
    return stream.incarnation;
  }
}

class StreamBatch {
  readonly #appendId = crypto.randomUUID();
  readonly #messages: readonly NewMessage[];
  readonly #pending = new Map<string, Pending>();
  #incarnation: string | undefined;
  /** An attempt without an answer may have stored messages. */
  #isUncertain = false;
  /** The server knows one of the messages. */
  #isOneByOne = false;
  /** The stream has repeated a sequence number, so that it needs another incarnation. */
  isRestored = false;
  /** The sequence numbers that an attempt with an answer has stored. */
  oldestStored = Infinity;
  newestStored = 0;

  constructor(messages: readonly NewMessage[]) {
    this.#messages = messages;
    for (const message of messages) {
      if (!this.#pending.has(message.id)) this.#pending.set(message.id, { message, outcome: undefined });
    }
  }

  get outcomes(): AppendOutcome[] {
    return this.#messages.map((message) => {
      const { message: first, outcome } = this.#pending.get(message.id)!;
      return message === first ? outcome! : { ...outcome!, duplicate: true };
    });
  }

  get hasBegun(): boolean {
    return this.#isUncertain || this.#pending.values().some(({ outcome }) => outcome !== undefined);
  }

  /** Messages of another incarnation may be lost. */
  begin(incarnation: string): void {
    if (this.#incarnation !== undefined && this.#incarnation !== incarnation) {
      this.#isUncertain = this.hasBegun;
      this.isRestored = false;
      for (const pending of this.#pending.values()) pending.outcome = undefined;
      this.#isOneByOne = false;
    }
    this.#incarnation = incarnation;
  }

  async store(client: NatsClient, stream: LogStream): Promise<void> {
    this.oldestStored = Infinity;
    const pending = [...this.#pending.values()].filter(({ outcome }) => outcome === undefined);
    if (pending.length === 0) return;
    if (!stream.isAtomic || this.#isOneByOne || pending.length === 1) {
      return await this.#storeEach(client, stream, pending);
    }
    const wasUncertain = this.#isUncertain;
    try {
      this.#isUncertain = true;
      const { seq } = await this.#storeAtOnce(client, stream, pending);
      for (const [index, each] of pending.entries()) this.#noteStored(each, seq - pending.length + 1 + index);
    } catch (error) {
      if (isRefused(error)) this.#isUncertain = wasUncertain;
      // An earlier attempt may have stored all of them.
      if (!isRefusal(error, "batchHasDuplicate")) throw error;
      this.#isOneByOne = true;
      await this.#storeEach(client, stream, pending);
    }
  }

  async #storeAtOnce(client: NatsClient, { subject }: LogStream, pending: readonly Pending[]) {
    const batchId = crypto.randomUUID();
    for (const [index, { message }] of pending.entries()) {
      const headers = this.#headersOf(client, message);
      headers.set("Nats-Batch-Id", batchId);
      headers.set("Nats-Batch-Sequence", `${index + 1}`);
      if (index < pending.length - 1) client.publish(subject, message.data, headers);
      else {
        headers.set("Nats-Batch-Commit", "1");
        return await client.store(subject, message.data, headers);
      }
    }
    throw new Error("There are no messages to store");
  }

  /** Each waits for the one before it, so that they are in order whatever is lost. */
  async #storeEach(client: NatsClient, stream: LogStream, pending: readonly Pending[]): Promise<void> {
    for (const each of pending) {
      const wasUncertain = this.#isUncertain;
      this.#isUncertain = true;
      try {
        const { message } = each;
        const { seq, duplicate } = await client.store(stream.subject, message.data, this.#headersOf(client, message));
        if (!duplicate) this.#noteStored(each, seq);
        else {
          const isOwn = wasUncertain && await this.#isOwn(client, stream, seq);
          each.outcome = { cursor: numberToCursor(seq), duplicate: !isOwn };
        }
        this.#isUncertain = wasUncertain;
      } catch (error) {
        if (isRefused(error)) this.#isUncertain = wasUncertain;
        throw error;
      }
    }
  }

  #noteStored(pending: Pending, seq: number): void {
    pending.outcome = { cursor: numberToCursor(seq), duplicate: false };
    this.oldestStored = Math.min(this.oldestStored, seq);
    this.newestStored = Math.max(this.newestStored, seq);
  }

  /** Whether an earlier attempt of this append has stored a message. */
  async #isOwn(client: NatsClient, { name }: LogStream, seq: number): Promise<boolean> {
    const request = client.call<{ message: { hdrs?: string } }>(`STREAM.MSG.GET.${name}`, { seq });
    const { message: { hdrs = "" } } = await unlessRefused(request, "messageNotFound") ?? { message: {} };
    return atob(hdrs).includes(`\r\n${APPEND_HEADER}: ${this.#appendId}\r\n`);
  }

  #headersOf(client: NatsClient, { id, type, trace }: NewMessage): NatsHeaders {
    const headers = client.headers();
    headers.set("Nats-Msg-Id", encodeHeader(id));
    headers.set(APPEND_HEADER, this.#appendId);
    if (type !== undefined) headers.set(TYPE_HEADER, encodeHeader(type));
    if (trace !== undefined) headers.set(TRACE_HEADER, trace);
    return headers;
  }
}
