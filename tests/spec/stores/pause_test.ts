// Section 3 of the contract of stores: "**Pause.** `webfw topics --pause orders/mail`, `--resume`, and
// `app.consumers` (`pause`, `resume`, `report`): for all nodes, kept over restarts, what is in flight
// goes on to its end."

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { testPausedConsumers } from "../../contract/paused_consumers.ts";
import { until } from "../../support/wait.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

testPausedConsumers("in a file", async (body) => {
  await using folder = await TemporaryFolder.make();
  await body(folder.within("topics.sqlite"));
});

testPausedConsumers("in SQLite", async (body) => {
  await using folder = await TemporaryFolder.make();
  await body({ sqlite: folder.within("shop.sqlite") });
});

Deno.test("a consumer of a topic in memory can be paused by the process that runs it, also by a request", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const orders = app.topic<number>("orders");
  const seen: number[] = [];
  orders.consume("mail", ({ data }) => seen.push(data));
  await assertRejects(
    () => app.consumers.pause("orders/mail"),
    TypeError,
    'Cannot pause "orders/mail": its topic is in memory, which only the process that runs it can reach',
  );
  app.post("/pause", async (request) => {
    await request.app.consumers.pause("orders/mail");
    return await request.app.consumers.report();
  });
  await using client = new TestClient(app);
  const [report] = await client.post("/pause").json<{ topic: string; name: string; paused: string }[]>();
  assertEquals([report?.topic, report?.name, typeof report?.paused], ["orders", "mail", "string"]);
  await orders.publish(1);
  await app.consumers.resume("orders/mail");
  await app.consumers.idle("orders/mail");
  assertEquals(seen, [1]);
});

Deno.test("messages that wait for the rest of their batch are given back by a pause", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const orders = app.topic<number>("orders");
  const batches: number[][] = [];
  orders.consume("mail", { batch: { size: 3, wait: "1m" } }, (messages) => {
    batches.push(messages.map(({ data }) => data));
  });
  await app.start();
  await Promise.all([orders.publish(1), orders.publish(2)]);
  await until("both are claimed", async () => (await app.consumers.report())[0]!.inFlight === 2);
  await app.consumers.pause("orders/mail");
  await until("none is in flight", async () => (await app.consumers.report())[0]!.inFlight === 0);
  await orders.publish(3);
  await assertRejects(() => app.consumers.idle(), Error, "it is paused");
  assertEquals(batches, []);
  await app.consumers.resume("orders/mail");
  await app.consumers.idle();
  assertEquals(batches.map((batch) => batch.toSorted()), [[1, 2, 3]]);
  await app.stop();
});

Deno.test("`idle()` waits for retries, and for what handlers publish to topics of other consumers", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const [orders, mails] = [app.topic<number>("orders"), app.topic<number>("mails")];
  const sent: number[] = [];
  orders.consume("mail", { retry: { backoff: "20ms" } }, async ({ data }, { attempt }) => {
    if (attempt < 3) throw new Error("again");
    await mails.publish(data);
  });
  mails.consume("send", ({ data }) => sent.push(data));
  await orders.publish(0);
  // It starts the application.
  await app.consumers.idle();
  await Promise.all([1, 2, 3].map((n) => orders.publish(n)));
  await app.consumers.idle();
  assertEquals(sent.toSorted(), [1, 2, 3]);
  await app.stop();
});

Deno.test("`idle()` ends by its signal and by a stop, and refuses what it cannot wait for", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const gate = Promise.withResolvers<void>();
  app.topic<number>("orders").consume("mail", () => gate.promise);
  await app.start();
  await app.topic<number>("orders").publish(1);
  const controller = new AbortController();
  const waiting = assertRejects(
    () => app.consumers.idle("orders/mail", { signal: controller.signal }),
    Error,
    "enough",
  );
  controller.abort(new Error("enough"));
  await waiting;
  await assertRejects(() => app.consumers.idle("orders/post"), TypeError, 'Cannot wait for "orders/post"');
  const options = { timeout: 1 } as object;
  await assertRejects(() => app.consumers.idle(undefined, options), TypeError, "timeout");
  const none = new App();
  await assertRejects(() => none.consumers.idle(), TypeError, "the application has none, declare one");
  await none.stop();
  const waitsOn = assertRejects(() => app.consumers.idle(), Error);
  // The stop waits for the handler.
  const stopped = app.stop();
  await waitsOn;
  gate.resolve();
  await stopped;
});

Deno.test("`app.consumers` retries and discards failures, all or some", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const orders = app.topic<number>("orders");
  let isBroken = true;
  const seen: number[] = [];
  orders.consume("mail", { retry: { attempts: 1 } }, ({ data }) => {
    if (isBroken) throw new Error("no");
    seen.push(data);
  });
  await app.start();
  const ids: string[] = [];
  for (const n of [0, 1, 2, 3]) ids.push((await orders.publish(n)).id);
  await app.consumers.idle();
  const failures = async () => (await app.consumers.report())[0]!.failures;
  assertEquals(await failures(), 4);
  isBroken = false;
  const [one, other] = ids;
  assertEquals(await app.consumers.retry("orders/mail", { ids: [one!] }), { redelivered: 1, gone: [] });
  await app.consumers.idle();
  assertEquals([seen, await failures()], [[0], 3]);
  assertEquals(await app.consumers.discard("orders/mail", { ids: [other!, "unknown"] }), 1);
  assertEquals(await failures(), 2);
  assertEquals(await app.consumers.retry("orders/mail"), { redelivered: 2, gone: [] });
  await app.consumers.idle();
  assertEquals(seen.toSorted(), [0, 2, 3]);
  assertEquals(await app.consumers.discard("orders/mail"), 0);
  await assertRejects(
    () => app.consumers.retry("orders/mail", { ids: "x" as unknown as string[] }),
    TypeError,
    "ids must be an array of ids",
  );
  await assertRejects(() => app.consumers.pause(undefined as unknown as string), TypeError, 'such as "orders/mail"');
  assert(await app.consumers.remove("orders/mail") === undefined);
  await app.stop();
});
