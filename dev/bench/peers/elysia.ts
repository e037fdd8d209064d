// The workloads on Elysia, validated by its own `t` schemas.

import { Elysia, t } from "elysia";
import {
  authenticate,
  describeUser,
  fillerSegment,
  GREETING,
  listBooks,
  MAX_OFFSET,
  ORDER_BOUNDS,
  receiptFor,
  SEARCH_LIMIT,
  SORT_KEYS,
  Timing,
} from "../http/domain.ts";
import { fillerRoutes, listen } from "../http/servers/listen.ts";

const text = (maximum: number) => t.String({ minLength: 1, maxLength: maximum });

const Order = t.Object({
  customer: t.Object({
    name: text(ORDER_BOUNDS.name),
    email: t.String({ pattern: ORDER_BOUNDS.email.source }),
  }),
  address: t.Object({
    street: text(ORDER_BOUNDS.street),
    city: text(ORDER_BOUNDS.city),
    postcode: text(ORDER_BOUNDS.postcode),
    country: t.String({ pattern: ORDER_BOUNDS.country.source }),
  }),
  items: t.Array(
    t.Object({
      sku: t.String({ pattern: ORDER_BOUNDS.sku.source }),
      quantity: t.Integer({ minimum: 1, maximum: ORDER_BOUNDS.quantity }),
      price: t.Number({ minimum: 0, maximum: ORDER_BOUNDS.price }),
    }),
    { minItems: 1, maxItems: ORDER_BOUNDS.items },
  ),
});

const timing = new Timing();

const app = new Elysia();
for (let index = 0; index < fillerRoutes; index++) {
  app.get(
    `/${fillerSegment(index)}/:id`,
    async ({ params }) => ({ resource: index, id: params.id }),
  );
}
app.get("/text", async () => GREETING);
app.get("/users/:id", async ({ params }) => describeUser(params.id), {
  params: t.Object({ id: t.Integer({ minimum: 1 }) }),
});
app.get("/search", async ({ query: { q, limit, tags } }) => ({ q, limit, tags }), {
  query: t.Object({
    q: t.String({ minLength: 1 }),
    limit: t.Integer({ minimum: SEARCH_LIMIT.min, maximum: SEARCH_LIMIT.max }),
    tags: t.Array(t.String()),
  }),
});
app.get("/books", async ({ query: { sort, limit, offset } }) => listBooks(sort, limit, offset), {
  query: t.Object({
    sort: t.UnionEnum(SORT_KEYS),
    limit: t.Integer({ minimum: SEARCH_LIMIT.min, maximum: SEARCH_LIMIT.max }),
    offset: t.Integer({ minimum: 0, maximum: MAX_OFFSET }),
  }),
});
app.post(
  "/orders",
  async ({ body, status }) => status(201, receiptFor(body)),
  { body: Order },
);
app.use(
  new Elysia()
    .derive(() => ({ start: performance.now() }))
    .onBeforeHandle(({ headers, status }) => {
      if (!headers["x-client"]) return status(400, "Missing x-client");
    })
    .resolve(async ({ headers, status }) => {
      const user = await authenticate(headers.authorization ?? "");
      return user ? { user } : status(401, "Unknown token");
    })
    .onAfterHandle(({ set, start }) => {
      set.headers["x-frame-options"] = "DENY";
      timing.record(start);
    })
    .get("/profile", async ({ user }) => user),
);

listen(app.fetch);
