/**
 * Upgrades a request that nothing has refused: the handler converses over the connection, and what it leaves to do is done when
 * that has ended. Loaded with the first WebSocket.
 */
import { HTTPError } from "../errors.ts";
import type { BackgroundTasks } from "../http/after_response.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import type { Stopping } from "../http/stream_reply.ts";
import { WebSocketConnection } from "../http/websocket/connection.ts";
import { WebSocketLink } from "../http/websocket/transport.ts";
import type { WebSocketLinks, WebSocketRoute } from "./websocket_route.ts";
import { describeError, log, muteNextWarning } from "../log.ts";
import { nodeTimers } from "../runtime.ts";

/** A timer that is told to wait longer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/**
 * How often it is looked whether the client has gone, and how long each look waits, in
 * milliseconds. Deno hears of it some turns of the event loop after the request: one wait of 10 ms
 * sees a tenth of them too late, five of 2 ms see all.
 */
const LOOKS = 5;
const LOOK_MS = 2;

/**
 * How many turns of the event loop follow. A timer fires before what the same turn has brought of
 * connections: without these turns a client that goes at the very time of the last look is missed
 * ten times as often.
 */
const TURNS = 10;

let isMuted = false;

/** What an application has for all of its connections. */
export interface UpgradeParts {
  readonly stopping: Stopping;
  readonly background: BackgroundTasks;
  readonly links: WebSocketLinks;
}

/** What was settled before the upgrade. */
export interface Agreement {
  readonly protocol: string;
  readonly args: unknown;
}

/**
 * Makes the connection, and lets the handler converse over it.
 *
 * @throws {HTTPError} With 501, when no server has sent the request; with 503, when the server has been told to stop meanwhile:
 * nothing would close the connection; with 400, when the client has gone: nobody reads that.
 */
export async function upgrade(
  request: HttpRequest,
  route: WebSocketRoute,
  { protocol, args }: Agreement,
  { background, links, stopping }: UpgradeParts,
): Promise<Response> {
  const context = contextOf(request);
  if (context.connection && await hasGone(request.raw)) throw new HTTPError(400, "The client has gone");
  if (stopping().aborted) throw new HTTPError(503, "The server stops");
  const { handler, codec, idleTimeout } = route.plan;
  const { socket, response } = Deno.upgradeWebSocket(request.raw, {
    idleTimeout: idleTimeout <= MAX_TIMEOUT ? idleTimeout / 1000 : 0,
  });
  if (!isFromServer(request.raw)) {
    throw new HTTPError(501, "A WebSocket takes the Request of a server as it came, no copy and none made by hand");
  }
  // Not by Deno's own option, which takes the client's list only where spaces stand between the names.
  if (protocol !== "") response.headers.set("sec-websocket-protocol", protocol);
  const link = new WebSocketLink(socket, context.matched.limits.message, idleTimeout);
  links.add(link);
  const connection = new WebSocketConnection(request, protocol, link, codec);
  const conversation = converse(link, () => handler(connection, args as never), route.name);
  background.add(conversation.then(() => context.afterResponse?.run()));
  return response;
}

/**
 * Whether the client went right after its handshake. Deno 2.9 upgrades such a connection all the
 * same: the socket never opens, and its file descriptor stays open as long as the process.
 */
async function hasGone(raw: Request): Promise<boolean> {
  // Deno warns once that the signal is also aborted after replies. The application has not used it.
  isMuted ||= muteNextWarning("Deno.serve: request.signal");
  const { signal } = raw;
  for (let look = 0; look < LOOKS && !signal.aborted; look++) {
    await new Promise<void>((resolve) => setTimeout(resolve, LOOK_MS));
  }
  for (let turn = 0; turn < TURNS && !signal.aborted; turn++) {
    await new Promise((resolve) => nodeTimers().setImmediate(resolve));
  }
  return signal.aborted;
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
