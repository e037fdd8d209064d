// WebSocket frames by hand (RFC 6455, section 5): sends what a correct client would not, and reads
// only on request.

import { PATIENCE_MS } from "../../support/patience.ts";

/** The kinds of frames. */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A frame of a server. */
export interface Frame {
  readonly opcode: number;
  readonly payload: Uint8Array;
}

const encoder = new TextEncoder();

/** The request for an upgrade. */
export function upgradeRequest(path: string, headers: Readonly<Record<string, string | null>> = {}): string {
  const all = {
    host: "localhost",
    connection: "keep-alive, Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== null).map(([name, value]) =>
    `${name}: ${value}\r\n`
  );
  return `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** One connection, upgraded. */
export class RawSocket implements Disposable {
  /** The head of the reply to the upgrade. */
  head = "";
  readonly #connection: Deno.TcpConn;
  readonly #patience: ReturnType<typeof setTimeout>;
  #buffer = new Uint8Array();
  #isOpen = true;

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
    this.#patience = setTimeout(() => this.kill(), PATIENCE_MS);
  }

  /** Connects to a port of 127.0.0.1, and asks for an upgrade. */
  static async open(
    port: number,
    path: string,
    headers: Readonly<Record<string, string | null>> = {},
  ): Promise<RawSocket> {
    const socket = new RawSocket(await Deno.connect({ hostname: "127.0.0.1", port }));
    await socket.#write(encoder.encode(upgradeRequest(path, headers)));
    while (!socket.head.endsWith("\r\n\r\n")) socket.head += String.fromCharCode(...await socket.#bytes(1));
    return socket;
  }

  /** Sends a frame; with `isFinal` false it is a fragment of a message. */
  async send(opcode: number, payload: Uint8Array | string = "", isFinal = true): Promise<void> {
    const bytes = typeof payload === "string" ? encoder.encode(payload) : payload;
    const frame = new Uint8Array(14 + bytes.length);
    frame[0] = (isFinal ? 0x80 : 0) | opcode;
    // Masked with zeros: it is the client's choice.
    frame[1] = 0x80 | 127;
    new DataView(frame.buffer).setBigUint64(2, BigInt(bytes.length));
    frame.set(bytes, 14);
    await this.#write(frame);
  }

  /** The next frame; undefined when the server has ended the connection. */
  async frame(): Promise<Frame | undefined> {
    const head = await this.#bytes(2).catch(() => undefined);
    if (!head) return undefined;
    let length = head[1]! & 0x7f;
    if (length === 126) length = new DataView((await this.#bytes(2)).buffer).getUint16(0);
    else if (length === 127) length = Number(new DataView((await this.#bytes(8)).buffer).getBigUint64(0));
    return { opcode: head[0]! & 0x0f, payload: await this.#bytes(length) };
  }

  /**
   * The code of the close that comes, past whatever comes before it; undefined when the connection
   * just ends.
   */
  async closeCode(): Promise<number | undefined> {
    for (;;) {
      const frame = await this.frame();
      if (frame === undefined) return undefined;
      if (frame.opcode !== OPCODE.close) continue;
      return frame.payload.length < 2 ? 1005 : frame.payload[0]! * 256 + frame.payload[1]!;
    }
  }

  /** Ends the connection without a word. */
  kill(): void {
    clearTimeout(this.#patience);
    if (this.#isOpen) this.#connection.close();
    this.#isOpen = false;
  }

  [Symbol.dispose](): void {
    this.kill();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await this.#connection.write(rest));
  }

  async #bytes(count: number): Promise<Uint8Array<ArrayBuffer>> {
    while (this.#buffer.length < count) {
      const chunk = new Uint8Array(64 * 1024);
      const size = await this.#connection.read(chunk);
      if (size === null) throw new Error("The server ended the connection");
      const grown = new Uint8Array(this.#buffer.length + size);
      grown.set(this.#buffer);
      grown.set(chunk.subarray(0, size), this.#buffer.length);
      this.#buffer = grown;
    }
    const bytes = this.#buffer.slice(0, count);
    this.#buffer = this.#buffer.slice(count);
    return bytes;
  }
}
