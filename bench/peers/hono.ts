// The workloads on Hono, validated by valibot through @hono/valibot-validator.

import { Hono } from "hono";
import { vValidator } from "@hono/valibot-validator";
import { describeUser, fillerSegment, GREETING, receiptFor } from "../http/domain.ts";
import { fillerRoutes, finish, isSync, listen } from "../http/servers/listen.ts";
import { currentUser, protect, requireClient, time } from "./hono_middleware.ts";
import { Order, Search, UserPath } from "./valibot_schemas.ts";

const app = new Hono();
for (let index = 0; index < fillerRoutes; index++) {
  app.get(
    `/${fillerSegment(index)}/:id`,
    async (c) => finish(c.json({ resource: index, id: c.req.param("id") })),
  );
}
app.get("/text", isSync ? (c) => finish(c.text(GREETING)) : async (c) => finish(c.text(GREETING)));
app.get(
  "/users/:id",
  vValidator("param", UserPath),
  async (c) => finish(c.json(describeUser(c.req.valid("param").id))),
);
app.get("/search", vValidator("query", Search), async (c) => {
  const { q, limit, tags } = c.req.valid("query");
  return finish(c.json({ q, limit, tags }));
});
app.post(
  "/orders",
  vValidator("json", Order),
  async (c) => finish(c.json(receiptFor(c.req.valid("json")), 201)),
);
app.get(
  "/profile",
  time,
  protect,
  requireClient,
  currentUser,
  async (c) => finish(c.json(c.get("user"))),
);

listen(app.fetch);
