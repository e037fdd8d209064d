/** Middleware: functions around a handler, composed once. */
import { isAsyncFunction } from "../binding/async_function.ts";
import type { HttpRequest } from "../http/request.ts";
import { withOpenHeaders } from "../http/reply.ts";

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

/** Makes the reply of an error. */
export type Recover = (
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

/**
 * Lays middlewares around an endpoint.
 *
 * @param middlewares The outermost first.
 * @param endpoint What they surround.
 * @param recover Makes the reply of what one of them throws, so that those further out see a reply.
 */
export function compose(
  middlewares: readonly Middleware[],
  endpoint: Endpoint,
  recover: Recover,
): Endpoint {
  if (middlewares.length === 0) return endpoint;
  const innermost: Endpoint = async (request) => withOpenHeaders(await endpoint(request));
  return middlewares.reduceRight<Endpoint>(
    (inner, middleware) => surround(middleware, inner, recover),
    innermost,
  );
}

function surround(
  middleware: Middleware,
  inner: Endpoint,
  recover: Recover,
): Endpoint {
  return async (request) => {
    let passed: Promise<Response> | undefined;
    const next: Next = (passedOn) => {
      if (passed) return Promise.reject(new TypeError("Cannot call next() again: one request has one reply"));
      return passed = inner((passedOn ?? request) as HttpRequest);
    };
    try {
      const response = await middleware(request, next);
      if (response instanceof Response) return withOpenHeaders(response);
      const name = middleware.name === "" ? "A middleware" : `The middleware "${middleware.name}"`;
      throw new TypeError(
        `${name} returned no Response: return await next(request), or a reply of its own`,
      );
    } catch (thrown) {
      // Nobody will read the reply from further in; a stream has to be told.
      (await (passed as Promise<Response> | undefined))?.body?.cancel().catch(() => {});
      return withOpenHeaders(await recover(thrown, request));
    }
  };
}
