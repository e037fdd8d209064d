import { isAsyncFunction } from "../binding/dependency.ts";
import { contextOf, type HttpRequest, type RequestContext } from "../http/request.ts";
import { problemReply, toHTTPError, withMutableHeaders } from "../http/reply.ts";
import { HTTPError, isHTTPError } from "../errors.ts";
import { describeError, log } from "../log.ts";

/** Middleware: functions around a handler, composed once. */

// Deno's globals are getters that load on first use: a look at each of them, for every reply, can be measured.
const { Response: PlatformResponse } = globalThis;

/** Goes on to the next middleware, or the handler, and gives its reply. It never rejects: errors come as replies. */
export type Next = (request: HttpRequest<unknown>) => Promise<Response>;

/**
 * A function around handlers: it returns `await next(request)`, changed or not, or a reply of its own.
 *
 * @example Telling who served
 * ```ts
 * import { App, type Middleware } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const signed: Middleware = async (request, next) => {
 *   const response = await next(request);
 *   response.headers.set("server", "books");
 *   return response;
 * };
 * const app = new App();
 * app.middleware(signed);
 * const response = await app.fetch(new Request("http://localhost/nothing-here"));
 * assertEquals(response.status, 404);
 * assertEquals(response.headers.get("server"), "books");
 * ```
 */
export type Middleware<State = Record<string, unknown>> = (
  request: HttpRequest<State>,
  next: Next,
) => Promise<Response>;

/** Answers a request. It never rejects. */
export type Endpoint = (request: HttpRequest) => Promise<Response>;

/** Makes the reply of an error, with headers that can be changed. It never rejects. */
export type ErrorBoundary = (
  thrown: unknown,
  request: HttpRequest,
) => Response | Promise<Response>;

/**
 * Checks a middleware.
 *
 * @throws {TypeError} When it is not an async function.
 */
export function checkMiddleware(middleware: unknown): Middleware {
  if (isAsyncFunction(middleware)) return middleware as Middleware;
  throw new TypeError(
    "Cannot add the middleware: it must be an async function, write async (request, next) => …",
  );
}

/** A step of a reply on its way outwards. */
export type ReplyStep = (context: RequestContext, response: Response) => Response;

/** Opens the headers of a reply for the middlewares that it is on its way to. One that is known to be open is not tried again. */
export function ensureMutable(context: RequestContext, response: Response): Response {
  return response === context.mutableReply ? response : context.mutableReply = withMutableHeaders(response);
}

/**
 * Lays middlewares around an endpoint.
 *
 * @param middlewares The outermost first.
 * @param endpoint What they wrap. Its replies have passed {@linkcode ensureMutable}.
 * @param toErrorReply Makes the reply of what one of them throws, so that those further out see a reply.
 * @param finalize Gets the reply of the outermost.
 */
export function compose(
  middlewares: readonly Middleware[],
  endpoint: Endpoint,
  toErrorReply: ErrorBoundary,
  finalize: ReplyStep,
): Endpoint {
  return middlewares.reduceRight<Endpoint>(
    (inner, middleware, index) => wrap(middleware, inner, toErrorReply, index === 0 ? finalize : ensureMutable),
    endpoint,
  );
}

/** One middleware costs two promises, its own and the one that is guarded, and the closures over one request. */
function wrap(
  middleware: Middleware,
  inner: Endpoint,
  toErrorReply: ErrorBoundary,
  finalize: ReplyStep,
): Endpoint {
  return (request) => {
    const context = contextOf(request);
    let passed: Promise<Response> | undefined;
    const next: Next = (passedOn) => {
      if (passed) return Promise.reject(new TypeError("Cannot call next() again: one request has one reply"));
      return passed = inner((passedOn ?? request) as HttpRequest);
    };
    const fail = async (thrown: unknown): Promise<Response> => {
      // Nobody will read the reply from further in; a stream has to be told.
      (await passed)?.body?.cancel().catch(() => {});
      return finalize(context, await toErrorReply(thrown, request));
    };
    const accept = (response: Response): Response | Promise<Response> => {
      try {
        if (!(response instanceof PlatformResponse)) throw noResponse(middleware);
        return finalize(context, response);
      } catch (mistake) {
        return fail(mistake);
      }
    };
    return middleware(request, next).then(accept, fail);
  };
}

function noResponse({ name }: Middleware): TypeError {
  const subject = name === "" ? "A middleware" : `The middleware "${name}"`;
  return new TypeError(`${subject} returned no Response: return await next(request), or a reply of its own`);
}

/** The boundary where errors become replies. */

/**
 * Shapes an error reply: gives the reply, or nothing for the default one. An error that is no `HTTPError` comes as a 500 with
 * the error as its `cause`.
 */
export type ErrorHandler<State = Record<string, unknown>> = (
  error: HTTPError,
  request: HttpRequest<State>,
) => Response | void | Promise<Response | void>;

/** The boundary, with or without an application's own shape of replies. */
export function errorBoundary(handler: ErrorHandler | undefined): ErrorBoundary {
  return async (thrown, request) => {
    const error = toHTTPError(thrown);
    report(thrown, request);
    try {
      const reply = await handler?.(error, request);
      if (reply === undefined || reply === null) return problemReply(error);
      if (reply instanceof Response) return withMutableHeaders(reply);
      throw new TypeError(`Cannot reply with what onError returned: got ${typeof reply}, wanted a Response or nothing`);
    } catch (failure) {
      log("error", "Shaping an error reply failed", {
        error: describeError(failure),
      });
      return problemReply(new HTTPError(500));
    }
  };
}

/** Logs what the client is not told. */
function report(thrown: unknown, request: HttpRequest): void {
  const cause = isHTTPError(thrown) ? (thrown.status >= 500 ? thrown.cause : undefined) : thrown;
  if (cause === undefined && isHTTPError(thrown)) return;
  log("error", "A request failed", {
    method: request.method,
    path: request.path,
    route: request.route?.path,
    error: describeError(cause),
  });
}
