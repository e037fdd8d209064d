/** The public types of the client. */

/**
 * The options of a call.
 *
 * @category Client
 */
export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. It also ends a stream or a socket. */
  signal?: AbortSignal;
  /** Milliseconds until a result, a stream or an open socket. By default that of the client. */
  timeout?: number;
  /** Take precedence over the headers of the client. */
  headers?: HeaderValues;
}

/**
 * The options of a call of an idempotent route.
 *
 * @category Client
 */
export interface IdempotentOptions extends CallOptions {
  /**
   * Whether to send a new `Idempotency-Key`, and to retry up to three times: after a network
   * failure, 409 with `Retry-After`, and 503. The pause is `Retry-After`, or about a second,
   * doubled each time. No retry if the server asks for more than 30 seconds, or the body is a
   * `ReadableStream`.
   *
   * @default {false}
   */
  idempotent?: boolean;
}

/**
 * The options of a stream of events.
 *
 * @category Client
 */
export interface EventOptions extends CallOptions {
  /**
   * The silence after which a connection counts as broken, in milliseconds, or `Infinity`: three
   * times the `heartbeat` of `SSE()`.
   *
   * @default {45_000}
   */
  idleTimeout?: number;
}

/**
 * The options of a stream of events whose data is text.
 *
 * @category Client
 */
export interface TextEventOptions extends EventOptions {
  /**
   * Whether data is text, as from `SSE()` with `encode: "text"`, and not JSON.
   *
   * @default {false}
   */
  raw?: boolean;
}

/**
 * The options of a WebSocket. `Message` is what it sends.
 *
 * @category Client
 */
export interface SocketOptions<Message = unknown> extends CallOptions {
  /**
   * Whether to open a new connection when the network breaks (1006), the server stops or restarts
   * (1001, 1012 to 1014), or its handler fails (1011). Another close code, and a refusal by another
   * 4xx status than 408, 425 and 429, ends the socket. The pauses are those of `events`.
   *
   * A function is called after each reconnection, before further messages are read, with those that
   * were sent since the last message of the server, the newest 1,000: they may have arrived or not.
   * Send again what must arrive. Each connection reads the object with the arguments again.
   *
   * @default {false}
   */
  reconnect?: boolean | ((sent: readonly Message[]) => unknown);
  /** The subprotocols, of which the server chooses one. */
  protocols?: string | readonly string[];
  /**
   * The silence after which the connection counts as broken, in milliseconds. Pages see no pings:
   * choose a time within which the server sends a message. By default there is no limit.
   */
  idleTimeout?: number;
}

/**
 * The options of a WebSocket whose route declares neither `receive` nor `send`.
 *
 * @category Client
 */
export interface RawOptions<Message = unknown> extends SocketOptions<Message> {
  /** Messages are strings and bytes, not JSON. */
  raw: true;
}

/** @ignore Headers by name. `undefined` is not sent. */
export type HeaderValues = Readonly<Record<string, string | undefined>>;

/**
 * The options of a client.
 *
 * @category Client
 */
export interface ClientOptions {
  /**
   * Headers of all requests, or a function that returns them for each request.
   *
   * On a redirect to another origin, platforms drop `authorization` and `cookie`, but not others
   * such as `x-api-key`: set `fetch: (request) => fetch(request, { redirect: "error" })`.
   */
  headers?: HeaderValues | (() => HeaderValues | Promise<HeaderValues>);
  /**
   * Sends the requests, except those of WebSockets. For cookies of another origin, a page sets
   * `(request) => fetch(request, { credentials: "include" })`.
   *
   * @default {globalThis.fetch}
   */
  fetch?: (request: Request) => Response | Promise<Response>;
  /** Aborts all calls, streams and sockets of the client. */
  signal?: AbortSignal;
  /** The timeout of each call, in milliseconds. By default that of the platform. */
  timeout?: number;
}

/**
 * An event, or a gap: the notice that events are missing.
 *
 * @category Client
 */
export type ClientEvent<Data> =
  | {
    /** The id to resume after; undefined if the server sends none. */
    readonly id: string | undefined;
    /** The type of the event; `message` if the server sends none. */
    readonly type: string;
    /** The JSON form of the data. */
    readonly data: Data;
    /** Absent. */
    readonly gap?: undefined;
  }
  | {
    /** The missing events. */
    readonly gap: {
      /** Why they are missing: see the guide about topics. */
      readonly reason: "retention" | "slow" | "epoch" | "ahead" | "schema";
      /** The id after which events are missing. */
      readonly from: string;
      /** The id of the next event; null if there is none yet. */
      readonly oldest: string | null;
      /** The topic of the missing events, if the stream has several. */
      readonly topic?: string;
    };
  };

/** @ignore A value that JSON keeps as it is, or leaves out. */
export type Plain = string | number | boolean | null | undefined;

/**
 * The JSON form of a type: a `Date` becomes a string, and so does a `bigint`.
 *
 * @example The JSON form of a model
 * ```ts
 * import type { Json } from "@webfw/core/client";
 * import { assertEquals } from "@std/assert";
 *
 * const entry: Json<{ title: string; added: Date }> = { title: "Emma", added: "2026-01-01T00:00:00.000Z" };
 * assertEquals(new Date(entry.added).getUTCFullYear(), 2026);
 * ```
 *
 * @category Client
 */
export type Json<Value> = unknown extends Value ? unknown
  : Value extends Plain ? Value
  : Value extends bigint ? string
  : Value extends void ? undefined
  : Value extends { toJSON(...args: never[]): infer Form } ? Form
  : { [Key in keyof Value]: Json<Value[Key]> };
