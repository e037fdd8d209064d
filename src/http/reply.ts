/**
 * Replies: of handlers' results, of errors, and those that handlers make by `text`, `html` and
 * `redirect`.
 */
import { load } from "../base/async_context.ts";
import { HTTPError, isHTTPError } from "../base/errors.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { redactUrl } from "../log/redaction.ts";
import { stringify } from "./json.ts";
import { acceptReply, noteText, ownReply } from "./own_reply.ts";
import type { RateLimitItem, RequestContext } from "./context.ts";
import { contextOf, type HttpRequest } from "./request.ts";
import { EventStream } from "./sse/sse.ts";
import type { Stopping } from "./stream_reply.ts";
import { WITHOUT_BODY } from "./without_body.ts";

// Deno's globals are lazy getters. Reading them for each reply has a measurable cost.
const { Response: PlatformResponse, Blob: PlatformBlob } = globalThis;

/** The platform's own type for strings: it makes replies of that type on its fastest path. */
const TEXT = "text/plain;charset=UTF-8";
const HTML = "text/html;charset=UTF-8";
const PROBLEM = { "content-type": "application/problem+json" };

const RESPONSE_OPTIONS: OptionNames<ResponseInit> = { status: true, statusText: true, headers: true };

/**
 * Makes the reply of a handler's result.
 *
 * @param result The result.
 * @param status The status of a success, if the route declares one.
 * @param request The request.
 * @param stopping Gives the signal that is aborted when the server stops.
 * @throws {TypeError} If the result has no JSON form.
 */
export function toReply(
  result: unknown,
  status: number | undefined,
  request: HttpRequest,
  stopping: Stopping,
): Response | Promise<Response> {
  if (typeof result === "object" && result !== null) {
    if (result instanceof PlatformResponse) return acceptReply(contextOf(request), result);
    if (result instanceof EventStream) {
      return load(() => import("./sse/reply.ts")).then(({ eventReply }) =>
        eventReply(result, request, status ?? 200, stopping)
      );
    }
    if (Symbol.asyncIterator in result) {
      return streamReply(result as AsyncIterable<unknown>, status ?? 200, request, stopping);
    }
    if (result instanceof PlatformBlob) {
      return load(() => import("./files/conditional.ts")).then(({ blobReply }) =>
        blobReply(result, status ?? 200, request)
      );
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
 * @throws {TypeError} If an option is unknown.
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
 *
 * @category Requests and replies
 */
export function text(body: string, init?: ResponseInit): Response {
  if (init !== undefined) return textual(body, TEXT, init);
  return noteText(new PlatformResponse(body), body);
}

/**
 * A reply of HTML. It escapes nothing: the template that makes the markup has to do it.
 *
 * @param body The markup.
 * @param init The status and further headers.
 * @throws {TypeError} If an option is unknown.
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
 *
 * @category Requests and replies
 */
export function html(body: string, init?: ResponseInit): Response {
  return textual(body, HTML, init);
}

/**
 * A reply that redirects the client.
 *
 * @param location The target: a URL or a path. Never take it from a client unchecked.
 * @param status One of 301, 302, 303, 307 and 308. With 303 the client continues with a GET.
 * @throws {RangeError} If the status is not one of these.
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
 *
 * @category Requests and replies
 */
export function redirect(location: string | URL, status = 303): Response {
  if (![301, 302, 303, 307, 308].includes(status)) {
    throw new RangeError(
      `Cannot redirect: the status must be 301, 302, 303, 307 or 308, got ${quote(status)}`,
    );
  }
  // Headers are ASCII. Escapes in the location stay as they are.
  const ascii = String(location).toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
  return new Response(null, { status, headers: { location: ascii } });
}

/** The reply of an error in the format of RFC 9457. */
export function problemReply(error: HTTPError): Response {
  const init = { status: error.status, headers: PROBLEM };
  const problem = error.toProblem();
  // Applications take it from the URL of the request.
  if (typeof problem.instance === "string") problem.instance = redactUrl(problem.instance);
  const response = new Response(stringify(problem), init);
  if (error.headers) setHeaders(response, new Headers(error.headers));
  return response;
}

/** Sets headers of a reply. `set-cookie` is added, because a reply can have several. */
function setHeaders(response: Response, headers: Headers): void {
  for (const [name, value] of headers) {
    if (name === "set-cookie") response.headers.append(name, value);
    else response.headers.set(name, value);
  }
}

/**
 * Adds the headers of limits to a reply of the request's own. Through `replyHeaders` it would cost
 * three times as much.
 */
export function placeRateLimit(limits: readonly RateLimitItem[], { headers }: Response): void {
  headers.set("ratelimit-policy", limits.map(({ policy }) => policy).join(", "));
  headers.set("ratelimit", limits.map(({ rest }) => rest).join(", "));
}

/** Adds `request.replyHeaders` to a reply or a copy of it, those that are on no reply yet. */
export function placeHeaders(context: RequestContext, response: Response): Response {
  const { replyHeaders } = context;
  if (!replyHeaders) return response;
  takeOver(context);
  const reply = ownReply(context, response);
  setHeaders(reply, replyHeaders);
  return reply;
}

/**
 * The headers that describe the content of a success, say where it is, or let caches keep it.
 * `content-security-policy` does not describe the content.
 */
const OF_SUCCESS =
  /^(?:content-(?!security-policy)|repr-digest$|digest$|etag$|last-modified$|accept-ranges$|location$|refresh$|expires$|age$|(?:[\w-]+-)?cache-control$|surrogate-control$|transfer-encoding$|trailer$)/;

/**
 * Adds `request.replyHeaders` to an error reply of the request's own, also those that were on the
 * reply whose place it takes. They replace nothing, and what belongs to a success is left out.
 */
export function placeErrorHeaders(context: RequestContext, response: Response): Response {
  takeOver(context);
  if (context.rateLimit) placeRateLimit(context.rateLimit, response);
  if (!context.placedHeaders) return response;
  for (const [name, value] of context.placedHeaders) {
    if (name === "set-cookie") response.headers.append(name, value);
    else if (!response.headers.has(name) && survivesError(name, value)) response.headers.set(name, value);
  }
  return response;
}

function survivesError(name: string, value: string): boolean {
  return !OF_SUCCESS.test(name) || (name === "cache-control" && /\bno-store\b/i.test(value));
}

/** Marks the headers of a request as those of a reply. */
function takeOver(context: RequestContext): void {
  const { replyHeaders, placedHeaders } = context;
  if (!replyHeaders) return;
  if (!placedHeaders) context.placedHeaders = replyHeaders;
  else {
    for (const [name, value] of replyHeaders) {
      if (name === "set-cookie") placedHeaders.append(name, value);
      else placedHeaders.set(name, value);
    }
  }
  context.replyHeaders = undefined;
}

/**
 * Ends a request with a reply, from a place that can only return a value or throw: a guard that
 * redirects. It is neither logged nor shaped by `onError`.
 */
export class ThrownReply extends Error {
  /** The name of the class, for logs. */
  override readonly name = "ThrownReply";
  /** The reply. Its headers are mutable. */
  readonly reply: Response;

  /** Wraps a reply, which can be sent once. */
  constructor(reply: Response) {
    super("A reply");
    this.reply = reply;
  }
}

/** Whether a thrown value is a {@linkcode ThrownReply}. */
export function isThrownReply(thrown: unknown): thrown is ThrownReply {
  try {
    return thrown instanceof ThrownReply;
  } catch {
    // A proxy may throw for any operation.
    return false;
  }
}

/** The error that a client sees for a thrown value: the value, or a 500 without the cause. */
export function toHTTPError(thrown: unknown): HTTPError {
  return isHTTPError(thrown) ? thrown : new HTTPError(500, undefined, { cause: thrown });
}

/** The reply to a HEAD request: the same headers without the body. */
export function withoutBody(response: Response): Response {
  response.body?.cancel().catch(() => {});
  return new Response(null, response);
}

function jsonReply(value: unknown, status: number): Response {
  try {
    // Deno's fastest path needs a call without options.
    return status === 200 ? PlatformResponse.json(value) : PlatformResponse.json(value, { status });
  } catch {
    if (WITHOUT_BODY.has(status)) {
      throw new TypeError(
        `Cannot reply with the result: the status ${status} has no body, return nothing or leave out the status`,
      );
    }
    // The result has a bigint, which stringify() writes, or no JSON form, which it reports.
    const init = { status, headers: { "content-type": "application/json" } };
    return new Response(stringify(value), init);
  }
}

async function streamReply(
  source: AsyncIterable<unknown>,
  status: number,
  request: HttpRequest,
  stopping: Stopping,
): Promise<Response> {
  const { byteStreamReply, iterableReply } = await load(() => import("./stream_reply.ts"));
  if (source instanceof ReadableStream) return byteStreamReply(source, status, request, stopping);
  return await iterableReply(source, status, request, stopping);
}

function textual(body: string, type: string, init: ResponseInit = {}): Response {
  // The platform also accepts a Response as options.
  if (!(init instanceof PlatformResponse)) checkOptions(init, RESPONSE_OPTIONS, "make the reply");
  const headers = new Headers(init.headers);
  if (!headers.has("content-type")) headers.set("content-type", type);
  const response = new Response(body, { status: init.status ?? 200, statusText: init.statusText ?? "", headers });
  return noteText(response, body);
}
