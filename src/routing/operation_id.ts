/** Names operations: each name stands once in an application. */
import type { Route } from "./route.ts";

/**
 * Gives each route a name of its own: those that were declared stay, one that was derived gets a number where it is taken.
 *
 * @param routes The routes of an application, in their order.
 * @returns The same routes.
 */
export function assignOperationIds(routes: readonly Route[]): readonly Route[] {
  const taken = new Set(routes.map((route) => route.options.operationId));
  for (const route of routes) {
    if (route.options.operationId !== undefined) continue;
    let id = route.derivedId;
    for (let number = 2; taken.has(id); number++) {
      id = `${route.derivedId}${number}`;
    }
    taken.add(id);
    route.operationId = id;
  }
  return routes;
}
