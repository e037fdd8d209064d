// A wire between the nodes and their database that can be cut.

import type { Certificate } from "../tests/support/certificate.ts";

/** How bytes on the way are treated. */
export type WireState =
  /** It arrives. */
  | "whole"
  /** It vanishes, and the connections stay. */
  | "black hole"
  /** It waits on its way, and arrives later. */
  | "stalled"
  /** New connections are closed at once. */
  | "refused"
  /** Requests arrive, and the connection is cut before the reply. */
  | "replies lost";

/** Passes connections on to a port. */
export class Proxy implements Disposable {
  /** How many replies were lost. */
  lost = 0;
  /** The protocol that each client over TLS chose, in the order of connections. */
  readonly protocols: (string | null)[] = [];
  readonly #listener: Deno.TcpListener | Deno.TlsListener;
  readonly #target: number;
  readonly #connections = new Set<Deno.Conn>();
  #state: WireState = "whole";
  #changed = Promise.withResolvers<void>();

  /**
   * Listens.
   *
   * @param target The port that connections are passed on to.
   * @param certificate Has clients speak TLS, and lets them choose between HTTP/2 and HTTP/1.1.
   */
  constructor(target: number, certificate?: Certificate) {
    this.#target = target;
    const address = { hostname: "127.0.0.1", port: 0 };
    this.#listener = certificate
      ? Deno.listenTls({ ...address, ...certificate, alpnProtocols: ["h2", "http/1.1"] })
      : Deno.listen(address);
    this.#accept();
  }

  /** How bytes are treated now. */
  get state(): WireState {
    return this.#state;
  }

  set state(state: WireState) {
    this.#state = state;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Where it listens. */
  get port(): number {
    return (this.#listener.addr as Deno.NetAddr).port;
  }

  /** Cuts all connections. */
  cut(): void {
    for (const connection of this.#connections) close(connection);
    this.#connections.clear();
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    this.cut();
  }

  async #accept(): Promise<void> {
    try {
      for await (const client of this.#listener) this.#join(client);
    } catch {
      // It was closed.
    }
  }

  async #join(client: Deno.TcpConn | Deno.TlsConn): Promise<void> {
    if (this.#state === "refused") return close(client);
    this.#connections.add(client);
    try {
      if ("handshake" in client) this.protocols.push((await client.handshake()).alpnProtocol);
      const server = await Deno.connect({ hostname: "127.0.0.1", port: this.#target });
      this.#connections.add(server);
      if ("setNoDelay" in client) client.setNoDelay(true);
      server.setNoDelay(true);
      this.#pass(client, server, false);
      this.#pass(server, client, true);
    } catch {
      close(client);
    }
  }

  async #pass(from: Deno.Conn, to: Deno.Conn, isReply: boolean): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    try {
      for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
        while (this.#state === "stalled") await this.#changed.promise;
        if (this.#state === "black hole") continue;
        if (this.#state === "replies lost" && isReply) {
          this.lost++;
          break;
        }
        for (let sent = 0; sent < count;) sent += await to.write(buffer.subarray(sent, count));
      }
    } catch {
      // The other end has closed.
    }
    for (const connection of [from, to]) {
      this.#connections.delete(connection);
      close(connection);
    }
  }
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It has been closed.
  }
}
