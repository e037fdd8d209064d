/** The record of a WebSocket route. */
import { isAsyncFunction } from "../binding/async_function.ts";
import { type Duration, toMilliseconds } from "../duration.ts";
import type { WebSocketDeclaration } from "../http/route_info.ts";
import type { MessageCodec, WebSocketConnection } from "../http/websocket_connection.ts";
import { readOrigins } from "../http/websocket_handshake.ts";
import { compileDecoding, compileEncoding } from "../http/websocket_messages.ts";
import type { OptionNames } from "../options.ts";
import { isSchema, schemaFault } from "../schema/schema.ts";
import type { PathTemplate } from "./path.ts";
import { declaredParts, type MiddlewareScope, type RecordParts, RouteRecord } from "./route_record.ts";

/** What such routes have for a method. */
const METHOD = "WEBSOCKET";

const DEFAULT_IDLE_TIMEOUT: Duration = "120s";

/** The options of a WebSocket route. */
export const WEBSOCKET_OPTIONS: OptionNames<WebSocketDeclaration> = {
  params: true,
  query: true,
  headers: true,
  cookies: true,
  deps: true,
  receive: true,
  send: true,
  origins: true,
  protocols: true,
  idleTimeout: true,
  limits: true,
};

/** The names of subprotocols, as those of headers: RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Converses with a client. */
export type WebSocketHandler = (socket: WebSocketConnection, args: never) => Promise<unknown>;

/** What is compiled of the options. */
export interface WebSocketPlan {
  readonly handler: WebSocketHandler;
  readonly codec: MessageCodec;
  /** Pages of which other origins may connect; undefined where the application says it. */
  readonly origins: readonly string[] | undefined;
  readonly protocols: readonly string[];
  /** How long a client may give no sign of life, in milliseconds. */
  readonly idleTimeout: number;
}

/** A route that converses over WebSockets. */
export class WebSocketRoute extends RouteRecord {
  /** What serves it. */
  readonly plan: WebSocketPlan;

  private constructor(parts: RecordParts, plan: WebSocketPlan) {
    super(parts);
    this.plan = plan;
  }

  /**
   * Checks a declaration and makes its record.
   *
   * @param path The path, with the prefix of its router.
   * @param options What was declared.
   * @param handler What converses.
   * @param scope Where it was declared.
   * @throws {TypeError} When the handler is not async, or an option is wrong.
   * @throws {RangeError} When a bound is not positive.
   * @throws {RouteError} When the path cannot be read, or a name is bound twice.
   */
  static declare(
    path: string,
    options: WebSocketDeclaration,
    handler: unknown,
    scope: MiddlewareScope,
  ): WebSocketRoute {
    const name = `${METHOD} ${path}`;
    checkHandler(handler, name);
    checkDeclaration(options, name);
    const { receive, send, origins, protocols = [], idleTimeout = DEFAULT_IDLE_TIMEOUT } = options;
    checkProtocols(protocols, name);
    const plan: WebSocketPlan = {
      handler,
      codec: { decode: compileDecoding(receive, name), encode: compileEncoding(send, name) },
      origins: origins === undefined ? undefined : readOrigins(origins, name),
      protocols,
      idleTimeout: toMilliseconds(idleTimeout, `the idleTimeout of ${name}`),
    };
    return new WebSocketRoute(declaredParts(METHOD, path, options, handler.name, scope), plan);
  }

  override under(prefix: PathTemplate, scope: MiddlewareScope): WebSocketRoute {
    return new WebSocketRoute(this.partsUnder(prefix, scope), this.plan);
  }
}

function checkHandler(handler: unknown, name: string): asserts handler is WebSocketHandler {
  if (isAsyncFunction(handler)) return;
  const got = typeof handler === "function" ? "another function" : typeof handler;
  throw new TypeError(
    `Cannot register ${name}: the handler must be an async function, got ${got}; write async (socket, args) => …`,
  );
}

function checkDeclaration(options: WebSocketDeclaration, name: string): void {
  const { receive, send } = options;
  for (const [key, schema] of Object.entries({ receive, send })) {
    if (schema === undefined || isSchema(schema)) continue;
    throw new TypeError(`Cannot register ${name}: "${key}" ${schemaFault(schema)}`);
  }
}

function checkProtocols(protocols: readonly string[], name: string): void {
  if (Array.isArray(protocols) && protocols.every((protocol) => TOKEN.test(protocol))) return;
  throw new TypeError(`Cannot register ${name}: protocols must be a list of names, such as ["chat.v1"]`);
}
