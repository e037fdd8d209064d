/** WebSockets without a connection: tests hand in the server's end. */

const ends = new WeakMap<Request, WebSocket>();

/** Gives a request the end of a socket, which its upgrade takes in place of a connection. */
export function giveLocalSocket(request: Request, socket: WebSocket): void {
  ends.set(request, socket);
}

/** Takes that end; undefined if there is none. A request can be upgraded once. */
export function takeLocalSocket(request: Request): WebSocket | undefined {
  const socket = ends.get(request);
  ends.delete(request);
  return socket;
}
