/** The WebSocket that a handler gets: validated messages in both directions. */
import { quote } from "../../base/options.ts";
import type { HttpRequest } from "../request.ts";
import { type DecodeMessage, type EncodeMessage, UnreadableMessage, type WebSocketClosedError } from "./messages.ts";
import { MAX_REASON_BYTES, type WebSocketTransport } from "./transport.ts";

export interface MessageCodec {
  readonly decode: DecodeMessage;
  readonly encode: EncodeMessage;
}

/** RFC 6455, section 7.4: codes that an endpoint may send, and those for applications. */
const isSendable = (code: number): boolean =>
  code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code) || code >= 3000 && code <= 4999;

/**
 * An open WebSocket, for the handler of `app.websocket()`. `for await` reads its messages until
 * either side closes it. `Receive` and `Send` are the types of messages, `State` that of the
 * request's state.
 *
 * A client that sends faster than the handler reads is closed with 1008: at most `limits.message`
 * bytes are buffered, and at least 64 KiB.
 *
 * @example An echo
 * ```ts
 * import { App } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.websocket("/echo", async (socket) => {
 *   for await (const message of socket) await socket.send(message);
 * });
 *
 * await using server = Deno.serve({ port: 0, onListen() {} }, app.fetch);
 * const client = new WebSocket(`ws://localhost:${server.addr.port}/echo`);
 * client.onopen = () => client.send("Hello");
 * const { data } = await new Promise<MessageEvent>((resolve) => client.onmessage = resolve);
 * assertEquals(data, "Hello");
 * const closed = new Promise((resolve) => client.onclose = resolve);
 * client.close();
 * await closed;
 * await app.stop();
 * ```
 *
 * @category Streams
 */
export class WebSocketConnection<
  Receive = string | Uint8Array<ArrayBuffer>,
  Send = string | Uint8Array,
  State = Record<string, unknown>,
> implements AsyncIterable<Receive> {
  /** The request that was upgraded. */
  readonly request: HttpRequest<State>;
  /** The chosen subprotocol, or `""`. */
  readonly protocol: string;
  readonly #transport: WebSocketTransport;
  readonly #codec: MessageCodec;

  /**
   * Wraps an open transport; the application calls it.
   *
   * @ignore
   */
  constructor(request: HttpRequest<State>, protocol: string, transport: WebSocketTransport, codec: MessageCodec) {
    this.request = request;
    this.protocol = protocol;
    this.#transport = transport;
    this.#codec = codec;
  }

  /** The close; null while the socket is open. */
  get closed(): WebSocketClosedError | null {
    return this.#transport.closed;
  }

  /**
   * Aborts when the socket closes, with a {@linkcode WebSocketClosedError} as reason. Pass it to
   * other operations of a handler, such as a subscription.
   */
  get signal(): AbortSignal {
    return this.#transport.signal;
  }

  /**
   * Sends a message: validated, reduced to the `send` schema and written as JSON. Without a schema,
   * strings are sent as text, and bytes unchanged.
   *
   * Await it, so that a slow client slows the handler down. Without `await`, up to 8 MiB are
   * buffered. Beyond that, or if the client reads nothing for the `idleTimeout` of the route, the
   * socket closes with 1008.
   *
   * @throws {TypeError} If the message does not fit the schema, or cannot be sent without one.
   * @throws {WebSocketClosedError} If the socket is closed.
   */
  send(message: Send): Promise<void> {
    const transport = this.#transport;
    try {
      const data = this.#codec.encode(message);
      if (!(data instanceof Promise)) return transport.send(data);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      data.then((encoded) => transport.send(encoded)).then(resolve, (error) => {
        // A handler may ignore that the client has disconnected, but not a message that does not
        // fit.
        if (error === transport.closed) promise.catch(() => {});
        reject(error);
      });
      return promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Closes the socket, unless it is closed. Sent messages are delivered; unread messages are
   * dropped. When a handler returns, the socket closes with 1000.
   *
   * @param code 1000 to 1014 as RFC 6455 defines them, or 3000 to 4999.
   * @param reason The reason in words, at most 123 bytes.
   */
  close(code = 1000, reason = ""): void {
    if (!isSendable(code)) {
      const wanted = "the code must be 1000 to 1014 but 1004 to 1006, or 3000 to 4999";
      throw new RangeError(`Cannot close the WebSocket: ${wanted}, got ${quote(code)}`);
    }
    if (new TextEncoder().encode(reason).length > MAX_REASON_BYTES) {
      throw new RangeError(`Cannot close the WebSocket: the reason must have ${MAX_REASON_BYTES} bytes at most`);
    }
    this.#transport.close(code, reason);
  }

  /**
   * The messages until the socket closes, including those before the client's close. Leaving the
   * loop does not close the socket, and another loop continues.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Receive, void, void> {
    for (;;) {
      const data = await this.#transport.receive();
      if (data === undefined) return;
      let message: unknown;
      try {
        message = await this.#codec.decode(data);
      } catch (error) {
        if (!(error instanceof UnreadableMessage)) throw error;
        return this.#transport.close(error.code, error.message);
      }
      yield message as Receive;
    }
  }
}
