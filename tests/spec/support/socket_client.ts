// A client of WebSockets for tests: the platform's own, whose messages and end can be awaited.

/** How a socket was closed. */
export type Closing = readonly [code: number, reason: string];

/** An open WebSocket. Disposing of it closes it, and waits until it is closed. */
export class SocketClient implements AsyncDisposable {
  /** Settles when it is closed. */
  readonly closed: Promise<Closing>;
  readonly #socket: WebSocket;
  readonly #messages: unknown[] = [];
  /** Settles when there is another message, and rejects when there will be none. */
  #more = Promise.withResolvers<void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    this.#more.promise.catch(() => {});
    socket.onmessage = ({ data }) => {
      this.#messages.push(typeof data === "string" ? data : new Uint8Array(data));
      this.#more.resolve();
      this.#more = Promise.withResolvers();
      this.#more.promise.catch(() => {});
    };
    this.closed = new Promise((resolve) => {
      socket.onclose = ({ code, reason }) => {
        this.#more.reject(new Error(`The socket was closed with ${code}: ${reason}`));
        resolve([code, reason]);
      };
    });
  }

  /** Connects. */
  static async open(origin: string, path: string, protocols: string[] = []): Promise<SocketClient> {
    const socket = new WebSocket(origin.replace("http", "ws") + path, protocols);
    const client = new SocketClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.onopen = () => resolve();
      socket.onerror = (event) => reject(new Error(event instanceof ErrorEvent ? event.message : "It failed"));
    });
    return client;
  }

  /** The subprotocol. */
  get protocol(): string {
    return this.#socket.protocol;
  }

  /** Sends text, bytes, or anything else as JSON. */
  send(message: unknown): void {
    const isData = typeof message === "string" || message instanceof Uint8Array;
    this.#socket.send(isData ? message as string | Uint8Array<ArrayBuffer> : JSON.stringify(message));
  }

  /** The next message: text, or bytes. */
  async next(): Promise<unknown> {
    while (this.#messages.length === 0) await this.#more.promise;
    return this.#messages.shift();
  }

  /** Closes it, and gives the code and reason that both sides agreed on. */
  close(code = 1000, reason = ""): Promise<Closing> {
    this.#socket.close(code, reason);
    return this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.closed;
  }
}
