/** What a client has to say to get a WebSocket, RFC 6455, section 4.2.1; and whose pages may. */
import { HTTPError } from "../../errors.ts";
import type { HttpRequest } from "../request.ts";
import type { WebSocketOrigins } from "../route_info.ts";

/** Sixteen bytes in base64. */
const KEY = /^[A-Za-z\d+/]{22}==$/;
/** Extensions of browsers have schemes of their own. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\sA-Z/?#]+$/;

/** Whether a request asks for a WebSocket, well or not. */
export function asksForWebSocket({ headers }: Request): boolean {
  const upgrade = headers.get("upgrade");
  return upgrade !== null && hasToken(upgrade, "websocket");
}

/**
 * Checks what the client says of the upgrade.
 *
 * @throws {HTTPError} With 400, when it is incomplete; 426, when it is of another version.
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
 * Checks the origin of the page that asks. A browser says it always, and only browsers carry the cookies of somebody who does not
 * know: what says none is let in. Pages of the host that is asked are, too.
 *
 * @throws {HTTPError} With 403, when it is another origin than those allowed.
 */
export function checkOrigin({ headers, url }: HttpRequest<unknown>, allowed: readonly string[]): void {
  const origin = headers.get("origin");
  if (origin === null || allowed.includes("*") || allowed.includes(origin)) return;
  // The scheme is not compared: a proxy may have taken HTTPS off.
  if (URL.canParse(origin) && new URL(origin).host === url.host) return;
  throw new HTTPError(403, "Pages of this origin may not connect: the application has to allow it");
}

/**
 * Chooses a subprotocol: the first of the route's that the client speaks; empty where it names none.
 *
 * @throws {HTTPError} With 400, when it names only others.
 */
export function chooseProtocol({ headers }: Request, spoken: readonly string[]): string {
  const offered = headers.get("sec-websocket-protocol");
  if (offered === null || spoken.length === 0) return "";
  const names = offered.split(",").map((name) => name.trim());
  const chosen = spoken.find((name) => names.includes(name));
  if (chosen !== undefined) return chosen;
  throw new HTTPError(400, `None of the subprotocols is spoken here: there are ${spoken.join(", ")}`);
}

/**
 * Reads a list of origins when it is declared.
 *
 * @param origins The list.
 * @param owner Who declared it, for the message.
 * @throws {TypeError} When it holds what no browser calls an origin.
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
