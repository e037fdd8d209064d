/** Serves a WebSocket route: everything that can refuse runs before the upgrade, as for any route. */
import type { Exchange } from "../http/exchange.ts";
import { exchangeOf, type HttpRequest } from "../http/request.ts";
import { checkHandshake, checkOrigin, chooseProtocol } from "../http/websocket_handshake.ts";
import { compose, type Endpoint, openReply, type Recover, type ReplyStep } from "./middleware.ts";
import type { WebSocketRoute } from "./websocket_route.ts";
import type { Agreement, UpgradeParts } from "./websocket_upgrade.ts";

/** What an application has for all of its WebSocket routes. */
export interface WebSocketParts extends UpgradeParts {
  /** Pages of which other origins may connect, where a route does not say it. */
  readonly origins: readonly string[];
  readonly recover: Recover;
  /** The last step of a reply that is no upgrade. */
  readonly conclude: ReplyStep;
}

/** The endpoint of a route, its middlewares around it. */
export function webSocketEndpoint(route: WebSocketRoute, parts: WebSocketParts): Endpoint {
  const { recover, conclude } = parts;
  const agreements = new WeakMap<Exchange, Agreement>();
  const agree: Endpoint = async (request) => {
    const exchange = exchangeOf(request);
    try {
      const protocol = checkRequest(request, route, parts);
      const { guard, bind, resolver } = route.binder;
      let made = guard && await guard(request);
      const bound = await bind(request);
      const args = bound[0]!;
      if (resolver && !resolver.rest.isEmpty) made = await resolver.rest.make(request, bound, 1, made);
      if (resolver) resolver.supply(args, made);
      agreements.set(exchange, { protocol, args });
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
      // Most applications never come here.
      const { upgrade } = await import("./websocket_upgrade.ts");
      const upgraded = await upgrade(request, route, agreement, parts);
      parts.pending.requests--;
      return upgraded;
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
