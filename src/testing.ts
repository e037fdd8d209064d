/**
 * Sends requests to an application in tests, without a socket.
 *
 * @example A test of one route
 * ```ts
 * import { App } from "@webfw/core";
 * import { TestClient } from "@webfw/core/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/hello/{name}", async (_request, { name }) => ({ hello: name }));
 *
 * await using client = new TestClient(app);
 * assertEquals(await client.get("/hello/Ada").json(), { hello: "Ada" });
 * const missing = await client.get("/nothing").problem();
 * assertEquals(missing.status, 404);
 * ```
 *
 * @module
 */
import type { Issue, ProblemDetails } from "./errors.ts";
import { type OptionNames, readOptions } from "./options.ts";

/** An application, or anything else that answers requests. */
export interface Testable {
  /** Answers a request. */
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** Starts it before the first request. */
  start?(): Promise<void>;
  /** Stops it. */
  stop?(): Promise<void>;
}

/** The options of a test request, besides its method and path. */
export interface TestRequestInit extends Omit<RequestInit, "method" | "body"> {
  /** The query. A list repeats its name for each element; undefined sends nothing. */
  query?: Readonly<
    Record<string, QueryPart | readonly QueryPart[] | undefined>
  >;
  /** A body that is sent as JSON, as `application/json` unless `headers` say otherwise. */
  json?: unknown;
  /** A body that is sent unchanged. */
  body?: BodyInit;
  /** Cookies to send. */
  cookies?: Readonly<Record<string, string>>;
}

const REQUEST_OPTIONS: OptionNames<TestRequestInit> = {
  query: true,
  json: true,
  body: true,
  cookies: true,
  headers: true,
  signal: true,
  cache: true,
  credentials: true,
  integrity: true,
  keepalive: true,
  mode: true,
  redirect: true,
  referrer: true,
  referrerPolicy: true,
  window: true,
  priority: true,
};

/** A value that can be written into a query. */
export type QueryPart = string | number | boolean | bigint | null;

/** The body of a 422 reply. */
export interface InvalidInput extends ProblemDetails {
  /** The faults. */
  errors: Issue[];
}

/** A pending reply. Await it for the `Response`, or read it by a method that also checks it. */
export class TestReply implements PromiseLike<Response> {
  readonly #response: Promise<Response>;

  /** Wraps a pending response. */
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
      throw new Error(
        `Cannot read the reply as JSON: got ${describe(response, body)}`,
      );
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
      throw new Error(
        `Cannot read the reply as text: got ${describe(response, body)}`,
      );
    }
    return body;
  }

  /**
   * Reads a 422 reply, with its list of faults.
   *
   * @param status The expected status.
   * @throws {Error} If the reply is not `application/problem+json`, or has another status.
   */
  async problem(status: 422): Promise<InvalidInput>;
  /**
   * Reads an error reply.
   *
   * @param status The expected status. By default, any status but 2xx.
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

/**
 * Sends requests to an application. Its lifespans start with the first request and end with the
 * client: use `await using`, or call `close()`.
 *
 * The client waits for the whole body of a reply. To test an endless stream, call
 * `app.fetch(request)`, or end the request by its `signal`.
 */
export class TestClient implements AsyncDisposable {
  readonly #app: Testable;
  readonly #base: string;

  /**
   * Makes a client.
   *
   * @param app The application.
   * @param base The origin of the requests, to which paths are appended.
   */
  constructor(app: Testable, base = "http://localhost") {
    this.#app = app;
    this.#base = base;
  }

  /** Sends a GET request. */
  get(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("GET", path, init);
  }

  /** Sends a HEAD request. */
  head(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("HEAD", path, init);
  }

  /** Sends a POST request. */
  post(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("POST", path, init);
  }

  /** Sends a PUT request. */
  put(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("PUT", path, init);
  }

  /** Sends a PATCH request. */
  patch(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("PATCH", path, init);
  }

  /** Sends a DELETE request. */
  delete(path: string, init: TestRequestInit = {}): TestReply {
    return this.request("DELETE", path, init);
  }

  /**
   * Sends a request of any method.
   *
   * @param method The method.
   * @param path The path, with or without a query.
   * @param init The query, headers and body.
   * @throws {TypeError} If an option is unknown.
   */
  request(method: string, path: string, init: TestRequestInit = {}): TestReply {
    return new TestReply(this.#send(this.#requestOf(method, path, init)));
  }

  /** Stops the application, which ends its lifespans. */
  async close(): Promise<void> {
    await this.#app.stop?.();
  }

  /** Stops the application, which ends its lifespans. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #requestOf(method: string, path: string, init: TestRequestInit): Request {
    const given = readOptions(init, REQUEST_OPTIONS, `send ${method} ${path}`);
    const { query = {}, json, body, cookies, ...rest } = given;
    const url = new URL(this.#base + path);
    for (const [name, parts] of Object.entries(query)) {
      for (const part of Array.isArray(parts) ? parts : [parts]) {
        if (part !== undefined) url.searchParams.append(name, String(part));
      }
    }
    const headers = new Headers(rest.headers);
    if (json !== undefined && !headers.has("content-type")) {
      headers.set("content-type", "application/json");
    }
    if (cookies) {
      headers.set(
        "cookie",
        Object.entries(cookies).map(([name, value]) => `${name}=${value}`).join(
          "; ",
        ),
      );
    }
    const sent = json === undefined ? body : JSON.stringify(json);
    return new Request(url, {
      ...rest,
      method,
      headers,
      ...(sent === undefined ? {} : { body: sent }),
    });
  }

  /** Reads the whole body, so that the application's tasks after the reply are done, too. */
  async #send(request: Request): Promise<Response> {
    await this.#app.start?.();
    const response = await this.#app.fetch(request);
    if (response.body === null || response.status === 101) return response;
    const { signal } = request;
    const body = response.body.pipeThrough(new TransformStream(), { signal });
    return new Response(await new Response(body).bytes(), response);
  }
}

function mediaType(response: Response): string {
  return response.headers.get("content-type")?.split(";")[0]?.trim() ?? "none";
}

function describe(response: Response, body: string): string {
  return `${response.status} ${mediaType(response)}: ${body.slice(0, 500)}`;
}
