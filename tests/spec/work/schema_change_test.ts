// Sections 1 and 2 of the contract of work: "A stored message that no longer fits the topic's schema
// is left out everywhere (`subscribe`, `SSE`, `Events`), and its readers get a gap of the reason
// `schema`: a deploy that adds a required field silences nobody." A consumer gives it up at once.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { App, type DeadLetter, Events, type Schema, SSE, type Subscription, type Topic } from "@webfw/core";
import { client, type ClientEvent } from "@webfw/core/client";
import { TestClient } from "@webfw/core/testing";
import type { ConsumeOptions, GapReason } from "@webfw/core/types";
import * as v from "valibot";
import { assertType, type IsExact } from "../../types/assert_type.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { EventReader } from "../support/event_reader.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const Old = v.object({ id: v.number() });
const New = v.object({ id: v.number(), color: v.string() });

/** Two deploys that share a store: the topic of the second one has another schema. */
class Deploys implements AsyncDisposable {
  readonly #apps: App[] = [];
  readonly #topics: string;

  constructor(topics: string) {
    this.#topics = topics;
  }

  app<Input, Data>(schema: Schema<Input, Data>): { app: App; cards: Topic<Data, Input> } {
    const app = new App({ topics: this.#topics });
    this.#apps.push(app);
    return { app, cards: app.topic("cards", { schema: schema as never, durable: true }) as Topic<Data, Input> };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#apps.map((app) => app.stop()));
  }
}

function test(title: string, body: (deploys: Deploys, log: CapturedLog) => Promise<void>): void {
  Deno.test(title, async () => {
    using log = new CapturedLog();
    await using folder = await TemporaryFolder.make();
    await using deploys = new Deploys(folder.within("topics.sqlite"));
    await body(deploys, log);
  });
}

/** The next entries: data, or what is said about a gap. */
async function read<Data>(subscription: Subscription<Data>, count: number): Promise<unknown[]> {
  const found: unknown[] = [];
  while (found.length < count) {
    const { value } = await subscription.next();
    assert(value, "The subscription has ended");
    found.push("gap" in value ? value.gap : value.data);
  }
  return found;
}

async function open(app: App, path = "/", lastEventId = ""): Promise<EventReader> {
  const headers = { "last-event-id": lastEventId };
  const reader = new EventReader(await app.fetch(new Request(`http://localhost${path}`, { headers })));
  await reader.block();
  return reader;
}

test("A page that was open over a deploy gets a gap for what no longer fits, and all that follows", async (deploys) => {
  const one = deploys.app(Old);
  const { id: from } = await one.cards.publish({ id: 1 });
  await one.cards.publish({ id: 2 });
  const { app, cards } = deploys.app(New);
  const { id: oldest } = await cards.publish({ id: 3, color: "red" });
  let requests = 0;
  const api = { events: app.get("/events", { response: Events(cards) }, async () => SSE(cards.subscribe())) };
  const page = client<typeof api>("http://localhost", {
    fetch: (request) => {
      requests++;
      return app.fetch(request);
    },
  });
  const got: unknown[] = [];
  for await (const event of page.events("/events", {}, { headers: { "last-event-id": from } })) {
    got.push(event.gap ?? event.data);
    if (got.length === 2) break;
  }
  assertEquals([got, requests], [[{ reason: "schema", from, oldest }, { id: 3, color: "red" }], 1]);
});

test("A subscription leaves them out, with one gap for each run of them, however long it is", async (deploys, log) => {
  const { cards: old } = deploys.app(Old);
  const { cards } = deploys.app(New);
  const start = await cards.head();
  // A run may be longer than what is read at once.
  await Promise.all(Array.from({ length: 600 }, (_, id) => old.publish({ id })));
  const last = await old.head();
  const { id: first } = await cards.publish({ id: 600, color: "red" });
  await Promise.all([601, 602, 603].map((id) => old.publish({ id })));
  const end = await old.head();
  await using subscription = cards.subscribe({ after: start });
  const gap = (from: string, oldest: string | null) => ({ reason: "schema", from, oldest });
  assertEquals(await read(subscription, 1), [gap(start, first)]);
  assertEquals(await subscription.cursor(), last);
  assertEquals(await read(subscription, 2), [{ id: 600, color: "red" }, gap(first, null)]);
  assertEquals(await subscription.cursor(), end);
  // A reader that comes back there misses nothing more.
  await using later = cards.subscribe({ after: end });
  await cards.publish({ id: 604, color: "blue" });
  assertEquals(await read(later, 1), [{ id: 604, color: "blue" }]);
  assertEquals(await read(subscription, 1), [{ id: 604, color: "blue" }]);
  const entries = log.lines.filter((line) => line.includes("do not fit the schema"));
  assertEquals(entries.length, 1);
  assertMatch(entries[0]!, /WARN .*topic=cards .*color/);
});

test("While a page is open, what an older node publishes is a gap, and what newer ones publish comes", async (deploys) => {
  const { cards: old } = deploys.app(Old);
  const { app, cards } = deploys.app(New);
  const others = app.topic("others", { schema: v.number() });
  app.get("/plain", async () => SSE(cards.subscribe()));
  app.get("/declared", { response: Events(cards) }, async () => SSE(cards.subscribe()));
  app.get("/several", async () => SSE([cards.subscribe(), others.subscribe()]));
  app.get("/filtered", async () => SSE(cards.subscribe(), { filter: ({ data }) => data.color.length > 0 }));
  const paths = ["/plain", "/plain", "/declared", "/several", "/filtered"];
  const readers = await Promise.all(paths.map((path) => open(app, path)));
  const start = await cards.head();
  const expect = async (check: (path: string, event: { event: string; data: string; id: string }) => void) => {
    for (const [index, reader] of readers.entries()) check(paths[index]!, (await reader.next())!);
  };
  for (const id of [1, 2]) {
    const { id: before } = await cards.publish({ id, color: "red" });
    await expect((_path, { data }) => assertEquals(JSON.parse(data), { id, color: "red" }));
    const { id: missing } = await old.publish({ id: 10 });
    await expect((path, event) => {
      const topic = path === "/several" && { topic: "cards" };
      const gap = { reason: "schema", from: before, oldest: null, ...topic };
      assertEquals([event.event, JSON.parse(event.data)], ["webfw.gap", gap]);
      // It comes back after the message that it cannot have.
      assert(event.id.includes(missing), event.id);
    });
  }
  assert(start);
  for (const reader of readers) await reader[Symbol.asyncDispose]();
});

test("A new entry with a default silences nothing: readers get the default", async (deploys) => {
  const { cards: old } = deploys.app(Old);
  const { cards } = deploys.app(v.object({ id: v.number(), color: v.optional(v.string(), "grey") }));
  const { cards: strict } = deploys.app(v.object({ color: v.optional(v.string(), "grey") }));
  await old.publish({ id: 1 });
  await using subscription = cards.subscribe({ from: "earliest" });
  await using other = strict.subscribe({ from: "earliest" });
  assertEquals(await read(subscription, 1), [{ id: 1, color: "grey" }]);
  assertEquals(await read(other, 1), [{ color: "grey" }]);
});

test("A message of a schema that transforms is what the schema gave, and fits", async (deploys, log) => {
  const Price = v.pipe(v.string(), v.transform(Number), v.number(), v.minValue(1));
  const entries = {
    name: v.pipe(v.string(), v.trim()),
    price: Price,
    tags: v.pipe(v.string(), v.transform((s) => [s])),
  };
  const { cards } = deploys.app(v.object({ ...entries, note: v.undefinedable(v.string()) }));
  await using subscription = cards.subscribe({ from: "earliest" });
  await cards.publish({ name: " tea ", price: "3", tags: "hot", note: undefined });
  assertEquals(await read(subscription, 1), [{ name: "tea", price: 3, tags: ["hot"] }]);
  const { cards: later } = deploys.app(v.object({ ...entries, at: v.pipe(v.string(), v.transform(Date.parse)) }));
  await using other = later.subscribe({ from: "earliest" });
  await later.publish({ name: "milk", price: "2", tags: "cold", at: "2026-01-01" });
  const [gap, message] = await read(other, 2) as [{ reason: GapReason }, unknown];
  assertEquals(gap.reason, "schema");
  assertEquals(message, { name: "milk", price: 2, tags: ["cold"], at: Date.parse("2026-01-01") });
  assertMatch(log.text, /fault=.*at.* is missing/);
});

test("An async schema is checked, too; its async checks run when a message is published only", async (deploys) => {
  let asked = 0;
  const exists = () => Promise.resolve(++asked < 3);
  const { cards: old } = deploys.app(Old);
  const { cards } = deploys.app(
    v.objectAsync({ id: v.pipeAsync(v.number(), v.checkAsync(exists)), color: v.string() }),
  );
  await using subscription = cards.subscribe({ from: "earliest" });
  await old.publish({ id: 1 });
  await cards.publish({ id: 2, color: "red" });
  await cards.publish({ id: 3, color: "blue" });
  const [gap, ...messages] = await read(subscription, 3) as [{ reason: GapReason }];
  assertEquals([gap.reason, messages, asked], ["schema", [{ id: 2, color: "red" }, { id: 3, color: "blue" }], 2]);
});

test("A check that throws for an old message is a gap as well", async (deploys, log) => {
  const { cards: old } = deploys.app(v.object({ id: v.number(), color: v.nullable(v.string()) }));
  const { cards } = deploys.app(
    v.pipe(v.any(), v.check(({ color }) => color.length > 0)) as unknown as Schema<{ id: number; color: string }>,
  );
  await using subscription = cards.subscribe({ from: "earliest" });
  await old.publish({ id: 1, color: null });
  await cards.publish({ id: 2, color: "red" });
  const [gap, message] = await read(subscription, 2) as [{ reason: GapReason }, unknown];
  assertEquals([gap.reason, message], ["schema", { id: 2, color: "red" }]);
  assertMatch(log.text, /fault="a check has thrown TypeError/);
});

Deno.test("What fits the topic and not the events that a route declares is a gap in its stream, in memory, too", async () => {
  using log = new CapturedLog();
  const app = new App();
  const cards = app.topic<Record<string, unknown>>("cards");
  const response = Events(New);
  const Later = v.pipeAsync(v.objectAsync(New.entries), v.checkAsync(() => Promise.resolve(true)));
  app.get("/", { response }, async () => SSE(cards.subscribe() as Subscription<{ id: number; color: string }>));
  app.get("/filtered", { response }, async () => {
    const filter = ({ data }: { data: { id: number } }) => data.id !== 3;
    return SSE(cards.subscribe() as Subscription<{ id: number; color: string }>, { filter });
  });
  app.get("/later", { response: Events(Later) }, async () => {
    return SSE(cards.subscribe() as Subscription<{ id: number; color: string }>);
  });
  const start = await cards.head();
  const ids: string[] = [];
  for (const id of [1, 2, 3, 4, 5]) {
    ids.push((await cards.publish(id === 1 || id === 5 ? { id, color: "red" } : { id })).id);
  }
  for (const path of ["/", "/filtered", "/later"]) {
    await using reader = await open(app, path, start);
    const [first, gap, last] = await reader.take(3);
    assertEquals([first!.data, last!.data], ['{"id":1,"color":"red"}', '{"id":5,"color":"red"}']);
    assertEquals(JSON.parse(gap!.data), { reason: "schema", from: ids[0], oldest: ids[4] });
    assertEquals([gap!.event, gap!.id, last!.id], ["webfw.gap", ids[3], ids[4]]);
  }
  // Each route says it once.
  assertEquals(log.lines.filter((line) => line.includes("do not fit the events")).length, 3);
});

Deno.test("A `map` that throws, or gives what does not fit, ends its stream: it is the reader's own", async () => {
  using log = new CapturedLog();
  const app = new App();
  const numbers = app.topic<number>("numbers");
  app.get("/throws", async () => {
    return SSE(numbers.subscribe(), {
      map: () => {
        throw new Error("no map");
      },
    });
  });
  app.get("/misfit", { response: Events(v.string()) }, async () => {
    return SSE(numbers.subscribe(), { map: ({ data }) => data as unknown as string });
  });
  const start = await numbers.head();
  await numbers.publish(1);
  for (const path of ["/throws", "/misfit"]) {
    await using reader = await open(app, path, start);
    assertEquals(await reader.next(), undefined);
  }
  assertEquals(log.text.match(/A stream of events broke off/g)?.length, 2);
});

test("A test client and the typed client know the reason", async (deploys) => {
  const { cards: old } = deploys.app(Old);
  const { app, cards } = deploys.app(New);
  app.get("/events", { response: Events(cards) }, async () => SSE(cards.subscribe({ from: "earliest" })));
  await old.publish({ id: 1 });
  await using tests = new TestClient(app);
  for await (const { gap } of tests.events("/events")) {
    assertEquals(gap?.reason, "schema");
    break;
  }
  assertType<IsExact<NonNullable<ClientEvent<unknown>["gap"]>["reason"], GapReason>>(true);
});

/** A consumer of the newer schema, and what it has handled. */
async function consume(
  deploys: Deploys,
  schema: Schema<{ id: number; color: string }>,
  options: ConsumeOptions<{ id: number; color: string }>,
  until: number,
) {
  const { cards: old } = deploys.app(Old);
  const { app, cards } = deploys.app(schema);
  const letters: DeadLetter[] = [];
  const handled: unknown[] = [];
  const done = Promise.withResolvers<void>();
  const failed = app.topic<DeadLetter>("failed", { durable: true });
  cards.consume("mail", { retry: { attempts: 3, backoff: "1ms" }, from: "earliest", ...options }, ({ data }) => {
    handled.push(data);
    if (handled.length === until) done.resolve();
  });
  await using subscription = failed.subscribe({ from: "earliest" });
  await old.publish({ id: 1 });
  await cards.publish({ id: 2, color: "red" });
  await app.start();
  await done.promise;
  if (options.deadLetter) {
    const { value } = await subscription.next();
    assert(value && "data" in value);
    letters.push(value.data);
  }
  return { app, handled, letters };
}

const Later = v.pipeAsync(v.objectAsync(New.entries), v.checkAsync(() => Promise.resolve(true)));

for (const [kind, schema] of [["a schema", New], ["an async schema", Later]] as const) {
  test(`A consumer of ${kind} gives up at once what no longer fits: it is a dead letter`, async (deploys) => {
    const { handled, letters } = await consume(deploys, schema, { deadLetter: "failed" }, 1);
    assertEquals(handled, [{ id: 2, color: "red" }]);
    const [{ data, attempts, error }] = letters as [DeadLetter];
    assertEquals([data, attempts], [{ id: 1 }, 1]);
    assertMatch(error, /does not fit the schema of its topic: .*"color" is missing/);
  });
}

test("A consumer's `key` sees only what fits, and without dead letters the message is kept", async (deploys) => {
  const keys: string[] = [];
  const key = ({ data: { color } }: { data: { color: string } }) => {
    keys.push(color.toUpperCase());
    return color;
  };
  const { app } = await consume(deploys, New, { key }, 1);
  let mail;
  do mail = (await app.reportTopics()).topics.find(({ name }) => name === "cards")!.consumers[0]!; while (
    !mail.lastError
  );
  assertEquals([keys, mail.failures], [["RED"], 1]);
  assertMatch(mail.lastError, /"color" is missing/);
});

test("A consumer gets the defaults of entries that are newer than the message", async (deploys) => {
  const schema = v.object({ id: v.number(), color: v.optional(v.string(), "grey") });
  const { handled } = await consume(deploys, schema as unknown as Schema<{ id: number; color: string }>, {}, 2);
  assertEquals(handled, [{ id: 1, color: "grey" }, { id: 2, color: "red" }]);
});
