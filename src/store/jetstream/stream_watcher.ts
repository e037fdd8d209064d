/** Tells of new messages: by what the servers send, and by looking where that may be lost. */
import { detached } from "../../log/log.ts";
import type { LogRef } from "../topic_store.ts";
import { pause, type StoreConnection } from "../store_connection.ts";
import type { LogStreams } from "./log_streams.ts";
import type { NatsClient } from "./nats_client.ts";
import type { NatsSubscription } from "./nats_package.ts";

/**
 * How often watched logs are looked at, in milliseconds: what servers send is lost with a
 * connection.
 */
const INTERVAL = 1_000;
/** How many logs are looked at together. */
const MAX_LOOKS = 16;

/** A log that somebody watches. */
class WatchedLog {
  readonly log: LogRef;
  readonly callbacks: Set<() => void> = new Set();
  #client: NatsClient | undefined;
  #subscription: NatsSubscription | undefined;
  #isSubscribing = false;
  /** What was seen last. */
  #seen = "";

  constructor(log: LogRef) {
    this.log = log;
  }

  readonly #call = (): void => {
    for (const onChange of [...this.callbacks]) onChange();
  };

  /**
   * Calls back if the log has changed since the last look, and makes sure that the servers tell.
   */
  async look(connection: StoreConnection<NatsClient>, streams: LogStreams): Promise<void> {
    await connection.use(async (client) => {
      if (this.#client === client || this.#isSubscribing) return;
      this.#isSubscribing = true;
      try {
        const { name } = await streams.get(client, this.log);
        const subscription = await client.subscribe(streams.storedSubject(name), this.#call);
        this.#subscription?.unsubscribe();
        this.#subscription = subscription;
        this.#client = client;
        if (this.callbacks.size === 0) this.end();
      } finally {
        this.#isSubscribing = false;
      }
    });
    const { stream, last } = await streams.state(this.log);
    const seen = `${stream.incarnation} ${last}`;
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#call();
  }

  /** Ends the messages of the servers. */
  end(): void {
    if (this.#client && !this.#client.isClosed) this.#subscription?.unsubscribe();
    this.#subscription = undefined;
  }
}

/** Watches logs while somebody wants to know. */
export class StreamWatcher {
  readonly #connection: StoreConnection<NatsClient>;
  readonly #streams: LogStreams;
  readonly #closing: AbortSignal;
  readonly #watched = new Map<string, WatchedLog>();
  #looking: Promise<void> | undefined;

  constructor(connection: StoreConnection<NatsClient>, streams: LogStreams, closing: AbortSignal) {
    this.#connection = connection;
    this.#streams = streams;
    this.#closing = closing;
  }

  /** Calls back when a log may have grown. */
  watch(log: LogRef, onChange: () => void): () => void {
    const watched = this.#watched.get(log.name) ?? new WatchedLog(log);
    const isNew = watched.callbacks.size === 0;
    this.#watched.set(log.name, watched);
    watched.callbacks.add(onChange);
    if (isNew) this.#look(watched);
    this.#looking ??= detached(() => this.#lookAgain());
    return () => {
      if (!watched.callbacks.delete(onChange) || watched.callbacks.size > 0) return;
      watched.end();
      if (this.#watched.get(log.name) === watched) this.#watched.delete(log.name);
    };
  }

  /** Ends all calls. */
  async close(): Promise<void> {
    for (const watched of this.#watched.values()) {
      watched.callbacks.clear();
      watched.end();
    }
    this.#watched.clear();
    await this.#looking;
  }

  async #lookAgain(): Promise<void> {
    for (;;) {
      await pause(INTERVAL, this.#closing);
      if (this.#closing.aborted) return;
      const all = [...this.#watched.values()];
      if (all.length === 0) break;
      for (let start = 0; start < all.length; start += MAX_LOOKS) {
        await Promise.all(all.slice(start, start + MAX_LOOKS).map((watched) => this.#look(watched)));
      }
    }
    this.#looking = undefined;
  }

  async #look(watched: WatchedLog): Promise<void> {
    // The store logs that it does not answer. Readers get the error of their own requests.
    await watched.look(this.#connection, this.#streams).catch(() => {});
  }
}
