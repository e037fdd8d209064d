/** Guards that accept requests without credentials. */
import { callerThrough, InnerGuard, makeGuard, sharedDeps } from "../binding/guard.ts";
import { type Dependency, isDependency, type PreparedDependency } from "../binding/dependency.ts";
import { quote } from "../base/options.ts";

/**
 * A guard that accepts a request without credentials, with the value null. Wrong credentials are
 * refused. For guards of tokens, any `Authorization` header counts as credentials; for several
 * kinds, write `optional(anySecurity(…))`.
 *
 * @param guard A guard of `@webfw/core/auth`, or `anySecurity` of such guards.
 * @throws {TypeError} If another dependency is given: it cannot distinguish missing credentials.
 *
 * @example A greeting for guests, too
 * ```ts
 * import { App } from "@webfw/core";
 * import { bearer, optional } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const user = bearer(async (token) => token === "f2a9" && { name: "Ada" });
 *
 * const app = new App();
 * app.get("/", { deps: { user: optional(user) } }, async (_request, { user }) => `Hello, ${user?.name ?? "guest"}`);
 * const ask = (headers: HeadersInit) => app.fetch(new Request("http://localhost/", { headers }));
 * assertEquals(await (await ask({})).json(), "Hello, guest");
 * assertEquals(await (await ask({ authorization: "Bearer f2a9" })).json(), "Hello, Ada");
 * assertEquals((await ask({ authorization: "Bearer wrong" })).status, 401);
 * assertEquals(app.openapi().paths["/"]?.get?.security, [{ bearer: [] }, {}]);
 * ```
 *
 * @category Dependencies
 */
export function optional<Value, State>(guard: Dependency<Value, State>): Dependency<Value | null, State> {
  const given: unknown = guard;
  if (!isDependency(given)) {
    throw new TypeError(`Cannot make a guard optional: it must be one of @webfw/core/auth, got ${quote(given)}`);
  }
  const { name, isSent } = given;
  if (!isSent) {
    throw new TypeError(
      `Cannot make ${name} optional: only guards of @webfw/core/auth know whether credentials were sent, ` +
        `return null from its function instead`,
    );
  }
  const shared = new Map<PreparedDependency, string>();
  const inner = new InnerGuard(given, shared);
  return makeGuard<Value | null, State>({
    name: `optional ${name}`,
    security: [...inner.security, new Map()],
    replies: inner.replies,
    issuers: inner.issuers,
    starts: inner.starts,
    inner: { guards: [given], combine: ([guard]) => optional(guard!) as PreparedDependency },
    deps: sharedDeps(shared),
    isSent,
    callerOf: (request, value) => value === null ? undefined : callerThrough(given, request, value),
    resolve: async (request, args) => isSent(request) ? await inner.run(request, new Map(), args) as Value : null,
  });
}
