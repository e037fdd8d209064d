/**
 * An application that serves with other dependencies in the place of some. Loaded by tests alone.
 */
import type { PreparedDependency } from "../binding/dependency.ts";
import { Replacements } from "../binding/replacements.ts";
import type { ConnectionInfo } from "../http/connection.ts";
import type { BuiltInRoute, Dispatcher } from "../routing/dispatch.ts";
import { type AnyRoute, neededBy } from "../routing/registry.ts";
import { replacedRoutes } from "../routing/replaced_routes.ts";

/** An application, as far as it is needed. */
export interface Overridable {
  readonly guardsOfPage: readonly PreparedDependency[];
  /** Its dispatcher. After that, nothing more can be declared. */
  readonly dispatcher: () => Dispatcher;
  /** Makes its own endpoints over another dispatcher. */
  readonly endpoints: (dispatcher: () => Dispatcher, replacements: Replacements) => readonly BuiltInRoute[];
  /** Starts it, and prepares what these routes and the documentation page need. */
  readonly start: (routes: readonly AnyRoute[], guardsOfPage: readonly PreparedDependency[]) => Promise<void>;
  readonly answer: (dispatcher: Dispatcher, request: Request, info?: ConnectionInfo) => Promise<Response>;
}

/** The application with the replacements. */
export interface Overridden {
  readonly start: () => Promise<void>;
  readonly fetch: (request: Request, info?: ConnectionInfo) => Promise<Response>;
}

/**
 * Replaces dependencies. The routes are copied at first use.
 *
 * @param pairs Each a dependency, and what makes its value in its place.
 * @throws {TypeError} If one is no such pair.
 */
export function override(
  pairs: unknown,
  { guardsOfPage, dispatcher, endpoints, start, answer }: Overridable,
): Overridden {
  const replacements = new Replacements(pairs);
  let made: Dispatcher | undefined;
  const replaced = (): Dispatcher => made ??= make();
  const make = (): Dispatcher => {
    const original = dispatcher();
    replacements.checkNeeded([...neededBy(original.routes), ...guardsOfPage]);
    return original.with(replacedRoutes(original.routes, replacements), endpoints(replaced, replacements));
  };
  return {
    start: async () => await start(replaced().routes, guardsOfPage.map((guard) => replacements.of(guard))),
    fetch: async (request, info) => await answer(replaced(), request, info),
  };
}
