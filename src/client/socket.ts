/** An open WebSocket, as a program uses it. */
import type { CallSignal } from "./call_signal.ts";
import { parseJson } from "./streamed_reply.ts";

/** Opens a WebSocket, as `new WebSocket()` does. */
export type OpenSocket = (address: string, headers: Headers) => WebSocket;

/** Text, or bytes. */
type Data = string | Uint8Array<ArrayBuffer>;

/** Senders wait while the platform keeps more than this, in bytes. */
const HIGH_WATER = 1024 * 1024;

/** The most that waits to be read, in bytes. A single message may be larger. */
const MAX_UNREAD = 16 * HIGH_WATER;

/** The memory of a message without its content, in bytes. */
const OVERHEAD = 256;

/** The pause between two looks at what the platform keeps, in milliseconds. */
const POLL_MS = 10;

/** How long the server may take to answer a close, in milliseconds. */
const CLOSING_MS = 3_000;

/**
 * The error of a WebSocket that the server or the network has closed. What reads or sends then
 * throws it. It is exported as a type alone, so that clients without WebSockets do not load it:
 * compare `error.name`, or read `closed` of the socket.
 *
 * @example A server that says goodbye
 * ```ts
 * import { App } from "@webfw/core";
 * import { client } from "@webfw/core/client";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * const leave = app.websocket("/leave", async (socket) => await socket.close(4000, "Good night"));
 *
 * await using server = Deno.serve({ port: 0, onListen() {} }, app.fetch);
 * const shop = client<{ leave: typeof leave }>(`http://localhost:${server.addr.port}`);
 * await using socket = await shop.websocket("/leave", {}, { raw: true });
 * try {
 *   for await (const _message of socket);
 * } catch (error) {
 *   if (!(error instanceof Error) || error.name !== "WebSocketClosedError") throw error;
 * }
 * assertEquals([socket.closed?.code, socket.closed?.reason], [4000, "Good night"]);
 * ```
 *
 * @category Client
 */
export class WebSocketClosedError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "WebSocketClosedError";
  /**
   * The close code, RFC 6455, section 7.4. 1006: the connection broke off. 4008: this program has
   * not read the messages.
   */
  readonly code: number;
  /** The reason in words, by the side that has closed it. */
  readonly reason: string;

  /**
   * Makes the error.
   *
   * @param code The close code.
   * @param reason The reason in words.
   */
  constructor(code: number, reason: string) {
    super(`The WebSocket is closed: ${code} "${reason}"`);
    this.code = code;
    this.reason = reason;
  }
}

/**
 * One WebSocket. Its messages are JSON, unless it is raw.
 *
 * The platform receives messages whether they are read or not. So the only bound is to close the
 * socket.
 */
export class Socket implements AsyncDisposable {
  /** How it was closed; null while it is open. */
  closed: WebSocketClosedError | null = null;
  readonly #gone: Promise<void>;
  readonly #platform: WebSocket;
  readonly #call: CallSignal;
  readonly #toJson: ((message: unknown) => string) | undefined;
  /** The messages that came last. */
  #newest: Data[] = [];
  /** Those before them, the next one at the end: `shift()` of a long array takes long. */
  #next: Data[] = [];
  #unreadSize = 0;
  #hasFailed = false;

  /**
   * Takes a socket that is about to open.
   *
   * @param platform The socket.
   * @param call Ends the socket, and ends with it.
   * @param toJson Writes messages. Without it they are text or bytes.
   */
  constructor(platform: WebSocket, call: CallSignal, toJson?: (message: unknown) => string) {
    this.#platform = platform;
    this.#call = call;
    call.isStreaming = true;
    this.#toJson = toJson;
    platform.binaryType = "arraybuffer";
    platform.addEventListener("message", ({ data }) => {
      this.#receive(typeof data === "string" ? data : new Uint8Array(data));
    });
    let timer: ReturnType<typeof setTimeout>;
    this.#gone = new Promise<void>((resolve) => {
      // Node.js 20 reports a refused opening by an error alone. The code of a connection that broke
      // off differs from platform to platform.
      const end = ({ code, reason, wasClean }: { code?: number; reason?: string; wasClean?: boolean }) => {
        this.#end(wasClean ? code! : 1006, reason ?? "", true);
        resolve();
      };
      platform.addEventListener("close", end);
      platform.addEventListener("error", end as () => void);
      call.signal.addEventListener("abort", () => {
        this.close();
        timer = setTimeout(resolve, CLOSING_MS);
      });
    }).then(() => {
      clearTimeout(timer);
      call.release();
    });
  }

  /** Sends a message, and waits while much is on its way. */
  send(message: unknown): Promise<void> {
    const sent = this.#send(this.#toJson ? this.#toJson(message) : message as Data);
    // A program may ignore that the socket is closed.
    sent.catch(() => {});
    return sent;
  }

  /**
   * Closes it, and waits until the server has done so, too. Messages that were not read are
   * dropped.
   */
  close(code = 1000, reason = ""): Promise<void> {
    if (!this.closed) {
      this.#platform.close(code, reason);
      this.#newest.length = this.#next.length = 0;
      this.#end(code, reason, false);
    }
    return this.#gone;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The messages until the end. Leaving the loop does not close the socket. */
  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, void> {
    for (;;) {
      if (this.#next.length === 0) [this.#next, this.#newest] = [this.#newest.reverse(), this.#next];
      const data = this.#next.pop();
      if (data !== undefined) {
        this.#unreadSize -= sizeOf(data);
        yield this.#toJson && typeof data === "string" ? parseJson(data) : data;
      } else if (this.#hasFailed) throw this.closed;
      else if (this.closed) return;
      else {
        const next = new Promise((resolve) => this.#platform.addEventListener("message", resolve, { once: true }));
        await this.#call.until(next).catch(() => {});
      }
    }
  }

  /**
   * The platform has no event for less being on its way. While it is closing it drops messages, and
   * a program that sends without end has to let its event `close` come.
   */
  async #send(data: Data): Promise<void> {
    if (this.closed) throw this.closed;
    this.#platform.send(data);
    while (this.#platform.readyState > 1 || this.#platform.bufferedAmount > HIGH_WATER) await this.#call.pause(POLL_MS);
  }

  #receive(data: Data): void {
    if (this.closed) return;
    const isAlone = this.#unreadSize === 0;
    this.#unreadSize += sizeOf(data);
    this.#newest.push(data);
    if (!isAlone && this.#unreadSize > MAX_UNREAD) {
      const reason = "Messages come faster than they are read";
      this.#platform.close(4008, reason);
      this.#end(4008, reason, true);
    }
  }

  /** Nothing is received any more, or sent. */
  #end(code: number, reason: string, hasFailed: boolean): void {
    if (this.closed) return;
    this.closed = new WebSocketClosedError(code, reason);
    this.#hasFailed = hasFailed && ![1000, 1005].includes(code);
    this.#call.abort(this.closed);
  }
}

/** A character may take two bytes. */
function sizeOf(data: Data): number {
  return OVERHEAD + 2 * data.length;
}
