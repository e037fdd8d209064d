// Many clients of a stream of events, each on a connection of its own. They count events, and do not read what is in them.

const REQUEST = new TextEncoder().encode("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
const LINE_FEED = 10;
/** Connections that are made at a time: the queue of a listening socket is not endless. */
const CONNECTING = 100;

/** Clients that are connected. Disposing of them disconnects them. */
export class Subscribers implements Disposable {
  readonly #connections: Deno.Conn[] = [];
  /** How many clients have not got an event, by the number of the event. */
  readonly #missing: number[] = [];
  readonly #onDelivered: () => void;

  /**
   * Prepares clients.
   *
   * @param onDelivered called for each event that all have got
   */
  constructor(onDelivered: () => void = () => {}) {
    this.#onDelivered = onDelivered;
  }

  /** Connects clients, and waits until each has got its first event: that which tells where the stream begins. */
  async connect(port: number, count: number): Promise<void> {
    for (let left = count; left > 0; left -= CONNECTING) {
      await Promise.all(Array.from({ length: Math.min(left, CONNECTING) }, () => this.#connectOne(port)));
    }
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection.close();
  }

  async #connectOne(port: number): Promise<void> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    this.#connections.push(connection);
    await connection.write(REQUEST);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#count(connection, resolve);
    await promise;
  }

  async #count(connection: Deno.Conn, begun: () => void): Promise<void> {
    const buffer = new Uint8Array(4096);
    let isAfterLineFeed = false;
    let events = 0;
    for (let size; (size = await read(connection, buffer)) !== null;) {
      // An empty line ends an event. Those of the headers and between chunks have a carriage return before them.
      for (let index = 0; index < size; index++) {
        const isLineFeed = buffer[index] === LINE_FEED;
        if (isLineFeed && isAfterLineFeed) {
          if (events === 0) begun();
          else this.#deliver(events);
          events++;
        }
        isAfterLineFeed = isLineFeed;
      }
    }
  }

  #deliver(event: number): void {
    const missing = (this.#missing[event] ?? this.#connections.length) - 1;
    this.#missing[event] = missing;
    if (missing === 0) this.#onDelivered();
  }
}

async function read(connection: Deno.Conn, buffer: Uint8Array): Promise<number | null> {
  try {
    return await connection.read(buffer);
  } catch {
    return null; // Disposed of.
  }
}
