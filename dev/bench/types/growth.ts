// The cost of routes, without the cost of an application that has none.

import type { Cost } from "./type_check.ts";

/** The numbers of routes that are measured, besides zero. */
export const SIZES = [100, 400, 800] as const;

/** The greatest allowed ratio of the cost of 800 routes to that of 400; 2 is linear. */
const FACTOR_LIMIT = 2.1;

/** One kind of cost of one framework. */
export interface Growth {
  framework: string;
  /** Of an application without routes. */
  fixed: number;
  /** Of a route in applications of each of the sizes, the fixed cost subtracted. */
  perRoute: number[];
  /** Of 800 routes divided by that of 400, the fixed cost subtracted from both. */
  factor: number;
}

/** Reads one kind of cost off the checks of a framework's applications, by number of routes. */
export function growth(
  framework: string,
  costs: ReadonlyMap<number, Cost>,
  kind: keyof Cost,
): Growth {
  const at = (routes: number) => costs.get(routes)?.[kind] ?? NaN;
  const fixed = at(0);
  return {
    framework,
    fixed,
    perRoute: SIZES.map((routes) => (at(routes) - fixed) / routes),
    factor: (at(800) - fixed) / (at(400) - fixed),
  };
}

/**
 * One sentence for each growth of instantiations above its limit. A missing figure counts as too
 * much.
 */
export function excesses(
  { framework, perRoute, factor }: Growth,
  limit: number,
): string[] {
  const dearest = Math.max(...perRoute);
  const found: string[] = [];
  if (!(dearest <= limit)) {
    found.push(
      `A route of ${framework} costs ${Math.round(dearest)} instantiations, ` +
        `allowed are ${limit}`,
    );
  }
  if (!(factor <= FACTOR_LIMIT)) {
    found.push(
      `800 routes of ${framework} cost ${factor.toFixed(2)} times 400, ` +
        `allowed are ${FACTOR_LIMIT} times`,
    );
  }
  return found;
}
