// The interface of all generators of applications.

/** Writes the source text of an application whose type check is measured. */
export interface GeneratedApp {
  name: string;
  /**
   * The source with this many routes. Each route is a statement with a path parameter, three query
   * parameters, a body model and a response model. Every third route has a dependency. Five routes
   * share their models. The source always contains one mistake, marked as expected, that the
   * framework's types must find.
   */
  source(routes: number): string;
}

/** How many routes use the same models. */
export const ROUTES_PER_MODEL = 5;

/** Whether a route has the dependency. */
export function takesDependency(route: number): boolean {
  return route % 3 === 0;
}

/** The number of the model that a route uses. */
export function modelOf(route: number): number {
  return Math.floor(route / ROUTES_PER_MODEL);
}

/** Calls `write` for the numbers below `count` and joins the lines. */
export function repeat(
  count: number,
  write: (index: number) => string,
): string {
  return Array.from({ length: count }, (_, index) => write(index)).join("\n");
}
