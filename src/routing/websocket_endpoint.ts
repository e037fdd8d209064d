/**
 * Serves a WebSocket route: everything that can refuse runs before the upgrade, as for any route; then the handler converses, and
 * what it leaves to do is done when the connection has ended.
 */
import { HTTPError } from "../errors.ts";
import type { PendingWork } from "../http/completion.ts";
import type { Exchange } from "../http/exchange.ts";
import { exchangeOf, type HttpRequest } from "../http/request.ts";
import type { Stopping } from "../http/stream_reply.ts";
import { WebSocketConnection } from "../http/websocket_connection.ts";
import { checkHandshake, checkOrigin, chooseProtocol } from "../http/websocket_handshake.ts";
import { WebSocketLink } from "../http/websocket_link.ts";
import type { WebSocketLinks } from "../http/websocket_links.ts";
import { describeError, log } from "../log.ts";
import { compose, type Endpoint, openReply, type Recover, type ReplyStep } from "./middleware.ts";
import type { WebSocketRoute } from "./websocket_route.ts";

/** A timer that is told to wait longer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** What an application has for all of its WebSocket routes. */
export interface WebSocketParts {
  /** Pages of which other origins may connect, where a route does not say it. */
  readonly origins: readonly string[];
  readonly recover: Recover;
  readonly stopping: Stopping;
  readonly pending: PendingWork;
  readonly links: WebSocketLinks;
  /** The last step of a reply that is no upgrade. */
  readonly conclude: ReplyStep;
}

/** What was settled before the upgrade. */
interface Agreement {
  readonly protocol: string;
  readonly args: unknown;
}

/** The endpoint of a route, its middlewares around it. */
export function webSocketEndpoint(route: WebSocketRoute, parts: WebSocketParts): Endpoint {
  const { recover, conclude } = parts;
  const agreements = new WeakMap<Exchange, Agreement>();
  const agree: Endpoint = async (request) => {
    const exchange = exchangeOf(request);
    try {
      const protocol = checkRequest(request, route, parts);
      agreements.set(exchange, { protocol, args: await route.binder.bind(request) });
      // Stands in for the platform's reply. Once that is made, a server that is given another one shuts down.
      return new Response(null, { status: 101 });
    } catch (thrown) {
      return openReply(exchange, await recover(thrown, request));
    }
  };
  const middlewares = route.scopes.flatMap((scope) => scope.middlewares);
  const composed = compose(middlewares, agree, recover, (_exchange, response) => response);
  return async (request) => {
    const exchange = exchangeOf(request);
    const response = await composed(request);
    const agreement = agreements.get(exchange);
    if (!agreement || response.status !== 101) return conclude(exchange, response);
    try {
      return upgrade(request, route, agreement, parts);
    } catch (thrown) {
      return conclude(exchange, await recover(thrown, request));
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

/**
 * Makes the connection, and lets the handler converse over it.
 *
 * @throws {HTTPError} With 501, when no server has sent the request; with 503, when the server has been told to stop meanwhile:
 * nothing would close the connection.
 */
function upgrade(
  request: HttpRequest,
  route: WebSocketRoute,
  { protocol, args }: Agreement,
  { pending, links, stopping }: WebSocketParts,
): Response {
  if (stopping().aborted) throw new HTTPError(503, "The server stops");
  const exchange = exchangeOf(request);
  const { handler, codec, idleTimeout } = route.plan;
  const { socket, response } = Deno.upgradeWebSocket(request.raw, {
    idleTimeout: idleTimeout <= MAX_TIMEOUT ? idleTimeout / 1000 : 0,
  });
  if (!isFromServer(request.raw)) {
    throw new HTTPError(501, "A WebSocket takes the Request of a server as it came, no copy and none made by hand");
  }
  // Not by Deno's own option, which takes the client's list only where spaces stand between the names.
  if (protocol !== "") response.headers.set("sec-websocket-protocol", protocol);
  const link = new WebSocketLink(socket, exchange.matched.limits.message, idleTimeout);
  links.add(link);
  const connection = new WebSocketConnection(request, protocol, link, codec);
  const conversation = converse(link, () => handler(connection, args as never), route.name);
  pending.add(conversation.then(() => exchange.completion?.run()));
  return response;
}

/**
 * Whether a server has sent a request that was upgraded. Deno makes a socket of any request: one that no server has sent never
 * opens, and one of a server cannot be upgraded again.
 */
function isFromServer(upgraded: Request): boolean {
  try {
    Deno.upgradeWebSocket(upgraded);
    return false;
  } catch {
    return true;
  }
}

/** From the opening of a link until it has ended, and the handler with it. */
async function converse(link: WebSocketLink, handle: () => Promise<unknown>, route: string): Promise<void> {
  try {
    if (await link.opened) await handle();
    link.close(1000, "");
  } catch (thrown) {
    // To send to a client that has gone is how most handlers learn of it.
    if (thrown !== link.closed) log("error", "A WebSocket failed", { route, error: describeError(thrown) });
    link.close(1011, "");
  }
  await link.gone;
}
