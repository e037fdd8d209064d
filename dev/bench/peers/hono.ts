// The workloads on Hono, validated by valibot through @hono/valibot-validator.

import { Hono } from "hono";
import { vValidator } from "@hono/valibot-validator";
import { describeUser, fillerSegment, GREETING, listBooks, receiptFor } from "../http/domain.ts";
import { fillerRoutes, isSync, listen } from "../http/servers/listen.ts";
import { currentUser, protect, requireClient, time } from "./hono_middleware.ts";
import { Order, Page, Search, UserPath } from "./valibot_schemas.ts";

const app = new Hono();
for (let index = 0; index < fillerRoutes; index++) {
  app.get(
    `/${fillerSegment(index)}/:id`,
    async (c) => c.json({ resource: index, id: c.req.param("id") }),
  );
}
app.get("/text", isSync ? (c) => c.text(GREETING) : async (c) => c.text(GREETING));
app.get(
  "/users/:id",
  vValidator("param", UserPath),
  async (c) => c.json(describeUser(c.req.valid("param").id)),
);
app.get("/search", vValidator("query", Search), async (c) => {
  const { q, limit, tags } = c.req.valid("query");
  return c.json({ q, limit, tags });
});
app.get("/books", vValidator("query", Page), async (c) => {
  const { sort, limit, offset } = c.req.valid("query");
  return c.json(listBooks(sort, limit, offset));
});
app.post(
  "/orders",
  vValidator("json", Order),
  async (c) => c.json(receiptFor(c.req.valid("json")), 201),
);
app.get(
  "/profile",
  time,
  protect,
  requireClient,
  currentUser,
  async (c) => c.json(c.get("user")),
);

listen(app.fetch);
