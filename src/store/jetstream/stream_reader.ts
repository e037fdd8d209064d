/** Reads and watches streams: pages from whichever server has them, their state from the leader. */
import { detached } from "../../log/log.ts";
import {
  Callbacks,
  type Cursor,
  type LogBounds,
  type LogPage,
  type LogPosition,
  type LogRef,
  numberToCursor,
  type ReadLimits,
} from "../topic_store.ts";
import { pause } from "../store_connection.ts";
import { type LogStreams, seqOf, type StreamState, toSeq, toStored } from "./log_streams.ts";
import { type NatsClient, type NatsMessage, type NatsSubscription, unlessRefused } from "./nats_client.ts";

const MAX_PAGE = 1_000;
/** Servers count more than the data of a message, and at least so much for one. */
const OVERHEAD = 1.25;
const MIN_READ_BYTES = 64 * 1024;
/** The longest pause before a lagging replica is read again, in milliseconds. */
const MAX_PAUSE = 50;
/** How long a page is read again and again, in milliseconds. */
const READ_TIMEOUT = 30_000;

/** The latest time of a search: later nanoseconds have no room in the servers' numbers. */
const LATEST = Date.UTC(2200, 0);

export class StreamReader {
  readonly #streams: LogStreams;
  readonly #closing: AbortSignal;

  constructor(streams: LogStreams, closing: AbortSignal) {
    this.#streams = streams;
    this.#closing = closing;
  }

  async bounds(log: LogRef): Promise<LogBounds> {
    return toBounds(await this.#streams.state(log));
  }

  async read(log: LogRef, after: Cursor, limits: ReadLimits): Promise<LogPage> {
    const from = toSeq(after);
    const begin = performance.now();
    for (let rest = 1;; rest = Math.min(2 * rest, MAX_PAUSE)) {
      const { stream, messages: found } = await this.#page(log, from, limits);
      const state = await this.#streams.state(log);
      const messages = withoutRemoved(found, from, state);
      const first = messages[0] && seqOf(messages[0]);
      // A reply was lost, or a replica lags behind the leader.
      const isMissing = first === undefined
        ? from < state.last && state.first <= state.last
        : first > from + 1 && first > state.first;
      // The stream was created again between the two requests.
      const isOther = state.stream.incarnation !== stream.incarnation;
      if (!isMissing && !isOther) return toPage(state, messages);
      if (performance.now() - begin > READ_TIMEOUT) {
        throw new Error(`Cannot read the topic "${log.name}": the servers do not agree on what it has`);
      }
      await pause(rest, this.#closing);
    }
  }

  async seek(log: LogRef, time: Date): Promise<LogPosition> {
    return await this.#streams.connection.use(async (client) => {
      const { name } = await this.#streams.get(client, log);
      // The leader answers this request, not a replica.
      const request = client.call<{ message: { seq: number } }>(`STREAM.MSG.GET.${name}`, {
        start_time: new Date(Math.min(Math.max(0, time.getTime()), LATEST)).toISOString(),
      });
      const found = await unlessRefused(request, "messageNotFound");
      const { stream, first, last } = await this.#streams.state(log);
      const cursor = numberToCursor(found ? Math.max(found.message.seq, first) - 1 : last);
      return { incarnation: stream.incarnation, cursor };
    });
  }

  async #page(log: LogRef, from: number, { maxMessages, maxBytes }: ReadLimits) {
    return await this.#streams.connection.use(async (client) => {
      const stream = await this.#streams.get(client, log);
      const found = await client.read(stream.name, {
        seq: from + 1,
        // Without it, a server of version 2.11 finds nothing if the first one was removed.
        next_by_subj: ">",
        batch: Math.min(maxMessages, MAX_PAGE),
        max_bytes: Math.ceil(maxBytes * OVERHEAD) + MIN_READ_BYTES,
      }).catch((error) => {
        // The stream may have been removed.
        this.#streams.doubt(log);
        throw error;
      });
      return { stream, messages: upTo(found, maxBytes) };
    });
  }
}

/** The messages up to the limit, and up to a hole. */
function upTo(found: readonly NatsMessage[], maxBytes: number): NatsMessage[] {
  const page: NatsMessage[] = [];
  let bytes = 0;
  for (const message of found) {
    bytes += message.data.length;
    const last = page.at(-1);
    if (last && (bytes > maxBytes || seqOf(message) !== seqOf(last) + 1)) break;
    page.push(message);
  }
  return page;
}

/**
 * After a gap, a page begins where the leader does: a replica may have older messages. Without a
 * gap, messages that were removed after they had been read are no loss.
 */
function withoutRemoved(found: readonly NatsMessage[], from: number, { first }: StreamState): readonly NatsMessage[] {
  const isGap = found[0] !== undefined && seqOf(found[0]) > from + 1;
  return isGap ? found.filter((message) => seqOf(message) >= first) : found;
}

function toBounds({ stream, first, last }: StreamState): LogBounds {
  return {
    incarnation: stream.incarnation,
    lowWatermark: numberToCursor(first - 1),
    highWatermark: numberToCursor(last),
  };
}

function toPage(state: StreamState, messages: readonly NatsMessage[]): LogPage {
  const bounds = toBounds(state);
  if (messages.length === 0) return { ...bounds, messages: [] };
  const [first, last] = [seqOf(messages[0]!), seqOf(messages.at(-1)!)];
  return {
    incarnation: bounds.incarnation,
    lowWatermark: numberToCursor(Math.min(state.first, first) - 1),
    // Messages that were appended after the page had been read count, and vice versa.
    highWatermark: numberToCursor(Math.max(state.last, last)),
    messages: messages.map(toStored),
  };
}

/** How often watched logs are polled, in ms: messages of servers are lost with a connection. */
const INTERVAL = 1_000;
const MAX_POLLS = 16;

class WatchedLog {
  readonly log: LogRef;
  readonly callbacks: Callbacks = new Callbacks();
  #client: NatsClient | undefined;
  #subscription: NatsSubscription | undefined;
  #isSubscribing = false;
  #seen = "";

  constructor(log: LogRef) {
    this.log = log;
  }

  /** Calls back if the log has changed since the last poll. It also subscribes. */
  async poll(streams: LogStreams): Promise<void> {
    await streams.connection.use(async (client) => {
      if (this.#client === client || this.#isSubscribing) return;
      this.#isSubscribing = true;
      try {
        const { name } = await streams.get(client, this.log);
        const subscription = await client.subscribe(streams.storedSubject(name), this.callbacks.call);
        this.#subscription?.unsubscribe();
        this.#subscription = subscription;
        this.#client = client;
        if (this.callbacks.isEmpty) this.end();
      } finally {
        this.#isSubscribing = false;
      }
    });
    const { stream, last } = await streams.state(this.log);
    const seen = `${stream.incarnation} ${last}`;
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.callbacks.call();
  }

  end(): void {
    if (this.#client && !this.#client.isClosed) this.#subscription?.unsubscribe();
    this.#subscription = undefined;
  }
}

export class StreamWatcher {
  readonly #streams: LogStreams;
  readonly #closing: AbortSignal;
  readonly #watched = new Map<string, WatchedLog>();
  #polling: Promise<void> | undefined;

  constructor(streams: LogStreams, closing: AbortSignal) {
    this.#streams = streams;
    this.#closing = closing;
  }

  watch(log: LogRef, onChange: () => void): () => void {
    const watched = this.#watched.get(log.name) ?? new WatchedLog(log);
    const isNew = watched.callbacks.isEmpty;
    this.#watched.set(log.name, watched);
    const remove = watched.callbacks.add(onChange);
    if (isNew) this.#poll(watched);
    this.#polling ??= detached(() => this.#pollAgain());
    return () => {
      remove();
      if (!watched.callbacks.isEmpty) return;
      watched.end();
      if (this.#watched.get(log.name) === watched) this.#watched.delete(log.name);
    };
  }

  async close(): Promise<void> {
    for (const watched of this.#watched.values()) {
      watched.callbacks.clear();
      watched.end();
    }
    this.#watched.clear();
    await this.#polling;
  }

  async #pollAgain(): Promise<void> {
    for (;;) {
      await pause(INTERVAL, this.#closing);
      if (this.#closing.aborted) return;
      const all = [...this.#watched.values()];
      if (all.length === 0) break;
      for (let start = 0; start < all.length; start += MAX_POLLS) {
        await Promise.all(all.slice(start, start + MAX_POLLS).map((watched) => this.#poll(watched)));
      }
    }
    this.#polling = undefined;
  }

  async #poll(watched: WatchedLog): Promise<void> {
    // The connection logs an outage. Readers get the errors of their own requests.
    await watched.poll(this.#streams).catch(() => {});
  }
}
