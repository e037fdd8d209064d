/** Opens WebSockets of an application without a connection. */
import { giveLocalSocket, takeLocalSocket } from "../http/websocket/handshake.ts";
import { LocalSocket } from "./socket_pair.ts";

/** The end of a socket that a client opens. */
export interface Opening {
  readonly socket: LocalSocket;
  /** Settles when it is open. The reply is the refusal, if it is not upgraded. */
  readonly response: Promise<Response>;
}

/**
 * Asks for a WebSocket.
 *
 * @param request The request, to which the headers of the handshake are added.
 * @param send Sends it to the application.
 */
export function openSocket(request: Request, send: (request: Request) => Promise<Response>): Opening {
  const { headers } = request;
  headers.set("connection", "upgrade");
  headers.set("upgrade", "websocket");
  headers.set("sec-websocket-version", "13");
  headers.set("sec-websocket-key", crypto.getRandomValues(new Uint8Array(16)).toBase64());
  const [socket, server] = LocalSocket.pair(request.url.replace(/^http/, "ws"));
  giveLocalSocket(request, server);
  const open = async () => {
    try {
      const response = await send(request);
      if (response.status !== 101) socket.break();
      else if (takeLocalSocket(request)) {
        throw new TypeError("Cannot open the WebSocket: only an App of @webfw/core accepts one without a connection");
      } else socket.open(response.headers.get("sec-websocket-protocol") ?? "");
      return response;
    } catch (error) {
      socket.break();
      throw error;
    }
  };
  return { socket, response: open() };
}
