/** Declarations of routes, as the router, the documents and applications read them. */
import type { FormSchema } from "../schema/form.ts";
import type { Schema } from "../schema/schema.ts";
import type { Duration } from "../base/options.ts";
import type { Limits } from "./limits.ts";
import type { Origins } from "./origin.ts";
import type { DocumentedCallback, DocumentedReplies, RequestExamples } from "./documented.ts";
import type { OpenAPIOperation } from "./operation.ts";

/** How agents see a route, if that differs from the OpenAPI document. */
export interface ToolOptions {
  /** The name, at most 64 letters, digits, `_` and `-`. By default the operation's name. */
  name?: string;
  /** What the tool does. By default the summary and description of the route. */
  description?: string;
  /** Hints on what a call does. By default they follow from the method. */
  annotations?: ToolAnnotations;
}

/** Hints on what a call of a tool does (Model Context Protocol). */
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

/** The options of applications, routers, includes and routes. */
export interface ScopeOptions {
  /**
   * Other documented replies, which are not checked: by status, `"4XX"`, `"5XX"`, or `default` for
   * all others. Those of a route, or of an inner scope, replace those of outer scopes. For the
   * status of `response`, they are added to its reply.
   */
  responses?: DocumentedReplies;
  /**
   * Whether pages of all origins may send unsafe requests and open WebSockets. By default as in the
   * innermost router, include or application that sets it.
   *
   * @default {false}
   */
  crossOrigin?: boolean;
}

/** The options of routers, includes and routes. */
export interface GroupOptions extends ScopeOptions {
  /** Groups in the documentation, after those of outer routers and includes. */
  tags?: readonly string[];
  /**
   * Whether to serve routes, but leave them out of the document and the page. They cannot be tools.
   *
   * @default {false}
   */
  hidden?: boolean;
  /**
   * Whether clients should use another route instead. By default as in the innermost router or
   * include that sets it.
   *
   * @default {false}
   */
  deprecated?: boolean;
}

/** The options of a route, except its schemas, dependencies and rate limits. */
export interface RouteSettings extends GroupOptions {
  /**
   * The status of a success.
   *
   * @default {200} 204 if the handler returns `undefined` and no `response` is declared
   */
  status?: number;
  /** What the route does, in a few words. */
  summary?: string;
  /** The description, in detail. */
  description?: string;
  /**
   * The summary in the first line, the description in the rest. By default the string literal that
   * is the first statement of the handler. Declare it here if you bundle: minifiers drop template
   * literals that are statements.
   */
  doc?: string;
  /**
   * The name of the operation, unique in the application. By default the name of the handler, else
   * method and path in ASCII letters. Declare it if you bundle: minifiers rename functions.
   */
  operationId?: string;
  /** Exposes the route to agents at the application's `mcpUrl`. */
  tool?: boolean | ToolOptions;
  /**
   * Whether a stream of events, JSON lines or bytes, or a WebSocket, ends with the client's
   * sign-in: when the token of `jwt` expires, or a session is cleared. A WebSocket closes with
   * 1008. Files, Blobs and Responses continue.
   *
   * @default {true}
   */
  endsWithSignIn?: boolean;
  /**
   * Documents that the handler calls `request.ifMatch()`, with the header and the replies. With
   * `"required"` that refuses requests without `If-Match`, so that no client overwrites what it has
   * not read.
   */
  ifMatch?: "required" | "optional";
  /** Limits that replace those of the application; for a WebSocket, `message` and `query`. */
  limits?: Limits;
  /**
   * Named examples of the body or the form. They are not checked, so that one can show a mistake.
   */
  examples?: RequestExamples;
  /** Documents requests that the application sends because of this one, by name. */
  callbacks?: Readonly<Record<string, DocumentedCallback>>;
  /**
   * Transforms the operation in the OpenAPI document, before the option `document` of the
   * application. It gets a copy, which it may change and return. The result is not checked.
   */
  document?: (operation: OpenAPIOperation) => OpenAPIOperation;
}

/** All options of a route. */
export interface RouteDeclaration extends RouteSettings {
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
  /** How often a client may send requests. */
  rateLimit?: object;
  /** How long replies are kept for their `Idempotency-Key`, or more options. */
  idempotent?: Duration | object;
  /** The schema of the result, or `Events(…)`, `JsonLines(…)`, `Bytes(…)`, `Text(…)`, `Html()`. */
  response?: Schema;
}

/** The options of a WebSocket route, except its schemas, dependencies and rate limits. */
export interface WebSocketSettings extends Pick<RouteSettings, "crossOrigin" | "endsWithSignIn" | "limits"> {
  /**
   * Origins of other pages that may connect, besides the own host and the `origins` of the
   * application; `"*"` for all pages, also with the user's cookies. Clients other than browsers
   * send no origin, and may connect.
   *
   * @default {[]}
   */
  origins?: Origins;
  /** The subprotocols in order of preference. A client that offers only others gets a 400. */
  protocols?: readonly string[];
  /**
   * How long a client may be silent. After half of that time it gets a ping, which browsers answer.
   * A client must also accept some of the messages sent to it in that time.
   *
   * @default {"120s"}
   */
  idleTimeout?: Duration;
}

/** @ignore All options of a WebSocket route. */
export interface WebSocketDeclaration
  extends WebSocketSettings, Pick<RouteDeclaration, "params" | "query" | "headers" | "cookies" | "deps" | "rateLimit"> {
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
   * Its declared options, completed by those of the application, routers and includes around it:
   * `tags`, `responses`, `hidden`, `deprecated` and `crossOrigin`.
   */
  readonly options: Readonly<RouteDeclaration & WebSocketDeclaration>;
}
