/** The streams of events and values, and the WebSockets, that this process has open. */
import { HTTPError } from "../base/errors.ts";
import { contextOf, type HttpRequest } from "./request.ts";

/** How long a refused client should wait, in seconds. */
const RETRY_AFTER = "1";

let open = 0;

/**
 * Takes a place for a stream or a WebSocket.
 *
 * @returns Gives the place back; a second call does nothing.
 * @throws {HTTPError} With 503, if as many are open as the limits of the request allow.
 */
export function takePlace(request: HttpRequest): () => void {
  if (open >= contextOf(request).matched.limits.streams) {
    throw new HTTPError(503, "Too many streams are open", { headers: { "retry-after": RETRY_AFTER } });
  }
  open++;
  let isTaken = true;
  return () => {
    if (isTaken) open--;
    isTaken = false;
  };
}
