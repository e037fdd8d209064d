// What routes cost beyond what an application costs without any.

import type { Cost } from "./type_check.ts";

/** The numbers of routes at which an application is measured, besides none. */
export const SIZES = [100, 400, 800] as const;

/** How often 800 routes may cost what 400 cost; 2 is linear. */
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
 * What is too much about a growth of instantiations, a sentence each. A figure that is missing is
 * too much, too.
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
