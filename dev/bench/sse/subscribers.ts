// Many clients of an event stream, each on its own connection. They count events and ignore the
// content.

const REQUEST = new TextEncoder().encode("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
const LINE_FEED = 10;
/** Connections that are made at a time: the queue of a listening socket is not endless. */
const CONNECTING = 100;

/** Opens an event stream and reads only its first bytes. The caller closes the connection. */
export async function openStalled(port: number): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(REQUEST);
  await connection.read(new Uint8Array(1024));
  return connection;
}

/** Clients that are connected. Disposing of them disconnects them. */
export class Subscribers implements Disposable {
  readonly #clients: Client[] = [];

  /**
   * Connects clients, and waits until each has received its first event, which gives the start of
   * the stream.
   */
  static async connect(port: number, count: number): Promise<Subscribers> {
    const subscribers = new Subscribers();
    for (let left = count; left > 0; left -= CONNECTING) {
      const clients = Array.from({ length: Math.min(left, CONNECTING) }, () => Client.connect(port));
      subscribers.#clients.push(...await Promise.all(clients));
    }
    return subscribers;
  }

  /** Waits until each client has received this many more events. */
  async receive(events: number): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.receive(events)));
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients) client.close();
  }
}

class Client {
  readonly #connection: Deno.TcpConn;
  #events = 0;
  #awaited = 0;
  #arrived: PromiseWithResolvers<void> | undefined;
  #isClosed = false;

  static async connect(port: number): Promise<Client> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    const client = new Client(connection);
    const begun = client.receive(1);
    await connection.write(REQUEST);
    void client.#read();
    await begun;
    return client;
  }

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  receive(events: number): Promise<void> {
    this.#awaited = this.#events + events;
    this.#arrived = Promise.withResolvers();
    return this.#arrived.promise;
  }

  close(): void {
    this.#isClosed = true;
    this.#connection.close();
  }

  async #read(): Promise<void> {
    const buffer = new Uint8Array(4096);
    let isAfterLineFeed = false;
    try {
      for (let size; (size = await this.#connection.read(buffer)) !== null;) {
        // An empty line ends an event. Those of the headers and between chunks have a carriage
        // return before them.
        for (let index = 0; index < size; index++) {
          const isLineFeed = buffer[index] === LINE_FEED;
          if (isLineFeed && isAfterLineFeed) this.#count();
          isAfterLineFeed = isLineFeed;
        }
      }
      this.#arrived?.reject(new Error("The server has ended the stream"));
    } catch (error) {
      if (!this.#isClosed) this.#arrived?.reject(error);
    }
  }

  #count(): void {
    if (++this.#events === this.#awaited) this.#arrived?.resolve();
    else if (this.#events > this.#awaited) this.#arrived?.reject(new Error("More events came than were published"));
  }
}
