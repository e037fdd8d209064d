// The workloads on Hono with @hono/zod-openapi: routes that are also documented, validated by zod.

import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import {
  describeUser,
  fillerSegment,
  GREETING,
  listBooks,
  MAX_OFFSET,
  ORDER_BOUNDS,
  receiptFor,
  SEARCH_LIMIT,
  SORT_KEYS,
} from "../http/domain.ts";
import { fillerRoutes, listen } from "../http/servers/listen.ts";
import { currentUser, protect, requireClient, time } from "./hono_middleware.ts";

const User = z.object({ id: z.number().int(), name: z.string() })
  .openapi("User");
const Search = z.object({
  q: z.string().min(1),
  limit: z.coerce.number().int().min(SEARCH_LIMIT.min).max(SEARCH_LIMIT.max),
  tags: z.union([
    z.array(z.string()),
    z.string().transform((tag) => [tag]),
  ]),
});
const Page = z.object({
  sort: z.enum(SORT_KEYS),
  limit: z.coerce.number().int().min(SEARCH_LIMIT.min).max(SEARCH_LIMIT.max),
  offset: z.coerce.number().int().min(0).max(MAX_OFFSET),
});
const Books = z.array(
  z.object({
    isbn: z.string(),
    title: z.string(),
    author: z.string(),
    price: z.number().int(),
    stock: z.number().int(),
  }).openapi("Book"),
);
const Found = z.object({
  q: z.string(),
  limit: z.number().int(),
  tags: z.array(z.string()),
}).openapi("Found");
const text = (maximum: number) => z.string().min(1).max(maximum);
const Order = z.object({
  customer: z.object({
    name: text(ORDER_BOUNDS.name),
    email: z.string().regex(ORDER_BOUNDS.email),
  }),
  address: z.object({
    street: text(ORDER_BOUNDS.street),
    city: text(ORDER_BOUNDS.city),
    postcode: text(ORDER_BOUNDS.postcode),
    country: z.string().regex(ORDER_BOUNDS.country),
  }),
  items: z.array(z.object({
    sku: z.string().regex(ORDER_BOUNDS.sku),
    quantity: z.number().int().min(1).max(ORDER_BOUNDS.quantity),
    price: z.number().min(0).max(ORDER_BOUNDS.price),
  })).min(1).max(ORDER_BOUNDS.items),
}).openapi("Order");
const Receipt = z.object({
  id: z.number().int(),
  customer: z.string(),
  lines: z.number().int(),
  total: z.number(),
}).openapi("Receipt");

/** The documented JSON reply of a route. */
function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { content: { "application/json": { schema } }, description };
}

const app = new OpenAPIHono();
for (let index = 0; index < fillerRoutes; index++) {
  app.openapi(
    createRoute({
      method: "get",
      path: `/${fillerSegment(index)}/{id}`,
      request: { params: z.object({ id: z.string() }) },
      responses: { 200: json(z.object({}), "The resource") },
    }),
    async (c) => c.json({ resource: index, id: c.req.valid("param").id }, 200),
  );
}
app.openapi(
  createRoute({
    method: "get",
    path: "/text",
    responses: {
      200: {
        content: { "text/plain": { schema: z.string() } },
        description: "A greeting",
      },
    },
  }),
  async (c) => c.text(GREETING, 200),
);
app.openapi(
  createRoute({
    method: "get",
    path: "/users/{id}",
    request: { params: z.object({ id: z.coerce.number().int().min(1) }) },
    responses: { 200: json(User, "The user") },
  }),
  async (c) => c.json(describeUser(c.req.valid("param").id), 200),
);
app.openapi(
  createRoute({
    method: "get",
    path: "/search",
    request: { query: Search },
    responses: { 200: json(Found, "What was found") },
  }),
  async (c) => {
    const { q, limit, tags } = c.req.valid("query");
    return c.json({ q, limit, tags }, 200);
  },
);
app.openapi(
  createRoute({
    method: "get",
    path: "/books",
    request: { query: Page },
    responses: { 200: json(Books, "A page of books") },
  }),
  async (c) => {
    const { sort, limit, offset } = c.req.valid("query");
    return c.json(listBooks(sort, limit, offset), 200);
  },
);
app.openapi(
  createRoute({
    method: "post",
    path: "/orders",
    request: {
      body: {
        content: { "application/json": { schema: Order } },
        required: true,
      },
    },
    responses: { 201: json(Receipt, "The receipt") },
  }),
  async (c) => c.json(receiptFor(c.req.valid("json")), 201),
);
app.openapi(
  createRoute({
    method: "get",
    path: "/profile",
    middleware: [time, protect, requireClient, currentUser] as const,
    responses: { 200: json(User, "The current user") },
  }),
  async (c) => c.json(c.get("user"), 200),
);

listen(app.fetch);
