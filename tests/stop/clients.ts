// The requests and connections of clients while the service stops, and how they end.

import { assertEquals } from "@std/assert";

/** One of each: a slow request, two streams and a socket, all of them begun. */
export class Clients {
  readonly #slow: Promise<Response>;
  readonly #areLinesBroken: Promise<boolean>;
  readonly #events: Promise<string>;
  readonly #socketClosed: Promise<CloseEvent>;

  private constructor(
    slow: Promise<Response>,
    lines: Promise<string>,
    events: Promise<string>,
    socketClosed: Promise<CloseEvent>,
  ) {
    this.#slow = slow;
    this.#areLinesBroken = lines.then(() => false, () => true);
    this.#events = events;
    this.#socketClosed = socketClosed;
  }

  /**
   * Begins, and waits until the first bytes of each stream and the first message of the socket have
   * come.
   */
  static async begin(origin: string): Promise<Clients> {
    const [lines, events] = await Promise.all([beginStream(`${origin}/lines`), beginStream(`${origin}/events`)]);
    const { closed } = await beginSocket(`${origin.replace("http", "ws")}/socket`);
    return new Clients(fetch(`${origin}/slow`), lines.rest(), events.rest(), closed);
  }

  /**
   * Waits for the end of all: the reply is complete, the events end cleanly, the lines break off, so
   * that they do not look complete, and the socket gets the close code of a stop.
   */
  async seeEnd(): Promise<void> {
    assertEquals(await (await this.#slow).text(), '"slow but whole"');
    await this.#events;
    assertEquals(await this.#areLinesBroken, true);
    assertEquals((await this.#socketClosed).code, 1001);
  }
}

async function beginStream(url: string): Promise<{ rest(): Promise<string> }> {
  const response = await fetch(url);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  await reader.read();
  return {
    async rest() {
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += value;
      }
    },
  };
}

async function beginSocket(url: string): Promise<{ closed: Promise<CloseEvent> }> {
  const socket = new WebSocket(url);
  const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
  await new Promise<void>((resolve, reject) => {
    socket.onmessage = () => resolve();
    socket.onerror = () => reject(new Error("The socket was refused"));
    socket.onopen = () => socket.send("hello");
  });
  return { closed };
}
