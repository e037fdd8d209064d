/** All WebSockets that an application has open. */
import type { WebSocketLink } from "./websocket_link.ts";

/** Open links, which can be ended together. */
export class WebSocketLinks {
  readonly #links = new Set<WebSocketLink>();
  /**
   * Whether a client has gone without the closing handshake. Deno keeps such a socket for a minute.
   */
  hasBroken = false;

  /** Keeps a link until the client has gone. */
  add(link: WebSocketLink): void {
    this.#links.add(link);
    link.gone.then(() => {
      this.#links.delete(link);
      if (link.isBroken) this.hasBroken = true;
    });
  }

  /**
   * Closes all with 1001, and waits until that is on its way to every client, or a second has passed: what is sent to them before
   * the server shuts down arrives.
   */
  async close(): Promise<void> {
    const links = [...this.#links];
    for (const link of links) link.close(1001, "The server stops");
    await Promise.all(links.map((link) => link.ending));
  }
}
