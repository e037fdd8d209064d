// HTTP/1.1 by hand: sends exactly the bytes of a test, where fetch would put them in order.

import { PATIENCE_MS } from "../../support/patience.ts";

const encoder = new TextEncoder();
const utf8 = new TextDecoder();
/** Each byte as one character, to find places by. */
const bytewise = new TextDecoder("latin1");

/** A reply as it came over the wire. */
export interface RawReply {
  readonly status: number;
  /** Names in lower case, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

/** One connection. */
export class RawConnection implements Disposable {
  readonly #connection: Deno.Conn;
  readonly #patience: ReturnType<typeof setTimeout>;
  #buffer = new Uint8Array();
  #isOpen = true;

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
    this.#patience = setTimeout(() => this.close(), PATIENCE_MS);
  }

  /** Connects to a port of 127.0.0.1. */
  static async open(port: number): Promise<RawConnection> {
    return new RawConnection(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  /** Sends text as UTF-8, or bytes. */
  async write(data: string | Uint8Array): Promise<void> {
    let bytes = typeof data === "string" ? encoder.encode(data) : data;
    while (bytes.length > 0) {
      bytes = bytes.subarray(await this.#connection.write(bytes));
    }
  }

  /** Reads one reply; that to a HEAD request ends with its headers. */
  async reply(isHead = false): Promise<RawReply> {
    const head = await this.#until("\r\n\r\n");
    const [start = "", ...lines] = head.split("\r\n").slice(0, -2);
    const headers = lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    });
    const status = Number(start.split(" ")[1]);
    const reply = { status, headers, body: "" };
    if (isHead || status === 204 || status === 304) return reply;
    const length = headerOf(reply, "content-length");
    if (length !== undefined) return { ...reply, body: await this.#text(Number(length)) };
    if (headerOf(reply, "transfer-encoding") === "chunked") return { ...reply, body: await this.#chunks() };
    return { ...reply, body: await this.rest() };
  }

  /** Reads up to and with a text, as it comes over the wire. */
  until(text: string): Promise<string> {
    return this.#until(text);
  }

  /** Reads until the server ends the connection. */
  async rest(): Promise<string> {
    while (await this.#fill());
    return this.#text(this.#buffer.length);
  }

  /** Reads and discards until the server ends the connection. */
  async drain(): Promise<void> {
    while (await this.#fill()) this.#buffer = new Uint8Array();
  }

  /** Ends the connection. */
  close(): void {
    clearTimeout(this.#patience);
    if (this.#isOpen) this.#connection.close();
    this.#isOpen = false;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #chunks(): Promise<string> {
    let body = "";
    for (;;) {
      const size = parseInt(await this.#until("\r\n"), 16);
      const chunk = await this.#text(size + 2);
      if (size === 0) return body;
      body += chunk.slice(0, -2);
    }
  }

  async #until(text: string): Promise<string> {
    for (;;) {
      const end = bytewise.decode(this.#buffer).indexOf(text);
      if (end >= 0) return this.#text(end + text.length);
      await this.#more();
    }
  }

  async #text(size: number): Promise<string> {
    while (this.#buffer.length < size) await this.#more();
    const taken = utf8.decode(this.#buffer.subarray(0, size));
    this.#buffer = this.#buffer.subarray(size);
    return taken;
  }

  async #more(): Promise<void> {
    if (!await this.#fill()) throw new Error(`The connection ended after: ${utf8.decode(this.#buffer)}`);
  }

  async #fill(): Promise<boolean> {
    const chunk = new Uint8Array(65_536);
    let size: number | null;
    try {
      size = await this.#connection.read(chunk);
    } catch (error) {
      if (error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe) return false;
      throw error;
    }
    if (size === null) return false;
    const joined = new Uint8Array(this.#buffer.length + size);
    joined.set(this.#buffer);
    joined.set(chunk.subarray(0, size), this.#buffer.length);
    this.#buffer = joined;
    return true;
  }
}

/** Sends one request on a new connection and reads the reply. */
export async function exchange(port: number, request: string | Uint8Array): Promise<RawReply> {
  using connection = await RawConnection.open(port);
  await connection.write(request);
  const start = typeof request === "string" ? request : utf8.decode(request.subarray(0, 5));
  return await connection.reply(start.startsWith("HEAD "));
}

/** The value of a header; undefined where it was not sent. */
export function headerOf({ headers }: RawReply, name: string): string | undefined {
  return headers.find(([key]) => key === name)?.[1];
}
