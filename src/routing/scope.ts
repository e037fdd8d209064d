/** Scopes: applications, routers and includes, with the options for all of their routes. */
import { type DependencyLike, toDependencies } from "../binding/dependency.ts";
import type { DependencyLevel } from "../binding/levels.ts";
import {
  checkDocumentedReply,
  type DocumentedReply,
  type RouteDeclaration,
  type RouteInfo,
  type WebSocketDescription,
} from "../http/route_info.ts";
import type { Mistake } from "../schema/schema.ts";
import { type OptionNames, quote } from "../base/options.ts";
import { RateLimiters } from "../rate_limit/limiter.ts";
import { countedBy, type DeclaredLimit, readRateLimits } from "../rate_limit/rate_limit.ts";
import type { Middleware } from "./middleware.ts";

/**
 * The options of an application, a router or an include for all routes in it.
 *
 * The endpoints of the application itself, 404 and 405 belong to no scope.
 */
export interface ScopeOptions {
  /**
   * Further documented replies by status: schemas, or `{ schema, description, headers }`. Those of
   * a route, or of an inner scope, replace them.
   */
  responses?: Readonly<Record<number, DocumentedReply>>;
  /**
   * Whether pages of all origins may send unsafe requests and open WebSockets. A route or an inner
   * scope can override it.
   *
   * @default {false}
   */
  crossOrigin?: boolean;
  /** How often a client may send requests to all routes together. */
  rateLimit?: object;
}

/** The options of a router or an include for all routes in it. */
export interface GroupOptions extends ScopeOptions {
  /** Tags for the documentation, before those of the routes. */
  tags?: readonly string[];
  /**
   * Whether the routes are served, and left out of the document and the page. They cannot be tools.
   *
   * @default {false}
   */
  hidden?: boolean;
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

export interface ScopeDependenciesOption {
  /** The dependencies of the scope by name: all of them are guards. */
  deps?: Readonly<Record<string, unknown>>;
}

/** All options of a scope. */
export type ScopeDeclaration = GroupOptions & ScopeDependenciesOption;

// The declarations of scopes and routes combine these lists of option names.

/** The options of scopes and routes on who may use them, and how often. */
const ACCESS: OptionNames<Pick<ScopeDeclaration, "crossOrigin" | "rateLimit">> = { crossOrigin: true, rateLimit: true };

/** The options of routes and WebSocket routes, besides their inputs. */
export const SERVICE: OptionNames<
  Pick<WebSocketDescription, "crossOrigin" | "rateLimit" | "endsWithSignIn" | "limits">
> = { ...ACCESS, endsWithSignIn: true, limits: true };

/** The options of scopes and routes that describe a group of routes. */
export const GROUP: OptionNames<Pick<GroupOptions, "tags" | "hidden">> = { tags: true, hidden: true };

/** The options of each scope. */
export const SCOPE_OPTIONS: OptionNames<ScopeOptions & ScopeDependenciesOption> = {
  deps: true,
  responses: true,
  ...ACCESS,
};

/** The options of routers and includes. */
export const GROUP_OPTIONS: OptionNames<ScopeDeclaration> = { ...SCOPE_OPTIONS, ...GROUP };

/** The dependencies and limits of a scope, or those of a route, which is the innermost level. */
export interface Level extends DependencyLevel {
  readonly rateLimits: readonly DeclaredLimit[];
}

export function toLevel(deps: Level["deps"], rateLimits: readonly DeclaredLimit[]): Level {
  return { deps, rateLimits, counted: countedBy(rateLimits) };
}

/** An application, a router, or an include with options. */
export class Scope {
  readonly options: Readonly<GroupOptions>;
  readonly level: Level;
  /** Whether it is an application, so that the paths of its routes are complete. */
  readonly isRoot: boolean;
  /** The middlewares, the outermost first. The array can grow until the scope is frozen. */
  readonly middlewares: Middleware[] = [];
  /** Whether it changes the effective options of its routes. */
  readonly isDescriptive: boolean;
  readonly #limitStore: DeclaredLimit["store"];
  #limiters: RateLimiters | undefined;

  /**
   * Checks the options of a scope.
   *
   * @param action What is being done, for messages: "make a router".
   * @param limitStore Where limits of an application count that have no store of their own.
   * @throws {TypeError} If an option is wrong.
   */
  constructor(options: ScopeDeclaration, action: string, isRoot: boolean, limitStore?: DeclaredLimit["store"]) {
    const { responses, tags, hidden, crossOrigin, rateLimit } = options;
    const deps = toDependencies(options.deps);
    const given = { responses, tags, hidden, crossOrigin };
    checkDescription(given, action);
    this.options = withoutUndefined({ ...given, rateLimit });
    this.level = toLevel(deps, readRateLimits(rateLimit, action));
    this.isRoot = isRoot;
    this.isDescriptive = Object.values(given).some((option) => option !== undefined);
    this.#limitStore = limitStore;
  }

  /** The limits at work in the application that this is. */
  get limiters(): RateLimiters {
    return this.#limiters ??= new RateLimiters(this.#limitStore);
  }

  /** Whether it changes nothing for its routes. */
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
  const chain = [...scopes.map(({ options }) => options), declared];
  const tags = [...new Set(chain.flatMap(({ tags = [] }) => tags))];
  const responses = Object.assign({}, ...chain.map(({ responses }) => responses)) as Record<number, DocumentedReply>;
  const crossOrigin = chain.findLast(({ crossOrigin }) => crossOrigin !== undefined)?.crossOrigin;
  return Object.freeze({
    ...declared,
    ...(tags.length > 0 && { tags }),
    ...(Object.keys(responses).length > 0 && { responses }),
    ...(chain.some(({ hidden }) => hidden) && { hidden: true }),
    ...(crossOrigin !== undefined && { crossOrigin }),
  });
}

/**
 * Checks the options that scopes and routes share.
 *
 * @throws {TypeError} If one is wrong.
 */
export function checkDescription(
  { responses = {}, tags, hidden, crossOrigin, endsWithSignIn }: {
    readonly [Option in "responses" | "tags" | "hidden" | "crossOrigin" | "endsWithSignIn"]?:
      | RouteDeclaration[Option]
      | undefined;
  },
  action: string,
): void {
  if (tags !== undefined && !Array.isArray(tags)) {
    throw new TypeError(`Cannot ${action}: "tags" must be an array of strings, write tags: ["books"]`);
  }
  for (const [status, reply] of Object.entries(responses)) {
    if (reply !== undefined) checkDocumentedReply(reply, status, action);
  }
  for (const [option, value] of Object.entries({ hidden, crossOrigin, endsWithSignIn })) {
    if (value === undefined || typeof value === "boolean") continue;
    throw new TypeError(`Cannot ${action}: "${option}" must be true or false, got ${quote(value)}`);
  }
}

/** A copy of options, without those that are undefined. */
export function withoutUndefined<Options extends object>(
  options: { readonly [Name in keyof Options]: Options[Name] | undefined },
): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}
