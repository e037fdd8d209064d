/** The declaration of a route, as the router, the OpenAPI document and applications read it. */
import type { FormSchema } from "../schema/form.ts";
import type { Schema } from "../schema/schema.ts";
import type { Duration } from "../base/options.ts";
import type { Limits } from "./limits.ts";
import type { DocumentedReply } from "./replies/documented_reply.ts";
import type { Origins } from "./origin.ts";

/**
 * How agents see a route, if that differs from the OpenAPI document.
 *
 * @category Routes
 */
export interface ToolOptions {
  /** The name, at most 64 letters, digits, `_` and `-`. By default the operation's name. */
  name?: string;
  /** What the tool does. By default the summary and description of the route. */
  description?: string;
  /** Hints on what a call does. By default they follow from the method. */
  annotations?: ToolAnnotations;
}

/**
 * Hints on what a call of a tool does (Model Context Protocol).
 *
 * @category Routes
 */
export interface ToolAnnotations {
  /** A title for people. */
  title?: string;
  /** Whether a call changes nothing. */
  readOnlyHint?: boolean;
  /** Whether a call may delete or replace something, and not only add. */
  destructiveHint?: boolean;
  /** Whether a second call with the same arguments changes nothing more. */
  idempotentHint?: boolean;
  /** Whether a call reaches beyond the application. */
  openWorldHint?: boolean;
}

/** One limit on how often a client may send requests, or a list of them. */
export type RateLimitOption = object;

/** How a route answers requests with an `Idempotency-Key`: the window, or more. */
export type IdempotentOption = Duration | object;

/** The documentation of a route, and the options of its replies. */
export interface RouteDescription {
  /**
   * Further documented replies by status: schemas, or `{ schema, description, headers }`. At the
   * status of a success, description and headers are added to the reply of `response`.
   */
  responses?: Readonly<Record<number, DocumentedReply>>;
  /**
   * The status of a success.
   *
   * @default {200} 204 if the handler returns `undefined` and no `response` is declared
   */
  status?: number;
  /** What the route does, in a few words. */
  summary?: string;
  /** What the route does, in detail. */
  description?: string;
  /**
   * The summary in the first line, the description in the rest. By default it is the string literal
   * that is the first statement of the handler.
   *
   * Declare it here if you bundle: a minifier such as `deno bundle --minify` drops a template
   * literal that is a statement, as code without effect. It keeps a literal in quotes, as a
   * directive.
   */
  doc?: string;
  /** The groups that the route belongs to in the documentation. */
  tags?: readonly string[];
  /**
   * The name of the operation, unique in the application. By default it is the name of the handler,
   * or else method and path in ASCII, without accents and without letters of other alphabets.
   * Declare it if you bundle, because a minifier renames functions.
   */
  operationId?: string;
  /** Whether clients should use another route. */
  deprecated?: boolean;
  /** Exposes the route to agents at the application's `mcpUrl`. */
  tool?: boolean | ToolOptions;
  /**
   * Whether the route is served, and left out of the document and the page. It cannot be a tool.
   *
   * @default {false}
   */
  hidden?: boolean;
  /**
   * Whether pages of all origins may send unsafe requests. Without it, the innermost router,
   * include or application that says something decides.
   *
   * @default {false}
   */
  crossOrigin?: boolean;
  /** How often a client may send requests, besides the limits of the routers around it. */
  rateLimit?: RateLimitOption;
  /**
   * Whether an event stream, lines of JSON or a stream of bytes ends with the sign-in of the
   * client: at the `exp` of the token of `jwt`, and when a session is cleared. Files, Blobs and
   * Responses go on.
   *
   * @default {true}
   */
  endsWithSignIn?: boolean;
  /** Limits that differ from the application's. */
  limits?: Limits;
  /**
   * Answers a repetition with the same `Idempotency-Key` by the same reply, and does not run the
   * handler again: for how long, or more options.
   */
  idempotent?: IdempotentOption;
}

/** All options of a route. */
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
  /** The form, instead of a body. */
  form?: FormSchema;
  /** Values that the server supplies. */
  deps?: Readonly<Record<string, unknown>>;
  /**
   * The schema of a successful result; or what else is sent: `Events(…)`, `JsonLines(…)`,
   * `Bytes(…)`, `Text(…)`, `Html()`.
   */
  response?: Schema;
}

/** The options of a WebSocket route apart from its schemas. */
export interface WebSocketDescription {
  /**
   * The origins of further web pages that may connect, besides those of the application's own host
   * and of its `origins`; `"*"` for all pages, which includes those that browsers send the user's
   * cookies for. Clients that are not browsers send no origin, and may connect.
   *
   * @default {[]}
   */
  origins?: Origins;
  /** The subprotocols in order of preference. A client that offers only others gets a 400. */
  protocols?: readonly string[];
  /**
   * How long a client may be silent. After half of that time it gets a ping, which browsers answer
   * by themselves. A client that is sent messages must also accept some of them in that time.
   *
   * @default {"120s"}
   */
  idleTimeout?: Duration;
  /**
   * Whether pages of all origins may connect. Without it, the innermost router, include or
   * application that says something decides.
   *
   * @default {false}
   */
  crossOrigin?: boolean;
  /** How often a client may connect, besides the limits of the routers around it. */
  rateLimit?: RateLimitOption;
  /**
   * Whether the connection ends, with 1008, with the sign-in of the client: at the `exp` of the
   * token of `jwt`, and when a session is cleared.
   *
   * @default {true}
   */
  endsWithSignIn?: boolean;
  /** Limits that differ from the application's: `message` and `query`. */
  limits?: Limits;
}

/** All options of a WebSocket route. */
export interface WebSocketDeclaration
  extends WebSocketDescription, Pick<RouteDeclaration, "params" | "query" | "headers" | "cookies" | "deps"> {
  /** The schema of the messages from clients. */
  receive?: Schema;
  /** The schema of the messages to clients. */
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
 *
 * @category Routes
 */
export interface RouteInfo {
  /** The method in upper case; `WEBSOCKET` for a WebSocket route, `*` for a mount. */
  readonly method: string;
  /** The full path with all prefixes. */
  readonly path: string;
  /** The name of the operation, unique in the application. */
  readonly operationId: string;
  /**
   * The options that it was declared with, completed by those of the application, routers and
   * includes around it: `tags`, `responses`, `hidden` and `crossOrigin`.
   */
  readonly options: Readonly<RouteDeclaration & WebSocketDeclaration>;
}
