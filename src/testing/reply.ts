/** The replies to a test client. */
import type { Issue, ProblemDetails } from "../base/errors.ts";
import type { TestSocket } from "./websocket.ts";

/** @ignore The body of a 422 reply. */
export interface InvalidInput extends ProblemDetails {
  /** The issues. */
  errors: Issue[];
}

/**
 * A pending reply. Await it for the `Response`, or read and check it by a method.
 *
 * @example A result, an issue of the input, and a header
 * ```ts
 * import { App } from "@webfw/core";
 * import { TestClient } from "@webfw/core/testing";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const app = new App();
 * app.get("/books/{id}", { params: { id: v.number() } }, async (_request, { id }) => ({ id }));
 *
 * await using client = new TestClient(app);
 * assertEquals(await client.get("/books/7").json(), { id: 7 });
 * const { errors } = await client.get("/books/seven").problem(422);
 * assertEquals(errors.map(({ path }) => path), [["id"]]);
 * const response = await client.get("/books/7");
 * assertEquals(response.headers.get("content-type"), "application/json");
 * await response.body?.cancel();
 * ```
 */
export class TestReply implements PromiseLike<Response> {
  readonly #response: Promise<Response>;

  /**
   * Wraps a pending response; the test client calls it.
   *
   * @ignore
   */
  constructor(response: Promise<Response>) {
    this.#response = response;
  }

  /** Waits for the reply and its whole body. */
  then<Fulfilled = Response, Rejected = never>(
    onFulfilled?:
      | ((response: Response) => Fulfilled | PromiseLike<Fulfilled>)
      | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#response.then(onFulfilled, onRejected);
  }

  /**
   * Reads a JSON reply.
   *
   * @throws {Error} If the status is not 2xx, or the media type is not `application/json`.
   */
  async json<Value = unknown>(): Promise<Value> {
    const response = await this.#response;
    const body = await response.text();
    if (!response.ok || mediaType(response) !== "application/json") {
      throw new Error(`Cannot read the reply as JSON: got ${describe(response, body)}`);
    }
    return JSON.parse(body);
  }

  /**
   * Reads a reply as text.
   *
   * @throws {Error} If the status is not 2xx.
   */
  async text(): Promise<string> {
    const response = await this.#response;
    const body = await response.text();
    if (!response.ok) {
      throw new Error(`Cannot read the reply as text: got ${describe(response, body)}`);
    }
    return body;
  }

  /**
   * Reads a 422 reply, with its issues.
   *
   * @param status The expected status.
   * @throws {Error} If the reply is not `application/problem+json`, or has another status.
   */
  async problem(status: 422): Promise<InvalidInput>;
  /**
   * Reads an error reply.
   *
   * @param status The expected status. By default, any but 2xx.
   * @throws {Error} If the reply is not `application/problem+json`, or has another status.
   */
  async problem(status?: number): Promise<ProblemDetails>;
  async problem(status?: number): Promise<ProblemDetails> {
    const response = await this.#response;
    const body = await response.text();
    const isExpected = status === undefined ? !response.ok : response.status === status;
    if (!isExpected || mediaType(response) !== "application/problem+json") {
      throw new Error(
        `Cannot read the reply as a problem: wanted ${status ?? "an error"}, got ${describe(response, body)}`,
      );
    }
    return JSON.parse(body);
  }
}

/** The media type without parameters. */
export function mediaType(response: Response): string {
  return response.headers.get("content-type")?.split(";")[0]?.trim() ?? "none";
}

export function describe(response: Response, body: string): string {
  return `${response.status} ${mediaType(response)}: ${body.slice(0, 500)}`;
}

/**
 * A WebSocket that is connecting. Await it for the {@linkcode TestSocket}, or read the refusal by
 * `problem`.
 */
export class TestHandshake<Receive = string | Uint8Array<ArrayBuffer>, Send = string | Uint8Array>
  implements PromiseLike<TestSocket<Receive, Send>> {
  readonly #reply: Promise<TestSocket<Receive, Send> | Response>;

  /**
   * Wraps the result of the handshake; the test client calls it.
   *
   * @ignore
   */
  constructor(reply: Promise<TestSocket<Receive, Send> | Response>) {
    this.#reply = reply;
  }

  /** Waits until the socket is open. It rejects if the server refuses. */
  then<Fulfilled = TestSocket<Receive, Send>, Rejected = never>(
    onFulfilled?: ((socket: TestSocket<Receive, Send>) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#opened().then(onFulfilled, onRejected);
  }

  /**
   * Reads the refusal of the server.
   *
   * @param status The expected status. By default, any but 2xx.
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
