/** A typed client: its calls, events and WebSockets. */
import type { Json } from "./json_form.ts";
import type { Arguments, Get, ReplyOf, Routes } from "./route_types.ts";

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

/** The options that a call of a route takes. */
export type OptionsOf<Ref> = [Get<Ref, "~window">] extends [never] ? CallOptions : IdempotentOptions;

/** What follows the path. The arguments can be left out if none is needed. */
export type Rest<Args, Options> = Record<never, never> extends Args ? [args?: Args, options?: Options]
  : [args: Args, options?: Options];

/** What follows a path that is wrong. */
export type Open = [args?: unknown, options?: unknown];

// The path is any text for inference, and a conditional type refuses a wrong one. With `Path
// extends Paths` the compiler would compute the arguments of all routes at the first call.
// `Paths` stands beside `Routes`, because `keyof` of a mapped type with `as` is computed again
// wherever it is written.

/** Calls the routes of one method. */
export interface Call<Paths extends string, Routes extends Readonly<Record<string, unknown>>> {
  /**
   * Calls a route, and gives the JSON form of its result.
   *
   * @param path The path as the server declares it, such as `/books/{id}`.
   * @param rest The arguments of the route by their names, then the options of the call.
   * @throws {ProblemError} If the reply is no success.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : Paths,
    ...rest: Path extends Paths ? Rest<Arguments<Routes[Path]>, OptionsOf<Routes[Path]>> : Open
  ): Promise<Path extends Paths ? ReplyOf<Routes[Path]> : unknown>;
}

/** Listens to the routes that send events. */
export interface Listen<Paths extends string, Routes extends Readonly<Record<string, unknown>>> {
  /**
   * Opens a stream of events, which comes back by itself when the connection breaks.
   *
   * @param path The path as the server declares it, such as `/books/{id}/events`.
   * @param rest The arguments of the route by their names, then the options of the call.
   * @throws {ProblemError} If the reply has a status from 400 to 499.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : Paths,
    ...rest: Path extends Paths ? Rest<Arguments<Routes[Path]>, CallOptions> : Open
  ): AsyncIterable<ClientEvent<Path extends Paths ? ReplyOf<Routes[Path]> : unknown>>;
}

/** Connects to WebSocket routes. */
export interface Connect<Paths extends string, Routes extends Readonly<Record<string, unknown>>> {
  /**
   * Opens a WebSocket.
   *
   * @param path The path as the server declares it, such as `/rooms/{room}`.
   * @param rest The arguments of the route by their names, then the options of the call.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : Paths,
    ...rest: Path extends Paths ? Rest<Arguments<Routes[Path]>, CallOptions> : Open
  ): Promise<
    ClientSocket<
      Path extends Paths ? Get<Routes[Path], "~receive"> : unknown,
      Path extends Paths ? Json<Get<Routes[Path], "~send">> : unknown
    >
  >;
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

/**
 * A client of the routes that a module exports, as `client()` makes it.
 *
 * @category Client
 */
export interface Client<Api> {
  /** Calls a route for GET. */
  readonly get: Call<keyof Routes<Api, "GET"> & string, Routes<Api, "GET">>;
  /** Calls a route for POST. */
  readonly post: Call<keyof Routes<Api, "POST"> & string, Routes<Api, "POST">>;
  /** Calls a route for PUT. */
  readonly put: Call<keyof Routes<Api, "PUT"> & string, Routes<Api, "PUT">>;
  /** Calls a route for PATCH. */
  readonly patch: Call<keyof Routes<Api, "PATCH"> & string, Routes<Api, "PATCH">>;
  /** Calls a route for DELETE. */
  readonly delete: Call<keyof Routes<Api, "DELETE"> & string, Routes<Api, "DELETE">>;
  /** Listens to a route that sends events. */
  readonly events: Listen<keyof Routes<Api, "EVENTS"> & string, Routes<Api, "EVENTS">>;
  /** Connects to a WebSocket route. */
  readonly websocket: Connect<keyof Routes<Api, "WEBSOCKET"> & string, Routes<Api, "WEBSOCKET">>;
}
