// The workloads on h3, validated by valibot through its standard schema.

import {
  getValidatedQuery,
  getValidatedRouterParams,
  H3,
  HTTPError,
  type Middleware,
  readValidatedBody,
  requireContentType,
} from "h3";
import {
  authenticate,
  describeUser,
  fillerSegment,
  GREETING,
  listBooks,
  receiptFor,
  Timing,
  type User,
} from "../http/domain.ts";
import { fillerRoutes, listen } from "../http/servers/listen.ts";
import { Order, Page, Search, UserPath } from "./valibot_schemas.ts";

const timing = new Timing();
const time: Middleware = async (_event, next) => {
  const start = performance.now();
  const result = await next();
  timing.record(start);
  return result;
};
const protect: Middleware = async (event, next) => {
  const result = await next();
  event.res.headers.set("x-frame-options", "DENY");
  return result;
};
const requireClient: Middleware = (event, next) => {
  if (!event.req.headers.get("x-client")) {
    throw new HTTPError("Missing x-client", { status: 400 });
  }
  return next();
};
const currentUser: Middleware = async (event, next) => {
  const user = await authenticate(
    event.req.headers.get("authorization") ?? "",
  );
  if (!user) throw new HTTPError("Unknown token", { status: 401 });
  event.context.user = user;
  return next();
};

const app = new H3();
for (let index = 0; index < fillerRoutes; index++) {
  app.get(
    `/${fillerSegment(index)}/:id`,
    async (event) => {
      return { resource: index, id: event.context.params?.id };
    },
  );
}
app.get("/text", async () => {
  return GREETING;
});
app.get("/users/:id", async (event) => {
  const { id } = await getValidatedRouterParams(event, UserPath);
  return describeUser(id);
});
app.get("/search", async (event) => {
  const { q, limit, tags } = await getValidatedQuery(event, Search);
  return { q, limit, tags };
});
app.get("/books", async (event) => {
  const { sort, limit, offset } = await getValidatedQuery(event, Page);
  return listBooks(sort, limit, offset);
});
app.post("/orders", async (event) => {
  requireContentType(event, "application/json");
  const order = await readValidatedBody(event, Order);
  event.res.status = 201;
  return receiptFor(order);
});
app.get("/profile", async (event) => {
  return event.context.user as User;
}, {
  middleware: [time, protect, requireClient, currentUser],
});

listen(app.fetch);
