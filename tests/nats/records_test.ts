// What stands on records, over a NATS server: idempotent routes and sessions that nodes share.

import { assertEquals, assertNotEquals } from "@std/assert";
import { App } from "@webfw/core";
import { recordSessions, session } from "@webfw/core/auth";
import * as v from "valibot";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { Visitor } from "../spec/support/visitor.ts";
import { Relay } from "../support/relay.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

function test(title: string, body: (server: NatsServer) => Promise<void>): void {
  Deno.test({
    name: `Records in a NATS server: ${title}`,
    ignore: !hasNats,
    fn: async () => {
      using _log = new CapturedLog();
      await using server = await NatsServer.start();
      await body(server);
    },
  });
}

const Order = v.object({ item: v.string(), size: v.optional(v.number(), 0) });

/** A node of a shop. What it makes is known to all of them. */
function shop(topics: string, made: string[], gate: () => Promise<void> = () => Promise.resolve()) {
  const app = new App({ topics });
  app.post("/orders", { body: Order, status: 201, idempotent: "24h" }, async (_request, { body }) => {
    made.push(body.item);
    await gate();
    return { number: made.length, item: body.item, text: "x".repeat(body.size) };
  });
  const order = async (key: string, body: v.InferInput<typeof Order>) => {
    const reply = await app.fetch(
      new Request("http://localhost/orders", {
        method: "POST",
        headers: { "idempotency-key": key, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
    const { number, text } = await reply.json();
    return [reply.status, number, text?.length, reply.headers.get("idempotency-replayed")];
  };
  return { app, order };
}

test("a request with a key runs once on all nodes, and its reply comes again from each", async ({ url }) => {
  const made: string[] = [];
  const nodes = [0, 1].map(() => shop(url, made));
  // Up to 48 KiB are one record, and up to 1 MiB several.
  for (const [index, size] of [10, 40_000, 900_000].entries()) {
    const body = { item: `item ${index}`, size };
    assertEquals(await nodes[0]!.order(`key-${index}`, body), [201, index + 1, size, null]);
    for (const { order } of nodes) assertEquals(await order(`key-${index}`, body), [201, index + 1, size, "true"]);
  }
  assertEquals((await nodes[1]!.order("key-0", { item: "another" }))[0], 422);
  const [first, ...others] = (await Promise.all(
    Array.from({ length: 10 }, (_, index) => nodes[index % 2]!.order("at-once", { item: "tea" })),
  )).sort(([one], [other]) => Number(one) - Number(other));
  assertEquals(first![0], 201);
  for (const [status] of others) assertEquals(status === 409 || status === 201, true);
  assertEquals(made.filter((item) => item === "tea").length, 1);
  await Promise.all(nodes.map(({ app }) => app.stop()));
});

test("while a request runs on a node, the same one is 409 on another, also after the server was killed", async (server) => {
  const made: string[] = [];
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const first = shop(server.url, made, () => {
    begun.resolve();
    return gate.promise;
  });
  const other = shop(server.url, made);
  const running = first.order("a", { item: "tea" });
  await begun.promise;
  assertEquals((await other.order("a", { item: "tea" }))[0], 409);
  await server.kill();
  await server.startAgain();
  assertEquals((await other.order("a", { item: "tea" }))[0], 409);
  gate.resolve();
  assertEquals(await running, [201, 1, 0, null]);
  assertEquals(await other.order("a", { item: "tea" }), [201, 1, 0, "true"]);
  await Promise.all([first.app.stop(), other.app.stop()]);
});

test("a reply is kept although the wire loses what it carries for a while", async (server) => {
  using relay = new Relay(server.port);
  const made: string[] = [];
  const node = shop(relay.url, made, async () => {
    relay.set("lossy");
    setTimeout(() => relay.set("whole"), 500);
  });
  assertEquals(await node.order("a", { item: "tea" }), [201, 1, 0, null]);
  const other = shop(server.url, made);
  assertEquals(await other.order("a", { item: "tea" }), [201, 1, 0, "true"]);
  assertEquals(made, ["tea"]);
  await Promise.all([node.app.stop(), other.app.stop()]);
});

test("a session of one node is known to another, renewed by `set`, and gone after `clear`", async (server) => {
  const visit = session(v.object({ text: v.string() }), { store: recordSessions(), renew: true });
  const nodes = [0, 1].map(() => {
    const app = new App({ topics: server.url });
    app.post("/login/{text}", { deps: { visit } }, async (_request, { text, visit }) => await visit.set({ text }));
    app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
    app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
    return app;
  });
  const [one, other] = nodes.map((app) => new Visitor(app));
  await one!.post("/login/Ada");
  const id = one!.cookies.get("__Host-session")!;
  other!.cookies.set("__Host-session", id);
  assertEquals(await other!.get("/visit"), { text: "Ada" });
  await server.kill();
  await server.startAgain();
  assertEquals(await other!.get("/visit"), { text: "Ada" });
  await other!.post("/login/Grace");
  assertNotEquals(other!.cookies.get("__Host-session"), id);
  assertEquals(await one!.get("/visit"), null);
  one!.cookies.set("__Host-session", other!.cookies.get("__Host-session")!);
  assertEquals(await one!.get("/visit"), { text: "Grace" });
  await one!.post("/logout");
  assertEquals(await other!.get("/visit"), null);
  await Promise.all(nodes.map((app) => app.stop()));
});
