/**
 * The inputs of a handler as its route declares them: they are checked here, and compiled later.
 */
import { RouteError } from "../base/errors.ts";
import type { RouteDeclaration } from "../http/route_info.ts";
import { giveSameType } from "../schema/same_type.ts";
import type { Schema, Schemas } from "../schema/schema.ts";
import type { PreparedDependency, TextInputs, TextOptions } from "./dependency.ts";
import { FormBody, isStream, JsonBody, streamOpener } from "./bodies.ts";
import { dependenciesOf, type DependencyLevel } from "./levels.ts";
import { type InputOwner, ownerOf, type PathNames, reserveName, TextFields } from "./text_fields.ts";

export type InputOptions = TextOptions & Pick<RouteDeclaration, "body" | "form" | "deps" | "limits">;

/** The inputs of a handler. They do not depend on the scopes that includes add. */
export interface HandlerInputs extends Omit<InputOwner, "name"> {
  /** The names in the path as the route declares it. */
  readonly ownNames: ReadonlySet<string>;
  readonly body: Body | undefined;
}

export const NO_INPUTS: HandlerInputs = {
  isHandler: true,
  options: {},
  reserved: new Map(),
  ownNames: new Set(),
  body: undefined,
};

/** The body of a route: one property is defined. */
export interface Body {
  readonly json?: JsonBody;
  readonly form?: FormBody;
  readonly openStream?: ReturnType<typeof streamOpener>;
}

/** Dependencies by the names of the arguments that they become. */
type NamedDependencies = ReadonlyMap<string, PreparedDependency>;

/**
 * Checks the inputs of a handler.
 *
 * @param scope The dependencies of the scope that declares the route.
 * @throws {RouteError} If a dependency has the name of another argument, or two of them give a path
 * parameter different types.
 * @throws {TypeError} If a value is no schema, or JSON or a form cannot satisfy the body.
 */
export function declareInputs(
  options: InputOptions,
  text: TextInputs,
  ownNames: ReadonlySet<string>,
  scope: NamedDependencies,
  deps: NamedDependencies,
  name: string,
): HandlerInputs {
  const reserved = new Map<string, string>();
  for (const dependency of scope.keys()) reserveName(reserved, dependency, "a dependency of its router", name);
  for (const dependency of deps.keys()) reserveName(reserved, dependency, "a dependency", name);
  for (const group of ["headers", "cookies", "body", "form"] as const) {
    if (options[group] !== undefined) reserveName(reserved, group, `the ${group}`, name);
  }
  const params = withInheritedParams(text.params ?? {}, ownNames, [...deps, ...scope], name);
  return { isHandler: true, options: { ...text, params }, reserved, ownNames, body: bodyOf(options, name) };
}

/**
 * Checks that the text inputs of a handler, its dependencies and those of its own scope can be
 * bound to a path.
 *
 * @param levels The levels of the route, of which the last two are checked.
 * @throws {RouteError} If a name is bound twice, or the path lacks a parameter.
 * @throws {TypeError} If no string can satisfy a schema.
 */
export function checkInputs(
  inputs: HandlerInputs,
  pathNames: readonly string[],
  levels: readonly DependencyLevel[],
  name: string,
): void {
  const declared: PathNames = { all: pathNames, own: inputs.ownNames };
  new TextFields([{ ...inputs, name }], declared);
  checkDependencies(levels.slice(-2), declared, name);
}

/**
 * Checks the text inputs of the guards of outer scopes.
 *
 * @throws {RouteError} If the path lacks a parameter.
 */
export function checkOuterInputs(pathNames: readonly string[], levels: readonly DependencyLevel[], name: string): void {
  checkDependencies(levels.slice(0, -2), wholePath(pathNames), name);
}

function checkDependencies(levels: readonly DependencyLevel[], path: PathNames, name: string): void {
  for (const dependency of dependenciesOf(levels)) {
    new TextFields([ownerOf(dependency, ` in ${name}`)], path);
  }
}

/** The path for guards of outer scopes, which can declare any of its names as `params`. */
export function wholePath(pathNames: readonly string[]): PathNames {
  return { all: pathNames, own: new Set(pathNames) };
}

function bodyOf({ body, form, limits = {} }: InputOptions, name: string): Body | undefined {
  if (form) return { form: new FormBody(form, name) };
  if (!body) return undefined;
  return isStream(body) ? { openStream: streamOpener(limits, name) } : { json: new JsonBody(body, name) };
}

/**
 * The schemas of path parameters, with those of its dependencies for names that the handler does
 * not declare. The route does not know the names that an include adds.
 *
 * @throws {RouteError} If two dependencies give a parameter different types.
 */
function withInheritedParams(
  declared: Schemas,
  ownNames: ReadonlySet<string>,
  deps: Iterable<readonly [name: string, dependency: PreparedDependency]>,
  route: string,
): Schemas {
  if (ownNames.size === 0) return declared;
  const found = new Map<string, { readonly schema: Schema; readonly by: string }>();
  for (const [{ options: { params = {}, query = {} } }, by] of namesOfAll(deps)) {
    for (const [name, schema] of Object.entries({ ...query, ...params })) {
      if (!ownNames.has(name) || Object.hasOwn(declared, name)) continue;
      const before = found.get(name);
      if (!before) found.set(name, { schema, by });
      else if (!giveSameType(before.schema, schema)) {
        throw new RouteError(
          "conflict",
          `Cannot bind "${name}" of ${route}: its dependencies "${before.by}" and "${by}" give it other types, declare it under "params"`,
        );
      }
    }
  }
  if (found.size === 0) return declared;
  return { ...declared, ...Object.fromEntries(found.entries().map(([name, { schema }]) => [name, schema])) };
}

/** The names of the arguments that dependencies become, with those that they need. */
function namesOfAll(
  deps: Iterable<readonly [name: string, dependency: PreparedDependency]>,
): ReadonlyMap<PreparedDependency, string> {
  const names = new Map<PreparedDependency, string>();
  const add = ([name, dependency]: readonly [string, PreparedDependency]): void => {
    if (!names.has(dependency)) names.set(dependency, name);
  };
  for (const named of deps) add(named);
  // The loop also visits what is added to the map while it runs.
  for (const { deps } of names.keys()) {
    for (const named of deps) add(named);
  }
  return names;
}
