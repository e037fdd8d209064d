/** Clients, and the types of their calls. */
import { checkCall, load, Sender } from "./sender.ts";
import type { Values } from "./arguments.ts";
import { callRoute } from "./call.ts";
import type { ClientSocket, OpenSocket } from "./websocket.ts";
import type { CallOptions, ClientEvent, ClientOptions, EventOptions, SocketOptions } from "./types.ts";
import type {
  ArgumentsOf,
  EventOptionsOf,
  EventsOf,
  KnownPath,
  LonePath,
  LoneSocketPath,
  OptionsOf,
  ReplyOf,
  Routes,
  RouteTable,
  SocketOf,
  SocketOptionsOf,
} from "./route_types.ts";

export interface ClientParts {
  /** Before the paths. */
  readonly base: string | URL;
  readonly options: ClientOptions;
  /** By default the platform's WebSocket. */
  readonly openSocket?: OpenSocket | undefined;
}

type UntypedClient = Record<string, (path: string, values?: Values, options?: CallOptions) => unknown>;

/**
 * Makes a client of the routes that a module exports. Only types are imported: there is no list of
 * routes at run time.
 *
 * The content type of a reply decides the result: parsed JSON, a string for text with a `charset`,
 * an async iterable for lines of JSON or events, a `Blob` for other bytes, undefined without
 * content. Dates are sent in ISO 8601, `undefined` is omitted. A path parameter that is empty or
 * has a segment `.` or `..` throws: the request would get another path.
 *
 * @param base The address before the paths, such as `https://shop.example/v1`. In a page also a
 * path of its origin, such as `/v1`, or empty.
 * @throws {TypeError} If the base is no address, or an option is unknown.
 * @throws {RangeError} If the timeout is not a positive number.
 *
 * @example A call by the path of a route
 * ```ts
 * import { App } from "@webfw/core";
 * import { client } from "@webfw/core/client";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * // books.ts, the server
 * const app = new App();
 * const Book = v.object({ id: v.number(), added: v.date() });
 * const options = { params: { id: v.number() }, query: { lang: v.optional(v.string()) }, response: Book };
 * const getBook = app.get("/books/{id}", options, async (_request, { id }) => ({ id, added: new Date(0) }));
 *
 * // elsewhere: import type * as api from "./books.ts", and then client<typeof api>(…)
 * const shop = client<{ getBook: typeof getBook }>("http://localhost", { fetch: app.fetch });
 * const book = await shop.get("/books/{id}", { id: 1, lang: "en" });
 * assertEquals(book, { id: 1, added: "1970-01-01T00:00:00.000Z" });
 * ```
 *
 * @category Client
 */
export function client<Api>(base: string | URL, options: ClientOptions = {}): Client<Api> {
  return makeClient<Api>({ base, options });
}

export function makeClient<Api>({ base, options, openSocket }: ClientParts): Client<Api> {
  checkCall(options, "make a client", ["fetch"]);
  const sender = new Sender(base, options);
  const made: UntypedClient = {
    events: (...given) => {
      let begun: Promise<AsyncIterableIterator<unknown>> | undefined;
      const stream = () => begun ??= load(() => import("./events.ts")).then(({ listen }) => listen(sender, ...given));
      return {
        next: async () => (await stream()).next(),
        return: async () => (await stream()).return!(),
        [Symbol.asyncIterator]() {
          return this;
        },
      };
    },
    websocket: async (...given) => (await load(() => import("./websocket.ts"))).connect(sender, openSocket, ...given),
  };
  for (const verb of ["get", "post", "put", "patch", "delete"]) {
    made[verb] = (...given) => callRoute(sender, verb.toUpperCase(), ...given);
  }
  return made as unknown as Client<Api>;
}

// The path is any string for inference, and a conditional type refuses a wrong one. With `Path
// extends Paths` the first call would compute the arguments of all routes. `Paths` is a parameter,
// because `keyof` of a mapped type with `as` is computed wherever it is written. Two signatures,
// because the compiler reports mistakes of the only one with the right number of arguments.

/** @ignore Calls the routes of one method. */
export interface Call<Method extends string, Paths extends string, Table extends RouteTable> {
  /** Calls a route without required arguments. */
  <Path extends string>(
    path: Path extends Paths ? LonePath<Path, Table[Path]> : KnownPath<Paths, Method>,
  ): Promise<Path extends Paths ? ReplyOf<Table[Path]> : unknown>;
  /**
   * Calls a route, such as `/books/{id}`, with its arguments by name.
   *
   * @returns The JSON form of the result; `undefined` if the reply has no content.
   * @throws {ProblemError} If the reply is no success.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : KnownPath<Paths, Method>,
    args: Path extends Paths ? ArgumentsOf<Path, Table[Path]> : unknown,
    options?: Path extends Paths ? OptionsOf<Table[Path]> : CallOptions,
  ): Promise<Path extends Paths ? ReplyOf<Table[Path]> : unknown>;
}

/** @ignore Listens to routes that send events. */
export interface Listen<Paths extends string, Table extends RouteTable> {
  /** Listens to a route without required arguments. */
  <Path extends string>(
    path: Path extends Paths ? LonePath<Path, Table[Path]> : KnownPath<Paths, "EVENTS">,
  ): AsyncIterableIterator<ClientEvent<Path extends Paths ? EventsOf<Table[Path]> : unknown>>;
  /**
   * Listens to a route, such as `/books/{id}/events`, with its arguments by name.
   *
   * @throws {ProblemError} If the reply has a status from 400 to 499.
   * @throws {TypeError} If the reply is no stream of events.
   * @throws {SyntaxError} If data is not JSON.
   * @throws {RangeError} If an event is longer than 16 Mi characters.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : KnownPath<Paths, "EVENTS">,
    args: Path extends Paths ? ArgumentsOf<Path, Table[Path]> : unknown,
    options?: Path extends Paths ? EventOptionsOf<EventsOf<Table[Path]>> : EventOptions,
  ): AsyncIterableIterator<ClientEvent<Path extends Paths ? EventsOf<Table[Path]> : unknown>>;
}

/** @ignore Connects to WebSocket routes. */
export interface Connect<Paths extends string, Table extends RouteTable> {
  /** Opens the WebSocket of a route without required arguments. */
  <Path extends string>(
    path: Path extends Paths ? LoneSocketPath<Path, Table[Path]> : KnownPath<Paths, "WEBSOCKET">,
  ): Promise<Path extends Paths ? SocketOf<Table[Path]> : ClientSocket<unknown, unknown>>;
  /**
   * Opens the WebSocket of a route, such as `/rooms/{room}`, with its arguments by name.
   *
   * @throws {ProblemError} If the server refuses it.
   * @throws {WebSocketClosedError} If the server refuses it without a reason.
   * @throws {TypeError} If the connection fails.
   */
  <Path extends string>(
    path: Path extends Paths ? Path : KnownPath<Paths, "WEBSOCKET">,
    args: Path extends Paths ? ArgumentsOf<Path, Table[Path]> : unknown,
    ...options: Path extends Paths ? SocketOptionsOf<Table[Path]> : [options?: SocketOptions]
  ): Promise<Path extends Paths ? SocketOf<Table[Path]> : ClientSocket<unknown, unknown>>;
}

/**
 * A client of the routes that a module exports. Each method takes the path of a route, its
 * arguments by name, and the options of the call.
 *
 * @category Client
 */
export interface Client<Api> {
  /** Calls a GET route. */
  readonly get: Call<"GET", keyof Routes<Api, "GET"> & string, Routes<Api, "GET">>;
  /** Calls a POST route. */
  readonly post: Call<"POST", keyof Routes<Api, "POST"> & string, Routes<Api, "POST">>;
  /** Calls a PUT route. */
  readonly put: Call<"PUT", keyof Routes<Api, "PUT"> & string, Routes<Api, "PUT">>;
  /** Calls a PATCH route. */
  readonly patch: Call<"PATCH", keyof Routes<Api, "PATCH"> & string, Routes<Api, "PATCH">>;
  /** Calls a DELETE route. */
  readonly delete: Call<"DELETE", keyof Routes<Api, "DELETE"> & string, Routes<Api, "DELETE">>;
  /**
   * Listens to a route that sends events, and connects with the first read. When the connection
   * fails, breaks, ends, or is silent for `idleTimeout`, the client reconnects with
   * `Last-Event-ID`. A reply of 204, or an abort, ends the stream without an error.
   *
   * The pause is the server's `retry` (100 ms to 5 minutes) or a second, doubled with each failure
   * in a row up to 30 s, at random shortened by up to a half, and at least `Retry-After`. An event,
   * or a connection of 30 s, resets the failures.
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
  readonly events: Listen<keyof Routes<Api, "EVENTS"> & string, Routes<Api, "EVENTS">>;
  /**
   * Opens a WebSocket, within 30 seconds by default. Messages are JSON; a route without schemas
   * requires the option `raw`. Browsers send cookies, but no headers. Node.js 20 needs
   * `--experimental-websocket`.
   *
   * Platforms hide why a server refuses a socket. To find out, the client sends a plain request, so
   * guards run twice.
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
  readonly websocket: Connect<keyof Routes<Api, "WEBSOCKET"> & string, Routes<Api, "WEBSOCKET">>;
}
