// Section 1 of the contract of work: "`SSE(topic.subscribe(), { filter, map })` […] run for each
// reader; ids, gaps and resumption stay, and a reader's place moves on over what is filtered".

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { App, Events, SSE, type Topic, type TopicMessage } from "@webfw/core";
import type { EventStream, SSEOptions } from "@webfw/core/types";
import * as v from "valibot";
import { assertType, type IsExact } from "../../types/assert_type.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { EventReader } from "../support/event_reader.ts";
import { Serving } from "../support/serving.ts";

type Options = SSEOptions<TopicMessage<number>>;

const isEven = ({ data }: TopicMessage<number>) => data % 2 === 0;

/** A topic of numbers, and readers of it. */
function numbers(options: Options, retention = { count: 1_000 }) {
  const app = new App();
  const topic = app.topic<number>("numbers", { retention });
  app.get("/", async () => SSE(topic.subscribe(), options));
  return { app, topic, open: (lastEventId = "") => openAfter(app, lastEventId) };
}

async function openAfter(app: App, lastEventId: string, path = "/"): Promise<EventReader> {
  const headers = { "last-event-id": lastEventId };
  const reader = new EventReader(await app.fetch(new Request(`http://localhost${path}`, { headers })));
  // The first block has the place where reading begins.
  await reader.block();
  return reader;
}

async function publish(topic: Topic<number>, from: number, to: number): Promise<string[]> {
  const ids: string[] = [];
  for (let data = from; data <= to; data++) ids.push((await topic.publish(data)).id);
  return ids;
}

const dataOf = (events: readonly { readonly data: string }[]): unknown[] => events.map(({ data }) => JSON.parse(data));

Deno.test("`filter(message) => boolean` decides what a reader gets, and `map(message) => data` what of it", async () => {
  const { topic, open } = numbers({ filter: isEven, map: ({ data }) => ({ square: data * data }) });
  await using reader = await open();
  const ids = await publish(topic, 1, 4);
  const { id } = await topic.publish(6, { type: "six" });
  assertEquals(await reader.take(3), [
    { event: "message", data: '{"square":4}', id: ids[1]! },
    { event: "message", data: '{"square":16}', id: ids[3]! },
    { event: "six", data: '{"square":36}', id },
  ]);
});

Deno.test("both may be async", async () => {
  const { topic, open } = numbers({
    filter: async (message) => await Promise.resolve(isEven(message)),
    map: async ({ data }, topic) => await Promise.resolve(`${topic} ${data}`),
  });
  await using reader = await open();
  await publish(topic, 1, 5);
  assertEquals(dataOf(await reader.take(2)), ["numbers 2", "numbers 4"]);
});

Deno.test("both may be async, also as the promises of other libraries, which are no `Promise`", async () => {
  const later = <Value>(value: Value) => {
    const promise = Promise.resolve(value);
    return { then: promise.then.bind(promise) } as Promise<Value>;
  };
  const { topic, open } = numbers({
    filter: (message) => later(isEven(message)),
    map: ({ data }) => later(data * 10),
  });
  await using reader = await open();
  await publish(topic, 1, 5);
  assertEquals(dataOf(await reader.take(2)), [20, 40]);
});

Deno.test("they run for each reader", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers");
  app.get("/{divisor}", { params: { divisor: v.number() } }, async (_request, { divisor }) => {
    return SSE(topic.subscribe(), { filter: ({ data }) => data % divisor === 0 });
  });
  await using two = await openAfter(app, "", "/2");
  await using three = await openAfter(app, "", "/3");
  await publish(topic, 1, 9);
  assertEquals(dataOf(await two.take(4)), [2, 4, 6, 8]);
  assertEquals(dataOf(await three.take(3)), [3, 6, 9]);
});

Deno.test("resumption stays: a client that comes back after any event gets exactly the others that pass", async () => {
  const { topic, open } = numbers({ filter: isEven });
  const start = await topic.head();
  await publish(topic, 1, 10);
  await using all = await open(start);
  const events = await all.take(5);
  for (const [index, { id }] of events.entries()) {
    await using again = await open(id);
    assertEquals(await again.take(4 - index), events.slice(index + 1));
  }
});

Deno.test("a reader's place moves on also when nothing passes for long: an `id:` without data with each heartbeat", async () => {
  const { app, topic, open } = numbers({ filter: isEven, heartbeat: 20 }, { count: 3 });
  await using serving = await Serving.start(app);
  let place: string;
  {
    await using reader = new EventReader(await fetch(serving.origin));
    await reader.block();
    for (let round = 0; round < 5; round++) {
      const { id } = await topic.publish(1);
      while (reader.lastEventId !== id) assertMatch((await reader.block())!, /^:\nid: \S+$/);
    }
    place = reader.lastEventId;
  }
  await topic.publish(2);
  // From its first place on, messages are no longer kept.
  await using again = await open(place);
  assertEquals(await again.take(1), [{ event: "message", data: "2", id: await topic.head() }]);
});

Deno.test("a heartbeat has no id of a message that still waits for its filter or its map", async () => {
  const gate = Promise.withResolvers<boolean>();
  const called = Promise.withResolvers<void>();
  const { app, topic } = numbers({
    filter: ({ data }) => {
      if (data < 3) return data === 1;
      called.resolve();
      return gate.promise;
    },
    heartbeat: 20,
  });
  await using serving = await Serving.start(app);
  const start = await topic.head();
  await publish(topic, 1, 3);
  await using reader = new EventReader(await fetch(serving.origin, { headers: { "last-event-id": start } }));
  await reader.block();
  await called.promise;
  for (let beats = 0; beats < 3; beats++) assertEquals(await reader.block(), `:\nid: ${start}`);
  gate.resolve(false);
  assertEquals(dataOf(await reader.take(1)), [1]);
  // The messages after it have not passed.
  const head = await topic.head();
  while (reader.lastEventId !== head) await reader.block();
});

Deno.test("a reader's place moves on over what is filtered, up to a message whose filter takes long", async () => {
  const gate = Promise.withResolvers<boolean>();
  const { app, topic } = numbers({ filter: ({ data }) => data === 1 ? false : gate.promise, heartbeat: 20 });
  await using serving = await Serving.start(app);
  const start = await topic.head();
  const [first] = await publish(topic, 1, 3);
  await using reader = new EventReader(await fetch(serving.origin, { headers: { "last-event-id": start } }));
  await reader.block();
  while (reader.lastEventId !== first) assertMatch((await reader.block())!, new RegExp(`^:\nid: (${start}|${first})$`));
  for (let beats = 0; beats < 3; beats++) assertEquals(await reader.block(), `:\nid: ${first}`);
  gate.resolve(true);
  assertEquals(dataOf(await reader.take(2)), [2, 3]);
});

Deno.test("a message that has passed does not wait for an async filter of those behind it", async () => {
  const gate = Promise.withResolvers<boolean>();
  const { topic, open } = numbers({ filter: async ({ data }) => data === 1 || await gate.promise });
  const start = await topic.head();
  await publish(topic, 1, 3);
  await using reader = await open(start);
  assertEquals(dataOf(await reader.take(1)), [1]);
  gate.resolve(true);
  assertEquals(dataOf(await reader.take(2)), [2, 3]);
});

Deno.test("gaps stay", async () => {
  const { topic, open } = numbers({ filter: () => false, map: () => "never" }, { count: 2 });
  const start = await topic.head();
  await publish(topic, 1, 5);
  await using reader = await open(start);
  const [gap] = await reader.take(1);
  assertEquals([gap!.event, JSON.parse(gap!.data).reason], ["webfw.gap", "retention"]);
  assertEquals(Object.keys(JSON.parse(gap!.data)), ["reason", "from", "oldest"]);
});

for (
  const [what, options, complaint] of [
    ["`filter` that throws", { filter: ({ data }) => data === 3 ? fail() : true }, "the filter has failed"],
    ["`filter` that rejects", { filter: async ({ data }) => data === 3 ? fail() : true }, "the filter has failed"],
    ["`map` that throws", { map: ({ data }) => data === 3 ? fail() : data }, "the filter has failed"],
    ["`map` whose data has no JSON form", { map: ({ data }) => data === 3 ? () => {} : data }, "no JSON form"],
  ] satisfies [string, Options, string][]
) {
  Deno.test(`a ${what} ends that stream, logged, and what passed before it was sent`, async () => {
    using log = new CapturedLog();
    const { topic, open } = numbers(options);
    const start = await topic.head();
    await publish(topic, 1, 4);
    await using reader = await open(start);
    assertEquals(dataOf(await reader.take(2)), [1, 2]);
    assertEquals(await reader.next(), undefined);
    assertMatch(log.text, /A stream of events broke off/);
    assertMatch(log.text, new RegExp(complaint));
    // Other readers go on.
    await using again = await open(await topic.head());
    await topic.publish(5);
    assertEquals(dataOf(await again.take(1)), [5]);
  });
}

function fail(): never {
  throw new Error("the filter has failed");
}

Deno.test("several topics in one stream: both get the name of the topic, and the client resumes in all", async () => {
  const app = new App();
  const [orders, notes] = [app.topic<number>("orders"), app.topic<string>("notes")];
  app.get("/", async () =>
    SSE([orders.subscribe(), notes.subscribe()], {
      filter: ({ data }, topic) => topic === "notes" || data === 2,
      map: ({ data }, topic) => `${topic}: ${data}`,
    }));
  let place: string;
  {
    await using reader = await openAfter(app, "");
    await publish(orders, 1, 2);
    assertEquals(dataOf(await reader.take(1)), ["orders: 2"]);
    await notes.publish("a");
    assertEquals(dataOf(await reader.take(1)), ["notes: a"]);
    place = reader.lastEventId;
  }
  await publish(orders, 1, 3);
  await notes.publish("b");
  await using again = await openAfter(app, place);
  assertEquals(dataOf(await again.take(2)).toSorted(), ["notes: b", "orders: 2"]);
});

Deno.test("many messages that do not pass let other work come in between", async () => {
  const { topic, open } = numbers({ filter: ({ data }) => data < 0 }, { count: 20_000 });
  const start = await topic.head();
  await Promise.all(Array.from({ length: 20_000 }, (_, data) => topic.publish(data)));
  let turns = 0;
  const head = await topic.head();
  await using reader = await open(start);
  const timer = setInterval(() => turns++, 0);
  await topic.publish(-1);
  const [event] = await reader.take(1);
  clearInterval(timer);
  assert(event!.id > head);
  assert(turns > 1, `${turns} turns`);
});

Deno.test("a client that goes while the filter waits closes the subscription", async () => {
  const gate = Promise.withResolvers<boolean>();
  const called = Promise.withResolvers<void>();
  let calls = 0;
  const { topic, open } = numbers({
    filter: () => {
      calls++;
      called.resolve();
      return gate.promise;
    },
  });
  const start = await topic.head();
  await publish(topic, 1, 3);
  {
    await using _reader = await open(start);
    await called.promise;
  }
  gate.resolve(true);
  await gate.promise;
  await publish(topic, 4, 4);
  assertEquals(calls, 1);
});

Deno.test("the data of `map` is reduced to what the route declares", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers");
  const Square = v.object({ square: v.number() });
  app.get("/", { response: Events(Square) }, async () => {
    return SSE(topic.subscribe(), { map: ({ data }) => ({ square: data * data, secret: "s3cret" }) });
  });
  await using reader = await openAfter(app, "");
  await publish(topic, 3, 3);
  assertEquals(dataOf(await reader.take(1)), [{ square: 9 }]);
});

Deno.test("map's result is the type of the data", () => {
  const topic = new App().topic<number>("numbers");
  const mapped = SSE(topic.subscribe(), { map: ({ data }) => data.toFixed(2) });
  const mappedLater = SSE(topic.subscribe(), { map: async ({ data }) => data.toFixed(2) });
  const filtered = SSE(topic.subscribe(), { filter: isEven });
  assertType<IsExact<typeof mapped, EventStream<string>>>(true);
  assertType<IsExact<typeof mappedLater, EventStream<string>>>(true);
  assertType<IsExact<typeof filtered, EventStream<number>>>(true);
});

Deno.test("both are for subscriptions, and functions", () => {
  const topic = new App().topic<number>("numbers");
  const each = async function* () {};
  assertThrows(
    () => SSE(each(), { filter: () => true }),
    TypeError,
    "Cannot send events: filter is for subscriptions to topics, change what the async iterable yields",
  );
  const wrong = { map: "data" } as unknown as Options;
  assertThrows(() => SSE(topic.subscribe(), wrong), TypeError, 'map must be a function, got "data"');
  const unknown = { where: isEven } as Options;
  assertThrows(() => SSE(topic.subscribe(), unknown), TypeError, 'the option "where" is unknown');
});
