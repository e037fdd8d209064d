/** Makes replies: of handlers' results, of errors, and by the helpers that handlers use. */
import { HTTPError, isHTTPError } from "../errors.ts";
import { stringify } from "./json.ts";
import { iterableReply } from "./stream_reply.ts";

/** Keeps a browser from taking a reply for something else than its content type says. */
const NOSNIFF = { "x-content-type-options": "nosniff" };

/** How the results of a route become replies. */
export interface ReplyFormat {
  /** The status of a success; undefined where the route does not say. */
  readonly status: number | undefined;
  /** What a JSON reply is made with. */
  readonly json: ResponseInit;
}

/** Prepares the replies of a route. */
export function replyFormat(status: number | undefined): ReplyFormat {
  return {
    status,
    json: {
      status: status ?? 200,
      headers: { "content-type": "application/json", ...NOSNIFF },
    },
  };
}

/**
 * Makes a reply of what a handler returned.
 *
 * @param result What it returned.
 * @param format How the route answers.
 * @param stopping Is aborted when the server stops.
 * @throws {TypeError} When the result has no JSON form.
 */
export function toReply(
  result: unknown,
  format: ReplyFormat,
  stopping: AbortSignal,
): Response | Promise<Response> {
  if (typeof result === "object" && result !== null) {
    if (result instanceof Response) return result;
    if (result instanceof ReadableStream || result instanceof Blob) {
      return bytesReply(result, format);
    }
    if (Symbol.asyncIterator in result) {
      const init = { status: format.status ?? 200, headers: NOSNIFF };
      return iterableReply(result as AsyncIterable<unknown>, init, stopping);
    }
  }
  if (result === undefined) return emptyReply(format);
  return new Response(stringify(result), format.json);
}

/**
 * A reply of plain text.
 *
 * @param body The text.
 * @param init The status and further headers.
 *
 * @example Plain text
 * ```ts
 * import { App, text } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const app = new App();
 * app.get("/robots.txt", async () => text("User-agent: *"));
 * const response = await app.fetch(new Request("http://localhost/robots.txt"));
 * assertEquals(response.headers.get("content-type"), "text/plain; charset=utf-8");
 * ```
 */
export function text(body: string, init: ResponseInit = {}): Response {
  return textual(body, "text/plain; charset=utf-8", init);
}

/**
 * A reply of HTML. Nothing is escaped: that is the work of whatever made the markup.
 *
 * @param body The markup.
 * @param init The status and further headers.
 *
 * @example A page
 * ```ts
 * import { html } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const response = html("<h1>Books</h1>", { status: 201 });
 * assertEquals(response.headers.get("content-type"), "text/html; charset=utf-8");
 * assertEquals(response.status, 201);
 * ```
 */
export function html(body: string, init: ResponseInit = {}): Response {
  return textual(body, "text/html; charset=utf-8", init);
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
      `Cannot redirect: the status must be 301, 302, 303, 307 or 308, got ${status}`,
    );
  }
  // A header carries only ASCII; what is already escaped stays as it is.
  const ascii = String(location).replace(/[^\x21-\x7e]+/g, encodeURIComponent);
  return new Response(null, {
    status,
    headers: { location: ascii, ...NOSNIFF },
  });
}

/** The reply of an error, as RFC 9457 describes it. */
export function problemReply(error: HTTPError): Response {
  const response = new Response(stringify(error.toProblem()), {
    status: error.status,
    headers: { "content-type": "application/problem+json", ...NOSNIFF },
  });
  if (error.headers) {
    for (const [name, value] of new Headers(error.headers)) {
      if (name === "set-cookie") response.headers.append(name, value);
      else response.headers.set(name, value);
    }
  }
  return response;
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
export function withOpenHeaders(response: Response): Response {
  if (response.status === 101) return response;
  try {
    response.headers.delete("x-webfw-probe");
    return response;
  } catch {
    return new Response(response.body, response);
  }
}

function emptyReply({ status }: ReplyFormat): Response {
  return new Response(null, { status: status ?? 204, headers: NOSNIFF });
}

function bytesReply(
  body: ReadableStream | Blob,
  { status }: ReplyFormat,
): Response {
  const type = body instanceof Blob && body.type !== "" ? body.type : "application/octet-stream";
  return new Response(body, {
    status: status ?? 200,
    headers: { "content-type": type, ...NOSNIFF },
  });
}

function textual(body: string, type: string, init: ResponseInit): Response {
  if (init.headers === undefined) {
    return new Response(body, {
      ...init,
      headers: { "content-type": type, ...NOSNIFF },
    });
  }
  const headers = new Headers(init.headers);
  if (!headers.has("content-type")) headers.set("content-type", type);
  headers.set("x-content-type-options", "nosniff");
  return new Response(body, { ...init, headers });
}
