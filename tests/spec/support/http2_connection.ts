// HTTP/2 without TLS by hand: sends exactly the fields of a test, where a client would not.

import { PATIENCE_MS } from "../../support/patience.ts";

const encoder = new TextEncoder();
const PREFACE = encoder.encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const HEADER_SIZE = 9;
/** Types of frames, RFC 9113, section 6. */
const [HEADERS, SETTINGS] = [1, 4];
/** END_STREAM and END_HEADERS. */
const WHOLE = 0x5;
/**
 * The statuses by the first byte of a field block: an index into the static table of RFC 7541,
 * appendix A.
 */
const STATUSES: Readonly<Record<number, number>> = { 0x88: 200, 0x89: 204, 0x8b: 304, 0x8c: 400, 0x8d: 404, 0x8e: 500 };

/** One connection, which asks one thing after another. */
export class Http2Connection implements Disposable {
  readonly #connection: Deno.Conn;
  readonly #patience: ReturnType<typeof setTimeout>;
  #buffer = new Uint8Array();
  #stream = -1;

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
    this.#patience = setTimeout(() => this.#connection.close(), PATIENCE_MS);
  }

  /** Connects to a port of 127.0.0.1. */
  static async open(port: number): Promise<Http2Connection> {
    const opened = new Http2Connection(await Deno.connect({ hostname: "127.0.0.1", port }));
    await opened.#write(new Uint8Array([...PREFACE, ...frame(SETTINGS, 0, 0, [])]));
    return opened;
  }

  /** Asks without a body, and gives the status of the reply. */
  async status(fields: Readonly<Record<string, string>>): Promise<number> {
    this.#stream += 2;
    const block = Object.entries(fields).flatMap(([name, value]) => [0, ...text(name), ...text(value)]);
    await this.#write(frame(HEADERS, WHOLE, this.#stream, block));
    for (;;) {
      const { type, stream, payload } = await this.#frame();
      if (type !== HEADERS || stream !== this.#stream) continue;
      const status = STATUSES[payload[0]!];
      if (status === undefined) throw new Error(`Cannot read the status: the block begins with ${payload[0]}`);
      return status;
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#patience);
    this.#connection.close();
  }

  async #frame(): Promise<{ type: number; stream: number; payload: Uint8Array }> {
    const head = await this.#take(HEADER_SIZE);
    const length = (head[0]! << 16) | (head[1]! << 8) | head[2]!;
    return { type: head[3]!, stream: (head[7]! << 8) | head[8]!, payload: await this.#take(length) };
  }

  async #take(size: number): Promise<Uint8Array> {
    while (this.#buffer.length < size) {
      const chunk = new Uint8Array(16_384);
      const read = await this.#connection.read(chunk);
      if (read === null) throw new Error("The connection ended");
      this.#buffer = new Uint8Array([...this.#buffer, ...chunk.subarray(0, read)]);
    }
    const taken = this.#buffer.slice(0, size);
    this.#buffer = this.#buffer.slice(size);
    return taken;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    while (bytes.length > 0) bytes = bytes.subarray(await this.#connection.write(bytes));
  }
}

function frame(type: number, flags: number, stream: number, payload: readonly number[]): Uint8Array {
  const { length } = payload;
  return new Uint8Array([length >> 16, length >> 8, length, type, flags, 0, 0, stream >> 8, stream, ...payload]);
}

/** A text of less than 127 bytes, uncoded. */
function text(value: string): number[] {
  const bytes = encoder.encode(value);
  return [bytes.length, ...bytes];
}
