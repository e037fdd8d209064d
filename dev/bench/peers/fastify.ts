// The workloads on Fastify, validated by JSON schemas. Runs on Deno and, bundled, on Node.js.

import Fastify, { type FastifyRequest } from "fastify";
import {
  authenticate,
  describeUser,
  fillerSegment,
  GREETING,
  listBooks,
  MAX_OFFSET,
  type Order,
  ORDER_BOUNDS,
  receiptFor,
  SEARCH_LIMIT,
  SORT_KEYS,
  type SortKey,
  Timing,
  type User,
} from "../http/domain.ts";
import { announce, fillerRoutes } from "../http/servers/listen.ts";

declare module "fastify" {
  interface FastifyRequest {
    start: number;
    user: User | null;
  }
}

/** An object schema in which every property is required. */
function object(properties: Record<string, unknown>) {
  return { type: "object", required: Object.keys(properties), properties };
}

const integer = { type: "integer" };
const string = { type: "string" };
const text = (maxLength: number) => ({ ...string, minLength: 1, maxLength });
const userReply = { 200: object({ id: integer, name: string }) };
const search = object({
  q: { ...string, minLength: 1 },
  limit: {
    ...integer,
    minimum: SEARCH_LIMIT.min,
    maximum: SEARCH_LIMIT.max,
  },
  tags: { type: "array", items: string },
});
const page = object({
  sort: { enum: SORT_KEYS },
  limit: { ...integer, minimum: SEARCH_LIMIT.min, maximum: SEARCH_LIMIT.max },
  offset: { ...integer, minimum: 0, maximum: MAX_OFFSET },
});
const books = {
  type: "array",
  items: object({ isbn: string, title: string, author: string, price: integer, stock: integer }),
};
const order = object({
  customer: object({
    name: text(ORDER_BOUNDS.name),
    email: { ...string, pattern: ORDER_BOUNDS.email.source },
  }),
  address: object({
    street: text(ORDER_BOUNDS.street),
    city: text(ORDER_BOUNDS.city),
    postcode: text(ORDER_BOUNDS.postcode),
    country: { ...string, pattern: ORDER_BOUNDS.country.source },
  }),
  items: {
    type: "array",
    minItems: 1,
    maxItems: ORDER_BOUNDS.items,
    items: object({
      sku: { ...string, pattern: ORDER_BOUNDS.sku.source },
      quantity: { ...integer, minimum: 1, maximum: ORDER_BOUNDS.quantity },
      price: { type: "number", minimum: 0, maximum: ORDER_BOUNDS.price },
    }),
  },
});
const receipt = object({
  id: integer,
  customer: string,
  lines: integer,
  total: { type: "number" },
});

const app = Fastify();
for (let index = 0; index < fillerRoutes; index++) {
  app.get(
    `/${fillerSegment(index)}/:id`,
    async (request: FastifyRequest<{ Params: { id: string } }>) => ({ resource: index, id: request.params.id }),
  );
}
app.get("/text", async (_request, reply) => {
  reply.type("text/plain");
  return GREETING;
});
app.get<{ Params: { id: number } }>("/users/:id", {
  schema: {
    params: object({ id: { ...integer, minimum: 1 } }),
    response: userReply,
  },
}, async (request) => describeUser(request.params.id));
app.get<{ Querystring: { q: string; limit: number; tags: string[] } }>(
  "/search",
  {
    schema: {
      querystring: search,
      response: {
        200: object({
          q: string,
          limit: integer,
          tags: { type: "array", items: string },
        }),
      },
    },
  },
  async (request) => {
    const { q, limit, tags } = request.query;
    return { q, limit, tags };
  },
);
app.get<{ Querystring: { sort: SortKey; limit: number; offset: number } }>("/books", {
  schema: { querystring: page, response: { 200: books } },
}, async (request) => {
  const { sort, limit, offset } = request.query;
  return listBooks(sort, limit, offset);
});
app.post<{ Body: Order }>("/orders", {
  schema: { body: order, response: { 201: receipt } },
}, async (request, reply) => {
  reply.code(201);
  return receiptFor(request.body);
});

app.register((scope, _options, done) => {
  const timing = new Timing();
  scope.decorateRequest("start", 0);
  scope.decorateRequest("user", null);
  scope.addHook("onRequest", (request, _reply, next) => {
    request.start = performance.now();
    next();
  });
  scope.addHook("onResponse", (request, _reply, next) => {
    timing.record(request.start);
    next();
  });
  scope.addHook("onSend", (_request, reply, payload, next) => {
    reply.header("x-frame-options", "DENY");
    next(null, payload);
  });
  scope.addHook("preHandler", (request, reply, next) => {
    if (request.headers["x-client"]) return next();
    reply.code(400).send("Missing x-client");
  });
  scope.addHook("preHandler", async (request, reply) => {
    request.user = await authenticate(request.headers.authorization ?? "") ??
      null;
    if (!request.user) return reply.code(401).send("Unknown token");
  });
  scope.get("/profile", {
    schema: { response: userReply },
  }, async (request) => request.user);
  done();
});

const address = await app.listen({ host: "127.0.0.1", port: 0 });
announce(Number(new URL(address).port));
