/** WebSocket routes, their handshakes, and the open WebSockets. */
import { captureContext, load } from "../base/async_context.ts";
import { checkArity, isAsyncFunction } from "../binding/dependency.ts";
import { type Duration, toMilliseconds } from "../base/options.ts";
import { HTTPError } from "../base/errors.ts";
import type { RequestContext } from "../http/context.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { WebSocketDeclaration } from "../http/route_info.ts";
import { OriginList } from "../http/origin.ts";
import { isToken } from "../http/headers.ts";
import { asksForWebSocket, checkHandshake, chooseProtocol, WEBSOCKET } from "../http/websocket/handshake.ts";
import { compileDecoding, compileEncoding } from "../http/websocket/messages.ts";
import type { WebSocketTransport } from "../http/websocket/transport.ts";
import { readRateLimits } from "../rate_limit/rate_limit.ts";
import type { Endpoint, ErrorBoundary, ReplyStep } from "./middleware.ts";
import { BaseRoute, type RouteParts, routeParts } from "./route.ts";
import { checkOptionValues, type Scope } from "./scope.ts";
import type { AcceptedHandshake, UpgradeParts, WebSocketHandler, WebSocketService } from "./websocket_upgrade.ts";

const DEFAULT_IDLE_TIMEOUT: Duration = "120s";

interface WebSocketPlan extends WebSocketService {
  /** Origins whose pages may connect, besides those of the application. */
  readonly origins: OriginList;
  readonly protocols: readonly string[];
}

export class WebSocketRoute extends BaseRoute {
  readonly plan: WebSocketPlan;

  private constructor(parts: RouteParts, plan: WebSocketPlan) {
    super(parts);
    this.plan = plan;
  }

  /**
   * Checks a declaration.
   *
   * @param path The path with the prefix of the router.
   * @throws {TypeError} If the handler is not async, or an option is wrong.
   * @throws {RangeError} If a bound is not positive.
   * @throws {RouteError} If the path is malformed, or a name is bound twice.
   */
  static declare(path: string, options: WebSocketDeclaration, handler: unknown, scope: Scope): WebSocketRoute {
    const name = `${WEBSOCKET} ${path}`;
    checkHandler(handler, name);
    checkOptionValues(options, `register ${name}`);
    const rateLimits = readRateLimits(options.rateLimit, `register ${name}`);
    const { receive, send, origins = [], protocols = [], idleTimeout = DEFAULT_IDLE_TIMEOUT } = options;
    checkProtocols(protocols, name);
    const plan: WebSocketPlan = {
      handler,
      codec: { decode: compileDecoding(receive, name), encode: compileEncoding(send, name) },
      origins: OriginList.read(origins, `set the origins of ${name}`),
      protocols,
      idleTimeout: toMilliseconds(idleTimeout, `the idleTimeout of ${name}`),
    };
    return new WebSocketRoute(routeParts(WEBSOCKET, path, options, handler.name, scope, rateLimits), plan);
  }

  override with(changed: Partial<RouteParts>): WebSocketRoute {
    return new WebSocketRoute({ ...this.parts, ...changed }, this.plan);
  }
}

interface WebSocketParts extends UpgradeParts {
  readonly toErrorReply: ErrorBoundary;
}

/**
 * The handshake of a route. Refusals come before the upgrade. A GET without an upgrade gets the
 * same refusals, else 426: browsers do not show the status of a refused handshake, so programs can
 * send such a GET to learn it.
 */
export class WebSocketHandshake {
  readonly #route: WebSocketRoute;
  readonly #parts: WebSocketParts;
  readonly #accepted = new WeakMap<RequestContext, AcceptedHandshake>();

  constructor(route: WebSocketRoute, parts: WebSocketParts) {
    this.#route = route;
    this.#parts = parts;
  }

  /** @throws {HTTPError} If the request is malformed, or no subprotocol fits. */
  readonly begin = ({ raw }: HttpRequest): void => {
    if (asksForWebSocket(raw)) checkHandshake(raw);
    chooseProtocol(raw, this.#route.plan.protocols);
  };

  /** @throws {HTTPError} With 426, if the request does not ask for an upgrade. */
  readonly accept = async (request: HttpRequest, args: unknown): Promise<Response> => {
    const { raw } = request;
    if (!asksForWebSocket(raw)) {
      throw new HTTPError(426, "This path serves a WebSocket", { headers: { upgrade: "websocket" } });
    }
    const route = this.#route;
    const protocol = chooseProtocol(raw, route.plan.protocols);
    this.#accepted.set(contextOf(request), { protocol, args, route, runInContext: captureContext() });
    // A placeholder. Once the platform's reply exists, the server must send it: with another one it
    // shuts down.
    return new Response(null, { status: 101 });
  };

  /**
   * Upgrades requests that the middlewares have accepted, too.
   *
   * @param finalize The last step of a reply that is no upgrade.
   */
  upgradeAfter(endpoint: Endpoint, finalize: ReplyStep): Endpoint {
    const { toErrorReply, background } = this.#parts;
    return async (request) => {
      const context = contextOf(request);
      const response = await endpoint(request);
      const handshake = this.#accepted.get(context);
      if (!handshake || response.status !== 101) return finalize(context, response);
      try {
        const { upgrade } = await load(() => import("./websocket_upgrade.ts"));
        const upgraded = await upgrade(request, handshake, this.#parts);
        background.requests--;
        return upgraded;
      } catch (thrown) {
        return finalize(context, await toErrorReply((await context.fail(thrown)).thrown, request));
      }
    };
  }
}

export class OpenWebSockets {
  readonly #transports = new Set<WebSocketTransport>();
  /** Whether a client left without the closing handshake. Deno keeps such a socket for a minute. */
  hasBroken = false;
  /**
   * How many have not opened. If the client left during the handshake, none ever does: Deno keeps
   * the connection until the process ends, and its server does not shut down before.
   */
  unopened = 0;

  get size(): number {
    return this.#transports.size;
  }

  add(transport: WebSocketTransport): void {
    this.#transports.add(transport);
    this.unopened++;
    transport.opened.then(async (isOpen) => {
      if (!isOpen) await transport.gone;
      if (!transport.isLost) this.unopened--;
    });
    transport.gone.then(() => {
      this.#transports.delete(transport);
      if (transport.isBroken) this.hasBroken = true;
    });
  }

  /**
   * Closes all with code 1001, and waits at most a second until the close frames have been handed
   * to the platform: they are sent before the server shuts down.
   */
  async close(): Promise<void> {
    const transports = [...this.#transports];
    for (const transport of transports) transport.close(1001, "The server stops");
    await Promise.all(transports.map((transport) => transport.closeSent));
  }
}

function checkHandler(handler: unknown, name: string): asserts handler is WebSocketHandler {
  if (isAsyncFunction(handler)) {
    return checkArity(handler, `register ${name}: the handler`, "async (socket, args) => …");
  }
  const got = typeof handler === "function" ? "another function" : typeof handler;
  throw new TypeError(
    `Cannot register ${name}: the handler must be an async function, got ${got}; write async (socket, args) => …`,
  );
}

function checkProtocols(protocols: readonly string[], name: string): void {
  if (Array.isArray(protocols) && protocols.every(isToken)) return;
  throw new TypeError(`Cannot register ${name}: "protocols" must be an array of tokens, such as ["chat.v1"]`);
}
