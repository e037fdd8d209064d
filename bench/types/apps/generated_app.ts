// What every generator of an application offers.

/** Writes the source text of an application whose type check is measured. */
export interface GeneratedApp {
  name: string;
  /**
   * The source with this many routes, each a statement of its own with a path parameter, three
   * query parameters, a body model and a response model; every third takes a dependency; five
   * routes share their models. A mistake that the framework's types have to find is always among
   * it, marked as expected.
   */
  source(routes: number): string;
}

/** How many routes use the same models. */
export const ROUTES_PER_MODEL = 5;

/** Whether a route takes the dependency. */
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
