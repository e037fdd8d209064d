/** Guards that the framework makes itself, guards inside of them, and their callers. */
import { HTTPError, isHTTPError } from "../base/errors.ts";
import { quote } from "../base/options.ts";
import { isThrownReply, type ThrownReply } from "../http/reply.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { hideHeader, hideInQuery } from "../log/redaction.ts";
import type { Mistake } from "../schema/schema.ts";
import {
  type DeclaredReply,
  type Dependency,
  type DependencyValue,
  isDependency,
  type NeededState,
  type PreparedDependency,
  type Start,
  withNeeded,
} from "./dependency.ts";
import { isGuard } from "./levels.ts";
import { resolveOne } from "./resolver.ts";
import {
  alternatives,
  combineAlternatives,
  type SecurityAlternative,
  type SecurityRequirement,
  type SecurityScheme,
} from "./security.ts";
import { type Args, bindAnyText, NO_PATH, ownerOf, TextFields } from "./text_fields.ts";

/** The parts of a guard, which reads the request itself, so it has no inputs. */
interface GuardParts<Value>
  extends
    Pick<PreparedDependency, "name" | "security" | "replies" | "isSent">,
    Partial<Pick<PreparedDependency, "issuers" | "starts" | "inner" | "callerOf" | "cookie" | "readHeaders">> {
  /** Other dependencies that it needs, by the names of its arguments. */
  readonly deps?: Readonly<Record<string, Dependency<unknown, never>>>;
  /** Makes the value, or rejects; it never throws. */
  readonly resolve: (request: HttpRequest, args: Record<string, unknown>) => Promise<Value>;
}

export function makeGuard<Value, State>(
  { deps = {}, issuers = [], starts = [], inner, ...parts }: GuardParts<Value>,
): PreparedDependency & Dependency<Value, State> {
  const prepared: PreparedDependency = {
    kind: "dependency",
    options: {},
    deps: new Map(Object.entries(deps as Readonly<Record<string, PreparedDependency>>)),
    cleansUp: false,
    endsWithHandler: false,
    issuers,
    starts,
    inner,
    ...parts,
  };
  return prepared as PreparedDependency & Dependency<Value, State>;
}

/** The values of the inner guards of one request, each made once. */
export type Made = Map<PreparedDependency, Promise<unknown>>;

/**
 * A guard that another guard runs itself, because its refusal is not final. It makes its
 * dependencies itself.
 */
export class InnerGuard {
  readonly dependency: PreparedDependency;
  readonly #fields: TextFields;
  /** The dependencies that it makes, by the names of its arguments. */
  readonly #needs: ReadonlyMap<string, InnerGuard>;
  /** The names of other dependencies among the shared ones, by argument. */
  readonly #shared: ReadonlyMap<string, string>;

  /**
   * @param shared Collects the dependencies that the route makes, with a name for each. Those that
   * are no guards, such as a connection, are made once for the whole request. Without it the guard
   * makes all that it needs.
   * @throws {RouteError} If the guard has inputs in the path, which it does not know, or binds a
   * name twice.
   */
  constructor(dependency: PreparedDependency, shared?: Map<PreparedDependency, string>) {
    const needs = new Map<string, InnerGuard>();
    const others = new Map<string, string>();
    for (const [argument, needed] of dependency.deps) {
      if (!shared || isGuard(needed)) needs.set(argument, new InnerGuard(needed, shared));
      else {
        if (!shared.has(needed)) shared.set(needed, `shared${shared.size}`);
        others.set(argument, shared.get(needed)!);
      }
    }
    this.dependency = dependency;
    this.#fields = new TextFields([ownerOf(dependency)], NO_PATH);
    this.#needs = needs;
    this.#shared = others;
  }

  // These include the dependencies that it makes.

  get security(): readonly SecurityAlternative[] {
    return combineAlternatives(this.#all.map(({ security }) => security));
  }

  get replies(): readonly DeclaredReply[] {
    return this.#all.flatMap(({ replies }) => replies);
  }

  get starts(): readonly Start[] {
    return this.#all.flatMap(({ starts }) => starts);
  }

  get issuers(): readonly string[] {
    return this.#all.flatMap(({ issuers }) => issuers);
  }

  get #all(): readonly (InnerGuard | PreparedDependency)[] {
    return [...this.#needs.values(), this.dependency];
  }

  isMade(made: Made): boolean {
    return made.has(this.dependency);
  }

  /**
   * @param shared The values of the dependencies that the route has made, by name.
   * @throws {ValidationError} If its inputs are invalid.
   */
  run(request: HttpRequest, made: Made, shared: Readonly<Args> = {}): Promise<unknown> {
    let value = made.get(this.dependency);
    if (!value) made.set(this.dependency, value = this.#make(request, made, shared));
    return value;
  }

  /**
   * Identifies the caller that it accepted, also by the guards that it needs: a role alone is no
   * caller. Undefined if none of them can.
   */
  async callerOf(request: HttpRequest, made: Made): Promise<string | undefined> {
    const { dependency } = this;
    const needs = [...this.#needs.values()].map((need) => need.callerOf(request, made));
    const own = dependency.security.length === 0
      ? undefined
      : await callerThrough(dependency, request, await made.get(dependency));
    const callers = [...await Promise.all(needs), own];
    return callers.every((caller) => caller === undefined) ? undefined : JSON.stringify(callers);
  }

  async #make(request: HttpRequest, made: Made, shared: Readonly<Args>): Promise<unknown> {
    const values: Args = {};
    for (const [argument, need] of this.#needs) values[argument] = await need.run(request, made, shared);
    for (const [argument, name] of this.#shared) values[argument] = shared[name];
    const [args] = await bindAnyText(this.#fields, request);
    return await resolveOne(this.dependency, request, Object.assign(args!, values));
  }
}

export function sharedDeps(shared: ReadonlyMap<PreparedDependency, string>): Record<string, PreparedDependency> {
  return Object.fromEntries(Array.from(shared, ([dependency, name]) => [name, dependency]));
}

/** @ignore An alternative of {@linkcode anySecurity}: security schemes, or a guard. */
export type Alternative = SecurityRequirement | Dependency<unknown, never>;

/**
 * @ignore What {@linkcode anySecurity} makes of alternatives: of guards a guard, of schemes a
 * requirement.
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
 * Guards become one guard, whose value is that of the first one that accepts the caller. If all
 * refuse, the reply is 401 with the challenges of all, unless a guard has a stronger reason, such
 * as 403: then it is the reply of that guard.
 *
 * Security schemes become a value of the option `security`; the function of the dependency reads
 * the credentials.
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
 * @category Dependencies
 */
// One signature: with two, the compiler would say only that no overload matches.
export function anySecurity<Ways extends readonly [Alternative, ...Alternative[]]>(...ways: Ways): AnySecurity<Ways> {
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
  /** The key of the guard that accepted a request. */
  const matchedGuard = {};
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
      const { guard, made } = contextOf(request).cache.get(matchedGuard) as MatchedGuard;
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
          contextOf(request).cache.set(matchedGuard, { guard, made } satisfies MatchedGuard);
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

interface MatchedGuard {
  readonly guard: InnerGuard;
  readonly made: Made;
}

interface Refusal {
  readonly error: HTTPError;
  readonly isSent: boolean;
}

/** The weakest reason first: 401 for no credentials, 422 for malformed ones. */
const WEAKEST = [401, 422, 403];

/** The strongest of several refusals, or a 401 with all challenges. */
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
  // A client without credentials gets the reason of every alternative.
  const details = new Set(sent ? [sent.error.detail] : refusals.map(({ error }) => error.detail));
  return new HTTPError(401, [...details].join(". Or: "), { headers });
}

/**
 * Identifies the caller that a guard accepted: by the guard, else by the credentials of its
 * security schemes, else by the headers and cookies that it declares. Undefined without any of
 * them.
 *
 * @throws {TypeError} If no part of the request identifies its caller.
 */
export function callerThrough(
  guard: PreparedDependency,
  request: HttpRequest,
  value: unknown,
): string | undefined | Promise<string | undefined> {
  if (guard.callerOf) return guard.callerOf(request, value);
  const schemes = guard.security.flatMap((way) => [...way.values()]);
  if (schemes.some(({ scheme }) => scheme.type === "mutualTLS")) throw unknownCaller(guard.name);
  const found = [...credentialsThrough(guard, request)];
  // A proxy may have verified the caller, and sends the name in another header than the scheme's.
  if (found.length === 0) found.push(...declaredInputs(guard, request));
  return found.length === 0 ? undefined : JSON.stringify(found);
}

/**
 * The credentials that a request carries for the security schemes of a guard, by the names of the
 * schemes. Certificates are no part of a request.
 */
export function credentialsThrough(
  guard: PreparedDependency,
  request: HttpRequest,
): readonly (readonly [name: string, text: string])[] {
  return guard.security.flatMap((way) => [...way]).flatMap(([name, { scheme }]) => {
    const text = scheme.type === "mutualTLS" ? undefined : credentialsFor(scheme, request);
    return text ? [[name, text] as const] : [];
  });
}

function declaredInputs(
  { options: { headers = {}, cookies = {} } }: PreparedDependency,
  request: HttpRequest,
): (readonly [name: string, text: string])[] {
  const sent: (readonly [name: string, text: string | null | undefined])[] = [
    ...Object.keys(headers).map((name) => [`header ${name}`, request.headers.get(name)] as const),
    ...Object.keys(cookies).map((name) => [`cookie ${name}`, request.cookies[name]] as const),
  ];
  return sent.filter((input): input is readonly [string, string] => typeof input[1] === "string");
}

/**
 * The key of a subject that a function of the program returned: 7 and "7" are two subjects.
 *
 * @throws {TypeError} If it is neither a string nor a number: all such callers would be one.
 */
export function subjectText(subject: unknown, what: string, kinds = "a string or a number"): string {
  if (typeof subject === "string" || Number.isFinite(subject)) return JSON.stringify(subject);
  throw new TypeError(`Cannot name the caller: ${what} must give ${kinds}, got ${quote(subject)}`);
}

function unknownCaller(name: string): TypeError {
  return new TypeError(
    `Cannot identify the callers that "${name}" accepts: certificates are no part of a request, name the caller in "idempotent.by"`,
  );
}

function credentialsFor(
  scheme: Exclude<SecurityScheme, { readonly type: "mutualTLS" }>,
  request: HttpRequest,
): string | null | undefined {
  if (scheme.type !== "apiKey") return request.raw.headers.get("authorization");
  if (scheme.in === "header") return request.raw.headers.get(scheme.name);
  return scheme.in === "cookie" ? request.cookies[scheme.name] : request.query.get(scheme.name);
}

/** Redacts the API keys in queries, in all output of this process. */
export function hideKeys(dependencies: Iterable<PreparedDependency>): void {
  for (const { security } of withNeeded<PreparedDependency>(dependencies)) {
    for (const { scheme } of security.flatMap((way) => [...way.values()])) {
      if (scheme.type !== "apiKey") continue;
      if (scheme.in === "query") hideInQuery(scheme.name);
      else if (scheme.in === "header") hideHeader(scheme.name);
    }
  }
}
