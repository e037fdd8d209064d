// Section 3 of the contract of stores: "**Redrive.** `--redrive orders/mail` publishes dead letters
// back to the consumer they came from, once each; `--retry` finds them, too."

import { assertEquals } from "@std/assert";
import { App, type DeadLetter } from "@webfw/core";
import { testRedrivenLetters } from "../../contract/redriven_letters.ts";
import { until } from "../../support/wait.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

testRedrivenLetters("in a file", async (body) => {
  await using folder = await TemporaryFolder.make();
  await body(folder.within("topics.sqlite"));
});

testRedrivenLetters("in SQLite", async (body) => {
  await using folder = await TemporaryFolder.make();
  await body({ sqlite: folder.within("shop.sqlite") });
});

Deno.test("a dead letter redelivers a message that its topic no longer keeps", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const orders = app.topic<{ n: number }>("orders", { retention: { count: 2 } });
  app.topic<DeadLetter>("orders.failed");
  let isBroken = true;
  const seen: [id: string, type: string | undefined, n: number][] = [];
  const options = { retry: { attempts: 2, backoff: 1 }, deadLetter: "orders.failed", key: () => "" };
  orders.consume("mail", options, ({ id, type, data }) => {
    if (isBroken) throw new Error("no");
    if (data.n < 3) seen.push([id, type, data.n]);
  });
  await app.start();
  const ids: string[] = [];
  for (const n of [0, 1, 2]) {
    ids.push((await orders.publish({ n }, { type: "new" })).id);
    await app.consumers.idle();
  }
  isBroken = false;
  for (const n of [3, 4, 5]) await orders.publish({ n });
  await app.consumers.idle();
  assertEquals(await app.consumers.redrive("orders/mail"), { redelivered: 3, gone: [] });
  await app.consumers.idle();
  assertEquals(seen, [0, 1, 2].map((n) => [ids[n]!, "new", n]));
  const [report] = await app.consumers.report();
  assertEquals(report?.lost, 0);
  await app.stop();
});

Deno.test("dead letters that no longer have their message are reported, once", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const orders = app.topic<{ text: string }>("orders", { retention: { count: 1 } });
  app.topic<DeadLetter>("orders.failed");
  orders.consume("mail", { retry: { attempts: 1 }, deadLetter: "orders.failed" }, ({ data }) => {
    if (data.text !== "") throw new Error("no");
  });
  await app.start();
  const most = 1024 * 1024;
  const { id } = await orders.publish({ text: "x".repeat(most - 20) });
  await app.consumers.idle();
  await orders.publish({ text: "" });
  await until("the first one is handled", async () => (await app.consumers.report())[0]!.lag === 0);
  assertEquals(await app.consumers.redrive("orders/mail"), { redelivered: 0, gone: [id] });
  assertEquals(await app.consumers.redrive("orders/mail"), { redelivered: 0, gone: [] });
  await app.stop();
});
