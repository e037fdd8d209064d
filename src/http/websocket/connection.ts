/** What the handler of a WebSocket has of it: validated messages in, validated messages out. */
import { quote } from "../../options.ts";
import type { HttpRequest } from "../request.ts";
import { type DecodeMessage, type EncodeMessage, UnreadableMessage, type WebSocketClosedError } from "./messages.ts";
import { MAX_REASON, type WebSocketLink } from "./transport.ts";

/** How the messages of a route are read and written. */
export interface MessageCodec {
  /** Reads a message. */
  readonly decode: DecodeMessage;
  /** Writes a message. */
  readonly encode: EncodeMessage;
}

/** Codes that RFC 6455, section 7.4, lets an endpoint send, and those that are left to applications. */
const isSendable = (code: number): boolean =>
  code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code) || code >= 3000 && code <= 4999;

/**
 * An open WebSocket, as the handler of `app.websocket()` gets it. Messages are read by `for await`; the loop ends when the socket is
 * closed, by whichever side.
 *
 * `Receive` is what comes, `Send` what goes, `State` the type of the request's state.
 *
 * A client that sends faster than the handler reads is closed with 1008: what waits to be read is bounded by the size of one message
 * of the largest size, `limits.message`, and never below 64 KiB.
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
 */
export class WebSocketConnection<
  Receive = string | Uint8Array<ArrayBuffer>,
  Send = string | Uint8Array,
  State = Record<string, unknown>,
> implements AsyncIterable<Receive> {
  /** The request that was upgraded. */
  readonly request: HttpRequest<State>;
  /** The subprotocol that was agreed on; empty where there is none. */
  readonly protocol: string;
  readonly #link: WebSocketLink;
  readonly #codec: MessageCodec;

  /**
   * Wraps an open link; the application does it.
   *
   * @ignore
   */
  constructor(request: HttpRequest<State>, protocol: string, link: WebSocketLink, codec: MessageCodec) {
    this.request = request;
    this.protocol = protocol;
    this.#link = link;
    this.#codec = codec;
  }

  /** How it was closed; null while it is open. */
  get closed(): WebSocketClosedError | null {
    return this.#link.closed;
  }

  /**
   * Is aborted when the socket is closed, with a {@linkcode WebSocketClosedError} as its reason. Hand it to whatever a handler waits
   * for beside messages, such as a subscription: nothing else tells a handler that only sends.
   */
  get signal(): AbortSignal {
    return this.#link.signal;
  }

  /**
   * Sends a message: validated and reduced to the `send` schema, as JSON; without a schema a string as text, and bytes as they are.
   *
   * Wait for it. It settles when the client takes what it is sent, so that a slow client slows the handler down and memory stays
   * bounded. Where nobody waits, no more than 8 MiB are kept for a client; then it is closed with 1008, as it is when it takes
   * nothing for the route's `idleTimeout`.
   *
   * @param message The message.
   * @throws {TypeError} When the message does not fit the schema, or cannot be sent without one.
   * @throws {WebSocketClosedError} When the socket is closed.
   */
  send(message: Send): Promise<void> {
    const link = this.#link;
    try {
      const data = this.#codec.encode(message);
      if (!(data instanceof Promise)) return link.send(data);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      data.then((encoded) => link.send(encoded)).then(resolve, (error) => {
        // That the client has gone need not interest anybody; that a message does not fit has to.
        if (error === link.closed) promise.catch(() => {});
        reject(error);
      });
      return promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Closes the socket, unless it is closed. What was sent still goes, what was not read is dropped. A handler that returns closes it
   * with 1000 by itself.
   *
   * @param code Why: 1000 to 1014 as RFC 6455 defines them, or 3000 to 4999.
   * @param reason Why, in words of 123 bytes at most.
   * @throws {RangeError} When the code cannot be sent, or the reason is too long.
   */
  close(code = 1000, reason = ""): void {
    if (!isSendable(code)) {
      throw new RangeError(
        `Cannot close the WebSocket: the code must be 1000 to 1014 but 1004 to 1006, or 3000 to 4999, got ${
          quote(code)
        }`,
      );
    }
    if (new TextEncoder().encode(reason).length > MAX_REASON) {
      throw new RangeError(`Cannot close the WebSocket: the reason must have ${MAX_REASON} bytes at most`);
    }
    this.#link.close(code, reason);
  }

  /**
   * The messages as they come, until the socket is closed. What came before the client closed it is still given. To leave the loop
   * does not close the socket; another loop goes on where it ended.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Receive, void, void> {
    for (;;) {
      const data = await this.#link.take();
      if (data === undefined) return;
      let message: unknown;
      try {
        message = await this.#codec.decode(data);
      } catch (error) {
        if (!(error instanceof UnreadableMessage)) throw error;
        return this.#link.close(error.code, error.message);
      }
      yield message as Receive;
    }
  }
}
