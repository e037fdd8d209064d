// A wire between the nodes and their database that can be cut.

/** What happens to what is sent. */
export type WireState =
  /** It arrives. */
  | "whole"
  /** It vanishes, and the connections stay. */
  | "black hole"
  /** Requests arrive, and the connection is cut when the reply comes. */
  | "replies lost";

/** Passes connections on to a port. */
export class Proxy implements Disposable {
  /** What happens at present. */
  state: WireState = "whole";
  /** How many replies were lost. */
  lost = 0;
  readonly #listener: Deno.TcpListener;
  readonly #target: number;
  readonly #connections = new Set<Deno.TcpConn>();

  /** Listens. */
  constructor(target: number) {
    this.#target = target;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#accept();
  }

  /** Where it listens. */
  get port(): number {
    return this.#listener.addr.port;
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

  async #join(client: Deno.TcpConn): Promise<void> {
    this.#connections.add(client);
    try {
      const server = await Deno.connect({ hostname: "127.0.0.1", port: this.#target });
      this.#connections.add(server);
      client.setNoDelay(true);
      server.setNoDelay(true);
      this.#pass(client, server, false);
      this.#pass(server, client, true);
    } catch {
      close(client);
    }
  }

  async #pass(from: Deno.TcpConn, to: Deno.TcpConn, isReply: boolean): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    try {
      for (let count = await from.read(buffer); count !== null; count = await from.read(buffer)) {
        if (this.state === "black hole") continue;
        if (this.state === "replies lost" && isReply) {
          this.lost++;
          break;
        }
        for (let sent = 0; sent < count;) sent += await to.write(buffer.subarray(sent, count));
      }
    } catch {
      // The other end is gone.
    }
    for (const connection of [from, to]) {
      this.#connections.delete(connection);
      close(connection);
    }
  }
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // It has been closed.
  }
}
