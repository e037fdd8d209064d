/** The verbs of a typed client, as types. */
import type {
  ArgumentsOf,
  EventsOf,
  KnownPath,
  LonePath,
  OptionsOf,
  ReplyOf,
  Routes,
  RouteTable,
} from "./route_types.ts";
import type { EventOptionsOf, LoneSocketPath, SocketOf, SocketOptionsOf } from "./stream_types.ts";
import type { CallOptions, ClientEvent, ClientSocket, EventOptions } from "./types.ts";

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
   * Listens to a route that sends events and needs no arguments.
   *
   * @param path The path as the server declares it, such as `/events`.
   * @throws {ProblemError} If the reply has a status from 400 to 499.
   */
  <Path extends string>(
    path: Path extends Paths ? LonePath<Path, Table[Path]> : KnownPath<Paths, "EVENTS">,
  ): AsyncIterableIterator<ClientEvent<Path extends Paths ? EventsOf<Table[Path]> : unknown>>;
  /**
   * Listens to a route that sends events. The stream opens with the first read. When its connection
   * breaks, or brings nothing for `idleTimeout`, it comes back with the id of the last event, in
   * `Last-Event-ID`, and goes on there. So it also does where the first connection fails, or the
   * status is 500 or more.
   *
   * Before it comes back it waits for the server's `retry`, or a second. That doubles with each
   * failure in a row, up to 30 seconds, of which chance leaves out up to a half. An event ends the
   * row, and so does a connection of 30 seconds. `Retry-After` is waited for, too. A server can ask
   * for 100 ms at least, and 5 minutes at most. `headers` of the client are asked for with each
   * connection.
   *
   * The stream ends when the server replies with 204, and without an error when the `signal` is
   * aborted. A stream that its server ends comes back. Leaving the loop closes the connection. The
   * next part of the stream is read when the program asks for it, so that a slow program slows the
   * server down.
   *
   * To begin after an event of an earlier stream, give its id as the header `last-event-id`.
   *
   * @param path The path as the server declares it, such as `/books/{id}/events`.
   * @param args The arguments of the route by their names.
   * @param options The options of the stream.
   * @throws {ProblemError} If the reply has a status from 400 to 499.
   * @throws {TypeError} If the reply is no stream of events.
   * @throws {SyntaxError} If data is not JSON.
   * @throws {RangeError} If an event is longer than 16 Mi characters.
   *
   * @example Prices, until there is one above 3
   * ```ts
   * import { App, Events } from "@webfw/core";
   * import { client } from "@webfw/core/client";
   * import { assertEquals } from "@std/assert";
   * import * as v from "valibot";
   *
   * const app = new App();
   * const Price = v.object({ item: v.string(), price: v.number() });
   * const prices = app.get("/prices/{item}", { response: Events(Price) }, async function* (_request, { item }) {
   *   for (let price = 3;; price++) yield { id: `${price}`, data: { item, price } };
   * });
   *
   * const shop = client<{ prices: typeof prices }>("http://localhost", { fetch: app.fetch });
   * const seen: number[] = [];
   * for await (const event of shop.events("/prices/{item}", { item: "tea" })) {
   *   if (event.gap) throw new Error("Prices are missing: load the list again");
   *   seen.push(event.data.price);
   *   if (event.data.price > 3) break;
   * }
   * assertEquals(seen, [3, 4]);
   * ```
   */
  <Path extends string>(
    path: Path extends Paths ? Path : KnownPath<Paths, "EVENTS">,
    args: Path extends Paths ? ArgumentsOf<Path, Table[Path]> : unknown,
    options?: Path extends Paths ? EventOptionsOf<EventsOf<Table[Path]>> : EventOptions,
  ): AsyncIterableIterator<ClientEvent<Path extends Paths ? EventsOf<Table[Path]> : unknown>>;
}

/** Connects to WebSocket routes. */
export interface Connect<Paths extends string, Table extends RouteTable> {
  /**
   * Opens the WebSocket of a route that needs no arguments.
   *
   * @param path The path as the server declares it, such as `/chat`.
   */
  <Path extends string>(
    path: Path extends Paths ? LoneSocketPath<Path, Table[Path]> : KnownPath<Paths, "WEBSOCKET">,
  ): Promise<Path extends Paths ? SocketOf<Table[Path]> : ClientSocket<unknown, unknown>>;
  /**
   * Opens a WebSocket. That may take 30 seconds, unless there is a `timeout`. Messages are JSON. A
   * route without schemas needs the option `raw`, and its messages are texts and bytes.
   *
   * Browsers send no headers with a WebSocket, so they are left out there. Cookies are sent.
   * Node.js has WebSockets from version 22 on, and version 20 with `--experimental-websocket`.
   *
   * Platforms do not tell why an opening was refused. A plain request to the same address finds it
   * out, so that guards run twice.
   *
   * @param path The path as the server declares it, such as `/rooms/{room}`.
   * @param args The arguments of the route by their names.
   * @param options The options of the socket.
   * @throws {ProblemError} If the server refuses it.
   * @throws {WebSocketClosedError} If it is refused, and the server does not say why.
   * @throws {TypeError} If the connection fails.
   *
   * @example A question and its answer
   * ```ts
   * import { App } from "@webfw/core";
   * import { client } from "@webfw/core/client";
   * import { assertEquals } from "@std/assert";
   * import * as v from "valibot";
   *
   * const app = new App();
   * const schemas = { receive: v.object({ text: v.string() }), send: v.object({ room: v.string(), text: v.string() }) };
   * const talk = app.websocket("/rooms/{room}", schemas, async (socket, { room }) => {
   *   for await (const { text } of socket) await socket.send({ room, text: text.toUpperCase() });
   * });
   *
   * await using server = Deno.serve({ port: 0, onListen() {} }, app.fetch);
   * const shop = client<{ talk: typeof talk }>(`http://localhost:${server.addr.port}`);
   * await using room = await shop.websocket("/rooms/{room}", { room: "a" });
   * await room.send({ text: "Hello" });
   * for await (const message of room) {
   *   assertEquals(message, { room: "a", text: "HELLO" });
   *   break;
   * }
   * ```
   */
  <Path extends string>(
    path: Path extends Paths ? Path : KnownPath<Paths, "WEBSOCKET">,
    args: Path extends Paths ? ArgumentsOf<Path, Table[Path]> : unknown,
    ...options: Path extends Paths ? SocketOptionsOf<Table[Path]> : [options?: CallOptions]
  ): Promise<Path extends Paths ? SocketOf<Table[Path]> : ClientSocket<unknown, unknown>>;
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
