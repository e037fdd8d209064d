/** Path parameters that dependencies declare and the route does not. */
import { RouteError } from "../base/errors.ts";
import { giveSameType } from "../schema/same_type.ts";
import type { Schema, Schemas } from "../schema/schema.ts";
import type { PreparedDependency } from "./dependency.ts";
import type { PathNames } from "./text_fields.ts";

/** A dependency with the name of the argument that it becomes. */
type NamedDependency = readonly [name: string, dependency: PreparedDependency];

/**
 * The schemas of the parameters in the path of a route that it leaves to its dependencies, and to
 * those of the scope that declares it. Names that an include adds are not known to the route.
 *
 * Of a dependency that a test replaces, it is the schema of the program: the handler is typed by
 * it.
 *
 * @param declared The option `params` of the route.
 * @param path The names in its path.
 * @param deps These dependencies, by name.
 * @param route The route, for messages.
 * @throws {RouteError} If two dependencies give a parameter other types.
 */
export function inheritedParams(
  declared: Schemas,
  { own }: PathNames,
  deps: Iterable<NamedDependency>,
  route: string,
): Schemas {
  if (own.size === 0) return declared;
  const found = new Map<string, { readonly schema: Schema; readonly by: string }>();
  for (const [{ options: { params = {}, query = {} } }, by] of namesOfAll(deps)) {
    for (const [name, schema] of Object.entries({ ...query, ...params })) {
      if (!own.has(name) || Object.hasOwn(declared, name)) continue;
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

/**
 * The names of the arguments that dependencies become, with those that they need, as the program
 * declared them.
 */
function namesOfAll(deps: Iterable<NamedDependency>): ReadonlyMap<PreparedDependency, string> {
  const names = new Map<PreparedDependency, string>();
  const add = ([name, dependency]: NamedDependency): void => {
    const declared = dependency.declared ?? dependency;
    if (!names.has(declared)) names.set(declared, name);
  };
  for (const named of deps) add(named);
  // A map is also iterated over what is added meanwhile.
  for (const { deps } of names.keys()) {
    for (const named of deps) add(named);
  }
  return names;
}
