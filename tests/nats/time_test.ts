// What the suites test with a clock of their own, by the clock of a NATS server.

import { assert, assertEquals } from "@std/assert";
import { LOG_START, type TopicStore } from "../../src/store/topic_store.ts";
import { MovedClock } from "../spec/support/moved_clock.ts";
import { ALL, append, dataOf, logOf, messageOf } from "../contract/store_fixture.ts";
import { Stores } from "./jetstream_store.ts";
import { hasNats, NatsServer } from "./nats_server.ts";
import { until } from "../support/wait.ts";

function test(title: string, body: (one: TopicStore, other: TopicStore, server: NatsServer) => Promise<void>): void {
  Deno.test({
    name: `A NATS server's clock: ${title}`,
    ignore: !hasNats,
    fn: async () => {
      await using server = await NatsServer.start();
      await using stores = new Stores(server.url);
      await body(stores.open(), stores.open(), server);
    },
  });
}

test("a message has the time at which the server stored it", async (one, other) => {
  const log = logOf("time");
  const begin = Date.now();
  await append(one, log, [messageOf(1), messageOf(2)]);
  const { messages } = await other.read(log, LOG_START, ALL);
  // The server runs on this machine. Its times are cut to milliseconds.
  for (const { time } of messages) assert(time >= begin - 1 && time <= Date.now());
  assert(Math.abs(one.now!() - Date.now()) < 1_000);
});

test("messages that are too old are removed, with and without appends, and positions go on", async (one, other) => {
  const log = logOf("age", { age: 1_000 });
  const { incarnation, outcomes: [first] } = await append(one, log, [messageOf(1)]);
  await until("the message expires", async () => (await other.bounds(log)).lowWatermark === first!.cursor);
  assertEquals(dataOf((await one.read(log, LOG_START, ALL)).messages), []);
  const next = await append(other, log, [messageOf(2)]);
  assertEquals(next.incarnation, incarnation);
  assert(next.outcomes[0]!.cursor > first!.cursor);
});

test("a seek finds the position before the first message of a time", async (one, other) => {
  const log = logOf("seek");
  const times: number[] = [];
  for (const data of [0, 1, 2]) {
    await append(one, log, [messageOf(data), messageOf(data)]);
    const { messages } = await other.read(log, LOG_START, ALL);
    times.push(messages.at(-2)!.time);
    // The next one is in another millisecond.
    await until("the clock goes on", async () => Date.now() > messages.at(-1)!.time + 1);
  }
  const from = async (time: number): Promise<unknown[]> => {
    const { cursor } = await other.seek(log, new Date(time));
    return dataOf((await other.read(log, cursor, ALL)).messages);
  };
  assertEquals(await from(0), [0, 0, 1, 1, 2, 2]);
  assertEquals(await from(times[1]!), [1, 1, 2, 2]);
  assertEquals(await from(times[2]!), [2, 2]);
  assertEquals(await from(Date.now() + 60_000), []);
});

test("a record that has expired is absent, and a write sets the expiry anew", async (one, other) => {
  const [records, others] = await Promise.all([one.openRecords!(), other.openRecords!()]);
  const first = await records.set(["a"], "1", { expiresIn: 1 });
  await until("the record expires", async () => await others.get(["a"]) === null);
  assertEquals(await others.set(["a"], "2", { expect: first }), null);
  assertEquals(await records.delete(["a"], { expect: first! }), false);
  assertEquals(await Array.fromAsync(records.list(["a"])), []);
  const second = await others.set(["a"], "2", { expect: null, expiresIn: 1_000_000 });
  assertEquals(await records.get(["a"]), { value: "2", version: second! });
  const third = await records.set(["a"], "3", { expect: second });
  assertEquals(await others.get(["a"]), { value: "3", version: third! });
});

test(
  "the time goes on where somebody sets the clock of this machine, also after a new connection",
  async (one, _, server) => {
    const HOUR = 3_600_000;
    const records = await one.openRecords!();
    await records.set(["a"], "1", { expiresIn: HOUR / 2 });
    const begin = performance.now();
    const time = Date.now();
    using clock = new MovedClock();
    const isRight = () => Math.abs(one.now!() - time - (performance.now() - begin)) < 1_000;
    clock.advance(HOUR);
    assert(isRight());
    assertEquals((await records.get(["a"]))?.value, "1");
    await server.kill();
    await server.startAgain();
    assertEquals((await records.get(["a"]))?.value, "1");
    assert(isRight());
  },
);

test("the server forgets expired records", async (one) => {
  const records = await one.openRecords!();
  for (let number = 0; number < 5; number++) await records.set(["a", `${number}`], "1", { expiresIn: 1 });
  await until("the records expire", async () => (await Array.fromAsync(records.list(["a"]))).length === 0);
});

test(
  "an id is remembered after the server was started again, as long as its message is kept",
  async (one, other, server) => {
    const log = logOf("ids");
    const { outcomes: [first] } = await append(one, log, [messageOf(1, "a")]);
    await server.kill();
    await server.startAgain();
    assertEquals((await append(other, log, [messageOf(2, "a")])).outcomes, [{ ...first!, duplicate: true }]);
    assertEquals(one.capabilities.ids.outlivesMessage, false);
  },
);
