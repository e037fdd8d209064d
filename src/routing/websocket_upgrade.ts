/**
 * Upgrades a request that nothing has refused, and runs the handler over the connection. Loaded
 * with the first WebSocket.
 */
import type { RunInContext } from "../base/async_context.ts";
import { MAX_TIMER_MS } from "../base/options.ts";
import { HTTPError } from "../base/errors.ts";
import type { BackgroundTasks } from "../http/after_response.ts";
import type { RequestContext } from "../http/context.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { acquireSlot } from "../http/open_streams.ts";
import { whileSignedIn } from "../http/sign_in.ts";
import type { Stopping } from "../http/stream_reply.ts";
import { hasGone, WebSocketTransport } from "../http/websocket/transport.ts";
import { takeLocalSocket } from "../http/websocket/handshake.ts";
import { type MessageCodec, WebSocketConnection } from "../http/websocket/connection.ts";
import { describeError } from "../log/log.ts";
import { tracing } from "../log/telemetry.ts";

export type WebSocketHandler = (socket: WebSocketConnection, args: never) => Promise<unknown>;

export interface WebSocketService {
  readonly handler: WebSocketHandler;
  readonly codec: MessageCodec;
  /** How long a client may send nothing, not even a pong, in milliseconds. */
  readonly idleTimeout: number;
}

/** A checked handshake, and the arguments of the handler. */
export interface AcceptedHandshake {
  /** The subprotocol; empty where there is none. */
  readonly protocol: string;
  readonly args: unknown;
  /** Runs the handler in the context of the request, inside of its middleware. */
  readonly runInContext: RunInContext;
  readonly route: { readonly name: string; readonly plan: WebSocketService };
}

export interface UpgradeParts {
  readonly stopping: Stopping;
  readonly background: BackgroundTasks;
  readonly openSockets: {
    /** How many have not opened yet, or never will. */
    readonly unopened: number;
    /** Adds a transport, so that it is closed when the server stops. */
    add(transport: WebSocketTransport): void;
  };
}

/**
 * @throws {HTTPError} With 501 if the request does not come from a server; with 503 if the server
 * stops, since nothing would close the connection, or if too many streams are open; with 400 if the
 * client has disconnected.
 */
export async function upgrade(
  request: HttpRequest,
  { protocol, args, route, runInContext }: AcceptedHandshake,
  { background, openSockets, stopping }: UpgradeParts,
): Promise<Response> {
  const context = contextOf(request);
  if (context.hasServer && await hasGone(context.received, openSockets.unopened)) {
    throw new HTTPError(400, "The client has gone");
  }
  if (stopping().aborted) throw new HTTPError(503, "The server stops");
  const { handler, codec, idleTimeout } = route.plan;
  const release = acquireSlot(context.matched.limits.streams);
  context.keepForUpgrade();
  const { socket, response, pollsToClose } = upgradeOrRelease(context.received, idleTimeout, release);
  // Deno's own option accepts the client's list only where spaces stand between the names.
  if (protocol !== "") response.headers.set("sec-websocket-protocol", protocol);
  const transport = new WebSocketTransport(socket, context.matched.limits.message, idleTimeout, pollsToClose);
  openSockets.add(transport);
  const unwatch = whileSignedIn(context, () => transport.close(1008, "The sign-in has ended"));
  transport.gone.then(() => {
    release();
    unwatch();
  });
  context.reply.hasBegun = true;
  const connection = new WebSocketConnection(request, protocol, transport, codec);
  const handle = () => handler(connection, args as never);
  const served = runInContext(() => serve(transport, handle, route.name, context));
  background.add(served.then(() => context.afterResponse?.run()));
  return response;
}

interface Upgraded extends Deno.WebSocketUpgrade {
  readonly pollsToClose?: number;
}

/**
 * @throws {HTTPError} With 501 if the request does not come from a server. The slot is released.
 */
function upgradeOrRelease(raw: Request, idleTimeout: number, release: () => void): Upgraded {
  try {
    return localUpgrade(raw) ?? platformUpgrade(raw, idleTimeout);
  } catch (error) {
    release();
    throw error;
  }
}

function localUpgrade(raw: Request): Upgraded | undefined {
  const socket = takeLocalSocket(raw);
  // What is on its way is not lost when such a socket is closed.
  return socket && { socket, response: new Response(null, { status: 101 }), pollsToClose: 0 };
}

/** @throws {HTTPError} With 501 if the request does not come from a server. */
function platformUpgrade(raw: Request, idleTimeout: number): Upgraded {
  const upgraded = Deno.upgradeWebSocket(raw, {
    idleTimeout: idleTimeout <= MAX_TIMER_MS ? idleTimeout / 1000 : 0,
  });
  if (isFromServer(raw)) return upgraded;
  throw new HTTPError(501, "A WebSocket takes the Request of a server as it came, no copy and none made by hand");
}

/**
 * Whether an upgraded request came from a server, which cannot upgrade it twice. Deno makes a
 * socket of any request; one from elsewhere never opens.
 */
function isFromServer(upgraded: Request): boolean {
  try {
    Deno.upgradeWebSocket(upgraded);
    return false;
  } catch {
    return true;
  }
}

/** Runs the handler once the connection is open, and waits for the end of both. */
async function serve(
  transport: WebSocketTransport,
  handle: () => Promise<unknown>,
  route: string,
  context: RequestContext,
): Promise<void> {
  try {
    if (await transport.opened) {
      // The span of the request ends with the handshake.
      const isExpected = (thrown: unknown) => thrown === transport.closed;
      const run = async () => {
        const returned = await handle();
        if (returned instanceof Error) throw returned;
      };
      await (tracing ? tracing.run(route, { isExpected }, run) : run());
      await context.afterResponse?.endWithHandler();
    }
    transport.close(1000, "");
  } catch (thrown) {
    const { thrown: error } = await context.fail(thrown);
    // Most handlers learn that the client has gone by sending to it.
    if (error !== transport.closed) context.log("error", "A WebSocket failed", { route, error: describeError(error) });
    transport.close(1011, "");
  }
  await transport.gone;
}
