import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import * as v from "valibot";
import type { SubscribeOptions } from "../../../src/topics/subscription.ts";
import { InvalidMessageError } from "../../../src/topics/invalid_message_error.ts";
import type { PublishOptions } from "../../../src/topics/topic.ts";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import { Topics } from "../../../src/topics/topics.ts";
import type { Schema } from "../../../src/schema/schema.ts";
import { takeData, takeMessages } from "../../contract/reading.ts";

function topicsOf(): Topics {
  return new Topics({ openStore: () => new MemoryStore() });
}

Deno.test("The output of the schema is published", async () => {
  const schema = v.object({ price: v.pipe(v.string(), v.transform(Number)), unit: v.optional(v.string(), "EUR") });
  const topic = topicsOf().topic("prices", { schema });
  const subscription = topic.subscribe();
  await topic.publish({ price: "3", hidden: true } as { price: string });
  assertEquals(await takeData(subscription, 1), [{ price: 3, unit: "EUR" }]);
});

Deno.test("Data that does not fit the schema is a TypeError with all issues, and without the data", async () => {
  const schema = v.object({ item: v.string(), lines: v.array(v.object({ count: v.pipe(v.number(), v.minValue(1)) })) });
  const topic = topicsOf().topic("orders", { schema });
  const data = { item: 5, lines: [{ count: 1 }, { count: -77 }] } as never;
  const error = await assertRejects(() => topic.publish(data), InvalidMessageError);
  assert(error instanceof TypeError);
  assertEquals(error.issues, [
    { path: ["item"], code: "invalid", message: "Invalid type: expected string", expected: "string" },
    { path: ["lines", 1, "count"], code: "invalid", message: "Invalid value: expected >=1", expected: ">=1" },
  ]);
  assertEquals(
    error.message,
    'Cannot publish to the topic "orders": the data does not fit the schema, Invalid type: expected string at "item"; ' +
      'Invalid value: expected >=1 at "lines.1.count"',
  );
  const whole = await assertRejects(() => topic.publish("-77" as never), InvalidMessageError);
  assert(!whole.message.includes("77"));
  assertEquals(whole.issues[0]?.path, []);
  const subscription = topic.subscribe({ from: "earliest" });
  await topic.publish({ item: "tea", lines: [] });
  assertEquals(await takeData(subscription, 1), [{ item: "tea", lines: [] }]);
});

Deno.test("An async schema is waited for", async () => {
  const known = v.pipeAsync(v.string(), v.checkAsync(async (name) => await Promise.resolve(name === "tea"), "Unknown"));
  const topic = topicsOf().topic("items", { schema: known });
  const subscription = topic.subscribe();
  await assertRejects(() => topic.publish("coffee"), InvalidMessageError, "Unknown");
  await topic.publish("tea");
  assertEquals(await takeData(subscription, 1), ["tea"]);
});

Deno.test("A schema whose output JSON cannot carry is refused when the topic is made", () => {
  const at = v.date();
  const schemas: [Schema, cure: string][] = [
    [at, 'which has no "date", use v.pipe(v.string(), v.isoTimestamp())'],
    [v.object({ list: v.array(v.optional(at)) }), 'has no "date"'],
    [v.union([v.string(), v.object({ at })]), 'has no "date"'],
    [v.pipe(v.string(), v.isoTimestamp(), v.toDate(), v.title("Day")), 'has no "date"'],
    [v.object({ size: v.pipe(v.string(), v.toBigint()) }), 'has no "bigint", use v.pipe(v.string(), v.digits())'],
    [v.record(v.string(), v.bigint()), 'has no "bigint"'],
    [v.object({ tags: v.set(v.string()) }), 'has no "set", follow it by v.transform'],
  ];
  for (const [schema, cure] of schemas) {
    const fault = assertThrows(() => topicsOf().topic("things", { schema }), TypeError);
    assertStringIncludes(fault.message, 'Cannot make the topic "things": its messages are kept as JSON, ');
    assertStringIncludes(fault.message, cure);
  }
});

Deno.test("A schema that takes dates and gives texts makes a topic", async () => {
  const day = v.pipe(v.date(), v.transform((date) => date.toISOString()), v.string());
  const topic = topicsOf().topic("days", { schema: v.object({ day }) });
  const subscription = topic.subscribe();
  await topic.publish({ day: new Date(0) });
  assertEquals(await takeData(subscription, 1), [{ day: "1970-01-01T00:00:00.000Z" }]);
});

Deno.test("What a function of a schema makes, and JSON cannot carry, is found out when it is published", async () => {
  const at = v.pipe(v.string(), v.transform((text) => new Date(text)));
  const topic = topicsOf().topic("dates", { schema: v.object({ at }) });
  await assertRejects(() => topic.publish({ at: "2026-01-01" }), TypeError, 'JSON cannot represent the Date at "at"');
});

Deno.test("Changes of the data after the call are not published", async () => {
  const topic = topicsOf().topic<{ price: number }>("prices");
  const subscription = topic.subscribe();
  const data = { price: 1 };
  const publishing = topic.publish(data);
  data.price = 2;
  await publishing;
  assertEquals(await takeData(subscription, 1), [{ price: 1 }]);
});

Deno.test("A message that is too large is a RangeError, to the byte", async () => {
  const topic = topicsOf().topic<string>("texts");
  const largest = "x".repeat(1024 * 1024 - 2);
  await topic.publish(largest);
  await assertRejects(() => topic.publish(largest + "x"), RangeError, "the message has 1048577 bytes of JSON");
  await assertRejects(() => topic.publish("é".repeat(600_000)), RangeError, "1200002 bytes");
});

Deno.test("An id is a text of 1 to 256 characters, a type one line of them and not the framework's", async () => {
  const topic = topicsOf().topic("texts");
  const refused: PublishOptions[] = [
    { id: "" },
    { id: "x".repeat(257) },
    { id: "\udc00" },
    { id: 5 as unknown as string },
    { type: "" },
    { type: "x".repeat(257) },
    { type: "two\nlines" },
    { type: "two\rlines" },
    { type: "\0" },
    { type: "webfw.gap" },
    { type: {} as string },
  ];
  for (const options of refused) {
    const [option] = Object.keys(options);
    await assertRejects(() => topic.publish(1, options), TypeError, `the ${option} must be`);
  }
  await assertRejects(() => topic.publish(1, { type: "two\r\nlines" }), TypeError, 'got "two\\r\\nlines"');
  await topic.publish(1, { id: "x".repeat(256), type: "x".repeat(256) });
  await topic.publish(1, { id: "two\nlines", type: "webfw" });
});

Deno.test("An option that is misspelt is an error, when publishing and when subscribing", async () => {
  const topic = topicsOf().topic("orders");
  await assertRejects(
    () => topic.publish(1, { Id: "order 1" } as PublishOptions),
    TypeError,
    'Cannot publish to the topic "orders": the option "Id" is unknown, the nearest is "id"; there are id, type, signal',
  );
  assertThrows(
    () => topic.subscribe({ lastEventId: "x" } as SubscribeOptions),
    TypeError,
    'Cannot subscribe to the topic "orders": the option "lastEventId" is unknown',
  );
});

Deno.test("Concurrent publishes of one id are one message, whatever their data", async () => {
  const topic = topicsOf().topic("orders");
  const subscription = topic.subscribe();
  const results = await Promise.all([1, 2, 3].map((data) => topic.publish(data, { id: "same" })));
  assertEquals(results.map(({ duplicate }) => duplicate), [false, true, true]);
  assertEquals(new Set(results.map(({ id }) => id)).size, 1);
  await topic.publish(4);
  assertEquals(await takeData(subscription, 2), [1, 4]);
});

Deno.test("Readers of two topics do not affect each other", async () => {
  const topics = topicsOf();
  const [a, b] = [topics.topic<number>("a"), topics.topic<number>("b")];
  const [readsA, readsB] = [a.subscribe(), b.subscribe()];
  const { id } = await a.publish(1);
  await b.publish(2);
  assertEquals(await takeData(readsB, 1), [2]);
  assertEquals((await takeMessages(readsA, 1))[0]?.id, id);
});

Deno.test("A subscription from a time in the future gets the next messages", async () => {
  const appended = Promise.withResolvers<void>();
  class LateStore extends MemoryStore {
    override async append(...asked: Parameters<MemoryStore["append"]>) {
      const result = await super.append(...asked);
      appended.resolve();
      return result;
    }

    override async seek(...asked: Parameters<MemoryStore["seek"]>) {
      await appended.promise;
      return await super.seek(...asked);
    }
  }
  const topic = new Topics({ openStore: () => new LateStore() }).topic<string>("prices");
  const subscription = topic.subscribe({ from: new Date(Date.now() + 3_600_000) });
  await topic.publish("next");
  assertEquals(await takeData(subscription, 1), ["next"]);
});

Deno.test("A subscription from the time of a message gets it, also if the clock of the store is ahead", async () => {
  const openStore = () => new MemoryStore({ now: () => Date.now() + 20_000 });
  const topic = new Topics({ openStore }).topic<string>("prices");
  await topic.publish("first");
  const [first] = await takeMessages(topic.subscribe({ from: "earliest" }), 1);
  const subscription = topic.subscribe({ from: first!.time });
  await topic.publish("second");
  assertEquals(await takeData(subscription, 2), ["first", "second"]);
});
