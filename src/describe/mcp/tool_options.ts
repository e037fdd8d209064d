/** What a route says of itself as a tool. */
import type { ToolOptions } from "../../http/route_info.ts";
import type { Route } from "../../routing/route.ts";

/** Whether a route is exposed to agents. */
export function isTool({ options: { tool } }: Pick<Route, "options">): boolean {
  return tool !== undefined && tool !== false;
}

/** What a route declares of its tool beside that it is one. */
export function toolOptionsOf({ options: { tool } }: Pick<Route, "options">): ToolOptions {
  return typeof tool === "object" ? tool : {};
}
