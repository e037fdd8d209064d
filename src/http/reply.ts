/** Makes replies: of handlers' results, of errors, and by the helpers that handlers use. */
import { HTTPError, isHTTPError } from "../errors.ts";
import { checkOptions, type OptionNames, quote } from "../options.ts";
import { stringify } from "./json.ts";
import type { HttpRequest } from "./request.ts";
import { EventStream } from "./sse/sse.ts";
import type { Stopping } from "./stream_reply.ts";

// Deno's globals are getters that load on first use: a look at each of them, for every reply, can be measured.
const { Response: PlatformResponse, Blob: PlatformBlob } = globalThis;

/** As the platform names the type of a string: a reply that gets it from there is on its fastest path. */
const TEXT = "text/plain;charset=UTF-8";
const HTML = "text/html;charset=UTF-8";
const PROBLEM = { "content-type": "application/problem+json" };

const RESPONSE_OPTIONS: OptionNames<ResponseInit> = { status: true, statusText: true, headers: true };

/** The statuses whose replies have no body: the platform makes no `Response` with both. */
export const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Makes a reply of what a handler returned.
 *
 * @param result What it returned.
 * @param status The status of a success, where the route says one.
 * @param request Whose reply it is.
 * @param stopping Tells when the server stops.
 * @throws {TypeError} When the result has no JSON form.
 */
export function toReply(
  result: unknown,
  status: number | undefined,
  request: HttpRequest,
  stopping: Stopping,
): Response | Promise<Response> {
  if (typeof result === "object" && result !== null) {
    if (result instanceof PlatformResponse) {
      if (result.type === "error") throw new TypeError("Cannot reply with Response.error(): it has no status");
      return result;
    }
    if (result instanceof EventStream) {
      return import("./sse/reply.ts").then(({ eventReply }) => eventReply(result, request, status ?? 200, stopping));
    }
    if (Symbol.asyncIterator in result) {
      return streamReply(result as AsyncIterable<unknown>, status ?? 200, request, stopping);
    }
    if (result instanceof PlatformBlob) {
      return import("./files/conditional.ts").then(({ blobReply }) => blobReply(result, status ?? 200, request));
    }
  }
  if (result === undefined) return new PlatformResponse(null, { status: status ?? 204 });
  return jsonReply(result, status ?? 200);
}

/**
 * A reply of plain text.
 *
 * @param body The text.
 * @param init The status and further headers.
 * @throws {TypeError} When an option is unknown.
 *
 * @example Plain text
 * ```ts
 * import { App, text } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/robots.txt", async () => text("User-agent: *"));
 * const response = await app.fetch(new Request("http://localhost/robots.txt"));
 * assertEquals(response.headers.get("content-type"), "text/plain;charset=UTF-8");
 * ```
 */
export function text(body: string, init?: ResponseInit): Response {
  return init === undefined ? new PlatformResponse(body) : textual(body, TEXT, init);
}

/**
 * A reply of HTML. Nothing is escaped: that is the work of whatever made the markup.
 *
 * @param body The markup.
 * @param init The status and further headers.
 * @throws {TypeError} When an option is unknown.
 *
 * @example A page
 * ```ts
 * import { html } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const response = html("<h1>Books</h1>", { status: 201 });
 * assertEquals(response.headers.get("content-type"), "text/html;charset=UTF-8");
 * assertEquals(response.status, 201);
 * ```
 */
export function html(body: string, init?: ResponseInit): Response {
  return textual(body, HTML, init);
}

/**
 * A reply that sends the client elsewhere.
 *
 * @param location Where to: a URL or a path. Never take it from a client unchecked.
 * @param status One of 301, 302, 303, 307 and 308. 303 makes the client follow with GET.
 * @throws {RangeError} When the status is not that of a redirect.
 *
 * @example After a form
 * ```ts
 * import { redirect } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const response = redirect("/books/1");
 * assertEquals(response.status, 303);
 * assertEquals(response.headers.get("location"), "/books/1");
 * ```
 */
export function redirect(location: string | URL, status = 303): Response {
  if (![301, 302, 303, 307, 308].includes(status)) {
    throw new RangeError(
      `Cannot redirect: the status must be 301, 302, 303, 307 or 308, got ${quote(status)}`,
    );
  }
  // A header carries only ASCII; what is already escaped stays as it is.
  const ascii = String(location).toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
  return new Response(null, { status, headers: { location: ascii } });
}

/** The reply of an error, as RFC 9457 describes it. */
export function problemReply(error: HTTPError): Response {
  const init = { status: error.status, headers: PROBLEM };
  const response = new Response(stringify(error.toProblem()), init);
  return error.headers ? withHeaders(response, new Headers(error.headers)) : response;
}

/** The reply with further headers. They replace those it has, but for cookies, of which there can be many. */
export function withHeaders(response: Response, headers: Headers): Response {
  const open = withMutableHeaders(response);
  for (const [name, value] of headers) {
    if (name === "set-cookie") open.headers.append(name, value);
    else open.headers.set(name, value);
  }
  return open;
}

/** The error that a client may see for a thrown value: itself, or a 500 that says nothing of the cause. */
export function toHTTPError(thrown: unknown): HTTPError {
  return isHTTPError(thrown) ? thrown : new HTTPError(500, undefined, { cause: thrown });
}

/** The reply to a HEAD request: the same headers, no body. */
export function withoutBody(response: Response): Response {
  response.body?.cancel().catch(() => {});
  return new Response(null, response);
}

/** The same reply with headers that can be changed: those of a fetched reply cannot. */
export function withMutableHeaders(response: Response): Response {
  if (response.status === 101) return response;
  try {
    response.headers.delete("x-webfw-probe");
    return response;
  } catch {
    return new Response(response.body, response);
  }
}

function jsonReply(value: unknown, status: number): Response {
  try {
    // Without options Deno takes its fastest path.
    return status === 200 ? PlatformResponse.json(value) : PlatformResponse.json(value, { status });
  } catch {
    // A bigint, or no JSON at all: stringify knows the one, and says the other clearly.
    const init = { status, headers: { "content-type": "application/json" } };
    return new Response(stringify(value), init);
  }
}

/** A stream of the platform is async iterable, too, but it holds bytes already. */
async function streamReply(
  source: AsyncIterable<unknown>,
  status: number,
  request: HttpRequest,
  stopping: Stopping,
): Promise<Response> {
  const { byteStreamReply, iterableReply } = await import("./stream_reply.ts");
  if (source instanceof ReadableStream) return byteStreamReply(source, status, request, stopping);
  return await iterableReply(source, status, request, stopping);
}

function textual(body: string, type: string, init: ResponseInit = {}): Response {
  // Another reply may be given, too, as the platform has it.
  if (!(init instanceof PlatformResponse)) checkOptions(init, RESPONSE_OPTIONS, "make the reply");
  const headers = new Headers(init.headers);
  if (!headers.has("content-type")) headers.set("content-type", type);
  return new Response(body, { status: init.status ?? 200, statusText: init.statusText ?? "", headers });
}
