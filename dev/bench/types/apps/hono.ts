// A generated application on Hono with @hono/valibot-validator.

import { type GeneratedApp, modelOf, repeat, takesDependency } from "./generated_app.ts";
import { valibotModels } from "./valibot_models.ts";

/**
 * Hono: separate statements, which its typed client cannot use but which cost less than a chain.
 */
export const hono: GeneratedApp = {
  name: "hono",
  source: (routes) => `
import { Hono, type MiddlewareHandler } from "hono";
import { vValidator } from "@hono/valibot-validator";
import * as v from "valibot";
${valibotModels(routes)}
const IdText = v.pipe(v.string(), v.transform(Number), Id);
const LimitText = v.optional(v.pipe(v.string(), v.transform(Number), v.number(), v.integer(), v.maxValue(100)), "20");
export const app = new Hono();
const withStore: MiddlewareHandler<{ Variables: { db: Store } }> = async (c, next) => {
  if (!c.req.header("authorization")) return c.text("Unauthorized", 401);
  c.set("db", store);
  await next();
};
app.get("/mistake/:id", vValidator("param", v.object({ id: IdText })), (c) => {
  // @ts-expect-error an integer is no text
  const text: string = c.req.valid("param").id;
  return c.json({ text });
});
${repeat(routes, route)}`,
};

function route(index: number): string {
  const model = modelOf(index);
  const withStore = takesDependency(index);
  return `
app.post(
  "/resources${index}/:id",
  vValidator("param", v.object({ id: IdText })),
  vValidator("query", v.object({ q: v.optional(v.string()), limit: LimitText, sort: Sort })),
  vValidator("json", Input${model}),${withStore ? "\n  withStore," : ""}
  async (c) => {
    const { id } = c.req.valid("param");
    const { q, limit, sort } = c.req.valid("query");
    const body = c.req.valid("json");
    if (q !== undefined && sort === "desc" && limit > 10) {
      return c.json<v.InferOutput<typeof Output${model}>>({ ...body, id: limit });
    }
    return c.json<v.InferOutput<typeof Output${model}>>(await ${withStore ? 'c.get("db")' : "store"}.save(id, body));
  },
);`;
}
