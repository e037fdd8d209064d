// WebSocket clients: one that does not read, and many that send messages and count the replies.

const KEY = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
/** Connections that are made at a time: the queue of a listening socket is not endless. */
const CONNECTING = 100;

/** Opens a WebSocket, and reads only the head of the reply. The caller closes the connection. */
export async function openStalled(port: number, path: string): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${KEY}\r\n`;
  await connection.write(new TextEncoder().encode(request));
  await connection.read(new Uint8Array(1024));
  return connection;
}

/** Open sockets. Disposing of them closes them, and waits until they are closed. */
export class Sockets implements AsyncDisposable {
  readonly #sockets: WebSocket[] = [];

  /** Opens sockets. */
  static async open(port: number, path: string, count: number): Promise<Sockets> {
    const sockets = new Sockets();
    for (let left = count; left > 0; left -= CONNECTING) {
      await Promise.all(Array.from({ length: Math.min(left, CONNECTING) }, () => sockets.#open(port, path)));
    }
    return sockets;
  }

  /**
   * Each client sends the messages, this many at a time, and waits for the replies. Returns
   * messages per second.
   */
  async echo(message: string, count: number, atATime: number): Promise<number> {
    const begin = performance.now();
    await Promise.all(this.#sockets.map((socket) => echoOne(socket, message, count, atATime)));
    return count * this.#sockets.length / (performance.now() - begin) * 1000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#sockets.map((socket) => {
      const closed = new Promise((resolve) => socket.onclose = resolve);
      socket.close();
      return closed;
    }));
  }

  async #open(port: number, path: string): Promise<void> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    this.#sockets.push(socket);
  }
}

function echoOne(socket: WebSocket, message: string, count: number, atATime: number): Promise<void> {
  let sent = 0;
  let got = 0;
  return new Promise((resolve) => {
    socket.onmessage = () => {
      got++;
      if (sent < count) {
        socket.send(message);
        sent++;
      } else if (got === count) resolve();
    };
    for (; sent < Math.min(atATime, count); sent++) socket.send(message);
  });
}
