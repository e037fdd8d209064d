/** Names tools: each name stands once in an application, in letters that every agent takes. */
import type { Route } from "../../routing/route.ts";
import { toolOptionsOf } from "./tool_options.ts";

const MAX_LENGTH = 64;

/**
 * Names the tools of an application: a name that was declared stays, one that was derived gets a number where it is taken.
 *
 * @param routes The routes with a tool, in their order, their operations named.
 */
export function assignToolNames(routes: readonly Route[]): Map<Route, string> {
  const taken = new Set(routes.map((route) => toolOptionsOf(route).name));
  const names = new Map<Route, string>();
  for (const route of routes) {
    const name = toolOptionsOf(route).name ?? freeName(toToolName(route.operationId), taken);
    taken.add(name);
    names.set(route, name);
  }
  return names;
}

/** The name of an operation in the letters that a tool's name may have. */
function toToolName(operationId: string): string {
  const ascii = operationId.normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^A-Za-z0-9_-]+/g, "_");
  return /[A-Za-z0-9]/.test(ascii) ? ascii.slice(0, MAX_LENGTH) : "tool";
}

/** The number takes the place of the last letters where both do not fit. */
function freeName(wanted: string, taken: ReadonlySet<string | undefined>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number++) {
    name = `${wanted.slice(0, MAX_LENGTH - String(number).length)}${number}`;
  }
  return name;
}
