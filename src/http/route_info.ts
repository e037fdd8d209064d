/** Declarations of routes, as the router, the documents and applications read them. */
import type { FormSchema } from "../schema/form.ts";
import { isSchema, type Schema, schemaFault } from "../schema/schema.ts";
import { checkOptions, type Duration, type OptionNames, quote } from "../base/options.ts";
import { isToken } from "./headers.ts";
import type { Limits } from "./limits.ts";
import type { Origins } from "./origin.ts";
import { isDeclaredReply } from "./replies/declared_reply.ts";

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
   * Other documented replies by status: schemas, or `{ schema, description, headers }`. Those of a
   * route, or of an inner scope, replace those of outer scopes. For the status of a success,
   * description and headers are added to the reply of `response`.
   */
  responses?: Readonly<Record<number, DocumentedReply>>;
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
  /** Whether clients should use another route instead. */
  deprecated?: boolean;
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
   * `tags`, `responses`, `hidden` and `crossOrigin`.
   */
  readonly options: Readonly<RouteDeclaration & WebSocketDeclaration>;
}

/** A documented reply. Without a schema it has no content. */
export interface ReplyDescription {
  /** The content: a schema, `Events(…)`, `JsonLines(…)`, `Bytes(…)`, `Text(…)` or `Html()`. */
  schema?: Schema;
  /** The meaning. By default the description of the schema, or the name of the status. */
  description?: string;
  /** The schemas of its headers, by case-insensitive names. */
  headers?: Readonly<Record<string, Schema>>;
}

/** A documented reply, or the schema of its content alone. */
export type DocumentedReply = Schema | ReplyDescription;

const KEYS: OptionNames<ReplyDescription> = { schema: true, description: true, headers: true };

/** RFC 9110, section 15. */
const STATUS = /^[1-5]\d\d$/;

export function partsOfReply(reply: DocumentedReply): ReplyDescription {
  return isContent(reply) ? { schema: reply } : reply;
}

export function checkDocumentedReply(reply: unknown, status: string, action: string): void {
  const fail = (reason: string): never => {
    throw new TypeError(`Cannot ${action}: ${reason}`);
  };
  if (!STATUS.test(status)) {
    fail(`"responses" has ${quote(status)}, which is not a status: write a number from 100 to 599`);
  }
  if (isContent(reply)) return;
  if (!hasKnownKey(reply)) {
    return fail(`"${status}" ${schemaFault(reply, "a valibot schema or { schema, description, headers }")}`);
  }
  checkOptions(reply, KEYS, action, `responses.${status}.`);
  const name = `responses.${status}`;
  const { schema, description, headers } = reply;
  if (schema !== undefined && !isContent(schema)) fail(`"${name}.schema" ${schemaFault(schema)}`);
  if (description !== undefined && typeof description !== "string") {
    fail(`"${name}.description" must be a string, got ${quote(description)}`);
  }
  if (headers !== undefined && (typeof headers !== "object" || headers === null || isSchema(headers))) {
    fail(`"${name}.headers" must be schemas by name, write { location: v.string() }`);
  }
  for (const [header, schema] of Object.entries(headers ?? {})) {
    if (!isToken(header)) fail(`${quote(header)} in "${name}.headers" is not the name of a header`);
    if (header.toLowerCase() === "content-type") {
      fail(`"${name}.headers" has ${quote(header)}, which the schema gives: leave it out`);
    }
    if (!isSchema(schema)) fail(`"${name}.headers.${header}" ${schemaFault(schema)}`);
  }
}

function isContent(value: unknown): value is Schema {
  return isSchema(value) || (isDeclaredReply(value) && value.type !== "replies");
}

function hasKnownKey(value: unknown): value is ReplyDescription {
  if (typeof value !== "object" || value === null || Array.isArray(value) || "~standard" in value) return false;
  const keys = Object.keys(value);
  return keys.length === 0 || keys.some((key) => Object.hasOwn(KEYS, key));
}
