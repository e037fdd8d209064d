/** WebSockets of a test client that are about to open. */
import type { ProblemDetails } from "../base/errors.ts";
import { describe, TestReply } from "./reply.ts";
import type { TestSocket } from "./websocket.ts";

/**
 * A WebSocket that is about to open. Await it for the {@linkcode TestSocket}, or read the refusal
 * by `problem`.
 */
export class TestHandshake<Receive = string | Uint8Array<ArrayBuffer>, Send = string | Uint8Array>
  implements PromiseLike<TestSocket<Receive, Send>> {
  readonly #reply: Promise<TestSocket<Receive, Send> | Response>;

  /**
   * Wraps what comes of the handshake; the test client does it.
   *
   * @ignore
   */
  constructor(reply: Promise<TestSocket<Receive, Send> | Response>) {
    this.#reply = reply;
  }

  /** Waits until the socket is open. It rejects if the server refuses it. */
  then<Fulfilled = TestSocket<Receive, Send>, Rejected = never>(
    onFulfilled?: ((socket: TestSocket<Receive, Send>) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#opened().then(onFulfilled, onRejected);
  }

  /**
   * Reads the refusal of the server.
   *
   * @param status The expected status. By default, any status but 2xx.
   * @throws {Error} If the socket opens, or the reply is not `application/problem+json`, or has
   * another status.
   */
  async problem(status?: number): Promise<ProblemDetails> {
    const reply = await this.#reply;
    if (reply instanceof Response) return await new TestReply(Promise.resolve(reply)).problem(status);
    await reply.close();
    throw new Error(`Cannot read the reply as a problem: wanted ${status ?? "an error"}, and the WebSocket opened`);
  }

  async #opened(): Promise<TestSocket<Receive, Send>> {
    const reply = await this.#reply;
    if (!(reply instanceof Response)) return reply;
    throw new Error(`Cannot open the WebSocket: got ${describe(reply, await reply.clone().text())}`);
  }
}
