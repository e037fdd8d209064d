// Section 3 of the contract of guards: requestId(), and request.id.

import { assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import { App } from "@webfw/core";
import { requestId } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";
import { CapturedLog } from "../support/captured_log.ts";
import { askFrom } from "../support/from_address.ts";

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

const LONG = "x".repeat(128);

Deno.test("requestId: it is taken from a trusted proxy only, validated and bounded", async () => {
  const app = new App({ trustProxy: 1 });
  app.middleware(requestId());
  app.get("/", async (request) => request.id);
  await using client = new TestClient(app);
  const idFor = async (sent: string) => {
    const reply = await client.get("/", { headers: { "x-request-id": sent, "x-forwarded-for": "203.0.113.7" } });
    assertEquals(await reply.json(), reply.headers.get("x-request-id"));
    return reply.headers.get("x-request-id")!;
  };
  for (const sent of ["r-1", "Root=1-67891233-abcdef012345678912345678", "aB+/=", LONG]) {
    assertEquals(await idFor(sent), sent);
  }
  for (const sent of [`${LONG}x`, "a b", 'a"b', "<script>", "a,b", ""]) assertMatch(await idFor(sent), UUID);
});

Deno.test("requestId: an id that was read before is kept", async () => {
  const app = new App({ trustProxy: 1 });
  const read: string[] = [];
  app.middleware(async (request, next) => {
    read.push(request.id);
    return await next(request);
  });
  app.middleware(requestId());
  await using client = new TestClient(app);
  const reply = await client.get("/", { headers: { "x-request-id": "later" } });
  assertEquals(reply.headers.get("x-request-id"), read[0]);
});

Deno.test("requestId: without trustProxy, never from a client", async () => {
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

Deno.test("requestId: it is not taken from a peer that is none of the trusted addresses", async () => {
  const app = new App({ trustProxy: ["10.0.0.0/8"] });
  app.middleware(requestId());
  app.get("/", async (request) => request.id);
  const init = { headers: { "x-request-id": "sent", "x-forwarded-for": "203.0.113.7" } };
  assertEquals((await askFrom(app, "10.0.0.1", "/", init)).headers.get("x-request-id"), "sent");
  assertMatch((await askFrom(app, "203.0.113.9", "/", init)).headers.get("x-request-id")!, UUID);
});
