/** Server-sent events in a test client. */
import { CallSignal } from "../client/call_signal.ts";
import { valuesOf } from "../client/streams.ts";
import type { ClientEvent } from "../client/types.ts";
import type { ProblemDetails } from "../base/errors.ts";
import { describe, mediaType, TestReply } from "./reply.ts";
import type { TestRequestInit } from "./request.ts";

/** @ignore The options of a stream of events. */
export interface TestEventsInit extends TestRequestInit {
  /**
   * The method.
   *
   * @default {"GET"}
   */
  method?: string;
  /**
   * Whether data is plain text: for `SSE()` with `encode: "text"`.
   *
   * @default {false}
   */
  raw?: boolean;
}

/** An event, or a gap: the notice that messages of a topic are missing. */
export type TestEvent<Data> =
  & {
    /** The id to resume after; undefined if the server sends none. */
    readonly id?: string | undefined;
    /** The type of the event; `message` if the server sends none. */
    readonly type?: string;
  }
  & ({
    /** The data, parsed from JSON. */
    readonly data: Data;
    /** Absent. */
    readonly gap?: undefined;
  } | {
    /** Absent. */
    readonly data?: undefined;
    /** The missing messages. */
    readonly gap: NonNullable<ClientEvent<Data>["gap"]>;
  });

/**
 * The events of a stream. Leaving a loop ends the stream. The type of the data is not checked:
 * `client.api` knows it.
 */
export class TestEvents<Data = unknown> implements AsyncIterableIterator<TestEvent<Data>, void>, AsyncDisposable {
  readonly #reply: Promise<Response>;
  readonly #call: CallSignal;
  readonly #values: Promise<AsyncIterableIterator<ClientEvent<unknown>>>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #end = () => {
    this.#call.release();
    this.#ended.resolve();
  };

  /**
   * Wraps a pending reply; the test client calls it.
   *
   * @ignore
   */
  constructor(reply: Promise<Response>, signal: AbortSignal, raw: boolean) {
    this.#reply = reply;
    this.#call = new CallSignal([signal], undefined);
    this.#values = this.#open(raw);
    this.#values.catch(this.#end);
  }

  /** Settles when either side has ended the stream. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Waits for the status and headers of the reply: the handler has returned. */
  async opened(): Promise<void> {
    await this.#values;
  }

  /**
   * Waits for the next event.
   *
   * @throws {Error} If the reply is no stream of events.
   */
  async next(): Promise<IteratorResult<TestEvent<Data>, void>> {
    const values = await this.#values;
    try {
      const entry = await values.next();
      if (entry.done) this.#end();
      return entry as IteratorResult<TestEvent<Data>, void>;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  /**
   * Waits for the next events. The stream stays open.
   *
   * @param count How many.
   * @throws {Error} If the stream ends before, or the reply is no stream of events.
   */
  async take(count: number): Promise<TestEvent<Data>[]> {
    const events: TestEvent<Data>[] = [];
    while (events.length < count) {
      const { done, value } = await this.next();
      if (done) throw new Error(`Cannot take ${count} events: the stream has ended after ${events.length}`);
      events.push(value);
    }
    return events;
  }

  /**
   * Reads an error reply instead of events.
   *
   * @param status The expected status. By default, any but 2xx.
   * @throws {Error} If the reply is not `application/problem+json`, or has another status.
   */
  async problem(status?: number): Promise<ProblemDetails> {
    const { ok } = await this.#reply;
    if (ok) await this.close();
    return await new TestReply(this.#reply.then((reply) => ok ? new Response(null, reply) : reply.clone()))
      .problem(status);
  }

  /** Ends the stream. */
  async return(): Promise<IteratorReturnResult<void>> {
    await this.close();
    return { done: true, value: undefined };
  }

  /** Ends the stream: the client disconnects. */
  async close(): Promise<void> {
    this.#call.abort();
    const values = await this.#values.catch(() => undefined);
    await values?.return?.();
    this.#end();
  }

  /** The events. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the stream. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #open(raw: boolean): Promise<AsyncIterableIterator<ClientEvent<unknown>>> {
    const reply = await this.#call.until(this.#reply).catch((error) => {
      // The caller has gone.
      this.#reply.then(({ body }) => body?.cancel()).catch(() => {});
      throw error;
    });
    if (reply.status !== 204 && (!reply.ok || mediaType(reply) !== "text/event-stream")) {
      throw new Error(`Cannot read the events: got ${describe(reply, await reply.clone().text())}`);
    }
    return valuesOf(reply, this.#call, true, raw) as AsyncIterableIterator<ClientEvent<unknown>>;
  }
}
