// Generated clients of the generated application on webfw.

import { modelOf, repeat } from "./generated_app.ts";
import { webfw } from "./webfw.ts";

/** The source text of the server. */
export function serverOf(routes: number): string {
  return webfw.source(routes);
}

/**
 * The source text of a module that calls some of the routes. It contains one mistake, marked as
 * expected.
 */
export function clientOf(routes: number, calls: number): string {
  return `
import type * as api from "./server.ts";
import type { Client } from "@webfw/core/client";
declare const shop: Client<typeof api>;
export async function mistake() {
  // @ts-expect-error an id is no text
  await shop.post("/resources0/{id}", { id: "1", body: { title: "", price: 1, tags: [], maker0: { name: "" } } });
}
${repeat(calls, (index) => call(Math.floor(index * routes / calls)))}`;
}

function call(route: number): string {
  const maker = `maker${modelOf(route)}`;
  return `
export async function call${route}(): Promise<string> {
  const { id, title, ${maker} } = await shop.post("/resources${route}/{id}", {
    id: ${route},
    sort: "asc",
    body: { title: "Emma", price: 1, tags: ["used"], ${maker}: { name: "Ada" } },
  });
  const number: number = id;
  return title + number + ${maker}.name;
}`;
}
