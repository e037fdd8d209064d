// Section 3 of the contract of guards: requestId(), and request.id.

import { assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import { App } from "@webfw/core";
import { requestId } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";
import { CapturedLog } from "../support/captured_log.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

Deno.test("request.id is always there, made when first asked for", async () => {
  const app = new App();
  app.get("/", async (request) => [request.id, request.id]);
  await using client = new TestClient(app);
  const [first, again] = await client.get("/").json<string[]>();
  assertMatch(first!, UUID);
  assertEquals(again, first);
  assertNotEquals((await client.get("/").json<string[]>())[0], first);
});

Deno.test("requestId: the id is sent with the reply, errors and 404 too", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const ids: string[] = [];
  app.middleware(requestId());
  app.get("/", async (request) => ids.push(request.id));
  app.get("/fails", async () => {
    throw new Error("on purpose");
  });
  await using client = new TestClient(app);
  assertEquals((await client.get("/")).headers.get("x-request-id"), ids[0]);
  assertMatch((await client.get("/fails")).headers.get("x-request-id")!, UUID);
  assertMatch((await client.get("/missing")).headers.get("x-request-id")!, UUID);
});

Deno.test("requestId: it is taken from a trusted proxy only, never from a client", async () => {
  const app = new App();
  app.middleware(requestId({ header: "X-Correlation-Id" }));
  app.get("/", async (request) => request.id);
  await using client = new TestClient(app);
  const reply = await client.get("/", { headers: { "x-correlation-id": "mine" } });
  assertMatch(reply.headers.get("x-correlation-id")!, UUID);
});

Deno.test("requestId: a header that has no valid name is refused", () => {
  assertThrows(() => requestId({ header: "x id" }), TypeError, 'Cannot make requestId(): "header" must be');
  assertThrows(() => requestId({ header: "" }), TypeError, 'Cannot make requestId(): "header" must be');
});
