/** Replies of handlers' results and errors, and `text`, `html`, `redirect` and `file`. */
import { load } from "../base/async_context.ts";
import { HTTPError, isHTTPError } from "../base/errors.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { redactUrl } from "../log/redaction.ts";
import { mountedOf } from "./connection.ts";
import { stringify } from "./json.ts";
import type { RequestContext } from "./context.ts";
import { rememberText, setHeaders } from "./reply_state.ts";
import { EventStream } from "./sse/sse.ts";
import type { Stopping } from "./stream_reply.ts";
import type { FileOptions } from "./files/served_file.ts";

// Deno's globals are lazy getters, which have a measurable cost for each reply.
const { Response: PlatformResponse, Blob: PlatformBlob } = globalThis;

/** The platform throws for a `Response` with a body and one of these statuses. */
export const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The platform's own type for strings, with its fastest path. */
const TEXT = "text/plain;charset=UTF-8";
const HTML = "text/html;charset=UTF-8";
const PROBLEM = { "content-type": "application/problem+json" };

const RESPONSE_OPTIONS: OptionNames<ResponseInit> = { status: true, statusText: true, headers: true };

/** Makes the reply of a handler's result. `status` is that of a success, if declared. */
export function toReply(
  result: unknown,
  status: number | undefined,
  context: RequestContext,
  stopping: Stopping,
): Response | Promise<Response> {
  if (typeof result === "object" && result !== null) {
    if (result instanceof PlatformResponse) return context.reply.useResponse(result, context.isServed);
    if (result instanceof EventStream) {
      return load(() => import("./sse/reply.ts")).then(({ eventReply }) =>
        eventReply(result, context, status ?? 200, stopping)
      );
    }
    if (Symbol.asyncIterator in result) {
      return streamReply(result as AsyncIterable<unknown>, status ?? 200, context, stopping);
    }
    if (result instanceof PlatformBlob) {
      return load(() => import("./files/conditional.ts")).then(({ blobReply }) =>
        blobReply(result, status ?? 200, context)
      );
    }
  }
  if (result === undefined) return new PlatformResponse(null, { status: status ?? 204 });
  return jsonReply(result, status ?? 200);
}

/**
 * A reply of plain text.
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
  return rememberText(new PlatformResponse(body), body);
}

/**
 * A reply of HTML. It escapes nothing: the template has to.
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
 * @param location A URL or a path. Never take it from a client unchecked.
 * @param status 301, 302, 303, 307 or 308. With 303 the client continues with a GET.
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
  // Headers are ASCII. Escapes in the location are kept.
  const ascii = String(location).toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
  return new Response(null, { status, headers: { location: ascii } });
}

/**
 * Whether the request has the path of a mount without a slash. The mounted application sees `/`,
 * but relative links of its page would begin above the mount.
 */
export function isMountWithoutSlash({ connection, path }: RequestContext): boolean {
  return mountedOf(connection)?.isWithoutSlash === true && path === "/";
}

export function redirectToSlash(context: RequestContext): Response {
  const path = isMountWithoutSlash(context) ? context.basePath : context.path;
  const query = context.raw.url.slice(context.pathEnd).replace(/#.*$/s, "");
  // Relative, because a proxy may strip a prefix without reporting it.
  return redirect(`./${path.slice(path.lastIndexOf("/") + 1)}/${query}`, 301);
}

/** In the format of RFC 9457. */
export function problemReply(error: HTTPError): Response {
  const init = { status: error.status, headers: PROBLEM };
  const problem = error.toProblem();
  // Applications take it from the URL of the request.
  if (typeof problem.instance === "string") problem.instance = redactUrl(problem.instance);
  const response = new Response(stringify(problem), init);
  if (error.headers) setHeaders(response.headers, new Headers(error.headers));
  return response;
}

/**
 * Ends a request with a reply, from code that can only return a value or throw, such as a guard
 * that redirects. It is neither logged nor passed to `onError`.
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

export function isThrownReply(thrown: unknown): thrown is ThrownReply {
  try {
    return thrown instanceof ThrownReply;
  } catch {
    // A proxy may throw for any operation.
    return false;
  }
}

/** The value, or a 500 that hides it from the client. */
export function toHTTPError(thrown: unknown): HTTPError {
  return isHTTPError(thrown) ? thrown : new HTTPError(500, undefined, { cause: thrown });
}

/** The reply to a HEAD request. */
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
  context: RequestContext,
  stopping: Stopping,
): Promise<Response> {
  const { byteStreamReply, iterableReply } = await load(() => import("./stream_reply.ts"));
  if (source instanceof ReadableStream) return byteStreamReply(source, status, context, stopping);
  return await iterableReply(source, status, context, stopping);
}

function textual(body: string, type: string, init: ResponseInit = {}): Response {
  // The platform also accepts a Response as options.
  if (!(init instanceof PlatformResponse)) checkOptions(init, RESPONSE_OPTIONS, "make the reply");
  const headers = new Headers(init.headers);
  if (!headers.has("content-type")) headers.set("content-type", type);
  const response = new Response(body, { status: init.status ?? 200, statusText: init.statusText ?? "", headers });
  return rememberText(response, body);
}

const FILE_OPTIONS: OptionNames<FileOptions> = { root: true, type: true, filename: true };

/**
 * A file on disk, for a handler to return. Its bytes are read while they are sent.
 *
 * Replies to GET and HEAD have `ETag` and `Last-Modified`, and obey conditions and one `Range`, so
 * that downloads can resume.
 *
 * With `root`, the path can come from a client: the file is always within the folder, and no part
 * of its path begins with a dot, even behind links. Without it, the path must be trusted.
 *
 * @throws {HTTPError} With 404 if there is no such file. A missing `root` is logged as well.
 *
 * @example A folder of downloads
 * ```ts
 * import { App, file } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${root}/notes.txt`, "0123456789");
 *
 * const app = new App();
 * app.get("/files/{path...}", async (_request, { path }) => await file(path, { root }));
 *
 * const request = new Request("http://localhost/files/notes.txt", { headers: { range: "bytes=2-4" } });
 * const part = await app.fetch(request);
 * assertEquals([part.status, await part.text()], [206, "234"]);
 *
 * const outside = await file("../../etc/passwd", { root }).catch((error) => error.status);
 * assertEquals(outside, 404);
 * await Deno.remove(root, { recursive: true });
 * ```
 *
 * @category Requests and replies
 */
export async function file(path: string | URL, options: FileOptions = {}): Promise<File> {
  checkOptions(options, FILE_OPTIONS, "send the file");
  const { openFile } = await load(() => import("./files/served_file.ts"));
  return await openFile(path, options);
}
