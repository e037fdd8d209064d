/** Dependencies: values that the server makes for handlers and for one another. */
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import {
  type EntriesOf,
  type InputOf,
  isSchema,
  isStandardSchema,
  type NotSchemas,
  type OutputOf,
  type Schema,
  schemaFault,
  type Schemas,
  type StrictSchemas,
} from "../schema/schema.ts";
import { type Hidden, isHidden, wrapsHidden } from "../schema/hidden.ts";
import { readSecurity, type RequiredScheme, type SecurityAlternative, type SecurityRequirement } from "./security.ts";

/** @ignore The type of an option that is not given: it declares no names. */
export type None = Record<never, never>;

/** @ignore The type of the application's state as a value; see {@linkcode stateType}. */
export interface StateType<State> {
  /**
   * Carries the type; absent at run time.
   *
   * @ignore
   */
  readonly "~state"?: State | undefined;
}

/**
 * Makes a value with the type of the application's state, so that TypeScript infers all other types
 * of a declaration.
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
 *
 * @category Dependencies
 */
export function stateType<State>(): StateType<State> {
  return {};
}

/** The options of a dependency. */
export interface DependencyOptions<
  State,
  PathSchemas,
  QuerySchemas,
  HeaderSchemas,
  CookieSchemas,
  Dependencies,
  Security extends string = string,
> {
  /** The type of `request.state`, made by {@linkcode stateType}. */
  state?: StateType<State>;
  /** Schemas of path parameters, which the path of every route that uses it must contain. */
  params?: PathSchemas extends Schemas ? PathSchemas : NotSchemas<PathSchemas>;
  /** Schemas of query parameters, which every route that uses it gets. */
  query?: QuerySchemas extends Schemas ? QuerySchemas : NotSchemas<QuerySchemas>;
  /** Schemas of headers, by names in any case. */
  headers?: HeaderSchemas extends Schemas ? HeaderSchemas : NotSchemas<HeaderSchemas>;
  /** Schemas of cookies. */
  cookies?: CookieSchemas extends Schemas ? CookieSchemas : NotSchemas<CookieSchemas>;
  /** Other dependencies that it needs. */
  deps?: Dependencies & Readonly<Record<string, AnyDependency>>;
  /**
   * Security schemes by name, all of which are required, or the result of {@linkcode anySecurity}.
   * The document has them; the function must read the credentials and refuse wrong ones.
   *
   * It makes the dependency a guard, and each one that needs it: guards run before any other input
   * is validated, so a refused client learns nothing else.
   */
  security?: Readonly<Record<Security, RequiredScheme>>;
  /**
   * With `"handler"`, an `async function*` ends before the reply is sent, so that an error, such as
   * a failed commit, is the reply. Streams and tasks after the reply cannot use its value. Without
   * the option it ends after the last byte.
   */
  until?: "handler";
}

/** @ignore The inputs that the type of a dependency carries: schemas in their public form. */
export type DeclaredInputs<PathSchemas, QuerySchemas, HeaderSchemas, CookieSchemas> =
  & InputsUnder<"params", PathSchemas>
  & InputsUnder<"query", EntriesOf<QuerySchemas>>
  & ([HeaderSchemas] extends [never] ? unknown : InputsUnder<"headers", EntriesOf<HeaderSchemas>>)
  & ([CookieSchemas] extends [never] ? unknown : InputsUnder<"cookies", EntriesOf<CookieSchemas>>);

/** @ignore Schemas by name under an option; nothing if there are none. */
export type InputsUnder<Option extends string, Schemas> = [keyof Schemas] extends [never] ? unknown
  : {
    [_ in Option]: {
      [Name in keyof Schemas as Schemas[Name] extends Hidden ? never : Name]: Schema<
        InputOf<Schemas[Name]>,
        OutputOf<Schemas[Name]>
      >;
    };
  };

/** @ignore The inputs of several dependencies together. */
export type InputsOf<Given> = (
  Given extends { readonly "~inputs"?: infer Inputs | undefined } ? (inputs: Inputs) => void : never
) extends (inputs: infer Inputs) => void ? Inputs : unknown;

/**
 * @ignore The value of a path parameter that the route does not declare: that of a dependency, or a
 * string.
 */
export type PathValue<Name, Used> = InputsOf<Used> extends infer Inputs
  ? Inputs extends { readonly params: { readonly [_ in Name & string]: infer Given } } ? OutputOf<Given>
  : Inputs extends { readonly query: { readonly [_ in Name & string]: infer Given } } ? OutputOf<Given>
  : string
  : never;

/**
 * @ignore One object type in place of an intersection, so that messages and editors write it out.
 */
export type FlatInputs<All> = All extends infer Each ? [keyof Each] extends [never] ? None
  : { [Option in keyof Each]: { [Name in keyof Each[Option]]: Each[Option][Name] } }
  : never;

/** @ignore The values of dependencies by name. */
export type ValuesOf<Dependencies> = { readonly [Name in keyof Dependencies]: DependencyValue<Dependencies[Name]> };

/** @ignore Makes the value; an `async function*` yields it once, and then cleans up. */
export type Resolve<Value, State, Args> = (
  request: HttpRequest<State>,
  args: Args,
) => Promise<Value> | AsyncGenerator<Value, void, void>;

/** @ignore Any dependency. */
export type AnyDependency =
  | Dependency<unknown, never>
  | ((request: HttpRequest<never>) => Promise<unknown> | AsyncGenerator<unknown, void, void>);

/** @ignore The type of a dependency's value. */
export type DependencyValue<Given> = Given extends Dependency<infer Value, never> ? Value
  : Given extends (request: never) => Promise<infer Value> ? Value
  : Given extends (request: never) => AsyncGenerator<infer Value, void, void> ? Value
  : never;

/** @ignore The state that several dependencies need together. */
export type NeededState<Given> = (
  Given extends Dependency<unknown, infer State> ? (state: State) => void
    : Given extends (request: HttpRequest<infer State>) => unknown ? (state: RequiredState<State>) => void
    : never
) extends (state: infer State) => void ? State
  : unknown;

/** @ignore The state that a declaration needs: none, if it does not name a type. */
export type RequiredState<State> = string extends keyof State ? unknown : State;

/**
 * A dependency, made by {@linkcode dependency}.
 *
 * @category Dependencies
 */
export interface Dependency<Value, State = unknown, Inputs = None> {
  /** Marks a dependency. */
  readonly kind: "dependency";
  /**
   * Carries the types of its inputs and of those of the dependencies that it needs; absent at run
   * time.
   *
   * @ignore
   */
  readonly "~inputs"?: Inputs | undefined;
  /**
   * Carries the type of the value; absent at run time.
   *
   * @ignore
   */
  readonly "~value"?: Value | undefined;
  /**
   * Carries the type of the state; absent at run time.
   *
   * @ignore
   */
  readonly "~state"?: ((state: State) => void) | undefined;
}

/** @ignore A value of `deps`: a dependency, or an async function of the request. */
export type DependencyLike<Value, State> =
  | Dependency<Value, State>
  | Resolve<Value, State, None>;

/** The options that declare text inputs. */
export type TextOptions = {
  readonly [Option in "params" | "query" | "headers" | "cookies"]?: RouteDeclaration[Option] | undefined;
};

/** The text inputs of a route or a dependency. */
export interface TextInputs extends TextOptions {
  /** The options that refuse names which are not declared. */
  readonly strict?: readonly StrictOption[];
}

/** As narrow as the options of a call, because the compiler also tries this signature. */
interface AnyOptions extends TextOptions {
  readonly state?: StateType<unknown>;
  readonly deps?: Readonly<Record<string, AnyDependency>>;
  readonly security?: SecurityRequirement;
  readonly until?: "handler";
}

type AnyResolve = (request: HttpRequest, args: never) => Promise<unknown> | AsyncGenerator<unknown, void, void>;

/** A dependency with its internals, which the public type hides. */
export interface PreparedDependency extends Dependency<unknown> {
  readonly name: string;
  readonly options: TextInputs;
  readonly deps: ReadonlyMap<string, PreparedDependency>;
  /** Alternative ways to authenticate; empty without the option `security`. */
  readonly security: readonly SecurityAlternative[];
  readonly resolve: (
    request: HttpRequest,
    args: Record<string, unknown>,
  ) => Promise<unknown> | AsyncGenerator<unknown, void, void>;
  readonly cleansUp: boolean;
  readonly endsWithHandler: boolean;
  /** The replies of its refusals, which the document adds to each route that uses it. */
  readonly replies: readonly DeclaredReply[];
  /**
   * Whether a request carries credentials for it, valid or not. Undefined if only `resolve` can
   * decide.
   */
  readonly isSent: ((request: HttpRequest) => boolean) | undefined;
  /** The issuers of the tokens that it takes, where it knows them (RFC 8414, section 2). */
  readonly issuers: readonly string[];
  /** What prepares it at each start of an application. Dependencies may have the same functions. */
  readonly starts: readonly Start[];
  /** The guards that it runs itself; undefined if there are none. */
  readonly inner: InnerGuards | undefined;
  /**
   * Identifies the caller that it accepted, by its value. Without it, callers differ by their
   * credentials.
   */
  readonly callerOf?: CallerOf | undefined;
  /** The dependency as the program declared it, if a test replaces it or what it needs. */
  readonly declared?: PreparedDependency | undefined;
  readonly cookie?: SessionCookieOf | undefined;
  /**
   * The headers that it reads besides its inputs and those of its security schemes. They are
   * documented.
   */
  readonly readHeaders?: readonly string[] | undefined;
}

export interface SessionCookieOf {
  readonly name: string;
  readonly path: string;
  readonly domain: string | undefined;
  /** Identifies the session, and has its name. */
  readonly session: { readonly name: string };
}

export type CallerOf = (request: HttpRequest, value: unknown) => string | undefined | Promise<string | undefined>;

export interface InnerGuards {
  readonly guards: readonly PreparedDependency[];
  /** Makes the same guard of other ones. */
  readonly combine: (guards: readonly PreparedDependency[]) => PreparedDependency;
}

/** Prepares a dependency at the start of an application, before the lifespans. */
export type Start = (conditions: StartConditions) => Promise<void>;

export interface StartConditions {
  /** Whether several workers of the process serve it. */
  readonly hasWorkers: boolean;
  /** Whether this is the only worker, or the first one, which says what concerns all of them. */
  readonly isFirst: boolean;
}

export type Startable = Pick<PreparedDependency, "deps" | "starts">;

/** Dependencies and those that they need; with `inner` also the guards that they run themselves. */
export function withNeeded<Each extends Pick<PreparedDependency, "deps">>(
  dependencies: Iterable<Each | PreparedDependency>,
  inner: "inner" | undefined = undefined,
): ReadonlySet<Each | PreparedDependency> {
  const all = new Set(dependencies);
  // The loop also visits what is added to the set while it runs.
  for (const each of all) {
    for (const needed of each.deps.values()) all.add(needed);
    if (inner && "inner" in each) { for (const guard of each.inner?.guards ?? []) all.add(guard); }
  }
  return all;
}

/** Prepares dependencies and those that they need, each once. */
export async function startDependencies(dependencies: Iterable<Startable>, conditions: StartConditions): Promise<void> {
  const all = withNeeded<Startable>(dependencies);
  for (const start of new Set([...all].flatMap(({ starts }) => starts))) await start(conditions);
}

/**
 * A reply of a refusal, for the document. Its body is that of the application's other error
 * replies.
 */
export interface DeclaredReply {
  readonly status: number;
  readonly description: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const OPTIONS: OptionNames<AnyOptions> = {
  state: true,
  params: true,
  query: true,
  headers: true,
  cookies: true,
  deps: true,
  security: true,
  until: true,
};

/**
 * Declares a dependency: a value that is made once for each request that needs it, before the
 * handler runs. Independent dependencies are made in parallel.
 *
 * Guards declare `security`, are `deps` of a scope, or need a guard. They run before all other
 * input is validated, from the outermost scope inwards.
 *
 * An `async function*` yields the value, and cleans up after the last byte of the reply. If the
 * request fails, the error is thrown at the `yield`: put code that must always run into `finally`.
 *
 * @param resolve Makes the value.
 * @throws {TypeError} If the function is not async.
 *
 * @example A guard that needs another dependency
 * ```ts
 * import { App, dependency, HTTPError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const log: string[] = [];
 * const connection = dependency(async function* () {
 *   try {
 *     yield { userOf: (token: string) => token === "secret" ? "Ada" : undefined };
 *   } finally {
 *     log.push("closed");
 *   }
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
 *
 * @category Dependencies
 */
export function dependency<Value, State = Record<string, unknown>>(
  resolve: Resolve<Value, State, None>,
): Dependency<Value, RequiredState<State>>;
/**
 * Declares a dependency that needs inputs or other dependencies.
 *
 * @param options Its inputs and dependencies.
 * @param resolve Makes the value.
 * @throws {TypeError} If the function is not async, an option is unknown, or a security scheme is
 * wrong.
 *
 * @category Dependencies
 */
export function dependency<
  Value,
  State = Record<string, unknown>,
  PathSchemas = None,
  QuerySchemas = None,
  HeaderSchemas = never,
  CookieSchemas = never,
  Dependencies extends Readonly<Record<string, AnyDependency>> = None,
  Security extends string = never,
>(
  options: DependencyOptions<
    State,
    PathSchemas,
    QuerySchemas,
    HeaderSchemas,
    CookieSchemas,
    Dependencies,
    Security
  >,
  // Not an alias, because the compiler would show it with all its type arguments in each message.
  resolve: (
    request: HttpRequest<State>,
    args: {
      readonly [
        Name in NoInfer<
          | keyof PathSchemas
          | keyof EntriesOf<QuerySchemas>
          | keyof Dependencies
          | (HeaderSchemas extends unknown ? "headers" : never)
          | (CookieSchemas extends unknown ? "cookies" : never)
        >
      ]: Name extends keyof EntriesOf<QuerySchemas> ? OutputOf<EntriesOf<QuerySchemas>[Name]>
        : Name extends keyof Dependencies ? DependencyValue<Dependencies[Name]>
        : Name extends keyof PathSchemas ? OutputOf<PathSchemas[Name]>
        : Name extends "headers"
          ? { readonly [Header in keyof EntriesOf<HeaderSchemas>]: OutputOf<EntriesOf<HeaderSchemas>[Header]> }
        : { readonly [Cookie in keyof EntriesOf<CookieSchemas>]: OutputOf<EntriesOf<CookieSchemas>[Cookie]> };
    },
  ) => Promise<Value> | AsyncGenerator<Value, void, void>,
): Dependency<
  Value,
  RequiredState<State> & NeededState<Dependencies[keyof Dependencies]>,
  FlatInputs<
    & DeclaredInputs<
      PathSchemas,
      QuerySchemas,
      // The client takes no headers or cookies for guards.
      [Security] extends [never] ? HeaderSchemas : never,
      [Security] extends [never] ? CookieSchemas : never
    >
    & InputsOf<Dependencies[keyof Dependencies]>
  >
>;
export function dependency(
  ...args: [resolve: AnyResolve] | [options: AnyOptions, resolve: AnyResolve]
): Dependency<unknown> {
  const [options, resolve] = args.length === 1 ? [{}, args[0]] : args;
  if (typeof options === "function") {
    throw new TypeError(
      "Cannot declare the dependency: the options come before the function, write dependency(options, async (request, args) => …)",
    );
  }
  return prepare(options, resolve);
}

/** Dependencies that are plain functions. Each function is one dependency, under any name. */
const plainFunctions = new WeakMap<object, PreparedDependency>();

/**
 * Reads the option `deps`.
 *
 * @throws {TypeError} If it is an array, or a value is no dependency.
 */
export function toDependencies(deps: Readonly<Record<string, unknown>> = {}): ReadonlyMap<string, PreparedDependency> {
  if (typeof deps !== "object" || deps === null || Array.isArray(deps)) {
    throw new TypeError("Cannot use the dependencies: give each one by the name of its argument, write deps: { user }");
  }
  const found = new Map(Object.entries(deps).map(([name, value]) => [name, toDependency(value, name)]));
  for (const [name, dependency] of found) nameSpan(dependency, name);
  return found;
}

/** The first argument names of dependencies without a name. */
const argumentNames = new WeakMap<PreparedDependency, string>();

function nameSpan(dependency: PreparedDependency, argument: string): void {
  if (dependency.name === UNNAMED && !argumentNames.has(dependency)) argumentNames.set(dependency, argument);
}

export function spanNameOf(dependency: PreparedDependency): string {
  return argumentNames.get(dependency) ?? dependency.name;
}

const UNNAMED = "dependency";

/** @throws {TypeError} If the value is no dependency. */
export function toDependency(value: unknown, name: string): PreparedDependency {
  if (isDependency(value)) return value;
  if (typeof value !== "function") {
    throw new TypeError(`Cannot use the dependency "${name}": it must be an async function or made by dependency()`);
  }
  let prepared = plainFunctions.get(value);
  if (!prepared) plainFunctions.set(value, prepared = prepare({}, value));
  return prepared;
}

export function isDependency(value: unknown): value is PreparedDependency {
  return typeof value === "object" && value !== null && (value as Partial<PreparedDependency>).kind === "dependency";
}

function prepare(options: AnyOptions, resolve: unknown): PreparedDependency {
  if (isDependency(resolve)) {
    throw new TypeError(`Cannot declare the dependency: "${resolve.name}" is one already, use it as it is`);
  }
  const cleansUp = isAsyncGeneratorFunction(resolve);
  if (!cleansUp && !isAsyncFunction(resolve)) {
    const cure = resolve instanceof GeneratorFunction
      ? "async function* (request, args) { … }"
      : "async (request, args) => …";
    throw new TypeError(`Cannot declare the dependency: its function must be async, write ${cure}`);
  }
  const name = resolve.name === "" ? UNNAMED : resolve.name;
  checkOptions(options, OPTIONS, `declare ${name}`);
  const { params, query, headers, cookies, deps, security, until } = options;
  const needed = toDependencies(deps);
  checkUntil(until, name, cleansUp, needed);
  return {
    kind: "dependency",
    name,
    options: readTextOptions({ params, query, headers, cookies }, name),
    deps: needed,
    security: readSecurity(security, name),
    resolve: resolve as PreparedDependency["resolve"],
    cleansUp,
    endsWithHandler: until !== undefined,
    replies: [],
    isSent: undefined,
    issuers: [],
    starts: [],
    inner: undefined,
  };
}

/** @throws {TypeError} If a dependency would outlive one that it needs, or has no end. */
function checkUntil(
  until: unknown,
  name: string,
  cleansUp: boolean,
  needed: ReadonlyMap<string, PreparedDependency>,
): void {
  if (until !== undefined && until !== "handler") {
    throw new TypeError(`Cannot declare ${name}: "until" must be "handler", got ${quote(until)}`);
  }
  if (until && !cleansUp) {
    throw new TypeError(
      `Cannot declare ${name}: "until" is for a dependency that yields, write async function* (request, args) { … }`,
    );
  }
  if (until || !cleansUp) return;
  const shorter = withNeeded(needed.values()).values().find(({ endsWithHandler }) => endsWithHandler);
  if (!shorter) return;
  throw new TypeError(
    `Cannot declare ${name}: it ends after the reply, and needs "${shorter.name}", which ends before it, give both until: "handler"`,
  );
}

/** The names of headers and cookies, RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;

/** The text inputs of a route or a dependency, as they are declared. */
export type DeclaredText = { readonly [Option in keyof TextOptions]?: TextOptions[Option] | StrictSchemas };

/** @throws {TypeError} If a value is no schema, or a name cannot be sent. */
export function readTextOptions(declared: DeclaredText, owner: string): TextInputs {
  const strict = STRICT_OPTIONS.filter((option) => isStrict(declared[option]));
  const options = Object.fromEntries(
    Object.entries(declared).filter(([, given]) => given !== undefined)
      .map(([option, given]) => [option, isStrict(given) ? given.entries : given]),
  );
  for (const [option, schemas] of Object.entries(options)) {
    if (isStandardSchema(schemas)) {
      throw new TypeError(`Cannot declare ${owner}: give each schema by its name, as in ${option}: { name: schema }`);
    }
    for (const [name, schema] of Object.entries(schemas ?? {})) {
      if (!isSchema(schema)) {
        throw new TypeError(`Cannot declare ${owner}: ${option} "${name}" ${schemaFault(schema)}`);
      }
      checkInputName(option, name, owner);
      if (option === "params" && isHidden(schema)) {
        throw new TypeError(`Cannot declare ${owner}: params "${name}" is in the path, which the document shows`);
      }
      if (wrapsHidden(schema)) {
        throw new TypeError(
          `Cannot declare ${owner}: ${option} "${name}" is around a hidden schema, hide the whole: hidden(v.optional(…))`,
        );
      }
    }
  }
  return strict.length === 0 ? options : { ...options, strict };
}

/** The options that can refuse names which are not declared. */
const STRICT_OPTIONS = ["query", "headers", "cookies"] as const;

export type StrictOption = typeof STRICT_OPTIONS[number];

function isStrict(given: unknown): given is StrictSchemas {
  return isSchema(given) && given.type === "strict_object" && !("pipe" in given);
}

/** @throws {TypeError} If an input cannot be sent under its name. */
export function checkInputName(option: string, name: string, owner: string): void {
  const mustBeToken = option === "headers" || option === "cookies";
  if (name !== "__proto__" && (!mustBeToken || TOKEN.test(name))) return;
  throw new TypeError(`Cannot declare ${owner}: ${option} cannot be named "${name}"`);
}

const AsyncFunction = (async () => {}).constructor;
const GeneratorFunction = (function* () {}).constructor;
const AsyncGeneratorFunction = (async function* () {}).constructor;

/** Whether a value is declared `async`, not only a function that returns a promise. */
export function isAsyncFunction(value: unknown): value is (...args: never[]) => Promise<unknown> {
  return value instanceof AsyncFunction;
}

/**
 * Refuses a third parameter: in Express, it is `next`.
 *
 * @param what The action and the function: "add the middleware: it".
 * @throws {TypeError} If there are more than two parameters before the first one with a default.
 */
export function checkArity({ length }: (...args: never[]) => unknown, what: string, cure: string): void {
  if (length > 2) throw new TypeError(`Cannot ${what} gets two arguments, not ${length}; write ${cure}`);
}

export function isAsyncGeneratorFunction(value: unknown): value is (...args: never[]) => AsyncGenerator<unknown> {
  return value instanceof AsyncGeneratorFunction;
}
