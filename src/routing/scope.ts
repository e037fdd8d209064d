/** The options of routes and of their scopes: applications, routers and includes. */
import { type DependencyLike, isAsyncFunction, spanNameOf, toDependencies } from "../binding/dependency.ts";
import { type DependencyLevel, guardsOf } from "../binding/levels.ts";
import { isDeclaredReply } from "../http/replies/declared_reply.ts";
import { checkCallbacks, checkDocumentedReply, checkRequestExamples } from "../http/documented.ts";
import type {
  GroupOptions,
  RouteDeclaration,
  RouteInfo,
  ScopeOptions,
  WebSocketDeclaration,
} from "../http/route_info.ts";
import { isSchema, type Mistake, schemaFault } from "../schema/schema.ts";
import { type OptionNames, pickOptions, quote } from "../base/options.ts";
import { RateLimiters } from "../rate_limit/limiter.ts";
import { countedBy, type DeclaredLimit, type RateLimits, readRateLimits } from "../rate_limit/rate_limit.ts";
import type { Middleware } from "./middleware.ts";

/** The rate limits of an application, a router or an include. */
export interface RateLimitOption<State, Counted> {
  /**
   * How often a client may send requests to all routes together: one limit, or an array of limits
   * that count separately.
   */
  rateLimit?: RateLimits<Counted, State>;
}

/**
 * @ignore The dependencies of a router or an application. The state is not inferred from them: the
 * state that a dependency needs is not that of the application.
 */
export type ScopeDependencies<State, Names extends string, Given> =
  & {
    readonly [Name in keyof Given]: Name extends Names ? Mistake<"The prefix binds this name already">
      :
        | Mistake<"Give an async function, or what dependency(…) made for the same state">
        | DependencyLike<unknown, NoInfer<State>>;
  }
  & Given
  & InferredDependencies;

/**
 * @ignore Refuses dependencies whose names were not inferred, because type arguments were given.
 */
export interface InferredDependencies {
  /**
   * Never there.
   *
   * @ignore
   */
  readonly "~given"?: never;
}

/** All options of a router or an include for its routes. */
export type ScopeDeclaration = GroupOptions & Pick<RouteDeclaration, "deps" | "rateLimit">;

/** The options by the declarations that can have them. */
interface Declarations {
  readonly route: RouteDeclaration;
  readonly websocket: WebSocketDeclaration;
  readonly group: ScopeDeclaration;
  readonly app: ScopeOptions & Pick<ScopeDeclaration, "deps" | "rateLimit">;
}

type AllOptions = Declarations["route"] & Declarations["websocket"] & Declarations["group"];

/** Combines the values of an option, the outermost first. There is at least one. */
type Inherit<Value> = (values: readonly Value[]) => Value;

/** The values are not combined: the dependencies and limits of each level run. */
const EACH_LEVEL = "each level";

/** Refuses a wrong value of an option. */
type CheckOption = (value: unknown, option: string, action: string) => void;

/** An option. The compiler knows its declarations, and that scopes need `inherit`. */
type Option<Name extends keyof AllOptions> =
  & {
    readonly on: { readonly [Kind in keyof Declarations]: Name extends keyof Declarations[Kind] ? true : false };
    readonly check?: CheckOption;
  }
  & (Name extends keyof ScopeDeclaration
    ? { readonly inherit: Inherit<NonNullable<AllOptions[Name]>> | typeof EACH_LEVEL }
    : { readonly inherit?: undefined });

const ROUTE = { route: true, websocket: false, group: false, app: false } as const;
const WEBSOCKET = { ...ROUTE, route: false, websocket: true } as const;
const ROUTES = { ...ROUTE, websocket: true } as const;
const GROUPS = { ...ROUTE, group: true } as const;
const SCOPES = { ...GROUPS, app: true } as const;
const ALL = { ...SCOPES, websocket: true } as const;

/** Every option of routes and scopes. Error messages list them in this order. */
const OPTIONS: { readonly [Name in keyof AllOptions]-?: Option<Name> } = {
  params: { on: ROUTES },
  query: { on: ROUTES },
  headers: { on: ROUTES },
  cookies: { on: ROUTES },
  deps: { on: ALL, inherit: EACH_LEVEL },
  receive: { on: WEBSOCKET, check: checkSchema },
  send: { on: WEBSOCKET, check: checkSchema },
  origins: { on: WEBSOCKET },
  protocols: { on: WEBSOCKET },
  idleTimeout: { on: WEBSOCKET },
  body: { on: ROUTE, check: checkSchema },
  form: { on: ROUTE },
  response: { on: ROUTE, check: checkResponse },
  responses: { on: SCOPES, inherit: merge, check: checkResponses },
  status: { on: ROUTE },
  summary: { on: ROUTE },
  description: { on: ROUTE },
  doc: { on: ROUTE },
  tags: { on: GROUPS, inherit: (values) => [...new Set(values.flat())], check: checkTags },
  hidden: { on: GROUPS, inherit: (values) => values.includes(true), check: checkBoolean },
  operationId: { on: ROUTE },
  deprecated: { on: GROUPS, inherit: (values) => values.at(-1)!, check: checkBoolean },
  tool: { on: ROUTE },
  crossOrigin: { on: ALL, inherit: (values) => values.at(-1)!, check: checkBoolean },
  rateLimit: { on: ALL, inherit: EACH_LEVEL },
  endsWithSignIn: { on: ROUTES, check: checkBoolean },
  limits: { on: ROUTES },
  idempotent: { on: ROUTE },
  ifMatch: { on: ROUTE, check: checkIfMatchOption },
  examples: { on: ROUTE, check: checkRequestExamples },
  callbacks: { on: ROUTE, check: checkCallbacks },
  document: { on: ROUTE, check: checkDocument },
};

/** The names of the options that a declaration can have. */
export const OPTION_NAMES: { readonly [Kind in keyof Declarations]: OptionNames<Declarations[Kind]> } = {
  route: namesOn("route"),
  websocket: namesOn("websocket"),
  group: namesOn("group"),
  app: namesOn("app"),
};

function namesOn<Kind extends keyof Declarations>(kind: Kind): OptionNames<Declarations[Kind]> {
  const names = Object.entries(OPTIONS).filter(([, { on }]) => on[kind]);
  return Object.fromEntries(names.map(([name]) => [name, true])) as OptionNames<Declarations[Kind]>;
}

/** The options whose values in scopes change those of their routes. */
const INHERITED = Object.entries(OPTIONS).flatMap(([name, { inherit }]) =>
  typeof inherit === "function" ? [{ name: name as keyof GroupOptions, inherit: inherit as Inherit<unknown> }] : []
);

/** The dependencies and limits of a scope, or those of a route, which is the innermost level. */
export interface Level extends DependencyLevel {
  readonly rateLimits: readonly DeclaredLimit[];
}

export function toLevel(deps: Level["deps"], rateLimits: readonly DeclaredLimit[]): Level {
  return { deps, rateLimits, counted: countedBy(rateLimits) };
}

/**
 * The guards of a route by name, the outermost first, and its limits, each in any `per`
 * milliseconds.
 */
export interface Access {
  readonly guards: readonly string[];
  readonly limits: readonly { readonly limit: number; readonly per: number }[];
}

export function accessOf(levels: readonly Level[]): Access {
  return {
    guards: Array.from(new Set(guardsOf(levels).flat()), spanNameOf),
    limits: levels.flatMap(({ rateLimits }) => rateLimits.map(({ limit, perMs }) => ({ limit, per: perMs }))),
  };
}

/** An application, a router, or an include with options. */
export class Scope {
  readonly options: Readonly<GroupOptions>;
  readonly level: Level;
  /** Whether it is an application, so that the paths of its routes are complete. */
  readonly isRoot: boolean;
  /** The middlewares, the outermost first. The array can grow until the scope is frozen. */
  readonly middlewares: Middleware[] = [];
  readonly isDescriptive: boolean;
  readonly #limitStore: DeclaredLimit["store"];
  #limiters: RateLimiters | undefined;

  /**
   * @param action The action for messages: "make a router".
   * @param limitStore The store of the application's limits without one of their own.
   * @throws {TypeError} If an option is wrong.
   */
  constructor(options: ScopeDeclaration, action: string, isRoot: boolean, limitStore?: DeclaredLimit["store"]) {
    const { deps, ...own } = pickOptions(options, OPTION_NAMES.group);
    this.level = toLevel(toDependencies(deps), readRateLimits(own.rateLimit, action));
    checkOptionValues(own, action);
    this.options = own;
    this.isRoot = isRoot;
    this.isDescriptive = INHERITED.some(({ name }) => own[name] !== undefined);
    this.#limitStore = limitStore;
  }

  /** The limits of the application that this scope is. */
  get limiters(): RateLimiters {
    return this.#limiters ??= new RateLimiters(this.#limitStore);
  }

  get isEmpty(): boolean {
    return Object.keys(this.options).length === 0 && this.level.deps.size === 0;
  }
}

/**
 * The options of a route, completed by those of its scopes.
 *
 * @param scopes The outermost first.
 */
export function effectiveOptions(declared: RouteInfo["options"], scopes: readonly Scope[]): RouteInfo["options"] {
  const hasDoubles = new Set(declared.tags).size !== (declared.tags?.length ?? 0);
  if (!hasDoubles && !scopes.some((scope) => scope.isDescriptive)) return declared;
  const chain: readonly GroupOptions[] = [...scopes.map(({ options }) => options), declared];
  const inherited: Record<string, unknown> = {};
  for (const { name, inherit } of INHERITED) {
    const values = chain.map((options) => options[name]).filter((value) => value !== undefined);
    if (values.length > 0) inherited[name] = inherit(values);
  }
  return Object.freeze({ ...declared, ...inherited });
}

/** @throws {TypeError} If an option is wrong. */
export function checkOptionValues(options: RouteDeclaration | WebSocketDeclaration, action: string): void {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined) OPTIONS[name as keyof AllOptions].check?.(value, name, action);
  }
}

function checkTags(value: unknown, _option: string, action: string): void {
  if (Array.isArray(value)) return;
  throw new TypeError(`Cannot ${action}: "tags" must be an array of strings, write tags: ["books"]`);
}

function checkBoolean(value: unknown, option: string, action: string): void {
  if (typeof value === "boolean") return;
  throw new TypeError(`Cannot ${action}: "${option}" must be true or false, got ${quote(value)}`);
}

function checkIfMatchOption(value: unknown, option: string, action: string): void {
  if (value === "required" || value === "optional") return;
  throw new TypeError(`Cannot ${action}: "${option}" must be "required" or "optional", got ${quote(value)}`);
}

function checkDocument(value: unknown, option: string, action: string): void {
  if (typeof value === "function" && !isAsyncFunction(value)) return;
  const wanted = typeof value === "function" ? "a sync function" : "a function";
  throw new TypeError(`Cannot ${action}: "${option}" must be ${wanted}, such as (operation) => operation`);
}

function checkSchema(value: unknown, option: string, action: string): void {
  if (!isSchema(value)) throw new TypeError(`Cannot ${action}: "${option}" ${schemaFault(value)}`);
}

function checkResponse(value: unknown, option: string, action: string): void {
  if (!isDeclaredReply(value)) checkSchema(value, option, action);
}

function checkResponses(value: unknown, _option: string, action: string): void {
  for (const [status, reply] of Object.entries(value ?? {})) {
    if (reply !== undefined) checkDocumentedReply(reply, status, action);
  }
}

function merge<Value extends object>(values: readonly Value[]): Value {
  return Object.assign({}, ...values);
}
