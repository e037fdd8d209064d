// Section 2 of the contract of work: consumers, through the application. What depends on time and on
// other nodes is in consumer_leases_test.ts, what durable topics promise in consumer_files_test.ts.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { App, type DeadLetter, Discard, RouteError, type Topic } from "@webfw/core";
import type { ConsumeOptions } from "@webfw/core/types";
import { ConsumerService } from "../../../../src/work/consumers/consumers.ts";
import { resolveConsumeOptions, type RetryOptions } from "../../../../src/topics/consume_options.ts";
import { Topics } from "../../../../src/topics/topics.ts";
import { openWorkerStore } from "../../../../src/store/memory/worker_store.ts";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
import { ticks } from "../../../spec/support/ticks.ts";

/** Tries that follow one another at once. */
const QUICK = { attempts: 3, backoff: 1 } as const;

/** What handlers get of their application. */
const OWNER = { app: new App(), state: {} };

/** Collects what handlers got, until there is as much as expected. */
class Collected<Value> {
  readonly all: Value[] = [];
  #wanted = Infinity;
  #found = Promise.withResolvers<void>();

  add(value: Value): void {
    this.all.push(value);
    if (this.all.length >= this.#wanted) this.#found.resolve();
  }

  async first(count: number): Promise<Value[]> {
    this.#wanted = count;
    if (this.all.length < count) await this.#found.promise;
    return this.all.slice(0, count);
  }
}

/** Runs an application until the body has ended, and gives what it logged. */
async function running(app: App, body: () => Promise<void>): Promise<string> {
  using log = new CapturedLog();
  await app.start();
  try {
    await body();
  } finally {
    await app.stop();
  }
  return log.text;
}

/** The next dead letter. */
async function nextLetter(topic: Topic<DeadLetter>, publish: () => Promise<unknown>): Promise<DeadLetter> {
  await using subscription = topic.subscribe();
  await publish();
  const { value } = await subscription.next();
  assert(value && "data" in value);
  return value.data;
}

async function consumerOf(app: App) {
  const [report] = (await app.reportTopics()).topics;
  return report!.consumers[0]!;
}

/** Waits until a report is as wanted. */
async function reported(app: App, isWanted: (report: Awaited<ReturnType<typeof consumerOf>>) => boolean) {
  for (;;) {
    const report = await consumerOf(app);
    if (isWanted(report)) return report;
    await ticks(5);
  }
}

Deno.test("`topic.consume(name, options?, handler)`: the handler gets `attempt`, `signal`, `app`, `state`", async () => {
  const app = new App<{ mailer: string }>();
  app.lifespan(async function* () {
    yield { mailer: "smtp" };
  });
  const orders = app.topic<{ id: number }>("orders");
  const seen = new Collected<unknown[]>();
  orders.consume("mail", { concurrency: 4, retry: { attempts: 5, backoff: "10s" } }, ({ data, id, type }, context) => {
    const { attempt, signal, state } = context;
    seen.add([data, typeof id, type, attempt, signal.aborted, state.mailer, context.app === app]);
  });
  orders.consume("count", async ({ data }) => seen.add([data]));
  await running(app as unknown as App, async () => {
    await orders.publish({ id: 7 }, { type: "made" });
    const found = (await seen.first(2)).sort((one, other) => other.length - one.length);
    assertEquals(found, [[{ id: 7 }, "string", "made", 1, false, "smtp", true], [{ id: 7 }]]);
  });
});

Deno.test("consumers that feed one another leave turns to the rest of the process", async () => {
  using _log = new CapturedLog();
  const app = new App();
  const [one, other] = [app.topic("one"), app.topic("other")];
  one.consume("pass", ({ data }) => other.publish(data));
  other.consume("pass", ({ data }) => one.publish(data));
  await running(app, async () => {
    await one.publish("ping");
    await ticks(3);
  });
});

Deno.test("consumers are `declared before the application starts`, each name once", async () => {
  const app = new App();
  const orders = app.topic("orders");
  orders.consume("mail", () => {});
  const again = assertThrows(() => orders.consume("mail", () => {}), RouteError);
  assertEquals([again.code, again.message], [
    "conflict",
    'Cannot make the consumer "mail" of the topic "orders": there is one already, use another name',
  ]);
  app.topic("other").consume("mail", () => {});
  await app.start();
  const late = assertThrows(() => orders.consume("late", () => {}), RouteError);
  assertEquals(late.code, "frozen");
  await app.stop();
});

Deno.test("mistakes in a declaration are named", () => {
  const orders = new App().topic("orders");
  const handler = () => {};
  for (const name of ["", "a/b", "x".repeat(65), 7 as unknown as string]) {
    assertThrows(
      () => orders.consume(name, handler),
      TypeError,
      "the name of the consumer must be a string of 1 to 64",
    );
  }
  const refused = (options: unknown, message: string) =>
    assertThrows(() => orders.consume("mail", options as ConsumeOptions, handler), Error, message);
  refused({ concurency: 4 }, 'the option "concurency" is unknown, the nearest is "concurrency"');
  refused({ retry: { attempt: 1 } }, 'the option "retry.attempt" is unknown, the nearest is "retry.attempts"');
  refused({ concurrency: 0 }, "it must be a whole number from 1 to 256, got 0");
  refused({ retry: { attempts: 101 } }, "it must be a whole number from 1 to 100, got 101");
  refused({ lease: "10ms" }, "lease must be from 1 second to 1 hour");
  refused({ timeout: "soon" }, "Cannot set the timeout of the consumer");
  refused({ from: "oldest" }, 'from must be "now" or "earliest", got "oldest"');
  refused({ key: "customer" }, "key must be a function");
  refused({ deadLetter: "orders" }, "deadLetter is the topic itself");
  const long = new App().topic("x".repeat(200));
  const named = () => long.consume("y".repeat(24), { deadLetter: "failed" }, handler);
  assertThrows(named, TypeError, "with deadLetter, both names have 223 characters at most together");
  assertThrows(() => orders.consume("mail", {}, undefined as unknown as () => void), TypeError, "must be a function");
  const swapped = orders.consume.bind(orders) as (name: string, handler: () => void, options: object) => void;
  assertThrows(
    () => swapped("mail", handler, { lease: "1m" }),
    TypeError,
    "the options must be an object, got function",
  );
});

Deno.test("`At stop: no new messages`, also while a server waits for its requests", async () => {
  const app = new App();
  const [request, message] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const orders = app.topic<number>("orders");
  const seen = new Collected<number>();
  orders.consume("mail", { concurrency: 1 }, async ({ data }) => {
    seen.add(data);
    await message.promise;
  });
  const asked = Promise.withResolvers<void>();
  app.get("/", async () => {
    asked.resolve();
    await request.promise;
    return "done";
  });
  using _log = new CapturedLog();
  const stop = new AbortController();
  const listening = Promise.withResolvers<number>();
  const running = app.run({ port: 0, signal: stop.signal, onListen: ({ port }) => listening.resolve(port) });
  const reply = fetch(`http://127.0.0.1:${await listening.promise}/`);
  await asked.promise;
  await Promise.all([orders.publish(1), orders.publish(2)]);
  await seen.first(1);
  stop.abort();
  await ticks(3);
  message.resolve();
  await ticks(10);
  assertEquals(seen.all, [1]);
  request.resolve();
  assertEquals(await (await reply).json(), "done");
  await running;
  assertEquals(seen.all, [1]);
});

Deno.test("dead letters that go in a circle are refused, in whichever order consumers are declared", () => {
  const declare = (...edges: readonly [topic: string, deadLetter?: string][]) => {
    const app = new App();
    for (const [index, [topic, deadLetter]] of edges.entries()) {
      app.topic(topic).consume(`c${index}`, deadLetter === undefined ? {} : { deadLetter }, () => {});
    }
  };
  declare(["a", "b"], ["b", "c"], ["b"], ["d", "b"], ["c"]);
  const error = assertThrows(() => declare(["a", "b"], ["b", "a"]), TypeError);
  assertEquals(
    error.message,
    'Cannot make the consumer "c1" of the topic "b": its dead letters come back to that topic, ' +
      'by the deadLetter of the consumers of "a", leave out one of them',
  );
  assertThrows(() => declare(["b", "c"], ["c", "a"], ["a", "b"]), TypeError, 'consumer "c2" of the topic "a"');
});

Deno.test("a start that fails leaves no consumer that works", async () => {
  const store = new MemoryStore();
  let watched = 0;
  let ended = 0;
  const seen: unknown[] = [];
  const topics = new Topics({
    openStore: () =>
      new Proxy(store, {
        get(target, name) {
          const value = Reflect.get(target, name, target);
          if (name !== "watch") return typeof value === "function" ? value.bind(target) : value;
          return (...args: Parameters<MemoryStore["watch"]>) => {
            if (++watched === 2) throw new Error("no watch");
            const unwatch = target.watch(...args);
            return () => {
              ended++;
              unwatch();
            };
          };
        },
      }),
  });
  const orders = topics.topic("orders");
  orders.consume("first", ({ data }) => void seen.push(data));
  orders.consume("second", () => {});
  await assertRejects(() => new ConsumerService(topics).start(OWNER), Error, "no watch");
  assertEquals(ended, 1);
  await orders.publish(1);
  await ticks(5);
  assertEquals(seen, []);
  await topics.close();
});

Deno.test("defaults: `lease` 30 s, `timeout` 5 min, 5 tries, a `backoff` of 10 s, from now on", () => {
  assertEquals(resolveConsumeOptions({}, "orders", "mail"), {
    ...{ concurrency: 16, attempts: 5, backoff: 10_000, lease: 30_000, timeout: 300_000, from: "now" },
    ...{ deadLetter: undefined, key: undefined, batch: undefined, rate: undefined },
  });
});

Deno.test("an array as `backoff` has one try more than pauses, unless there are `attempts`", () => {
  const resolve = (retry: RetryOptions) => resolveConsumeOptions({ retry }, "orders", "mail");
  const { attempts, pauses, backoff } = resolve({ backoff: ["1m", 2_000] });
  assertEquals([attempts, pauses, backoff], [3, [60_000, 2_000], 60_000]);
  assertEquals(resolve({ backoff: ["1m"], attempts: 9 }).attempts, 9);
  assertThrows(() => resolve({ backoff: [] }), TypeError, "retry.backoff must have a duration, got an empty array");
  assertThrows(() => resolve({ backoff: ["1m", "x" as "1m"] }), RangeError, "the retry.backoff[1] of the consumer");
});

Deno.test("a function as `backoff` returns a pause or undefined; anything else is logged, and its default applies", () => {
  using log = new CapturedLog();
  const pauseAfter = (backoff: unknown) => {
    const retry = { backoff } as RetryOptions;
    return resolveConsumeOptions({ retry }, "orders", "mail").pauseAfter!(new Error("no"), 1);
  };
  assertEquals([pauseAfter(() => "2m"), pauseAfter(() => 5), pauseAfter(() => undefined)], [120_000, 5, undefined]);
  assertEquals(log.lines.length, 0);
  const wrong = [() => -1, () => Promise.resolve(1), () => {
    throw new Error("broken");
  }];
  for (const backoff of wrong) assertEquals(pauseAfter(backoff), undefined);
  assertEquals(log.lines.length, 3);
  for (const line of log.lines) {
    assertMatch(line, /ERROR The backoff of a consumer failed, and its default applies topic=orders consumer=mail/);
  }
  const { attempts, backoff } = resolveConsumeOptions({ retry: { backoff: () => undefined } }, "orders", "mail");
  assertEquals([attempts, backoff], [5, 10_000]);
});

Deno.test("a consumer works `from the start of the lifespans to the stop`", async () => {
  const app = new App();
  const steps: string[] = [];
  app.lifespan(async function* () {
    steps.push("open");
    yield;
    steps.push("close");
  });
  const orders = app.topic("orders");
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  orders.consume("mail", async (_, { signal }) => {
    resolve();
    await ticks(3);
    // `Handlers get the grace period`, also without a server.
    steps.push(signal.aborted ? "aborted" : "handled");
  });
  await running(app, async () => {
    await orders.publish(1);
    await begun;
  });
  assertEquals(steps, ["open", "handled", "close"]);
});

Deno.test('`every message after the consumer\'s first start` is handled, `from: "earliest"` also those before', async () => {
  const app = new App();
  const orders = app.topic<number>("orders");
  const [now, earliest] = [new Collected<number>(), new Collected<number>()];
  orders.consume("now", ({ data }) => now.add(data));
  orders.consume("earliest", { from: "earliest" }, ({ data }) => earliest.add(data));
  await orders.publish(1);
  await running(app, async () => {
    for (let number = 2; number <= 500; number++) await orders.publish(number);
    const all = Array.from({ length: 500 }, (_, index) => index + 1);
    const ordered = (found: number[]) => found.toSorted((one, other) => one - other);
    assertEquals(ordered(await earliest.first(500)), all);
    assertEquals(ordered(await now.first(499)), all.slice(1));
  });
});

Deno.test("`A handler that throws is tried again`, `attempts` in all, then `published to deadLetter`", async () => {
  const app = new App();
  const orders = app.topic<{ n: number }>("orders");
  const failed = app.topic<DeadLetter>("orders.failed");
  const attempts: number[] = [];
  orders.consume("mail", { retry: QUICK, deadLetter: "orders.failed" }, (_, { attempt }) => {
    attempts.push(attempt);
    throw new Error(`no server, ${attempt}`);
  });
  const text = await running(app, async () => {
    let id = "";
    const letter = await nextLetter(failed, async () => ({ id } = await orders.publish({ n: 1 }, { type: "made" })));
    assertEquals(letter, {
      topic: "orders",
      consumer: "mail",
      id,
      type: "made",
      data: { n: 1 },
      error: "no server, 3",
      attempts: 3,
    });
    // It is published `under the id topic/consumer/position`.
    assertEquals((await failed.publish({} as DeadLetter, { id: `orders/mail/${id}` })).duplicate, true);
    const report = await reported(app, ({ position }) => position === id);
    assertEquals([report.failures, report.lastError], [0, "no server, 3"]);
  });
  assertEquals(attempts, [1, 2, 3]);
  assertEquals(text.match(/A consumer failed to handle a message and will retry/g)?.length, 2);
});

Deno.test("in a dead letter `error` is `at most 1 KiB`, and data that does not fit is `data: null, truncated: true`", async () => {
  const app = new App();
  const orders = app.topic<string>("orders", { retention: { bytes: 64 * 1024 * 1024 } });
  const failed = app.topic<DeadLetter>("failed");
  orders.consume("mail", { retry: { attempts: 1 }, deadLetter: "failed" }, ({ data }) => {
    throw new Error(data === "short" ? "é".repeat(600) : "e".repeat(2_000));
  });
  await running(app, async () => {
    const short = await nextLetter(failed, () => orders.publish("short"));
    assertEquals([short.data, short.error], ["short", "é".repeat(512)]);
    // One message more than fits beside the rest, and as large as a message may be.
    const long = await nextLetter(failed, () => orders.publish("x".repeat(1024 * 1024 - 2)));
    assertEquals([long.data, long.truncated, long.attempts, long.error.length], [null, true, 1, 1024]);
  });
});

Deno.test('`throw new Discard("why")` ends the tries at once, and so does `return`', async () => {
  const app = new App();
  const orders = app.topic<string>("orders");
  const failed = app.topic<DeadLetter>("failed");
  const done: string[] = [];
  const handle = ({ data }: { data: string }) => {
    const discard = new Discard("no such customer");
    switch (data) {
      case "thrown":
        throw discard;
      case "returned":
        return discard;
      case "returned later":
        return Promise.resolve(discard);
      case "of another copy":
        return Object.assign(new Error("no such customer"), { [Symbol.for("webfw.Discard")]: true });
      default:
        done.push(data);
        return "a value";
    }
  };
  orders.consume("mail", { deadLetter: "failed" }, handle);
  orders.consume("mail by key", { deadLetter: "failed", key: ({ data }) => data }, handle);
  await running(app, async () => {
    for (const how of ["thrown", "returned", "returned later", "of another copy"]) {
      await using letters = failed.subscribe();
      await orders.publish("a value");
      await orders.publish(how);
      for (let count = 0; count < 2; count++) {
        const { value } = await letters.next();
        assert(value && "data" in value);
        const { data, error, attempts } = value.data;
        assertEquals([data, error, attempts], [how, "no such customer", 1]);
      }
    }
  });
  assertEquals(done, Array(8).fill("a value"));
});

Deno.test("an error that a handler returns is a failed try, as if it was thrown", async () => {
  const app = new App();
  const orders = app.topic<string>("orders");
  const tries: number[] = [];
  orders.consume("mail", { retry: { ...QUICK, attempts: 3 } }, async (_message, { attempt }) => {
    tries.push(attempt);
    return new Error("the mail server is away");
  });
  await running(app, async () => {
    await orders.publish("tea");
    const report = await reported(app, ({ failures, lag }) => failures === 1 && lag === 0);
    assertEquals([tries, report.lastError], [[1, 2, 3], "the mail server is away"]);
  });
});

Deno.test("`without deadLetter it is logged and its id, error and attempts are kept`", async () => {
  const app = new App();
  const orders = app.topic<number>("orders");
  orders.consume("mail", { retry: { attempts: 1 } }, ({ data }) => {
    throw new Error(`cannot handle ${data}`, { cause: new Error("the mail server is away") });
  });
  const text = await running(app, async () => {
    await orders.publish(7);
    const report = await reported(app, ({ failures, lag }) => failures === 1 && lag === 0);
    assertEquals(report.lastError, "cannot handle 7");
  });
  assertMatch(
    text,
    /ERROR A message was given up topic=orders consumer=mail message_id=\S+ attempts=1 error="Error: cannot handle 7/,
  );
  assertMatch(text, /consumers_test\.ts:.*\[cause\]: Error: the mail server is away/);
});

Deno.test("with `deadLetter` it is logged, too, and a discard has no stack", async () => {
  const app = new App();
  const orders = app.topic<number>("orders");
  const failed = app.topic<DeadLetter>("failed");
  orders.consume("mail", { deadLetter: "failed" }, () => {
    throw new Discard("no such customer");
  });
  const text = await running(app, async () => {
    await using letters = failed.subscribe();
    await orders.publish(7);
    await letters.next();
  });
  assertMatch(
    text,
    /ERROR A message was given up topic=orders consumer=mail message_id=\S+ attempts=1 dead_letter=failed error="no such customer"\n/,
  );
});

Deno.test("a handler may throw what is no error, and a dead letter may be refused by its topic", async () => {
  const app = new App();
  const orders = app.topic<number>("orders");
  const { v } = { v: await import("valibot") };
  app.topic("failed", { schema: v.object({ other: v.string() }) });
  const hostile = new Proxy({}, {
    get() {
      throw new Error("not even this");
    },
    has() {
      throw new Error("nor this");
    },
  });
  const silent = {
    [Symbol.for("Deno.customInspect")]() {
      throw new Error("nor this");
    },
  };
  const thrown = [undefined, null, "text", 7, hostile, { code: 503 }, silent];
  orders.consume("mail", { retry: { attempts: 1 }, deadLetter: "failed", concurrency: 1 }, ({ data }) => {
    throw thrown[data];
  });
  const text = await running(app, async () => {
    for (const index of thrown.keys()) await orders.publish(index);
    const report = await reported(app, ({ failures, lag }) => failures === thrown.length && lag === 0);
    assertEquals(report.lastError, "a value that cannot be described");
  });
  assertMatch(text, /A dead letter was refused by its topic, and is kept instead/);
  assertMatch(text, /error="TypeError: The handler threw nothing/);
});

Deno.test("`key` keeps the messages of one key in order and one at a time", async () => {
  const app = new App();
  const orders = app.topic<{ customer: string; n: number }>("orders");
  const seen = new Collected<{ customer: string; n: number }>();
  const running_ = new Map<string, number>();
  orders.consume(
    "mail",
    { key: ({ data }) => data.customer, retry: QUICK, concurrency: 16 },
    async ({ data }, { attempt }) => {
      const { customer, n } = data;
      running_.set(customer, (running_.get(customer) ?? 0) + 1);
      assertEquals(running_.get(customer), 1);
      await ticks(n % 3);
      running_.set(customer, 0);
      // `a message that is tried again holds back those behind it of its key`
      if (n % 10 === 3 && attempt === 1) throw new Error("once more");
      seen.add(data);
    },
  );
  await running(app, async () => {
    for (let n = 0; n < 50; n++) {
      await Promise.all(["Ada", "Grace", "Mary"].map((customer) => orders.publish({ customer, n })));
    }
    const found = await seen.first(150);
    for (const customer of ["Ada", "Grace", "Mary"]) {
      const numbers = found.filter((data) => data.customer === customer).map(({ n }) => n);
      assertEquals(numbers, numbers.toSorted((one, other) => one - other));
    }
  });
});

Deno.test('`key: () => ""` is one at a time and in order', async () => {
  const app = new App();
  const orders = app.topic<number>("orders");
  const seen = new Collected<number>();
  orders.consume("mail", { key: () => "" }, async ({ data }) => {
    await ticks(data % 2);
    seen.add(data);
  });
  await running(app, async () => {
    await Promise.all(Array.from({ length: 100 }, (_, index) => orders.publish(index)));
    assertEquals(await seen.first(100), Array.from({ length: 100 }, (_, index) => index));
  });
});

Deno.test("a message whose `key` throws or is no text is given up, and holds nothing back", async () => {
  const app = new App();
  const orders = app.topic<number | null>("orders");
  const seen = new Collected<number | null>();
  orders.consume("mail", {
    key: ({ data }) => {
      if (data === 1) throw new Error("no key");
      // Nobody else would handle the rejection.
      if (data === -1) return Promise.reject(new Error("no key")) as unknown as string;
      return data === null ? 7 as unknown as string : "one";
    },
  }, ({ data }) => seen.add(data));
  await running(app, async () => {
    for (const data of [0, 1, null, -1, 2]) await orders.publish(data);
    assertEquals(await seen.first(2), [0, 2]);
    await reported(app, ({ failures }) => failures === 3);
  });
});

Deno.test("`deadLetter` is `the name of a topic of this application, durable where the source is`", async () => {
  const app = new App();
  app.topic("orders").consume("mail", { deadLetter: "order.failed" }, () => {});
  app.topic("orders.failed");
  const error = await assertRejects(() => app.start(), TypeError);
  assertEquals(
    error.message,
    'Cannot start the consumer "mail" of the topic "orders": its deadLetter "order.failed" is no topic of the application, ' +
      'declare it by app.topic("order.failed"), the nearest is "orders.failed"',
  );
  const other = new App();
  other.topic("orders").consume("mail", { deadLetter: "orders.failed" }, () => {});
  const { message } = await assertRejects(() => other.start(), TypeError);
  assert(message.endsWith('is no topic of the application, declare it by app.topic("orders.failed")'), message);
});

Deno.test("retention `takes what is not handled yet`, which is `logged and counted (lost)`", async () => {
  const app = new App();
  const orders = app.topic<number>("orders", { retention: { count: 10 } });
  const seen = new Collected<number>();
  const { promise: free, resolve } = Promise.withResolvers<void>();
  orders.consume("mail", { concurrency: 1, retry: { attempts: 1 } }, async ({ data }) => {
    await free;
    seen.add(data);
  });
  const text = await running(app, async () => {
    for (let number = 1; number <= 1_000; number++) await orders.publish(number);
    resolve();
    // `A consumer whose place is older than what is kept goes on at the oldest message.`
    while (seen.all.at(-1) !== 1_000) await ticks(1);
    const report = await reported(app, ({ lag }) => lag === 0);
    assert(report.lost > 0);
  });
  assertMatch(text, /WARN A consumer lost messages, which its topic no longer keeps topic=orders consumer=mail/);
});

Deno.test("`app.reportTopics()` shows a declared durable topic and its consumer before the first message", async () => {
  const app = new App({ topics: ":memory:" });
  const orders = app.topic<string>("orders", { durable: true, retention: { count: 5 } });
  app.topic("other", { durable: true });
  orders.consume("mail", () => {});
  await running(app, async () => {
    const { topics } = await app.reportTopics();
    assertEquals(topics.map(({ name, messages }) => [name, messages]), [["orders", 0], ["other", 0]]);
    const { consumers, retention, newest, head } = topics[0]!;
    assertEquals(consumers.map(({ name, lag, inFlight }) => [name, lag, inFlight]), [["mail", 0, 0]]);
    assertEquals([retention.count, newest, head], [5, undefined, undefined]);
    await orders.publish("tea");
    assertEquals((await app.reportTopics()).topics.map(({ messages }) => messages), [1, 0]);
  });
});

Deno.test("`app.reportTopics()` shows `position`, `lag`, `inFlight`, `failures`, `lost`, `lastError`", async () => {
  const app = new App();
  const orders = app.topic<number>("orders");
  const { promise: free, resolve } = Promise.withResolvers<void>();
  orders.consume("mail", { concurrency: 2 }, () => free);
  await running(app, async () => {
    const { id } = await orders.publish(1);
    for (let number = 2; number <= 5; number++) await orders.publish(number);
    const busy = await reported(app, ({ inFlight }) => inFlight === 2);
    assert(busy.position < id && busy.lag > 0);
    const names = ["topic", "name", "position", "lag", "inFlight", "failures", "lost", "lastError", "paused"];
    assertEquals(Object.keys(busy), names);
    resolve();
    const idle = await reported(app, ({ lag }) => lag === 0);
    const { head, consumers } = (await app.reportTopics()).topics[0]!;
    assertEquals([consumers.length, idle.inFlight, idle.position], [1, 0, head]);
  });
});

Deno.test("`A topic in memory has the same within one process (workers included)`", async () => {
  const { port1, port2 } = new MessageChannel();
  const seen = new Collected<[worker: number, data: number]>();
  const workers = [openWorkerStore({ guests: [port1] }), openWorkerStore({ host: port2 })].map((store, worker) => {
    const topics = new Topics({ openStore: () => new MemoryStore() });
    topics.use(store);
    topics.topic<number>("orders").consume("mail", { concurrency: 1 }, async ({ data }) => {
      await ticks(2);
      seen.add([worker, data]);
    });
    return topics;
  });
  const consumers = workers.map((topics) => new ConsumerService(topics));
  await Promise.all(consumers.map((each) => each.start(OWNER)));
  for (let number = 0; number < 40; number++) await workers[number % 2]!.topic<number>("orders").publish(number);
  const found = await seen.first(40);
  assertEquals(
    found.map(([, data]) => data).sort((one, other) => one - other),
    Array.from({ length: 40 }, (_, n) => n),
  );
  assertEquals(new Set(found.map(([worker]) => worker)).size, 2);
  await Promise.all(consumers.map((each) => each.close()));
  await Promise.all(workers.toReversed().map((topics) => topics.close()));
});
