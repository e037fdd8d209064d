/** A wire between a client and its server that a test can cut. */
import type { Certificate } from "./certificate.ts";

/** What becomes of bytes on the way. */
export type WireState =
  /** They arrive. */
  | "whole"
  /** They are taken, and vanish. */
  | "lossy"
  /** Nobody takes them: they stay in the buffers of the systems. */
  | "stalled"
  /** Requests arrive, and the connection is cut before the reply. */
  | "replies lost"
  /** Connections are reset, and no new one can be made. */
  | "cut";

/** A connection, which may be over TLS. */
type Connection = Deno.TcpConn | Deno.TlsConn;

/** How a relay listens. */
export interface RelayOptions {
  /** @default {"127.0.0.1"} */
  readonly hostname?: string;
  /** Has clients speak TLS, and lets them choose between HTTP/2 and HTTP/1.1. */
  readonly certificate?: Certificate | undefined;
}

/** Passes connections on to a port. */
export class Relay implements Disposable {
  /** The port of new connections. */
  target: number;
  /** How many connections were made. */
  connections = 0;
  /** How many of them were cut at once. */
  refused = 0;
  /** How many replies were lost. */
  lost = 0;
  /** The protocol that each client over TLS chose, in the order of connections. */
  readonly protocols: (string | null)[] = [];
  readonly #listener: Deno.TcpListener | Deno.TlsListener;
  readonly #hostname: string;
  readonly #open = new Set<Connection>();
  /** Connections that stay stalled. */
  readonly #stuck = new Set<Connection>();
  #state: WireState = "whole";
  #changed = Promise.withResolvers<void>();
  /** Changes the bytes of replies. */
  rewrite: ((bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>) | undefined;

  /** Listens for connections to a port of this machine. */
  constructor(target: number, { hostname = "127.0.0.1", certificate }: RelayOptions = {}) {
    this.target = target;
    this.#hostname = hostname;
    const address = { hostname, port: 0 };
    this.#listener = certificate
      ? Deno.listenTls({ ...address, ...certificate, alpnProtocols: ["h2", "http/1.1"] })
      : Deno.listen(address);
    this.#accept();
  }

  /** Where it listens. */
  get port(): number {
    return (this.#listener.addr as Deno.NetAddr).port;
  }

  /** The address for clients of NATS. */
  get url(): string {
    return `nats://${this.#hostname.includes(":") ? `[${this.#hostname}]` : this.#hostname}:${this.port}`;
  }

  /** What becomes of bytes now. */
  get state(): WireState {
    return this.#state;
  }

  /** Does something else with the bytes from now on. */
  set(state: WireState): void {
    this.#state = state;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    if (state === "cut") this.cutOpen();
  }

  /** Closes the connections that are open now. */
  cutOpen(): void {
    for (const end of [...this.#open]) this.#close(end);
  }

  /** Nobody takes the bytes of the connections that are open now, until they are closed. */
  stallOpen(): void {
    for (const end of this.#open) this.#stuck.add(end);
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    this.#stuck.clear();
    this.set("cut");
  }

  async #accept(): Promise<void> {
    try {
      for await (const client of this.#listener) void this.#join(client);
    } catch {
      // It was closed.
    }
  }

  async #join(client: Connection): Promise<void> {
    this.connections++;
    this.#open.add(client);
    await this.#unstalled(client);
    if (this.#state === "cut") {
      this.refused++;
      return this.#close(client);
    }
    try {
      if ("handshake" in client) this.protocols.push((await client.handshake()).alpnProtocol);
      const server = await Deno.connect({ hostname: "127.0.0.1", port: this.target });
      this.#open.add(server);
      for (const end of [client, server]) if ("setNoDelay" in end) end.setNoDelay(true);
      await Promise.all([this.#pass(client, server, false), this.#pass(server, client, true)]);
    } catch {
      this.#close(client);
    }
  }

  async #pass(from: Connection, to: Connection, isReply: boolean): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    try {
      for (;;) {
        await this.#unstalled(from);
        const count = await from.read(buffer);
        if (count === null) break;
        await this.#unstalled(from);
        if (this.#state === "lossy") continue;
        if (this.#state === "replies lost" && isReply) {
          this.lost++;
          break;
        }
        const read = buffer.subarray(0, count);
        const bytes = isReply && this.rewrite ? this.rewrite(read) : read;
        for (let sent = 0; sent < bytes.length;) sent += await to.write(bytes.subarray(sent));
      }
    } catch {
      // One of them was closed.
    }
    for (const end of [from, to]) this.#close(end);
  }

  async #unstalled(end: Connection): Promise<void> {
    while (this.#state === "stalled" || this.#stuck.has(end)) await this.#changed.promise;
  }

  #close(end: Connection): void {
    if (!this.#open.delete(end)) return;
    end.close();
  }
}
