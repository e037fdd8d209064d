import { isAsyncFunction } from "../binding/dependency.ts";
import { type Duration, toMilliseconds } from "../duration.ts";
import type { WebSocketDeclaration } from "../http/route_info.ts";
import type { MessageCodec, WebSocketConnection } from "../http/websocket/connection.ts";
import { checkHandshake, checkOrigin, chooseProtocol, readOrigins } from "../http/websocket/handshake.ts";
import { compileDecoding, compileEncoding } from "../http/websocket/messages.ts";
import type { OptionNames } from "../options.ts";
import { isSchema, schemaFault } from "../schema/schema.ts";
import type { PathTemplate } from "./path.ts";
import { declaredParts, type MiddlewareScope, type RecordParts, RouteRecord } from "./route.ts";
import { contextOf, type HttpRequest, type RequestContext } from "../http/request.ts";
import { compose, type Endpoint, ensureMutable, type ErrorBoundary, type ReplyStep } from "./middleware.ts";
import type { Agreement, UpgradeParts } from "./websocket_upgrade.ts";
import type { WebSocketLink } from "../http/websocket/transport.ts";

/** All WebSockets that an application has open. */

/** Open links, which can be ended together. */
export class WebSocketLinks {
  readonly #links = new Set<WebSocketLink>();
  /**
   * Whether a client has gone without the closing handshake. Deno keeps such a socket for a minute.
   */
  hasBroken = false;

  /** Keeps a link until the client has gone. */
  add(link: WebSocketLink): void {
    this.#links.add(link);
    link.gone.then(() => {
      this.#links.delete(link);
      if (link.isBroken) this.hasBroken = true;
    });
  }

  /**
   * Closes all with 1001, and waits until that is on its way to every client, or a second has passed: what is sent to them before
   * the server shuts down arrives.
   */
  async close(): Promise<void> {
    const links = [...this.#links];
    for (const link of links) link.close(1001, "The server stops");
    await Promise.all(links.map((link) => link.ending));
  }
}

/** The record of a WebSocket route. */

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

/** Serves a WebSocket route: everything that can refuse runs before the upgrade, as for any route. */

/** What an application has for all of its WebSocket routes. */
export interface WebSocketParts extends UpgradeParts {
  /** Pages of which other origins may connect, where a route does not say it. */
  readonly origins: readonly string[];
  readonly toErrorReply: ErrorBoundary;
  /** The last step of a reply that is no upgrade. */
  readonly finalize: ReplyStep;
}

/** The endpoint of a route, its middlewares around it. */
export function webSocketEndpoint(route: WebSocketRoute, parts: WebSocketParts): Endpoint {
  const { toErrorReply, finalize } = parts;
  const agreements = new WeakMap<RequestContext, Agreement>();
  const agree: Endpoint = async (request) => {
    const context = contextOf(request);
    try {
      const protocol = checkRequest(request, route, parts);
      const { guard, bind, resolver } = route.binder;
      let made = guard && await guard(request);
      const bound = await bind(request);
      const args = bound[0]!;
      if (resolver && !resolver.rest.isEmpty) made = await resolver.rest.make(request, bound, 1, made);
      if (resolver) resolver.supply(args, made);
      agreements.set(context, { protocol, args });
      // Stands in for the platform's reply. Once that is made, a server that is given another one shuts down.
      return new Response(null, { status: 101 });
    } catch (thrown) {
      return ensureMutable(context, await toErrorReply(thrown, request));
    }
  };
  const middlewares = route.scopes.flatMap((scope) => scope.middlewares);
  const composed = compose(middlewares, agree, toErrorReply, (_context, response) => response);
  return async (request) => {
    const context = contextOf(request);
    const response = await composed(request);
    const agreement = agreements.get(context);
    if (!agreement || response.status !== 101) return finalize(context, response);
    try {
      // Most applications never come here.
      const { upgrade } = await import("./websocket_upgrade.ts");
      const upgraded = await upgrade(request, route, agreement, parts);
      parts.background.requests--;
      return upgraded;
    } catch (thrown) {
      return finalize(context, await toErrorReply(thrown, request));
    }
  };
}

/**
 * Checks what is no input of the handler's.
 *
 * @returns The subprotocol.
 * @throws {HTTPError} With 400, 403 or 426.
 */
function checkRequest(request: HttpRequest, { plan }: WebSocketRoute, { origins }: WebSocketParts): string {
  checkHandshake(request.raw);
  checkOrigin(request, plan.origins ?? origins);
  return chooseProtocol(request.raw, plan.protocols);
}
