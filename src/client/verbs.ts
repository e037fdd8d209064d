/** The verbs of a typed client, as types. */
import type { Json } from "./json_form.ts";
import type {
  ArgumentsOf,
  EventsOf,
  Get,
  KnownPath,
  LonePath,
  OptionsOf,
  ReplyOf,
  Routes,
  RouteTable,
} from "./route_types.ts";
import type { CallOptions, ClientEvent, ClientSocket } from "./types.ts";

// The path is any text for inference, and a conditional type refuses a wrong one. With `Path
// extends Paths` the compiler would compute the arguments of all routes at the first call. `Paths`
// is a parameter, because `keyof` of a mapped type with `as` is computed wherever it is written.
//
// A call with a path alone and a call with arguments are two signatures. The compiler reports the
// mistakes of the only one that has the right number of arguments.

/** Calls the routes of one method. */
export interface Call<Method extends string, Paths extends string, Table extends RouteTable> {
  /**
   * Calls a route that needs no arguments.
   *
   * @param path The path as the server declares it, such as `/books`.
   * @returns The JSON form of the result; `undefined` if the reply has no content.
   * @throws {ProblemError} If the reply is no success.
   */
  <Path extends string>(
    path: Path extends Paths ? LonePath<Path, Table[Path]> : KnownPath<Paths, Method>,
  ): Promise<Path extends Paths ? ReplyOf<Table[Path]> : unknown>;
  /**
   * Calls a route.
   *
   * @param path The path as the server declares it, such as `/books/{id}`.
   * @param args The arguments of the route by their names.
   * @param options The options of the call.
   * @returns The JSON form of the result; `undefined` if the reply has no content.
   * @throws {ProblemError} If the reply is no success.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : KnownPath<Paths, Method>,
    args: Path extends Paths ? ArgumentsOf<Path, Table[Path]> : unknown,
    options?: Path extends Paths ? OptionsOf<Table[Path]> : CallOptions,
  ): Promise<Path extends Paths ? ReplyOf<Table[Path]> : unknown>;
}

/** Listens to the routes that send events. */
export interface Listen<Paths extends string, Table extends RouteTable> {
  /**
   * Opens a stream of events of a route that needs no arguments.
   *
   * @param path The path as the server declares it, such as `/events`.
   * @throws {ProblemError} If the reply has a status from 400 to 499.
   */
  <Path extends string>(
    path: Path extends Paths ? LonePath<Path, Table[Path]> : KnownPath<Paths, "EVENTS">,
  ): AsyncIterable<ClientEvent<Path extends Paths ? EventsOf<Table[Path]> : unknown>>;
  /**
   * Opens a stream of events, which comes back by itself when the connection breaks.
   *
   * @param path The path as the server declares it, such as `/books/{id}/events`.
   * @param args The arguments of the route by their names.
   * @param options The options of the stream.
   * @throws {ProblemError} If the reply has a status from 400 to 499.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : KnownPath<Paths, "EVENTS">,
    args: Path extends Paths ? ArgumentsOf<Path, Table[Path]> : unknown,
    options?: CallOptions,
  ): AsyncIterable<ClientEvent<Path extends Paths ? EventsOf<Table[Path]> : unknown>>;
}

/** Connects to WebSocket routes. */
export interface Connect<Paths extends string, Table extends RouteTable> {
  /**
   * Opens the WebSocket of a route that needs no arguments.
   *
   * @param path The path as the server declares it, such as `/chat`.
   */
  <Path extends string>(
    path: Path extends Paths ? LonePath<Path, Table[Path]> : KnownPath<Paths, "WEBSOCKET">,
  ): Promise<
    ClientSocket<
      Path extends Paths ? Get<Table[Path], "~receive"> : unknown,
      Path extends Paths ? Json<Get<Table[Path], "~send">> : unknown
    >
  >;
  /**
   * Opens a WebSocket.
   *
   * @param path The path as the server declares it, such as `/rooms/{room}`.
   * @param args The arguments of the route by their names.
   * @param options The options of the socket.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : KnownPath<Paths, "WEBSOCKET">,
    args: Path extends Paths ? ArgumentsOf<Path, Table[Path]> : unknown,
    options?: CallOptions,
  ): Promise<
    ClientSocket<
      Path extends Paths ? Get<Table[Path], "~receive"> : unknown,
      Path extends Paths ? Json<Get<Table[Path], "~send">> : unknown
    >
  >;
}

/**
 * A client of the routes that a module exports, as `client()` makes it.
 *
 * @category Client
 */
export interface Client<Api> {
  /** Calls a route for GET. */
  readonly get: Call<"GET", keyof Routes<Api, "GET"> & string, Routes<Api, "GET">>;
  /** Calls a route for POST. */
  readonly post: Call<"POST", keyof Routes<Api, "POST"> & string, Routes<Api, "POST">>;
  /** Calls a route for PUT. */
  readonly put: Call<"PUT", keyof Routes<Api, "PUT"> & string, Routes<Api, "PUT">>;
  /** Calls a route for PATCH. */
  readonly patch: Call<"PATCH", keyof Routes<Api, "PATCH"> & string, Routes<Api, "PATCH">>;
  /** Calls a route for DELETE. */
  readonly delete: Call<"DELETE", keyof Routes<Api, "DELETE"> & string, Routes<Api, "DELETE">>;
  /** Listens to a route that sends events. */
  readonly events: Listen<keyof Routes<Api, "EVENTS"> & string, Routes<Api, "EVENTS">>;
  /** Connects to a WebSocket route. */
  readonly websocket: Connect<keyof Routes<Api, "WEBSOCKET"> & string, Routes<Api, "WEBSOCKET">>;
}
