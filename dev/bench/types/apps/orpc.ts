// A generated application on oRPC.

import { type GeneratedApp, modelOf, repeat, takesDependency } from "./generated_app.ts";
import { valibotModels } from "./valibot_models.ts";

/** oRPC: a procedure to a constant, gathered in a router. */
export const orpc: GeneratedApp = {
  name: "orpc",
  source: (routes) => `
import { os } from "@orpc/server";
import * as v from "valibot";
${valibotModels(routes)}
const base = os.$context<{ headers: Headers }>();
const withStore = base.use(({ context, next }) => {
  if (!context.headers.has("authorization")) throw new Error("Unauthorized");
  return next({ context: { db: store } });
});
export const mistake = base
  .route({ method: "GET", path: "/mistake/{id}", inputStructure: "detailed" })
  .input(v.object({ params: v.object({ id: Id }) }))
  .handler(async ({ input }) => {
    // @ts-expect-error an integer is no text
    const text: string = input.params.id;
    return { text };
  });
${repeat(routes, route)}
export const router = {
  mistake,
${repeat(routes, (index) => `  procedure${index},`)}
};`,
};

function route(index: number): string {
  const model = modelOf(index);
  const withStore = takesDependency(index);
  return `
const procedure${index} = ${withStore ? "withStore" : "base"}
  .route({ method: "POST", path: "/resources${index}/{id}", inputStructure: "detailed" })
  .input(v.object({
    params: v.object({ id: Id }),
    query: v.object({ q: v.optional(v.string()), limit: Limit, sort: Sort }),
    body: Input${model},
  }))
  .output(Output${model})
  .handler(async ({ input: { params: { id }, query: { q, limit, sort }, body }${withStore ? ", context" : ""} }) => {
    if (q !== undefined && sort === "desc" && limit > 10) return { ...body, id: limit };
    return await ${withStore ? "context.db" : "store"}.save(id, body);
  });`;
}
