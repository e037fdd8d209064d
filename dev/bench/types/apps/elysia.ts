// A generated application on Elysia.

import { type GeneratedApp, modelOf, repeat, takesDependency } from "./generated_app.ts";

/** Elysia: separate statements with its own schemas. */
export const elysia: GeneratedApp = {
  name: "elysia",
  source: (routes) => `
import { Elysia, t } from "elysia";
interface Store {
  save<Item>(id: number, item: Item): Promise<Item & { id: number }>;
}
declare const store: Store;
const Id = t.Integer({ minimum: 1 });
const Limit = t.Optional(t.Integer({ maximum: 100, default: 20 }));
const Sort = t.Optional(t.Union([t.Literal("asc"), t.Literal("desc")], { default: "asc" }));
${repeat(routes === 0 ? 0 : modelOf(routes - 1) + 1, models)}
export const app = new Elysia();
const withStore = new Elysia().resolve(({ headers, status }) =>
  headers.authorization ? { db: store } : status(401)
);
app.get("/mistake/:id", ({ params }) => {
  // @ts-expect-error an integer is no text
  const text: string = params.id;
  return { text };
}, { params: t.Object({ id: Id }) });
${repeat(routes, route)}
app.use(withStore);`,
};

function models(model: number): string {
  return `
const Input${model} = t.Object({
  title: t.String({ minLength: 1, maxLength: 100 }),
  price: t.Number({ minimum: 0 }),
  tags: t.Array(t.String()),
  maker${model}: t.Object({ name: t.String(), country: t.Optional(t.String()) }),
});
const Output${model} = t.Object({
  id: Id,
  title: t.String(),
  price: t.Number(),
  tags: t.Array(t.String()),
  maker${model}: t.Object({ name: t.String(), country: t.Optional(t.String()) }),
});`;
}

function route(index: number): string {
  const model = modelOf(index);
  const withStore = takesDependency(index);
  return `
${withStore ? "withStore" : "app"}.post(
  "/resources${index}/:id",
  async ({ params: { id }, query: { q, limit = 20, sort }, body${withStore ? ", db" : ""} }) => {
    if (q !== undefined && sort === "desc" && limit > 10) return { ...body, id: limit };
    return await ${withStore ? "db" : "store"}.save(id, body);
  },
  {
    params: t.Object({ id: Id }),
    query: t.Object({ q: t.Optional(t.String()), limit: Limit, sort: Sort }),
    body: Input${model},
    response: Output${model},
  },
);`;
}
