// The workloads as routes of webfw.

import * as v from "valibot";
import { dependency, HTTPError, Router, text } from "../../../../mod.ts";
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
} from "../domain.ts";
import { fillerRoutes } from "./listen.ts";

const integer = v.pipe(v.number(), v.integer());
const shortText = (maximum: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(maximum));

const Order = v.object({
  customer: v.object({
    name: shortText(ORDER_BOUNDS.name),
    email: v.pipe(v.string(), v.regex(ORDER_BOUNDS.email)),
  }),
  address: v.object({
    street: shortText(ORDER_BOUNDS.street),
    city: shortText(ORDER_BOUNDS.city),
    postcode: shortText(ORDER_BOUNDS.postcode),
    country: v.pipe(v.string(), v.regex(ORDER_BOUNDS.country)),
  }),
  items: v.pipe(
    v.array(v.object({
      sku: v.pipe(v.string(), v.regex(ORDER_BOUNDS.sku)),
      quantity: v.pipe(
        integer,
        v.minValue(1),
        v.maxValue(ORDER_BOUNDS.quantity),
      ),
      price: v.pipe(
        v.number(),
        v.minValue(0),
        v.maxValue(ORDER_BOUNDS.price),
      ),
    })),
    v.minLength(1),
    v.maxLength(ORDER_BOUNDS.items),
  ),
});

/** The routes of all workloads. */
export const routes: Router = new Router();
for (let index = 0; index < fillerRoutes; index++) {
  routes.get(
    `/${fillerSegment(index)}/{id}`,
    async (_request, { id }) => ({ resource: index, id }),
  );
}
routes.get("/text", async () => text(GREETING));
routes.get(
  "/users/{id}",
  { params: { id: v.pipe(integer, v.minValue(1)) } },
  async (_request, { id }) => describeUser(id),
);
routes.get("/search", {
  query: {
    q: v.pipe(v.string(), v.minLength(1)),
    limit: v.pipe(
      integer,
      v.minValue(SEARCH_LIMIT.min),
      v.maxValue(SEARCH_LIMIT.max),
    ),
    tags: v.array(v.string()),
  },
}, async (_request, { q, limit, tags }) => ({ q, limit, tags }));
routes.get("/books", {
  query: {
    sort: v.picklist(SORT_KEYS),
    limit: v.pipe(integer, v.minValue(SEARCH_LIMIT.min), v.maxValue(SEARCH_LIMIT.max)),
    offset: v.pipe(integer, v.minValue(0), v.maxValue(MAX_OFFSET)),
  },
}, async (_request, { sort, limit, offset }) => listBooks(sort, limit, offset));
routes.post(
  "/orders",
  { body: Order, status: 201 },
  async (_request, { body }) => receiptFor(body),
);

const timing = new Timing();
const currentUser = dependency(
  { headers: { authorization: v.optional(v.string(), "") } },
  async (_request, { headers }) => {
    const user = await authenticate(headers.authorization);
    if (!user) throw new HTTPError(401, "Unknown token");
    return user;
  },
);
const account = new Router();
account.middleware(async (request, next) => {
  const start = performance.now();
  const response = await next(request);
  timing.record(start);
  return response;
});
account.middleware(async (request, next) => {
  const response = await next(request);
  response.headers.set("x-frame-options", "DENY");
  return response;
});
account.middleware(async (request, next) => {
  if (!request.headers.get("x-client")) {
    throw new HTTPError(400, "Missing x-client");
  }
  return await next(request);
});
account.get(
  "/profile",
  { deps: { user: currentUser } },
  async (_request, { user }) => user,
);
routes.include(account);
