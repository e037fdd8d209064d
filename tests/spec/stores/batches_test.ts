// Section 3 of the contract of stores: "**Batches.** `consume(name, { batch: { size: 100, wait: "200ms"
// } }, async (messages) => …)`: at most `size` of one consumer (of one key with `key`), handled
// together; `throw new Discard` for all, or `return { failed: [ids] }`."

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { App, type TopicMessage } from "@webfw/core";
import type { ConsumeOptions } from "@webfw/core/types";
import { testConsumerBatches } from "../../contract/consumer_batches.ts";
import { assertType, type IsExact } from "../../types/assert_type.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

testConsumerBatches("in a file", async (body) => {
  await using folder = await TemporaryFolder.make();
  await body(folder.within("topics.sqlite"));
});

testConsumerBatches("in SQLite", async (body) => {
  await using folder = await TemporaryFolder.make();
  await body({ sqlite: folder.within("shop.sqlite") });
});

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
const untyped = (value: any) => value;

Deno.test("the handler of a topic in memory gets an array of messages, and `attempt`, `signal`, `log`, `app`, `state`", async () => {
  using log = new CapturedLog();
  const table: string[] = [];
  const app = new App<{ table: string[] }>();
  app.lifespan(async function* () {
    yield { table };
  });
  const orders = app.topic<{ item: string }>("orders");
  orders.consume("rows", { batch: { size: 2, wait: "1m" } }, (messages, { attempt, signal, log, app: own, state }) => {
    assertType<IsExact<typeof messages, readonly TopicMessage<{ item: string }>[]>>(true);
    state.table.push(...messages.map(({ data }) => data.item), `${attempt} ${signal.aborted} ${own === app}`);
    log.info("Inserted");
  });
  await app.start();
  await orders.publish({ item: "tea" });
  await orders.publish({ item: "milk" });
  await app.consumers.idle();
  await app.stop();
  assertEquals(table, ["tea", "milk", "1 false true"]);
  assertMatch(log.text, /INFO Inserted topic=orders consumer=rows messages=2 attempt=1/);
});

Deno.test("what a handler of batches returns by mistake fails the batch, and says how to write it", async () => {
  using log = new CapturedLog();
  const results: [unknown, string][] = [
    [["x"], "the handler of a batch must return nothing, or { failed: [message.id, …] }, got object"],
    [{ faild: [] }, "must return nothing, or { failed: [message.id, …] }"],
    [3, "must return nothing, or { failed: [message.id, …] }, got 3"],
    [null, "must return nothing, or { failed: [message.id, …] }, got null"],
    [{ failed: "x" }, "must return nothing, or { failed: [message.id, …] }"],
    [{ failed: ["x"] }, 'failed must have ids of messages of the batch, got "x"; write failed: [message.id], or [{'],
    [{ failed: [{ error: "x" }] }, "failed must have ids of messages of the batch, got object"],
    [{ failed: [null] }, "failed must have ids of messages of the batch, got null"],
    [{ failed: [undefined] }, "failed must have ids of messages of the batch, got undefined"],
    [new Error("returned"), "returned"],
  ];
  for (const [result, message] of results) {
    const app = new App();
    const orders = app.topic<number>("orders");
    orders.consume("rows", { batch: { size: 2 }, retry: { attempts: 1 } }, () => untyped(result));
    await app.start();
    await Promise.all([orders.publish(1), orders.publish(2)]);
    await app.consumers.idle();
    const [report] = await app.consumers.report();
    assertEquals(report!.failures, 2);
    assert(report!.lastError!.includes(message), report!.lastError);
    await app.stop();
  }
  assertMatch(log.text, /Cannot take the result of the consumer ..rows.. of the topic/);
});

Deno.test("mistakes in `batch` are named where they are made", () => {
  const make = (batch: unknown, more: ConsumeOptions = {}) => () =>
    new App().topic("orders").consume("rows", untyped({ batch, ...more }), () => {});
  for (
    const [batch, error, message] of [
      [{ sise: 3 }, TypeError, 'the option "batch.sise" is unknown, the nearest is "batch.size"'],
      [100, TypeError, '"batch" must be an object, got number; there are size, wait'],
      [{}, RangeError, "Cannot set the batch.size of the consumer"],
      [{ size: 0 }, RangeError, "it must be a whole number from 1 to 256, got 0"],
      [{ size: 257 }, RangeError, "it must be a whole number from 1 to 256, got 257"],
      [{ size: 10, wait: "2m" }, RangeError, "batch.wait must be at most 1 minute"],
      [{ size: 10, wait: "soon" }, RangeError, "Cannot set the batch.wait of the consumer"],
    ] as const
  ) assertThrows(make(batch), error, message);
  assertThrows(
    () => new App().topic("orders").consume("rows", { batch: { size: 3 } }, untyped(undefined)),
    TypeError,
    "its handler must be a function, write async (messages) => …",
  );
});
