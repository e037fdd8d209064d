// A generated application on webfw.

import { type GeneratedApp, modelOf, repeat, takesDependency } from "./generated_app.ts";
import { valibotModels } from "./valibot_models.ts";

/** webfw: the verbs of one `App`. */
export const webfw: GeneratedApp = {
  name: "webfw",
  source: (routes) => `
import { App, dependency } from "@webfw/core";
import * as v from "valibot";
${valibotModels(routes)}
export const app = new App();
const getStore = dependency(
  { headers: { authorization: v.string() } },
  async (_request, { headers }): Promise<Store> => headers.authorization ? store : store,
);
app.get("/mistake/{id}", { params: { id: Id } }, async (_request, { id }) => {
  // @ts-expect-error an integer is no text
  const text: string = id;
  return { text };
});
${repeat(routes, route)}`,
};

function route(index: number): string {
  const model = modelOf(index);
  const withStore = takesDependency(index);
  return `
app.post("/resources${index}/{id}", {
  params: { id: Id },
  query: { q: v.optional(v.string()), limit: Limit, sort: Sort },
  body: Input${model},
  response: Output${model},${withStore ? "\n  deps: { db: getStore }," : ""}
}, async (_request, { id, q, limit, sort, body${withStore ? ", db" : ""} }) => {
  if (q !== undefined && sort === "desc" && limit > 10) return { ...body, id: limit };
  return await ${withStore ? "db" : "store"}.save(id, body);
});`;
}
