/** The options of clients and calls, events and sockets, as types. */

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
   * failure, on 409 with `Retry-After`, and on 503. The waits between are those of `Retry-After`, or
   * half a second, doubled each time. A server that asks for more than 30 seconds is not asked
   * again, and a `ReadableStream` is sent only once.
   *
   * @default {false}
   */
  idempotent?: boolean;
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
  /** Headers of all requests, or a function that is called for each request and gives them. */
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
      /** Why they are missed. */
      readonly reason: string;
      /** The id after which events are missed; undefined if it is not known. */
      readonly from: string | undefined;
      /** The id of the oldest event that is left; undefined if there is none. */
      readonly oldest: string | undefined;
    };
  };

/**
 * An open WebSocket. It gives what the server sends, and ends when the socket is closed.
 *
 * @category Client
 */
export interface ClientSocket<Message, Received> extends AsyncIterable<Received>, AsyncDisposable {
  /**
   * Sends a message. It waits while much is queued.
   *
   * @param message The message.
   */
  send(message: Message): Promise<void>;
  /** Closes the socket. */
  close(): void;
}
