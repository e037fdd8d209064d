/** A route as others may read it: what the router, the document and your own tools share. */
import type { FormSchema } from "../schema/form_form.ts";
import type { Schema } from "../schema/schema.ts";
import type { Duration } from "../duration.ts";
import type { Limits } from "./limits.ts";

/** What an agent is told of a route, where it differs from what the document says. */
export interface ToolOptions {
  /** The name of the tool: letters, digits, `_` and `-`, 64 at most. The name of the operation unless given. */
  name?: string;
  /** What the tool does. Summary and description of the route unless given. */
  description?: string;
  /** Hints on what a call does. Read off the method unless given. */
  annotations?: ToolAnnotations;
}

/** Hints on what a call of a tool does, as the Model Context Protocol defines them. */
export interface ToolAnnotations {
  /** A title for people. */
  title?: string;
  /** Whether it changes nothing. */
  readOnlyHint?: boolean;
  /** Whether it may destroy something, rather than only add. */
  destructiveHint?: boolean;
  /** Whether calling it again with the same arguments changes nothing more. */
  idempotentHint?: boolean;
  /** Whether it reaches beyond the application. */
  openWorldHint?: boolean;
}

/** What a route documents of itself, and how it answers. */
export interface RouteDescription {
  /** Other replies that are documented, by status. */
  responses?: Readonly<Record<number, Schema>>;
  /**
   * The status of a success.
   *
   * @default {200} and 204 where the handler returns `undefined` and no `response` is declared
   */
  status?: number;
  /** What the route does, in a few words. */
  summary?: string;
  /** What the route does, at length. */
  description?: string;
  /**
   * The summary in the first line, the description in the rest. Unless given, it is the string literal that is the first statement
   * of the handler.
   *
   * Give it here where you bundle: a minifier, such as that of `deno bundle --minify`, drops a template literal that stands for
   * itself, as code that does nothing. It keeps one in quotes, as a directive.
   */
  doc?: string;
  /** What the route belongs to. */
  tags?: readonly string[];
  /**
   * The name of the operation, unique in the application. Unless given, it is the handler's name, else made from method and path,
   * in ASCII: accents are dropped, and letters of other alphabets too. A minifier renames functions, so give it where you bundle.
   */
  operationId?: string;
  /** Whether clients should turn to another route. */
  deprecated?: boolean;
  /** Exposes the route to agents, through the application's `mcpUrl`. */
  tool?: boolean | ToolOptions;
  /** Bounds of what a client can send, where they differ from the application's. */
  limits?: Limits;
}

/** Everything that a route was declared with. */
export interface RouteDeclaration extends RouteDescription {
  /** Schemas of the path's parameters. */
  params?: Readonly<Record<string, Schema>>;
  /** Schemas of the query's parameters. */
  query?: Readonly<Record<string, Schema>>;
  /** Schemas of headers. */
  headers?: Readonly<Record<string, Schema>>;
  /** Schemas of cookies. */
  cookies?: Readonly<Record<string, Schema>>;
  /** The schema of the JSON body, or `Stream()`. */
  body?: Schema;
  /** The form, in place of a body. */
  form?: FormSchema;
  /** Values that the server supplies. */
  deps?: Readonly<Record<string, unknown>>;
  /** The model of a success. */
  response?: Schema;
}

/** The origins of pages that may connect, such as `["https://books.example"]`; `"*"` for all. */
export type WebSocketOrigins = "*" | readonly string[];

/** How a WebSocket route converses, beside the schemas of its messages. */
export interface WebSocketDescription {
  /**
   * The origins of pages that may connect beside those of the application's own host, such as `"https://books.example"`; `"*"` for
   * all. A client that is no browser says none, and may connect.
   *
   * @default {[]} unless the application says otherwise
   */
  origins?: WebSocketOrigins;
  /** The subprotocols that are spoken, those that are preferred first. A client that names only others is refused with 400. */
  protocols?: readonly string[];
  /**
   * How long a client may give no sign of life. After half of it without a message it is asked for one by a ping, which browsers
   * answer by themselves; one that is sent messages has to take some of them.
   *
   * @default {"120s"}
   */
  idleTimeout?: Duration;
  /** Bounds of what clients can send, where they differ from the application's: `message` and `query`. */
  limits?: Limits;
}

/** Everything that a WebSocket route was declared with. */
export interface WebSocketDeclaration
  extends WebSocketDescription, Pick<RouteDeclaration, "params" | "query" | "headers" | "cookies" | "deps"> {
  /** The schema of the messages that come. */
  receive?: Schema;
  /** The schema of the messages that go. */
  send?: Schema;
}

/**
 * One route of an application.
 *
 * @example A list of what is served
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/books/{id}", { summary: "One book" }, async function getBook(_request, { id }) {
 *   return { id };
 * });
 * const list = app.routes.map(({ method, path, operationId, options }) =>
 *   `${method} ${path} ${operationId}: ${options.summary}`
 * );
 * assertEquals(list, ["GET /books/{id} getBook: One book"]);
 * ```
 */
export interface RouteInfo {
  /** The method, in upper case; `WEBSOCKET` where it converses over WebSockets. */
  readonly method: string;
  /** The full path, prefixes included. */
  readonly path: string;
  /** The name of the operation, unique in the application. */
  readonly operationId: string;
  /** What it was declared with. */
  readonly options: Readonly<RouteDeclaration & WebSocketDeclaration>;
}
