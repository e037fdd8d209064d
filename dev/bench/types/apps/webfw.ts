// Generated applications on webfw.

import { type GeneratedApp, modelOf, repeat, takesDependency } from "./generated_app.ts";
import { valibotModels } from "./valibot_models.ts";

/** What registers the routes. */
interface Scope {
  /** The expression that makes it; `state`, `user` and `org` can be used. */
  readonly make: string;
  /** Whether each handler takes the values `user` and `org` of the scope. */
  readonly usesGuards?: boolean;
}

/** webfw: the verbs of one `App`. */
export const webfw: GeneratedApp = generated("webfw", { make: "new App()" });

/** The same for applications and routers with guards, and for a router that has none. */
export const webfwScopes: readonly GeneratedApp[] = [
  generated("webfw: App with deps", { make: "new App({ deps: { user, org } })" }),
  generated("webfw: App with used deps", { make: "new App({ deps: { user, org } })", usesGuards: true }),
  generated("webfw: Router", { make: 'new Router({ prefix: "/shops/{shop}", state })' }),
  generated("webfw: Router with used deps", {
    make: 'new Router({ prefix: "/shops/{shop}", state, deps: { user, org, found: async () => true } })',
    usesGuards: true,
  }),
];

function generated(name: string, scope: Scope): GeneratedApp {
  return {
    name,
    source: (routes) => `
import { App, dependency, Router, stateType } from "@webfw/core";
import * as v from "valibot";
${valibotModels(routes)}
const state = stateType<{ shops: Map<string, number> }>();
const user = dependency(async () => ({ name: "Ada" }));
const org = dependency(async () => 1);
export const other = new Router({ state });
export const app = ${scope.make};
const getStore = dependency(
  { headers: { authorization: v.optional(v.string(), "") } },
  async (_request, { headers }): Promise<Store> => headers.authorization ? store : store,
);
app.get("/mistake/{id}", { params: { id: Id } }, async (_request, { id }) => {
  // @ts-expect-error an integer is no text
  const text: string = id;
  return { text };
});
${repeat(routes, (index) => route(index, scope.usesGuards ?? false))}`,
  };
}

function route(index: number, usesGuards: boolean): string {
  const model = modelOf(index);
  const withStore = takesDependency(index);
  return `
export const route${index} = app.post("/resources${index}/{id}", {
  params: { id: Id },
  query: { q: v.optional(v.string()), limit: Limit, sort: Sort },
  body: Input${model},
  response: Output${model},${withStore ? "\n  deps: { db: getStore }," : ""}
}, async (_request, { id, q, limit, sort, body${withStore ? ", db" : ""}${usesGuards ? ", user, org" : ""} }) => {
  if (q !== undefined && sort === "desc" && limit > 10) return { ...body, id: limit };${
    usesGuards ? "\n  if (user.name === q) return { ...body, id: org };" : ""
  }
  return await ${withStore ? "db" : "store"}.save(id, body);
});`;
}
