// The three middlewares and the dependency of `GET /profile`, for both servers that build on Hono.

import type { MiddlewareHandler } from "hono";
import { authenticate, Timing, type User } from "../http/domain.ts";

const timing = new Timing();

/** Measures the time of the inner handlers. */
export const time: MiddlewareHandler = async (_c, next) => {
  const start = performance.now();
  await next();
  timing.record(start);
};

/** Adds a header to the reply. */
export const protect: MiddlewareHandler = async (c, next) => {
  await next();
  c.header("x-frame-options", "DENY");
};

/** Refuses a request without `x-client`. */
export const requireClient: MiddlewareHandler = async (c, next) => {
  if (!c.req.header("x-client")) return c.text("Missing x-client", 400);
  await next();
};

/** Provides the user of the `authorization` header. */
export const currentUser: MiddlewareHandler<{ Variables: { user: User } }> = async (c, next) => {
  const user = await authenticate(c.req.header("authorization") ?? "");
  if (!user) return c.text("Unknown token", 401);
  c.set("user", user);
  await next();
};
