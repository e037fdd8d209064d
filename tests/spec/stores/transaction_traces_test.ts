// Section 3 of shipping, of a message in a transaction: it carries its publisher's trace. The span
// has no id of a message, which is known only after the commit.

import { assert, assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { CONSUMER, ERROR, OtlpCollector, PRODUCER } from "../support/otlp_collector.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const PROGRAM = `import { App, InvalidMessageError } from "${CORE}";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
const file = Deno.env.get("FILE");
const app = new App({ topics: { sqlite: file } });
const orders = app.topic("orders", { schema: v.number(), durable: true });
orders.consume("mail", async () => {});
const db = new DatabaseSync(file, { timeout: 5_000 });
app.post("/orders", async () => {
  db.exec("BEGIN");
  orders.publish(5, { transaction: db });
  db.exec("COMMIT");
});
app.post("/failures", async () => {
  db.exec("BEGIN; DROP TABLE webfw_outbox");
  try {
    orders.publish(5, { transaction: db });
  } catch (error) {
    return error.message;
  } finally {
    db.exec("ROLLBACK");
  }
});
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });`;

Deno.test("a publish in a transaction has a span, which consumers link to", async () => {
  await using folder = await TemporaryFolder.make();
  await using collector = new OtlpCollector();
  const env = { ...collector.env, FILE: folder.within("shop.sqlite") };
  await using child = await ChildProgram.start(PROGRAM, { env });
  const base = `http://127.0.0.1:${await child.port()}`;
  await (await fetch(`${base}/orders`, { method: "POST" })).body?.cancel();
  const request = await collector.named("POST /orders");
  const published = await collector.named("publish orders");
  assertEquals([published.kind, published.traceId, published.parentSpanId], [
    PRODUCER,
    request.traceId,
    request.spanId,
  ]);
  assertEquals(published.attributes, {
    "messaging.system": "webfw",
    "messaging.destination.name": "orders",
    "messaging.operation.name": "publish",
    "messaging.operation.type": "send",
    "messaging.message.body.size": 1,
  });
  const handled = await collector.named("process orders");
  assertEquals(handled.kind, CONSUMER);
  assert(handled.links.some(({ traceId, spanId }) => traceId === published.traceId && spanId === published.spanId));

  const failure = await (await fetch(`${base}/failures`, { method: "POST" })).json();
  assertEquals(
    failure,
    'Cannot publish to the topic "orders" in a transaction: its database has no tables of topics, start the application before',
  );
  await collector.span(({ name, status }) => name === "publish orders" && status === ERROR);
});
