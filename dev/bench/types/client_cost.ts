// The cost of a typed client over the routes of webfw, without the cost of the server.

import { clientOf, serverOf } from "./apps/webfw_client.ts";
import { type Cost, typeCheck } from "./type_check.ts";

/** The numbers of routes that are measured. */
export const CLIENT_SIZES = [20, 400, 800] as const;

/** The calls of the client, and those of a client that makes some more. */
export const CALLS = 5;
const MORE_CALLS = 20;

/** The most instantiations for each of 400 routes, with {@linkcode CALLS} calls. */
const ROUTE_LIMIT = 300;
/** The most instantiations for a further call. */
const CALL_LIMIT = 1_000;
/** The greatest allowed ratio of the cost of 800 routes to that of 400; 2 is linear. */
const FACTOR_LIMIT = 2.1;

/** The cost of a client over some routes, in instantiations beyond those of the server. */
export interface ClientCost {
  routes: number;
  /** Of the server, for each route. */
  server: number;
  /** Of the client and its calls together. */
  whole: number;
  /** The same for each route. */
  perRoute: number;
  /** Of a further call. */
  perCall: number;
}

/**
 * Checks servers alone, and with clients that call some of their routes. `known` has the costs of
 * servers that have been checked already, by the number of their routes.
 */
export async function measureClient(
  known: ReadonlyMap<number, Cost>,
  directory: string,
  signal: AbortSignal,
): Promise<ClientCost[]> {
  const check = async (routes: number, calls?: number) => {
    const measured = calls === undefined ? known.get(routes) : undefined;
    if (measured !== undefined) return measured.instantiations;
    const server = serverOf(routes);
    const modules = calls === undefined
      ? { "app.ts": server }
      : { "server.ts": server, "app.ts": clientOf(routes, calls) };
    return (await typeCheck(modules, directory, signal)).instantiations;
  };
  const empty = await check(0);
  const costs: ClientCost[] = [];
  for (const routes of CLIENT_SIZES) {
    const server = await check(routes);
    const some = await check(routes, CALLS);
    const more = await check(routes, MORE_CALLS);
    costs.push({
      routes,
      server: (server - empty) / routes,
      whole: some - server,
      perRoute: (some - server) / routes,
      perCall: (more - some) / (MORE_CALLS - CALLS),
    });
  }
  return costs;
}

/** One sentence for each cost above its limit. A missing figure counts as too much. */
export function clientExcesses(costs: readonly ClientCost[]): string[] {
  const at = (routes: number) => costs.find((cost) => cost.routes === routes);
  const { perRoute = NaN, whole = NaN } = at(400) ?? {};
  const dearest = Math.max(...costs.map(({ perCall }) => perCall));
  const factor = (at(800)?.whole ?? NaN) / whole;
  const found: string[] = [];
  if (!(perRoute <= ROUTE_LIMIT)) {
    found.push(
      `A client with ${CALLS} calls costs ${Math.round(perRoute)} instantiations for each of 400 routes, ` +
        `allowed are ${ROUTE_LIMIT}`,
    );
  }
  if (!(dearest <= CALL_LIMIT)) {
    found.push(`A further call of a client costs ${Math.round(dearest)} instantiations, allowed are ${CALL_LIMIT}`);
  }
  if (!(factor <= FACTOR_LIMIT)) {
    found.push(
      `A client over 800 routes costs ${factor.toFixed(2)} times one over 400, allowed are ${FACTOR_LIMIT} times`,
    );
  }
  return found;
}

/** A table with a line for each number of routes. */
export function clientTable(costs: readonly ClientCost[]): string {
  const cells = [
    ["routes", "server, each", `client, ${CALLS} calls`, "client, each", "further call"],
    ...costs.map(({ routes, ...figures }) =>
      [routes, figures.server, figures.whole, figures.perRoute, figures.perCall].map((figure) =>
        Math.round(figure).toLocaleString("en")
      )
    ),
  ];
  const lines = cells.map((texts) => `  ${texts.map((text) => text.padStart(16)).join("")}`);
  return ["Instantiations of a typed client, beyond those of its server", ...lines, ""].join("\n");
}
