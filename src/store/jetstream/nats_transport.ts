/**
 * The socket of a connection to a NATS server. That of `@nats-io/transport-node` uses Node.js: in
 * Deno, a reset at the moment of its close ends the program.
 */
import type { NatsPackage } from "./nats_client.ts";

const READ_BYTES = 64 * 1024;
const MAX_INFO_BYTES = 64 * 1024;
const NO_SERVER = "there is no NATS server at this address, give topics the address of one";

/** The server cannot work with the options: it is none of NATS, or its TLS does not fit. */
export class UnsuitableServerError extends Error {
  override readonly name = "UnsuitableServerError";
}

interface Server {
  readonly hostname: string;
  readonly port: number;
  /** The name in the certificate. */
  readonly tlsName: string;
}

interface TransportOptions {
  readonly tls?: { readonly ca?: string } | null;
}

/** The interface is that of the package. One socket is for one connection. */
export class NatsTransport {
  readonly lang = "webfw";
  readonly version = "1";
  closeError: Error | undefined;
  readonly #checkOptions: NatsPackage["checkOptions"];
  readonly #closed = Promise.withResolvers<Error | void>();
  #socket: Deno.TcpConn | Deno.TlsConn | undefined;
  /** What was read with the first line. */
  #first = new Uint8Array();
  #isConnected = false;
  #isEncrypted = false;
  #isDone = false;
  #writing: Promise<void> = Promise.resolve();

  constructor({ checkOptions }: NatsPackage) {
    this.#checkOptions = checkOptions;
  }

  get isClosed(): boolean {
    return this.#isDone;
  }

  /** Connects with TLS if the server or the options require it. */
  async connect({ hostname, port, tlsName }: Server, options: TransportOptions): Promise<void> {
    try {
      const socket = this.#assign(await Deno.connect({ hostname, port }));
      socket.setNoDelay(true);
      const info = await this.#readInfo(socket);
      if (info.tls_required || (info.tls_available && options.tls)) {
        await this.#encrypt(socket, tlsName || hostname, options.tls?.ca);
      } else if (options.tls) throw noTls("the server has no TLS");
      this.#checkOptions(info, options);
      this.#isConnected = true;
    } catch (error) {
      this.discard();
      throw error instanceof Deno.errors.ConnectionRefused
        ? new Error("The server refused the connection", { cause: error })
        : error;
    }
  }

  isEncrypted(): boolean {
    return this.#isEncrypted;
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    yield this.#first;
    const buffer = new Uint8Array(READ_BYTES);
    let failure: Error | undefined;
    try {
      while (!this.#isDone) {
        const count = await this.#socket!.read(buffer);
        if (count === null) break;
        // The package keeps parts of it.
        yield buffer.slice(0, count);
      }
    } catch (error) {
      failure = error as Error;
    }
    this.#end(failure);
  }

  /** A failure shows when the socket is read. */
  send(frame: Uint8Array): void {
    this.#writing = this.#writing.then(() => this.#write(frame)).catch(() => {});
  }

  async close(error?: Error): Promise<void> {
    this.#end(error);
  }

  /** Closes the socket at once: the server may accept nothing more, and not answer any more. */
  disconnect(): void {
    this.#end(undefined);
  }

  /** Never resolves for a socket that was not connected. */
  closed(): Promise<Error | void> {
    return this.#closed.promise;
  }

  discard(): void {
    this.#isDone = true;
    try {
      this.#socket?.close();
    } catch {
      // It was closed by its end, or belongs to a TLS connection.
    }
    this.#socket = undefined;
  }

  #end(error: Error | undefined): void {
    if (this.#isDone) return;
    this.closeError = error;
    this.discard();
    if (this.#isConnected) this.#closed.resolve(error);
  }

  /** If this one is done already, the socket is closed at once. */
  #assign<Socket extends Deno.TcpConn | Deno.TlsConn>(socket: Socket): Socket {
    this.#socket = socket;
    if (!this.#isDone) return socket;
    this.discard();
    throw new Error("The connection was given up");
  }

  async #readInfo(socket: Deno.TcpConn): Promise<{ tls_required?: boolean; tls_available?: boolean }> {
    const buffer = new Uint8Array(MAX_INFO_BYTES);
    for (let end = 0; end < buffer.length;) {
      const count = await socket.read(buffer.subarray(end));
      if (count === null) break;
      end += count;
      const text = new TextDecoder().decode(buffer.subarray(0, end));
      const [, info] = /^INFO ([^\r\n]*)\r\n/.exec(text) ?? [];
      if (info !== undefined) {
        this.#first = buffer.slice(0, end);
        return JSON.parse(info);
      }
      if (!"INFO ".startsWith(text.slice(0, 5))) throw new UnsuitableServerError(NO_SERVER);
    }
    throw new Error("The server closed the connection");
  }

  async #encrypt(socket: Deno.TcpConn, hostname: string, ca: string | undefined): Promise<void> {
    try {
      const secure = this.#assign(
        await Deno.startTls(socket, { hostname, ...(ca !== undefined && { caCerts: [ca] }) }),
      );
      await secure.handshake();
      this.#isEncrypted = true;
    } catch (error) {
      // Other errors are those of a connection that has ended.
      throw error instanceof Deno.errors.InvalidData ? noTls(error.message) : error;
    }
  }

  async #write(frame: Uint8Array): Promise<void> {
    for (let start = 0; start < frame.length && this.#socket;) {
      start += await this.#socket.write(frame.subarray(start));
    }
  }
}

function noTls(reason: string): UnsuitableServerError {
  const message = `no TLS connection can be made (${reason}), give topics with the tls that the server has`;
  return new UnsuitableServerError(message);
}
