/** The opening handshake of a WebSocket (RFC 6455, section 4.2.1), and sockets of tests. */
import { HTTPError } from "../../base/errors.ts";

/** Represents WebSocket routes where others have a method. */
export const WEBSOCKET = "WEBSOCKET";

/** Sixteen bytes in base64. */
const KEY = /^[A-Za-z\d+/]{22}==$/;

/** Whether a request is a handshake, valid or not. */
export function asksForWebSocket({ headers }: Request): boolean {
  const upgrade = headers.get("upgrade");
  return upgrade !== null && hasToken(upgrade, "websocket");
}

/** Throws a 400 if a header is missing or wrong, a 426 if the version is not 13. */
export function checkHandshake({ headers }: Request): void {
  if (!hasToken(headers.get("connection") ?? "", "upgrade")) {
    throw new HTTPError(400, "The header connection must have the token upgrade");
  }
  if (headers.get("sec-websocket-version") !== "13") {
    throw new HTTPError(426, "Only version 13 of WebSockets is supported", {
      headers: { upgrade: "websocket", "sec-websocket-version": "13" },
    });
  }
  if (!KEY.test(headers.get("sec-websocket-key") ?? "")) {
    throw new HTTPError(400, "The header sec-websocket-key must have 16 bytes in base64");
  }
}

/** The first subprotocol that the client offers, or `""`. Throws a 400 if it offers only others. */
export function chooseProtocol({ headers }: Request, supported: readonly string[]): string {
  const offered = headers.get("sec-websocket-protocol");
  if (offered === null || supported.length === 0) return "";
  const names = offered.split(",").map((name) => name.trim());
  const chosen = supported.find((name) => names.includes(name));
  if (chosen !== undefined) return chosen;
  throw new HTTPError(400, `None of the subprotocols is supported: there are ${supported.join(", ")}`);
}

function hasToken(header: string, token: string): boolean {
  return header.split(",").some((part) => part.trim().toLowerCase() === token);
}

const ends = new WeakMap<Request, WebSocket>();

/** Gives a test's request its end of a socket, for its upgrade without a connection. */
export function giveLocalSocket(request: Request, socket: WebSocket): void {
  ends.set(request, socket);
}

/** Removes it: a request can be upgraded once. */
export function takeLocalSocket(request: Request): WebSocket | undefined {
  const socket = ends.get(request);
  ends.delete(request);
  return socket;
}
