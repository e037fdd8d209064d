/**
 * Guards: what has to let a request through before its other input is validated. Those of a scope
 * are prepared once for all of its routes, because they have the same places among the values.
 */
import type { HttpRequest } from "../http/request.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { type PreparedDependency, toDependencies } from "./dependency.ts";
import { guardsAmong } from "./guard_order.ts";
import { type Indices, NOTHING_MADE, type Stage, stagesOf, withDependencies } from "./resolver.ts";
import {
  type Args,
  bindAnyText,
  bindText,
  type InputOwner,
  type PathNames,
  reserveName,
  TextFields,
} from "./text_fields.ts";

/** A scope, as far as its guards need it. */
export interface GuardScope {
  /** The dependencies of the scope, by name. */
  readonly deps: ReadonlyMap<string, PreparedDependency>;
  /** Further dependencies, for whose values requests are counted. No handler gets them. */
  readonly counted: readonly PreparedDependency[];
}

/**
 * A step before the input of a route is validated: guards that are resolved together, or another
 * check.
 */
export interface GuardStep {
  /**
   * Runs the step, and rejects or throws if it refuses the request. Undefined if it has nothing to
   * wait for.
   *
   * @param request The request.
   * @param values The values of earlier steps by their indices. The step may add its own.
   */
  readonly run: (request: HttpRequest, values: unknown[]) => Promise<unknown> | undefined;
  /** The index of the value that the promise gives; undefined if it is no value. */
  readonly index: number | undefined;
}

/** The guards of a scope or of a route. */
export interface PlacedGuards {
  /** The index of the scope, the outermost is 0. The route itself comes after its scopes. */
  readonly place: number;
  /** At least one, in their order. */
  readonly steps: readonly GuardStep[];
}

/** The levels of outermost scopes. */
const outermost = new WeakMap<GuardScope, GuardLevel>();

/** The guards of a scope inside of certain outer scopes. What these have made is not made again. */
export class GuardLevel {
  /** All dependencies that this scope and the outer ones have made. */
  readonly indices: Indices;
  /** The dependencies that stand on this scope and on the outer ones. */
  readonly #standing: readonly PreparedDependency[];
  readonly #stages: readonly Stage[];
  readonly #steps = new Map<string, readonly GuardStep[]>();
  readonly #inner = new WeakMap<GuardScope, GuardLevel>();

  private constructor(outer: GuardLevel | undefined, scope: GuardScope) {
    const made = outer?.indices ?? NOTHING_MADE;
    this.indices = withDependencies(guardsOf(scope), made);
    this.#standing = [...outer ? outer.#standing : [], ...guardsOf(scope)];
    const own = [...this.indices.keys()].slice(made.size);
    this.#stages = stagesOf(own, guardsAmong(own, this.#standing), this.indices);
  }

  /** The level of a scope. All routes in the same scopes share it. */
  static of(outer: GuardLevel | undefined, scope: GuardScope): GuardLevel {
    const known = outer ? outer.#inner : outermost;
    let level = known.get(scope);
    if (!level) known.set(scope, level = new GuardLevel(outer, scope));
    return level;
  }

  /**
   * The steps that resolve these guards; none if the outer scopes have made all of them. Routes
   * share them unless the guards read the path.
   *
   * @param path The path of the route, with the names that the guards may have under `params`.
   * @param route The route, for messages.
   * @throws {RouteError} If the path has no such name.
   * @throws {TypeError} If no text can satisfy a schema.
   */
  stepsFor(path: PathNames, route: string): readonly GuardStep[] {
    const isBound = this.#stages.some(({ dependencies }) => dependencies.some((one) => readsPath(one, path)));
    const key = isBound ? [...path.all, "", ...path.own].join("/") : "";
    let steps = this.#steps.get(key);
    if (!steps) {
      steps = this.#stages.map((stage) => guardStep(stage, fieldsOf(stage, path, route)));
      this.#steps.set(key, steps);
    }
    return steps;
  }
}

function readsPath({ options: { params = {}, query = {} } }: PreparedDependency, { all }: PathNames): boolean {
  return Object.keys(params).length > 0 || all.some((name) => Object.hasOwn(query, name));
}

/** Whether a scope has dependencies. */
export function hasGuards(scope: GuardScope): boolean {
  return guardsOf(scope).length > 0;
}

/** The guards of a scope, without what they need. */
export function guardsOf({ deps, counted }: GuardScope): PreparedDependency[] {
  return [...deps.values(), ...counted];
}

/** The levels of scopes, the outermost first; undefined for those without dependencies. */
export function levelsOf(scopes: readonly GuardScope[]): readonly (GuardLevel | undefined)[] {
  let outer: GuardLevel | undefined;
  return scopes.map((scope) => hasGuards(scope) ? outer = GuardLevel.of(outer, scope) : undefined);
}

/**
 * All dependencies of a route and of its scopes, each after those that it needs.
 *
 * @param scopes The scopes, the outermost first.
 * @param deps The option `deps` of the route.
 * @param counted Further guards of the route.
 */
export function dependenciesOf(
  scopes: readonly GuardScope[],
  deps: RouteDeclaration["deps"],
  counted: readonly PreparedDependency[],
): PreparedDependency[] {
  const declared = [...scopes, { deps: toDependencies(deps), counted }];
  return [...withDependencies(declared.flatMap(guardsOf), NOTHING_MADE).keys()];
}

/** Prepares the text inputs of a stage, which are bound together. */
export function fieldsOf(stage: Stage, path: PathNames, route: string): TextFields {
  return new TextFields(ownersOf(stage, route), path);
}

/** The owners of the inputs of a stage. */
export function ownersOf({ dependencies }: Stage, route: string): InputOwner[] {
  return dependencies.map((dependency) => ownerOf(dependency, ` in ${route}`));
}

/**
 * The owner of the inputs of a dependency.
 *
 * @param place Where the dependency stands, for messages.
 */
export function ownerOf({ name, options, deps }: PreparedDependency, place = ""): InputOwner {
  const reserved = new Map<string, string>();
  for (const needed of deps.keys()) reserveName(reserved, needed, "a dependency", name);
  for (const group of ["headers", "cookies"] as const) {
    if (options[group] !== undefined) reserveName(reserved, group, `the ${group}`, name);
  }
  return { isHandler: false, name: name + place, options, reserved };
}

/** Makes the step that resolves guards together, after it has bound their inputs. */
export function guardStep(stage: Stage, fields: TextFields): GuardStep {
  const index = stage.onlyIndex;
  // Without another promise for the only dependency of a stage.
  const resolve = index === undefined
    ? (request: HttpRequest, args: readonly Args[], values: unknown[]) => stage.resolve(request, args, 0, values)
    : (request: HttpRequest, args: readonly Args[], values: unknown[]) => stage.resolveOnly(request, args[0]!, values);
  const run: GuardStep["run"] = fields.isAsync
    ? async (request, values) => await resolve(request, await bindAnyText(fields, request), values)
    : (request, values) => resolve(request, bindText(fields, request), values);
  return { index, run };
}
