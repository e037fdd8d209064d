import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import {
  isSchema,
  isStandardSchema,
  type NotSchemas,
  type OutputOf,
  schemaFault,
  type Schemas,
} from "../schema/schema.ts";
import { readSecurity, type SecurityRequirement, type SecurityWay } from "./security.ts";

/** Tells functions that are declared `async` from those that only return a promise. */

const AsyncFunction = (async () => {}).constructor;
const AsyncGeneratorFunction = (async function* () {}).constructor;

/** Whether it was declared `async function` or as an `async` arrow. */
export function isAsyncFunction(
  value: unknown,
): value is (...args: never[]) => Promise<unknown> {
  return value instanceof AsyncFunction;
}

/** Whether it was declared `async function*`. */
export function isAsyncGeneratorFunction(
  value: unknown,
): value is (...args: never[]) => AsyncGenerator<unknown> {
  return value instanceof AsyncGeneratorFunction;
}

/** Dependencies: values that the server supplies to handlers and to one another. */

/** No names: what an option that is not given declares. */
export type None = Record<never, never>;

/** A type of the application's state, as a value; see {@linkcode stateType}. */
export interface StateType<State> {
  /** Carries the type; never there at run time. */
  readonly "~state"?: State | undefined;
}

/**
 * Names the type of the application's state as a value, so that TypeScript can infer the other types of a declaration.
 *
 * @example One state for the application and its routers
 * ```ts
 * import { App, Router, stateType } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const state = stateType<{ names: string[] }>();
 *
 * const shop = new Router({ prefix: "/shops/{shop}", state });
 * shop.get("/names", async (request, { shop }) => [shop, ...request.state.names]);
 *
 * const app = new App({ state });
 * app.lifespan(async function* () {
 *   yield { names: ["Ada"] };
 * });
 * app.include(shop);
 * const response = await app.fetch(new Request("http://localhost/shops/corner/names"));
 * assertEquals(await response.json(), ["corner", "Ada"]);
 * ```
 */
export function stateType<State>(): StateType<State> {
  return {};
}

/** What a dependency declares. */
export interface DependencyOptions<
  State,
  PathSchemas,
  QuerySchemas,
  HeaderSchemas,
  CookieSchemas,
  Dependencies,
> {
  /** The type of `request.state`, by {@linkcode stateType}. */
  state?: StateType<State>;
  /** Parameters of the path. Every route that uses the dependency has to hold them. */
  params?: PathSchemas extends Schemas ? PathSchemas : NotSchemas<PathSchemas>;
  /** Query parameters; they become those of every route that uses the dependency. */
  query?: QuerySchemas extends Schemas ? QuerySchemas : NotSchemas<QuerySchemas>;
  /** Headers, by names in any case. */
  headers?: HeaderSchemas extends Schemas ? HeaderSchemas : NotSchemas<HeaderSchemas>;
  /** Cookies. */
  cookies?: CookieSchemas extends Schemas ? CookieSchemas : NotSchemas<CookieSchemas>;
  /** Other dependencies that it needs. */
  deps?: Dependencies & Readonly<Record<string, AnyDependency>>;
  /**
   * How clients prove who they are: security schemes by their names, all of which are needed, or
   * what {@linkcode anySecurity} gives. The document says so. The function has to read the
   * credentials, and to refuse those that are wrong.
   *
   * It makes the dependency a guard. Guards run first, with what they need: no other input of the
   * request is validated before, and nothing of the body is read. Their refusal is then all that a
   * stranger is told.
   */
  security?: SecurityRequirement;
}

/** Computes the value: an `async function`, or an `async function*` that yields it once and then cleans up. */
export type Resolve<Value, State, Args> = (
  request: HttpRequest<State>,
  args: Args,
) => Promise<Value> | AsyncGenerator<Value, void, void>;

/** Any dependency, whatever its value and the state that it needs. */
export type AnyDependency =
  | Dependency<unknown, never>
  | ((request: HttpRequest<never>) => Promise<unknown> | AsyncGenerator<unknown, void, void>);

/** The value of a dependency. */
export type DependencyValue<Given> = Given extends Dependency<infer Value, never> ? Value
  : Given extends (request: never) => Promise<infer Value> ? Value
  : Given extends (request: never) => AsyncGenerator<infer Value, void, void> ? Value
  : never;

/** The state that dependencies need, all of them together. */
export type NeededState<Given> = (
  Given extends Dependency<unknown, infer State> ? (state: State) => void
    : Given extends (request: HttpRequest<infer State>) => unknown ? (state: RequiredState<State>) => void
    : never
) extends (state: infer State) => void ? State
  : unknown;

/** The state that has to be there: none, where a declaration says nothing of it. */
export type RequiredState<State> = string extends keyof State ? unknown : State;

/** A dependency, made by {@linkcode dependency}. */
export interface Dependency<Value, State = unknown> {
  /** Marks a dependency. */
  readonly kind: "dependency";
  /** Carries the type of the value; never there at run time. */
  readonly "~value"?: Value | undefined;
  /** Carries the type of the state; never there at run time. */
  readonly "~state"?: ((state: State) => void) | undefined;
}

/** What `deps` takes: a dependency, or just an async function of the request. */
export type DependencyLike<Value, State> =
  | Dependency<Value, State>
  | Resolve<Value, State, None>;

/** The names and schemas that an owner declares, as the binder reads them. */
export type TextInputs = {
  readonly [Option in "params" | "query" | "headers" | "cookies"]?: RouteDeclaration[Option] | undefined;
};

/** The options of any dependency. As narrow as those of a call, since the compiler tries them where no overload fits. */
interface AnyOptions extends TextInputs {
  readonly state?: StateType<unknown>;
  readonly deps?: Readonly<Record<string, AnyDependency>>;
  readonly security?: SecurityRequirement;
}

/** The function of any dependency. */
type AnyResolve = (request: HttpRequest, args: never) => Promise<unknown> | AsyncGenerator<unknown, void, void>;

/** The inside of a dependency. */
export interface PreparedDependency extends Dependency<unknown> {
  readonly name: string;
  readonly inputs: TextInputs;
  readonly deps: ReadonlyMap<string, PreparedDependency>;
  /** The ways to be let in, of which one is enough; none where it says nothing of them. */
  readonly security: readonly SecurityWay[];
  readonly resolve: (
    request: HttpRequest,
    args: Record<string, unknown>,
  ) => Promise<unknown> | AsyncGenerator<unknown, void, void>;
  readonly cleansUp: boolean;
}

const OPTIONS: OptionNames<AnyOptions> = {
  state: true,
  params: true,
  query: true,
  headers: true,
  cookies: true,
  deps: true,
  security: true,
};

/**
 * Declares a dependency: a value that is made for a request before the handler runs. It is made
 * once a request, however many ask for it; what does not depend on one another is made in parallel.
 *
 * A dependency that declares `security`, at any depth, is a guard. The guards of a route run before
 * anything else of the request is validated and before its body is read; their own invalid inputs
 * are a 422 that lists no others. Then all other inputs are validated together, and then the other
 * dependencies run.
 *
 * An `async function*` yields the value and cleans up after the last byte of the reply, whatever became of the request; of
 * several, the one that was made last is the first to clean up.
 *
 * @param resolve Makes the value.
 * @throws {TypeError} When the function is not async.
 *
 * @example A guard, over another dependency
 * ```ts
 * import { App, dependency, HTTPError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const log: string[] = [];
 * const connection = dependency(async function* () {
 *   yield { userOf: (token: string) => token === "secret" ? "Ada" : undefined };
 *   log.push("closed");
 * });
 * const currentUser = dependency(
 *   {
 *     headers: { "x-token": v.optional(v.string(), "") },
 *     security: { token: { type: "apiKey", in: "header", name: "x-token" } },
 *     deps: { connection },
 *   },
 *   async (_request, { headers, connection }) => {
 *     const user = connection.userOf(headers["x-token"]);
 *     if (!user) throw new HTTPError(401, "Send the token of a user");
 *     return user;
 *   },
 * );
 *
 * const app = new App();
 * app.get("/pages/{page}", { params: { page: v.number() }, deps: { user: currentUser } }, async (_request, args) => args);
 * const ask = (path: string, token: string) =>
 *   app.fetch(new Request(`http://localhost${path}`, { headers: { "x-token": token } }));
 * assertEquals(await (await ask("/pages/1", "secret")).json(), { page: 1, user: "Ada" });
 * assertEquals(log, ["closed"]);
 * assertEquals((await ask("/pages/one", "wrong")).status, 401);
 * assertEquals((await ask("/pages/one", "secret")).status, 422);
 * ```
 */
export function dependency<Value, State = Record<string, unknown>>(
  resolve: Resolve<Value, State, None>,
): Dependency<Value, RequiredState<State>>;
/**
 * Declares a dependency that needs inputs or other dependencies.
 *
 * @param options What it needs.
 * @param resolve Makes the value.
 * @throws {TypeError} When the function is not async, an option is unknown, or a security scheme is none.
 */
export function dependency<
  Value,
  State = Record<string, unknown>,
  PathSchemas = None,
  QuerySchemas = None,
  HeaderSchemas = never,
  CookieSchemas = never,
  Dependencies extends Readonly<Record<string, AnyDependency>> = None,
>(
  options: DependencyOptions<
    State,
    PathSchemas,
    QuerySchemas,
    HeaderSchemas,
    CookieSchemas,
    Dependencies
  >,
  // Written out here, since the compiler would name an alias, with all its arguments, in every message.
  resolve: (
    request: HttpRequest<State>,
    args: {
      readonly [
        Name in NoInfer<
          | keyof PathSchemas
          | keyof QuerySchemas
          | keyof Dependencies
          | (HeaderSchemas extends unknown ? "headers" : never)
          | (CookieSchemas extends unknown ? "cookies" : never)
        >
      ]: Name extends keyof QuerySchemas ? OutputOf<QuerySchemas[Name]>
        : Name extends keyof Dependencies ? DependencyValue<Dependencies[Name]>
        : Name extends keyof PathSchemas ? OutputOf<PathSchemas[Name]>
        : Name extends "headers" ? { readonly [Header in keyof HeaderSchemas]: OutputOf<HeaderSchemas[Header]> }
        : { readonly [Cookie in keyof CookieSchemas]: OutputOf<CookieSchemas[Cookie]> };
    },
  ) => Promise<Value> | AsyncGenerator<Value, void, void>,
): Dependency<Value, RequiredState<State> & NeededState<Dependencies[keyof Dependencies]>>;
export function dependency(
  ...given: [resolve: AnyResolve] | [options: AnyOptions, resolve: AnyResolve]
): Dependency<unknown> {
  const [options, resolve] = given.length === 1 ? [{}, given[0]] : given;
  if (typeof options === "function") {
    throw new TypeError(
      "Cannot declare the dependency: the options come before the function, write dependency(options, async (request, args) => …)",
    );
  }
  return makeNode(options, resolve);
}

/** The inside of whatever stands under `deps`. A plain function is one dependency, wherever it is named. */
export function toDependency(given: unknown, name: string): PreparedDependency {
  if (isNode(given)) return given;
  if (typeof given !== "function") {
    throw new TypeError(
      `Cannot use the dependency "${name}": it must be an async function or made by dependency()`,
    );
  }
  let node = plainFunctions.get(given);
  if (!node) plainFunctions.set(given, node = makeNode({}, given));
  return node;
}

const plainFunctions = new WeakMap<object, PreparedDependency>();

function isNode(given: unknown): given is PreparedDependency {
  return typeof given === "object" && given !== null &&
    (given as Partial<PreparedDependency>).kind === "dependency";
}

function makeNode(
  options: AnyOptions,
  resolve: unknown,
): PreparedDependency {
  const cleansUp = isAsyncGeneratorFunction(resolve);
  if (!cleansUp && !isAsyncFunction(resolve)) {
    throw new TypeError(
      "Cannot declare the dependency: its function must be async, write async (request, args) => …",
    );
  }
  const name = resolve.name === "" ? "dependency" : resolve.name;
  checkOptions(options, OPTIONS, `declare ${name}`);
  const { params, query, headers, cookies } = options;
  const deps = Object.entries(options.deps ?? {}).map(([key, given]) => [key, toDependency(given, key)] as const);
  return {
    kind: "dependency",
    name,
    inputs: checkInputs({ params, query, headers, cookies }, name),
    deps: new Map(deps),
    security: readSecurity(options.security, name),
    resolve: resolve as PreparedDependency["resolve"],
    cleansUp,
  };
}

/** The names of headers and cookies, RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

/**
 * Checks that everything declared is a schema under a name that can be sent.
 *
 * @throws {TypeError} When something is not.
 */
export function checkInputs(inputs: TextInputs, owner: string): TextInputs {
  for (const [option, schemas] of Object.entries(inputs)) {
    if (isStandardSchema(schemas)) {
      throw new TypeError(
        `Cannot declare ${owner}: give each schema by its name, as in ${option}: { name: schema }`,
      );
    }
    for (const [name, schema] of Object.entries(schemas ?? {})) {
      if (!isSchema(schema)) {
        throw new TypeError(
          `Cannot declare ${owner}: ${option} "${name}" ${schemaFault(schema)}`,
        );
      }
      if ((option === "headers" || option === "cookies") && !TOKEN.test(name)) {
        throw new TypeError(`Cannot declare ${owner}: ${option} cannot be named "${name}"`);
      }
      if (name === "__proto__") {
        throw new TypeError(
          `Cannot declare ${owner}: ${option} cannot be named "${name}"`,
        );
      }
    }
  }
  return inputs;
}
