/** An open WebSocket. */
import type { CallSignal } from "./call_signal.ts";

/** The default timeout of an opening, in milliseconds. */
export const OPENING_MS = 30_000;

/** The timeout of the request for the reason of a refusal, in milliseconds. */
export const REASON_MS = 5_000;

/** How long a closing handshake may take, in milliseconds. */
const CLOSING_MS = 3_000;

/** The interval at which `bufferedAmount` is polled, in milliseconds. */
const POLL_MS = 10;

/** `send` waits while the platform buffers more than this, in bytes. */
const HIGH_WATER = 1024 * 1024;

/** The limit for unread messages, in bytes. A single message may be larger. */
const MAX_UNREAD = 16 * 1024 * 1024;

/** The memory for a message besides its content, in bytes. */
const MESSAGE_OVERHEAD = 256;

type Data = string | Uint8Array<ArrayBuffer>;

interface Json {
  readonly write: (message: unknown) => string;
  readonly read: (data: string) => unknown;
}

/**
 * A WebSocket. Its messages are JSON, unless it is raw.
 *
 * The platform receives messages even when nothing reads them, so the only way to bound their memory
 * is to close the socket.
 */
export class Socket implements AsyncDisposable {
  closed: WebSocketClosedError | null = null;
  readonly #gone: Promise<void>;
  readonly #platform: WebSocket;
  readonly #call: CallSignal;
  readonly #json: Json | undefined;
  /** The latest messages. */
  #newest: Data[] = [];
  /** Earlier messages, the next one last: `shift()` of a long array is slow. */
  #next: Data[] = [];
  #unreadSize = 0;
  #hasFailed = false;

  /**
   * @param platform A socket that is connecting.
   * @param call Closes the socket when aborted, and is released when the socket closes.
   * @param json Writes and reads messages. Without it they are strings or bytes.
   */
  constructor(platform: WebSocket, call: CallSignal, json?: Json) {
    this.#platform = platform;
    this.#call = call;
    call.isStreaming = true;
    this.#json = json;
    platform.binaryType = "arraybuffer";
    platform.addEventListener("message", ({ data }) => {
      this.#receive(typeof data === "string" ? data : new Uint8Array(data));
    });
    let timer: ReturnType<typeof setTimeout>;
    this.#gone = new Promise<void>((resolve) => {
      // Node.js 20 reports a refused opening by `error` alone. The code of a broken connection
      // differs between platforms, so it is always 1006.
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

  send(message: unknown): Promise<void> {
    const sent = this.#send(this.#json ? this.#json.write(message) : message as Data);
    // A program may ignore the result: no unhandled rejection.
    sent.catch(() => {});
    return sent;
  }

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

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, void> {
    for (;;) {
      if (this.#next.length === 0) [this.#next, this.#newest] = [this.#newest.reverse(), this.#next];
      const data = this.#next.pop();
      if (data !== undefined) {
        this.#unreadSize -= sizeOf(data);
        yield this.#json && typeof data === "string" ? this.#json.read(data) : data;
      } else if (this.#hasFailed) throw this.closed;
      else if (this.closed) return;
      else {
        const next = new Promise((resolve) => this.#platform.addEventListener("message", resolve, { once: true }));
        await this.#call.until(next).catch(() => {});
      }
    }
  }

  /**
   * Platforms have no event for a drained buffer, so this polls. It also waits while the platform
   * closes and drops messages: a program that sends in a loop has to let the event `close` fire.
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

  #end(code: number, reason: string, hasFailed: boolean): void {
    if (this.closed) return;
    this.closed = new WebSocketClosedError(code, reason);
    this.#hasFailed = hasFailed && ![1000, 1005].includes(code);
    this.#call.abort(this.closed);
  }
}

/** A character may take two bytes. */
function sizeOf(data: Data): number {
  return MESSAGE_OVERHEAD + 2 * data.length;
}

/**
 * The WebSocket is closed: reading or sending throws this after a close by the server or the network.
 * It is exported as a type only, so that calls alone do not load the code of WebSockets: compare
 * `error.name`, or read `closed` of the socket.
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
   * The close code: RFC 6455, section 7.4. 1006: the connection broke. 4008: this program did not
   * read the messages.
   */
  readonly code: number;
  /** The reason that the closing side gave. */
  readonly reason: string;

  /**
   * Makes the error.
   *
   * @param code The close code.
   * @param reason The reason.
   */
  constructor(code: number, reason: string) {
    super(`The WebSocket is closed: ${code} "${reason}"`);
    this.code = code;
    this.reason = reason;
  }
}
