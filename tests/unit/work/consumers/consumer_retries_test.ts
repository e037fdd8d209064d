// Section 2 of the contract of work: what consumers promise about messages that fail, and about keys.
// Time is virtual here.

import { stopReason } from "../../../../src/base/service.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { Consumer } from "../../../../src/work/consumers/consumer.ts";
import { findStored, removeConsumer, retryFailures } from "../../../../src/work/operate.ts";
import { consumerKey, failureKey, pageKey } from "../../../../src/work/consumers/record.ts";
import { readProgress, reportConsumers } from "../../../../src/work/operate.ts";
import { Discard } from "../../../../src/topics/consume_options.ts";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import type { TopicStore } from "../../../../src/store/topic_store.ts";
import { LOG, NAME, never, rest, Switch, test } from "./consumer_setting.ts";

async function retry(store: TopicStore) {
  const [place] = await findStored(store);
  return await retryFailures(place!);
}

test("`timeout`: `signal is aborted, and the try counts as failed`, also if the handler never ends", async (setting) => {
  const tries: [number, number][] = [];
  const reasons: unknown[] = [];
  const node = await setting.node((_, { attempt, signal }) => {
    tries.push([attempt, Math.round(setting.time / 1_000)]);
    signal.onabort = () => reasons.push(signal.reason.name);
    return never();
  }, { concurrency: 1, timeout: 5_000, backoff: 1 });
  await setting.publish("one");
  await rest(60_000);
  assertEquals(tries, [[1, 0], [2, 5], [3, 10]]);
  assertEquals(reasons, ["TimeoutError", "TimeoutError", "TimeoutError"]);
  const [failure] = await setting.failures();
  assertEquals([failure?.error, failure?.attempts], ["The handler has not ended within 5000 ms", 3]);
  await node.close();
});

test("`after backoff, doubling with jitter to 1 h, attempts tries in all`", async (setting) => {
  const times: number[] = [];
  const node = await setting.node(() => {
    times.push(setting.time);
    throw new Error("no");
  }, { attempts: 12, backoff: 10_000, lease: 3_600_000 });
  await setting.publish("one");
  await rest(12 * 3_600_000);
  const pauses = times.slice(1).map((time, index) => time - times[index]!);
  assertEquals(pauses.length, 11);
  const ratios = pauses.map((pause, index) => pause / Math.min(10_000 * 2 ** index, 3_600_000));
  for (const ratio of ratios) assert(ratio >= 1 && ratio <= 1.27, `${ratios}`);
  // What comes on top is random.
  assert(Math.max(...ratios) - Math.min(...ratios) > 0.05, `${ratios}`);
  await node.close();
});

test("an array as backoff has the pauses, of which the last is repeated, with jitter", async (setting) => {
  const times: number[] = [];
  const pauses = [1_000, 7_200_000, 14_400_000];
  const node = await setting.node(() => {
    times.push(setting.time);
    throw new Error("no");
  }, { attempts: 5, backoff: 1_000, pauses, lease: 3_600_000 });
  await setting.publish("one");
  await rest(15 * 3_600_000);
  const found = times.slice(1).map((time, index) => time - times[index]!);
  const ratios = found.map((pause, index) => pause / (pauses[index] ?? 14_400_000));
  assertEquals(ratios.length, 4);
  for (const ratio of ratios) assert(ratio >= 1 && ratio <= 1.27, `${ratios}`);
  await node.close();
});

test("a function as backoff gets the error and the attempt; after undefined, the default applies", async (setting) => {
  const times: number[] = [];
  const asked: unknown[] = [];
  const node = await setting.node((_, { attempt }) => {
    times.push(setting.time);
    throw attempt === 2 ? "busy" : new Error(`${attempt}`);
  }, {
    attempts: 4,
    backoff: 10_000,
    pauseAfter: (error, attempt) => {
      asked.push([error instanceof Error ? error.message : error, attempt]);
      return error === "busy" ? 7_200_000 : undefined;
    },
    lease: 3_600_000,
  });
  await setting.publish("one");
  await rest(15 * 3_600_000);
  assertEquals(asked, [["1", 1], ["busy", 2], ["3", 3]]);
  const ratios = times.slice(1).map((time, index) => (time - times[index]!) / [10_000, 7_200_000, 40_000][index]!);
  assertEquals(ratios.length, 3);
  for (const ratio of ratios) assert(ratio >= 1 && ratio <= 1.27, `${ratios}`);
  await node.close();
});

test("a message is tried again `on whichever node`", async (setting) => {
  const tries: [string, number][] = [];
  const first = await setting.node((_, { attempt }) => {
    tries.push(["first", attempt]);
    throw new Error("no");
  });
  await setting.publish("one");
  await rest(100);
  const second = await setting.node((_, { attempt }) => tries.push(["second", attempt]));
  await first.close();
  await rest(60_000);
  assertEquals(tries, [["first", 1], ["second", 2]]);
  await second.close();
});

test("`Beyond 512 messages that wait (blocked or failing) a keyed consumer reads no further`", async (setting) => {
  let isBroken = true;
  const seen: number[] = [];
  const node = await setting.node((data) => {
    if (isBroken) throw new Error("no");
    seen.push(data as number);
  }, { key: () => "all", attempts: 50, backoff: 60_000, concurrency: 16 });
  for (let n = 0; n < 1_000; n++) await setting.publish(n);
  await rest(30_000);
  const { pending, ranges } = await setting.state();
  assert(pending.length >= 512 && pending.length < 600, `${pending.length}`);
  assertEquals(ranges, []);
  isBroken = false;
  await rest(600_000);
  assertEquals(seen, Array.from({ length: 1_000 }, (_, n) => n));
  await node.close();
});

test("many messages that fail wait outside the record, which stays below 60 KiB", async (setting) => {
  let isBroken = true;
  let handled = 0;
  let largest = 0;
  const node = await setting.node(() => {
    if (isBroken) throw new Error("no");
    handled++;
  }, { attempts: 5, backoff: 600_000, concurrency: 64 });
  for (let n = 0; n < 30; n++) await setting.publish(...Array.from({ length: 100 }, () => n));
  for (let n = 0; n < 20; n++) {
    await rest(1_000);
    const { value } = (await (await setting.records()).get(consumerKey(NAME)))!;
    largest = Math.max(largest, value.length);
  }
  assert((await setting.state()).pages.length > 5);
  assert(largest < 60 * 1024);
  isBroken = false;
  await rest(2_000_000);
  assertEquals(handled, 3_000);
  const { pending, pages, lost } = await setting.state();
  assertEquals([pending.length, pages.length, lost], [0, 0, 0]);
  await node.close();
});

test("pages of messages that wait are deleted, also where several nodes write at once", async (setting) => {
  const nodes: Consumer[] = [];
  for (let n = 0; n < 3; n++) {
    const connection = new Switch();
    connection.delay = 20;
    nodes.push(
      await setting.node((_, { attempt }) => {
        if (attempt === 1) throw new Error("no");
      }, { connection, backoff: 100_000, concurrency: 64 }),
    );
  }
  const pages = async () => await Array.fromAsync((await setting.records()).list(pageKey(NAME)));
  let most = 0;
  for (let n = 0; n < 30; n++) {
    await setting.publish(...Array.from({ length: 100 }, () => n));
    await rest(200);
    most = Math.max(most, (await pages()).length);
  }
  assert(most > 3, `${most}`);
  await rest(2_000_000);
  const { pending, pages: left } = await setting.state();
  assertEquals([pending.length, left.length, (await pages()).length], [0, 0, 0]);
  await Promise.all(nodes.map((node) => node.close()));
});

test("what `--retry` redelivers gets all its tries again", async (setting) => {
  const tries: number[] = [];
  const node = await setting.node((_, { attempt }) => {
    tries.push(attempt);
    throw new Error("no");
  }, { backoff: 1 });
  await setting.publish("one");
  await rest(10_000);
  // A store of a user may be unable to say which topics it has. Then nothing is forgotten.
  await assertRejects(() => retry(setting.store), TypeError, "give it list()");
  setting.store.list = () => Promise.resolve([LOG]);
  assertEquals(await retry(setting.store), { redelivered: 1, gone: [] });
  // Nodes begin `within a quarter of the lease`.
  await rest(2_600);
  assertEquals(tries, [1, 2, 3, 1, 2, 3]);
  await node.close();
});

test('`key: () => ""` `is one at a time and in order on all nodes`, with keys, failures and a slow store', async (setting) => {
  for (const keyOf of [() => "", (data: number) => `${data % 7}`]) {
    const running = new Map<string, number>();
    const done = new Map<string, number[]>();
    const nodes: Consumer[] = [];
    for (let n = 0; n < 3; n++) {
      const connection = new Switch();
      connection.delay = 30;
      nodes.push(
        await setting.node(async (data, { attempt }) => {
          const key = keyOf(data as number);
          running.set(key, (running.get(key) ?? 0) + 1);
          assertEquals(running.get(key), 1);
          await rest(Math.random() * 200);
          running.set(key, 0);
          if (attempt < 3 && Math.random() < 0.3) throw new Error("once more");
          done.set(key, [...done.get(key) ?? [], data as number]);
        }, { connection, concurrency: 2, attempts: 10, backoff: 1, key: ({ data }) => keyOf(data as number) }),
      );
    }
    for (let n = 0; n < 300; n += 20) {
      await setting.publish(...Array.from({ length: 20 }, (_, index) => n + index));
      await rest(100);
    }
    await rest(600_000);
    for (const numbers of done.values()) assertEquals(numbers, numbers.toSorted((one, other) => one - other));
    assertEquals([...done.values()].flat().length, 300);
    await Promise.all(nodes.map((node) => node.close()));
    await (await setting.records()).delete(consumerKey(NAME), {});
    await setting.store.close();
    setting.store = new MemoryStore();
  }
});

test("a message that fails holds back one of its key that is being claimed", async (setting) => {
  const connection = new Switch();
  connection.delay = 500;
  const begun: unknown[] = [];
  const gate = Promise.withResolvers<void>();
  const node = await setting.node(async (data, { attempt }) => {
    begun.push(data);
    if (data === 1 && attempt === 1) await gate.promise;
  }, { connection, concurrency: 2, key: () => "" });
  await setting.publish(1);
  while (begun.length === 0) await rest(100);
  // The node is at rest.
  await rest(2_000);
  const { next } = await setting.state();
  await setting.publish(2);
  while ((await setting.state()).next === next) await rest(10);
  // It does not know yet that it has the second message.
  gate.reject(new Error("no"));
  await rest(20_000);
  assertEquals(begun, [1, 1, 2]);
  await node.close();
});

test("`its id, error and attempts are kept, the newest 10,000 of a consumer`", async (setting) => {
  const node = await setting.node(() => {
    throw new Error("no");
  }, { attempts: 1, concurrency: 256 });
  for (let n = 0; n < 112; n++) await setting.publish(...Array.from({ length: 100 }, () => n));
  await rest(60_000);
  const failures = await setting.failures();
  assert(failures.length >= 10_000 && failures.length < 11_000, `${failures.length}`);
  // The newest ones are among them.
  const newest = failures.map(({ id }) => id).sort().at(-1)!;
  assertEquals(Number.parseInt(newest.slice(9), 16), 11_200);
  const oldest = failures.map(({ id }) => id).sort()[0]!;
  assert(Number.parseInt(oldest.slice(9), 16) > 11_200 - failures.length - 256, oldest);
  await node.close();
});

test(
  "the oldest failures are deleted also after a node ended while it did so, and that is logged",
  async (setting, log) => {
    const records = await setting.records();
    const remove = records.delete.bind(records);
    let isKilled = false;
    records.delete = async (key, deletion) => {
      if (isKilled) throw new Error("killed");
      return await remove(key, deletion);
    };
    setting.records = () => Promise.resolve(records);
    const handle = () => {
      throw new Discard("no");
    };
    const node = await setting.node(handle, { concurrency: 256 });
    for (let n = 0; n < 105; n++) await setting.publish(...Array.from({ length: 100 }, () => n));
    await rest(60_000);
    const before = (await setting.failures()).length;
    isKilled = true;
    await setting.publish(...Array.from({ length: 1_000 }, () => 0));
    await rest(60_000);
    assertEquals((await setting.failures()).length, before + 1_000);
    isKilled = false;
    const other = await setting.node(handle);
    await node.close();
    await setting.publish(0);
    await rest(60_000);
    assertEquals((await setting.failures()).length, 10_000);
    assertMatch(
      log.text,
      / WARN The oldest failures of a consumer are deleted topic=orders consumer=mail failures=\d+\n/,
    );
    await other.close();
  },
);

test("the gauge of lags reads no failures, which may be many", async (setting) => {
  const node = await setting.node(() => {
    throw new Discard("no");
  });
  await setting.publish(1, 2, 3);
  await rest(5_000);
  const { store } = setting;
  const records = await setting.records();
  const listed: string[] = [];
  const list = records.list.bind(records);
  records.list = (prefix) => {
    listed.push(prefix[0]!);
    return list(prefix);
  };
  store.openRecords = () => Promise.resolve(records);
  assertEquals((await readProgress(store, LOG)).map(({ name, lag }) => [name, lag]), [["mail", 0]]);
  assertEquals(listed, ["consumers"]);
  assertEquals((await reportConsumers(store, LOG))[0]!.failures, 3);
  await node.close();
});

test("what was kept is counted, also where redelivering was cut short or done twice", async (setting) => {
  const { store } = setting;
  store.list = () => Promise.resolve([LOG]);
  const records = await setting.records();
  store.openRecords = () => Promise.resolve(records);
  let isBroken = true;
  const node = await setting.node(() => {
    if (isBroken) throw new Discard("no");
  });
  const failures = async () => (await reportConsumers(store, LOG))[0]!.failures;
  await setting.publish(1, 2, 3);
  await rest(5_000);
  assertEquals(await failures(), 3);
  isBroken = false;
  const remove = records.delete.bind(records);
  records.delete = () => Promise.reject(new Error("killed"));
  await assertRejects(() => retry(store), Error, "killed");
  records.delete = remove;
  assertEquals(await failures(), 3);
  await Promise.all([retry(store), retry(store)]);
  assertEquals(await failures(), 0);
  isBroken = true;
  await setting.publish(4);
  await rest(30_000);
  assert(await failures() > 0);
  await node.close();
});

test("`--remove orders/mail` forgets a consumer: also what has failed, and what waits to be tried again", async (setting) => {
  const node = await setting.node((data) => {
    throw data === "wrong" ? new Discard("no") : new Error("no");
  }, { backoff: 600_000, concurrency: 64 });
  await setting.publish(...Array(1_500).fill("failing"), "wrong");
  await rest(30_000);
  const records = await setting.records();
  const kept = async () => {
    const prefixes = [[...consumerKey(NAME)], pageKey(NAME), failureKey(NAME)];
    return await Promise.all(prefixes.map(async (prefix) => (await Array.fromAsync(records.list(prefix))).length));
  };
  const [record, pages, failures] = await kept();
  assert(pages! > 0, `${pages}`);
  assertEquals([record, failures], [1, 1]);
  await node.close();
  await removeConsumer((await findStored(setting.store))[0]!);
  assertEquals(await kept(), [0, 0, 0]);
});

test("`--retry` does not forget what fails again while it works", async (setting) => {
  const node = await setting.node(() => {
    throw new Discard("no");
  });
  await setting.publish(1, 2, 3);
  await rest(5_000);
  assertEquals((await setting.failures()).length, 3);
  const records = await setting.records();
  const remove = records.delete.bind(records);
  records.delete = async (key, deletion) => {
    // Meanwhile the consumer has looked at its record.
    await rest(4_000);
    return await remove(key, deletion);
  };
  const { store } = setting;
  store.list = () => Promise.resolve([LOG]);
  store.openRecords = () => Promise.resolve(records);
  const operated = await retry(store);
  assertEquals(operated, { redelivered: 3, gone: [] });
  await rest(30_000);
  assertEquals((await setting.failures()).length, 3);
  await node.close();
});

test("`--retry` redelivers what had failed before a backup of its store was restored", async (setting) => {
  const { store } = setting;
  // The log and the record are there again, and are known by another name.
  let incarnation = "11111111";
  const capabilities = { ...store.capabilities, durability: "disk" as const };
  const records = await setting.records();
  setting.store = new Proxy(store, {
    get: (target, name) => {
      if (name === "capabilities") return capabilities;
      if (name === "list") return () => Promise.resolve([LOG]);
      if (name === "openRecords") return () => Promise.resolve(records);
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "read" && name !== "bounds") return value.bind(target);
      return async (...args: unknown[]) => ({ ...await value.apply(target, args), incarnation });
    },
  });
  let isBroken = true;
  const seen: unknown[] = [];
  const node = await setting.node((data) => {
    seen.push(data);
    if (isBroken) throw new Discard("no");
  });
  await setting.publish("a", "b");
  await rest(5_000);
  incarnation = "22222222";
  await setting.publish("c");
  await rest(5_000);
  assertEquals(seen, ["a", "b", "c"]);
  isBroken = false;
  assertEquals(await retry(setting.store), { redelivered: 3, gone: [] });
  await rest(10_000);
  assertEquals(seen.slice(3).sort(), ["a", "b", "c"]);
  assertEquals((await setting.failures()).length, 0);
  await node.close();
});

test("what `--retry` redelivers is handled though a consumer with keys is behind", async (setting) => {
  let isBroken = true;
  const again: unknown[] = [];
  let others = 0;
  const handle = async (data: unknown) => {
    if (isBroken) throw new Discard("no");
    if (data === "late") return void again.push(data);
    others++;
    await rest(10);
  };
  const options = { key: () => "", concurrency: 1 };
  const nodes = [await setting.node(handle, options), await setting.node(handle, options)];
  await setting.publish(...Array.from({ length: 300 }, () => "late"));
  await rest(300_000);
  assertEquals((await setting.failures()).length, 300);
  isBroken = false;
  await setting.publish(...Array.from({ length: 10_000 }, (_, n) => n));
  await rest(20_000);
  const { store } = setting;
  store.list = () => Promise.resolve([LOG]);
  await retry(store);
  const before = others;
  while (again.length < 300 && others < 10_000) await rest(100);
  assertEquals(again.length, 300);
  assert(others - before < 2_000, `${others - before} others were first`);
  for (const node of nodes) node.abort(stopReason());
  await Promise.all(nodes.map((node) => node.close()));
});
