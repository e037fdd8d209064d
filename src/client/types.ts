/** The options of clients and calls, events and sockets, as types. */
import type { WebSocketClosedError } from "./socket.ts";

/**
 * The options of a call.
 *
 * @category Client
 */
export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. A stream or a socket ends too. */
  signal?: AbortSignal;
  /**
   * How long the call may take, in milliseconds: until its result is there, or until the stream has
   * begun or the socket is open. It replaces the client's.
   */
  timeout?: number;
  /** Further headers of the request. They replace those of the client. */
  headers?: HeaderValues;
}

/**
 * The options of a call of an idempotent route.
 *
 * @category Client
 */
export interface IdempotentOptions extends CallOptions {
  /**
   * Whether to send a fresh `Idempotency-Key`, and to try again up to three times: on a network
   * failure, on 409 with `Retry-After`, and on 503. The waits between are those of `Retry-After`,
   * or about a second, doubled each time. A server that asks for more than 30 seconds is not asked
   * again, and a `ReadableStream` is sent only once.
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
   * The silence after which a connection counts as broken, in milliseconds. Servers send a
   * heartbeat every 15 seconds. Where `heartbeat` of `SSE()` is longer, make this three times as
   * long. `Infinity` allows any silence.
   *
   * @default {45_000}
   */
  idleTimeout?: number;
}

/**
 * The options of a stream of events whose data are texts.
 *
 * @category Client
 */
export interface TextEventOptions extends EventOptions {
  /**
   * Whether the server sends texts as they are: `SSE()` with `encode: "text"`. Otherwise data is
   * JSON.
   *
   * @default {false}
   */
  raw?: boolean;
}

/**
 * The options of a WebSocket whose route declares neither `receive` nor `send`.
 *
 * @category Client
 */
export interface RawOptions extends CallOptions {
  /** Messages are texts and bytes. Without it they are JSON, as those of routes with schemas. */
  raw: true;
}

/**
 * Headers by their names. One that is undefined is not sent.
 *
 * @category Client
 */
export type HeaderValues = Readonly<Record<string, string | undefined>>;

/**
 * The options of a client.
 *
 * @category Client
 */
export interface ClientOptions {
  /**
   * Headers of all requests, or a function that is called for each request and gives them.
   * Platforms do not send `authorization` and `cookie` to another origin that a reply redirects to,
   * but they send the others, such as `x-api-key`. With such a key, give
   * `fetch: (request) => fetch(request, { redirect: "error" })`.
   */
  headers?: HeaderValues | (() => HeaderValues | Promise<HeaderValues>);
  /**
   * Sends the requests, except those for WebSockets. A page whose cookies belong to another origin
   * gives `(request) => fetch(request, { credentials: "include" })`.
   *
   * @default {globalThis.fetch}
   */
  fetch?: (request: Request) => Response | Promise<Response>;
  /** Ends all calls, streams and sockets of the client. */
  signal?: AbortSignal;
  /** How long each call may take, in milliseconds. Without it the platform decides. */
  timeout?: number;
}

/**
 * An event, or the news that events have been missed.
 *
 * @category Client
 */
export type ClientEvent<Data> =
  | {
    /** The id to come back with; undefined if the server sends none. */
    readonly id: string | undefined;
    /** The type of the event; `message` if the server sends none. */
    readonly type: string;
    /** The JSON form of the data. */
    readonly data: Data;
    /** Absent. */
    readonly gap?: undefined;
  }
  | {
    /** What is known of the events that have been missed. */
    readonly gap: {
      /** Why they are missed: see the guide about topics. */
      readonly reason: "retention" | "slow" | "epoch" | "ahead" | "schema";
      /** The id after which events are missed. */
      readonly from: string;
      /** The id of the event to come next; null if there is none yet. */
      readonly oldest: string | null;
      /** The topic that misses them, where the stream has several. */
      readonly topic?: string;
    };
  };

/**
 * An open WebSocket. `for await` reads what the server sends. The loop ends when either side closes
 * the socket with 1000 or without a code, or the `signal` is aborted. Any other end is thrown as a
 * {@linkcode WebSocketClosedError}, after what came before it. Leaving the loop does not close the
 * socket, and another loop goes on where it ended.
 *
 * Read on: platforms receive messages whether they are read or not. When 16 MiB of them wait, the
 * socket is closed with 4008.
 *
 * @category Client
 */
export interface ClientSocket<Message, Received> extends AsyncIterable<Received>, AsyncDisposable {
  /** How the socket was closed; null while it is open. */
  readonly closed: WebSocketClosedError | null;
  /**
   * Sends a message. Await it: it waits while more than 1 MiB is on its way, and what a program
   * sends without waiting is kept in memory.
   *
   * @param message The message.
   * @throws {WebSocketClosedError} If the socket is closed.
   * @throws {TypeError} If the message has no JSON form.
   */
  send(message: Message): Promise<void>;
  /**
   * Closes the socket, and waits until the server has closed it, too, for 3 seconds at most. What
   * was sent still goes. Messages that were not read are dropped.
   *
   * @param code The close code: 1000, the default, or 3000 to 4999.
   * @param reason The reason in words, at most 123 bytes.
   * @throws {DOMException} If the code or the reason cannot be sent.
   */
  close(code?: number, reason?: string): Promise<void>;
}
