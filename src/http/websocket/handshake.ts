/** The checks of an opening handshake, RFC 6455, section 4.2.1. */
import { HTTPError } from "../../errors.ts";
import type { HttpRequest } from "../request.ts";
import type { WebSocketOrigins } from "../route_info.ts";

/** Sixteen bytes in base64. */
const KEY = /^[A-Za-z\d+/]{22}==$/;
/** Any scheme: extensions of browsers have their own. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\sA-Z/?#]+$/;

/** Whether a request asks for a WebSocket, with a correct handshake or not. */
export function asksForWebSocket({ headers }: Request): boolean {
  const upgrade = headers.get("upgrade");
  return upgrade !== null && hasToken(upgrade, "websocket");
}

/**
 * Checks the headers of the handshake.
 *
 * @throws {HTTPError} With 400, if one is missing or wrong; with 426, if the version is not 13.
 */
export function checkHandshake({ headers }: Request): void {
  if (!hasToken(headers.get("connection") ?? "", "upgrade")) {
    throw new HTTPError(400, "The upgrade to a WebSocket must be named in the header connection");
  }
  if (headers.get("sec-websocket-version") !== "13") {
    throw new HTTPError(426, "A WebSocket here is one of version 13", {
      headers: { upgrade: "websocket", "sec-websocket-version": "13" },
    });
  }
  if (!KEY.test(headers.get("sec-websocket-key") ?? "")) {
    throw new HTTPError(400, "The header sec-websocket-key must hold 16 bytes in base64");
  }
}

/**
 * Checks the origin of the page that asks. Browsers always send it. A request without one does not
 * come from a browser, so that it carries no user's cookies, and is allowed. Pages of the same host
 * are, too.
 *
 * @throws {HTTPError} With 403, if the origin is not allowed.
 */
export function checkOrigin({ headers, url }: HttpRequest<unknown>, allowed: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin === null || allowed.includes("*") || allowed.includes(origin)) return;
  // The scheme is not compared, because a proxy may have ended HTTPS.
  if (URL.canParse(origin) && new URL(origin).host === url.host) return;
  throw new HTTPError(403, "Pages of this origin may not connect: the application has to allow it");
}

/**
 * Chooses the first subprotocol of the route that the client offers; empty where it offers none.
 *
 * @throws {HTTPError} With 400, if the client offers only others.
 */
export function chooseProtocol({ headers }: Request, supported: readonly string[]): string {
  const offered = headers.get("sec-websocket-protocol");
  if (offered === null || supported.length === 0) return "";
  const names = offered.split(",").map((name) => name.trim());
  const chosen = supported.find((name) => names.includes(name));
  if (chosen !== undefined) return chosen;
  throw new HTTPError(400, `None of the subprotocols is spoken here: there are ${supported.join(", ")}`);
}

/**
 * Checks a list of origins when it is declared.
 *
 * @throws {TypeError} If an entry is not an origin as browsers write it.
 */
export function readOrigins(origins: WebSocketOrigins, owner: string): readonly string[] {
  const list: readonly unknown[] | undefined = origins === "*" ? ["*"] : Array.isArray(origins) ? origins : undefined;
  const isReadable = (origin: unknown): origin is string =>
    origin === "*" || typeof origin === "string" && ORIGIN.test(origin);
  if (list?.every(isReadable)) return list;
  throw new TypeError(
    `Cannot set the origins of ${owner}: write a list of them such as ["https://books.example"], or "*" for all`,
  );
}

function hasToken(header: string, token: string): boolean {
  return header.split(",").some((part) => part.trim().toLowerCase() === token);
}
