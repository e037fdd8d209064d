/** Alternatives, of which a client needs one: security schemes, or guards. */
import { HTTPError, isHTTPError } from "../base/errors.ts";
import { contextOf } from "../http/request.ts";
import { isThrownReply, type ThrownReply } from "../http/reply.ts";
import {
  type Dependency,
  type DependencyValue,
  isDependency,
  type NeededState,
  type PreparedDependency,
} from "./dependency.ts";
import type { Mistake } from "../schema/schema.ts";
import { InnerGuard, type Made, makeGuard, sharedDeps } from "./guard.ts";
import { alternatives, type SecurityRequirement } from "./security.ts";

/** An alternative of {@linkcode anySecurity}: security schemes, or a guard. */
export type Alternative = SecurityRequirement | Dependency<unknown, never>;

/**
 * What {@linkcode anySecurity} makes of alternatives: of guards a guard, of schemes a requirement.
 */
export type AnySecurity<Ways extends readonly unknown[]> = [Ways[number]] extends [Dependency<unknown, never>]
  ? Dependency<DependencyValue<Ways[number]>, NeededState<Ways[number]>>
  : [Extract<Ways[number], Dependency<unknown, never>>] extends [never] ? SecurityRequirement
  // After a mistake in a scheme, the compiler takes any alternatives, and has its own message.
  : number extends Ways["length"] ? SecurityRequirement
  : Mistake<"Combine guards or security schemes, not both">;

/**
 * Declares alternatives, of which a client needs one.
 *
 * Of guards it makes one guard. They are tried in order, and the value is that of the first that
 * lets the caller in. If none does, the reply is 401 with the challenges of all, unless a guard
 * refused for another reason than that: then it is the reply of that guard.
 *
 * Of security schemes it makes a value of the option `security`. The function of the dependency
 * then reads the credentials.
 *
 * @param ways The alternatives: guards, or security schemes. An empty requirement makes
 * authentication optional.
 * @throws {TypeError} If guards and security schemes are mixed.
 *
 * @example A token or a key
 * ```ts
 * import { anySecurity, App } from "@webfw/core";
 * import { apiKey, bearer } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const user = bearer(async (token) => token === "t-1" && { name: "Ada" });
 * const partner = apiKey(async (key) => key === "k-1" && { name: "Lovelace & Co" }, { in: "header", name: "x-key" });
 * const caller = anySecurity(user, partner);
 *
 * const app = new App();
 * app.get("/name", { deps: { caller } }, async (_request, { caller }) => caller.name);
 * const ask = (headers: HeadersInit) => app.fetch(new Request("http://localhost/name", { headers }));
 * assertEquals(await (await ask({ authorization: "Bearer t-1" })).json(), "Ada");
 * assertEquals(await (await ask({ "x-key": "k-1" })).json(), "Lovelace & Co");
 * assertEquals((await ask({})).status, 401);
 * assertEquals(app.openapi().paths["/name"]?.get?.security, [{ bearer: [] }, { apiKey: [] }]);
 * ```
 *
 * @example Security schemes: a token or a session cookie; an optional token
 * ```ts
 * import { anySecurity, App, dependency, type SecurityScheme } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const bearer: SecurityScheme = { type: "http", scheme: "bearer" };
 * const session: SecurityScheme = { type: "apiKey", in: "cookie", name: "sid" };
 *
 * const user = dependency({ security: anySecurity({ bearer }, { session }) }, async () => "Ada");
 * const guest = dependency({ security: anySecurity({}, { bearer }) }, async () => undefined);
 *
 * const app = new App();
 * app.get("/me", { deps: { user } }, async (_request, { user }) => user);
 * app.get("/", { deps: { guest } }, async () => "Welcome");
 * const { paths } = app.openapi();
 * assertEquals(paths["/me"]?.get?.security, [{ bearer: [] }, { session: [] }]);
 * assertEquals(paths["/"]?.get?.security, [{}, { bearer: [] }]);
 * ```
 *
 * @category Dependencies
 */
// One signature: with two, the compiler would say only that no overload matches.
export function anySecurity<Ways extends readonly [Alternative, ...Alternative[]]>(
  ...ways: Ways
): AnySecurity<Ways> {
  const guards = ways.filter(isDependency);
  const made = guards.length === 0
    ? alternatives(ways as readonly SecurityRequirement[])
    : anyGuard(guards, ways.length);
  return made as AnySecurity<Ways>;
}

function anyGuard(guards: readonly PreparedDependency[], count: number): PreparedDependency {
  const name = guards.map((guard) => guard.name).join(" or ");
  if (guards.length < count) {
    throw new TypeError(
      `Cannot combine ${name}: anySecurity() takes guards or security schemes, and not both, declare a guard for each scheme`,
    );
  }
  const shared = new Map<PreparedDependency, string>();
  const inner = guards.map((guard) => new InnerGuard(guard, shared));
  /** Where a request keeps the guard that admitted it. */
  const winners = {};
  const senders = guards.flatMap(({ isSent }) => isSent ?? []);
  return makeGuard({
    name,
    security: inner.flatMap(({ security }) => security),
    replies: inner.flatMap(({ replies }) => replies),
    issuers: inner.flatMap(({ issuers }) => issuers),
    starts: inner.flatMap(({ starts }) => starts),
    inner: { guards, combine: (others) => anyGuard(others, count) },
    deps: sharedDeps(shared),
    isSent: senders.length < count ? undefined : (request) => senders.some((isSent) => isSent(request)),
    callerOf: async (request) => {
      const { guard, made } = contextOf(request).kept.get(winners) as Winner;
      const caller = await guard.callerOf(request, made);
      // Two guards may have one name, and subjects of their own.
      return caller === undefined ? undefined : JSON.stringify([inner.indexOf(guard), guard.dependency.name, caller]);
    },
    resolve: async (request, args) => {
      const made: Made = new Map();
      const refusals: Refusal[] = [];
      let redirection: ThrownReply | undefined;
      for (const guard of inner) {
        try {
          const value = await guard.run(request, made, args);
          contextOf(request).kept.set(winners, { guard, made } satisfies Winner);
          return value;
        } catch (thrown) {
          // Only a refusal leads to the next guard; a fault must not be hidden.
          if (isThrownReply(thrown)) redirection ??= thrown;
          else if (!isHTTPError(thrown)) throw thrown;
          else refusals.push({ error: thrown, isSent: guard.dependency.isSent?.(request) ?? false });
        }
      }
      const refusal = refusals.length === 0 ? undefined : together(refusals);
      const isUnknown = !refusals.some(({ isSent }) => isSent) && (refusal?.status ?? 401) === 401;
      throw redirection && isUnknown ? redirection : refusal;
    },
  });
}

/** The guard that admitted a request, and what the guards of this request have made. */
interface Winner {
  readonly guard: InnerGuard;
  readonly made: Made;
}

/** The refusal of one guard. */
interface Refusal {
  readonly error: HTTPError;
  /** Whether the request has credentials for it. */
  readonly isSent: boolean;
}

/** The refusals that say least: 401 that nobody is known, 422 that credentials are malformed. */
const WEAKEST = [401, 422, 403];

/** The reply when no guard lets the caller in. */
function together(refusals: readonly Refusal[]): HTTPError {
  const rank = ({ error }: Refusal) => WEAKEST.indexOf(error.status) + 1 || WEAKEST.length + 1;
  const strongest = refusals.reduce((best, refusal) => rank(refusal) > rank(best) ? refusal : best);
  if (strongest.error.status !== 401) return strongest.error;
  const headers = new Headers();
  for (const { error } of refusals) {
    const challenge = new Headers(error.headers).get("www-authenticate");
    if (challenge !== null) headers.append("www-authenticate", challenge);
  }
  const sent = refusals.find(({ isSent }) => isSent);
  // Who has sent no credentials is told each way in.
  const details = new Set(sent ? [sent.error.detail] : refusals.map(({ error }) => error.detail));
  return new HTTPError(401, [...details].join(". Or: "), { headers });
}
