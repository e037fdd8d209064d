/** WebSockets. Loaded late. */
import type { Values } from "./arguments.ts";
import type { ProblemError } from "./problem.ts";
import type { CallSignal } from "./call_signal.ts";
import { pause } from "./retry.ts";
import type { RequestParts, Sender } from "./sender.ts";
import { parseJson } from "./streams.ts";
import type { AnySocket, Connection } from "./reconnecting_socket.ts";
import type { RawOptions, SocketOptions } from "./types.ts";

export type OpenSocket = (address: string, headers: Headers, protocols?: string[]) => WebSocket;

type Data = string | Uint8Array<ArrayBuffer>;

const SOCKET_OPTIONS = ["raw", "reconnect", "protocols", "idleTimeout"];
/** Platforms fire longer timers at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Within 30 s by default.
 *
 * @throws {ProblemError} If the server refuses it.
 * @throws {WebSocketClosedError} If it fails without a reason.
 * @throws {TypeError} If there is no connection, or headers cannot be sent.
 */
export async function connect(
  sender: Sender,
  openSocket: OpenSocket | undefined,
  path: string,
  values: Values = {},
  options: SocketOptions & Partial<RawOptions> = {},
): Promise<AnySocket> {
  const { protocols, idleTimeout, reconnect } = options;
  if (reconnect) {
    const { load } = sender;
    const { keepOpen } = await load(() => import("./reconnecting_socket.ts"));
    const open = (signal: AbortSignal) =>
      connect(sender, openSocket, path, values, { ...options, signal, reconnect: false }) as Promise<Socket>;
    return await keepOpen(open, sender, options);
  }
  const parts: RequestParts = { method: "GET", path, values, options };
  const call = sender.begin(options, `open the WebSocket ${path}`, SOCKET_OPTIONS, 30_000);
  let headers: Headers | undefined;
  let socket: Socket | undefined;
  try {
    headers = await call.until(sender.headersOf(parts));
    const address = sender.addressOf(path, values).replace("http", "ws");
    const platform = (openSocket ?? openPlatformSocket)(
      address,
      headers,
      protocols === undefined ? undefined : [protocols].flat(),
    );
    socket = new Socket(platform, call, options.raw ? undefined : sender.toJson, idleTimeout);
    // A close aborts the call.
    await call.until(new Promise((resolve) => platform.addEventListener("open", resolve)));
    call.settle();
    return socket;
  } catch (error) {
    call.release();
    if (socket && error === socket.closed) await throwReason(sender, parts, headers);
    socket?.close();
    throw error;
  }
}

/** Browsers cannot send headers, which are deleted there. */
function openPlatformSocket(address: string, headers: Headers, protocols?: string[]): WebSocket {
  try {
    // Browsers convert the object to a subprotocol with brackets, and throw.
    return new WebSocket(address, { headers: Object.fromEntries(headers), protocols } as unknown as string);
  } catch {
    for (const name of [...headers.keys()]) headers.delete(name);
    return new WebSocket(address, protocols);
  }
}

/**
 * Platforms hide why an opening was refused. A server refuses a plain GET for the same reasons, and
 * otherwise with 426.
 *
 * @throws {ProblemError} If it is refused for another reason.
 * @throws {TypeError} If there is no connection.
 */
async function throwReason(sender: Sender, parts: RequestParts, headers: Headers | undefined): Promise<void> {
  const call = sender.begin({ ...parts.options, timeout: 5_000 }, "", SOCKET_OPTIONS);
  try {
    await (await call.until(sender.send(parts, call, headers))).body?.cancel();
  } catch (error) {
    if (!call.signal.aborted && (error as Partial<ProblemError>).status !== 426) throw error;
  } finally {
    call.release();
  }
}

/** Platforms receive messages even if nothing reads them, so only a close bounds their memory. */
export class Socket implements Connection {
  closed: WebSocketClosedError | null = null;
  readonly #gone: Promise<void>;
  readonly #platform: WebSocket;
  readonly #call: CallSignal;
  readonly #toJson: ((message: unknown) => string) | undefined;
  /** The latest messages. */
  #newest: Data[] = [];
  /** The next one last: `shift()` of a long array is slow. */
  #next: Data[] = [];
  #unreadSize = 0;
  #hasFailed = false;
  /** When the last message came. */
  #heard = 0;
  /** How many messages came. */
  received = 0;
  /** Resolves when it is closed. */
  readonly ended: Promise<void>;

  constructor(platform: WebSocket, call: CallSignal, toJson?: (message: unknown) => string, idleTimeout?: number) {
    this.#platform = platform;
    this.#call = call;
    call.isStreaming = true;
    this.#toJson = toJson;
    platform.binaryType = "arraybuffer";
    platform.addEventListener("message", ({ data }) => {
      this.#receive(typeof data === "string" ? data : new Uint8Array(data));
    });
    let timer: ReturnType<typeof setTimeout>;
    const checkSilence = (): void => {
      const left = this.#heard + idleTimeout! - performance.now();
      if (left <= 0) this.#fail(1006, `No message for ${idleTimeout} ms`);
      else timer = setTimeout(checkSilence, Math.min(left, MAX_TIMER_MS));
    };
    platform.addEventListener("open", () => {
      this.#heard = performance.now();
      if (idleTimeout) checkSilence();
    });
    this.ended = new Promise((resolve) => call.signal.addEventListener("abort", () => resolve()));
    this.#gone = new Promise<void>((resolve) => {
      // Node.js 20 reports a refused opening by `error` alone. Platforms give a broken connection
      // different codes, here 1006.
      const end = ({ code, reason, wasClean }: { code?: number; reason?: string; wasClean?: boolean }) => {
        this.#end(wasClean ? code! : 1006, reason ?? "", true);
        resolve();
      };
      platform.addEventListener("close", end);
      platform.addEventListener("error", end as () => void);
      call.signal.addEventListener("abort", () => {
        this.close();
        clearTimeout(timer);
        // The closing handshake may take 3 s.
        timer = setTimeout(resolve, 3_000);
      });
    }).then(() => {
      clearTimeout(timer);
      call.release();
    });
  }

  get hasUnread(): boolean {
    return this.#unreadSize > 0;
  }

  get protocol(): string {
    return this.#platform.protocol;
  }

  send(message: unknown): Promise<void> {
    const sent = this.#send(this.#toJson ? this.#toJson(message) : message as Data);
    // No unhandled rejection if a program ignores the result.
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
   * Polls while more than 1 MiB is buffered: there is no event. Also waits while the platform
   * closes, or a program that sends in a loop would block the event `close`.
   */
  async #send(data: Data): Promise<void> {
    if (this.closed) throw this.closed;
    this.#platform.send(data);
    while (this.#platform.readyState > 1 || this.#platform.bufferedAmount > 2 ** 20) await pause(10, this.#call);
  }

  #receive(data: Data): void {
    if (this.closed) return;
    this.#heard = performance.now();
    this.received++;
    const isAlone = this.#unreadSize === 0;
    this.#unreadSize += sizeOf(data);
    this.#newest.push(data);
    // 16 MiB, or a single message of any size.
    if (!isAlone && this.#unreadSize > 2 ** 24) this.#fail(4008, "Messages come faster than they are read");
  }

  #fail(code: number, reason: string): void {
    this.#platform.close(4008, reason);
    this.#end(code, reason, true);
  }

  #end(code: number, reason: string, hasFailed: boolean): void {
    if (this.closed) return;
    this.closed = new WebSocketClosedError(code, reason);
    this.#hasFailed = hasFailed && ![1000, 1005].includes(code);
    this.#call.abort(this.closed);
  }
}

/** In bytes: a character may take two. */
function sizeOf(data: Data): number {
  return 256 + 2 * data.length;
}

/**
 * An open WebSocket. `for await` reads the messages, until either side closes the socket with 1000
 * or without a code, or the `signal` is aborted. After any other close it throws a {@linkcode
 * WebSocketClosedError}. Leaving the loop does not close the socket. With `reconnect`, the loop
 * goes on over reconnections, and `closed` is null again after one.
 *
 * Keep reading: at 16 MiB of unread messages the socket is closed with 4008.
 *
 * @category Client
 */
export interface ClientSocket<Message, Received> extends AsyncIterable<Received>, AsyncDisposable {
  /** The close code and reason; null while the socket is open. */
  readonly closed: WebSocketClosedError | null;
  /** The subprotocol that the server chose, or `""`. */
  readonly protocol: string;
  /**
   * Sends a message. Await it: it waits while more than 1 MiB is buffered.
   *
   * @throws {WebSocketClosedError} If the socket is closed, or reconnects: nothing is queued.
   * @throws {TypeError} If the message has no JSON form.
   */
  send(message: Message): Promise<void>;
  /**
   * Closes the socket, and waits at most 3 seconds for the server. Sent messages still arrive,
   * unread ones are dropped.
   *
   * @param code 1000, the default, or 3000 to 4999.
   * @param reason At most 123 bytes.
   * @throws {DOMException} If the code or the reason is invalid.
   */
  close(code?: number, reason?: string): Promise<void>;
}

/**
 * Thrown by reading or sending after a close by the server or the network. Exported as a type only,
 * so that calls do not load the code of WebSockets: compare `error.name`, or read `closed` of the
 * socket.
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
class WebSocketClosedError extends Error {
  /** The name of the class, for logs. */
  override readonly name = "WebSocketClosedError";
  /** RFC 6455, section 7.4. 1006: the connection broke. 4008: this program did not read. */
  readonly code: number;
  /** The reason that the closing side gave. */
  readonly reason: string;

  /** Makes the error of a close. */
  constructor(code: number, reason: string) {
    super(`The WebSocket is closed: ${code} "${reason}"`);
    this.code = code;
    this.reason = reason;
  }
}

export type { WebSocketClosedError };
