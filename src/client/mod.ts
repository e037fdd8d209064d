/**
 * A typed client of the routes that a module of the server exports. It loads nothing of the server,
 * and runs in browsers, Node.js, Deno and Bun.
 *
 * @example A server, and a client of it
 * ```ts
 * import { App, HTTPError } from "@webfw/core";
 * import { client, ProblemError } from "@webfw/core/client";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * // books.ts, the server: export the result of each verb.
 * const app = new App();
 * const Book = v.object({ id: v.number(), title: v.string() });
 * const books = new Map([[1, { id: 1, title: "Emma" }]]);
 * const params = { id: v.number() };
 * const getBook = app.get("/books/{id}", { params, response: Book }, async (_request, { id }) => {
 *   const book = books.get(id);
 *   if (!book) throw new HTTPError(404, "No such book");
 *   return book;
 * });
 *
 * // Elsewhere: import type * as api from "./books.ts".
 * type api = { getBook: typeof getBook };
 * const shop = client<api>("http://localhost", { fetch: app.fetch });
 * const book = await shop.get("/books/{id}", { id: 1 });
 * assertEquals(book.title, "Emma");
 *
 * try {
 *   await shop.get("/books/{id}", { id: 3 });
 * } catch (error) {
 *   if (!(error instanceof ProblemError)) throw error;
 *   assertEquals(error.problem.detail, "No such book");
 * }
 * ```
 *
 * @module
 */

export { client } from "./client.ts";
export { type CallIssue, type CallProblem, ProblemError } from "./problem.ts";
export type { ClientSocket, WebSocketClosedError } from "./websocket.ts";
export type { Json, Plain } from "./types.ts";
export type {
  CallOptions,
  ClientEvent,
  ClientOptions,
  EventOptions,
  HeaderValues,
  IdempotentOptions,
  RawOptions,
  SocketOptions,
  TextEventOptions,
} from "./types.ts";
export type {
  EventOptionsOf,
  IsRaw,
  IsRawRoute,
  JsonMessage,
  LoneSocketPath,
  SocketOf,
  SocketOptionsOf,
} from "./route_types.ts";
export type { Call, Client, Connect, Listen } from "./client.ts";
export type {
  Arguments,
  ArgumentsOf,
  ArgumentsWith,
  CallMistake,
  Chosen,
  Content,
  CookiesOf,
  EmptyReply,
  EventsOf,
  Fields,
  Flat,
  Free,
  FreeNames,
  Get,
  GroupOf,
  HeadersOf,
  HiddenInput,
  KnownPath,
  LonePath,
  Merged,
  ModelForm,
  NamesOf,
  Needed,
  NeededInputs,
  NeededNames,
  NoArguments,
  OptionsOf,
  PartOf,
  PathOf,
  ReplyOf,
  RouteOf,
  Routes,
  RouteTable,
  SharedInputs,
  Typed,
  ValueOf,
  VerbOf,
} from "./route_types.ts";
