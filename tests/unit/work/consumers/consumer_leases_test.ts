// Section 2 of the contract of work: what consumers promise about time, and about nodes that end.
// Time is virtual here.

import type { PrecheckParts } from "../../../../src/routing/dispatch.ts";
import { stopReason } from "../../../../src/base/service.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SYSTEM_CLOCK } from "../../../../src/base/clock.ts";
import { Consumer } from "../../../../src/work/consumers/consumer.ts";
import { reportConsumers } from "../../../../src/work/operate.ts";
import { consumerKey } from "../../../../src/work/consumers/record.ts";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import type { ConsumerReport } from "../../../../src/topics/topic_report.ts";
import { Webhooks } from "../../../../src/webhooks/webhooks.ts";
import { Topics } from "../../../../src/topics/topics.ts";
import { Lifecycle } from "../../../../src/app/lifecycle.ts";
import { Crons } from "../../../../src/work/cron/crons.ts";
import type { AppHandle } from "../../../../src/http/app_handle.ts";
import { LOG, NAME, never, OPTIONS, rest, type Setting, Switch, test } from "./consumer_setting.ts";

test("`a lease ends lease and a look (at most a quarter of it) after its node is gone`", async (setting) => {
  const connection = new Switch();
  const dead = await setting.node(never, { connection });
  await setting.publish("one");
  await rest(1_000);
  const seen: [unknown, number][] = [];
  const alive = await setting.node((data) => seen.push([data, setting.time]));
  // `while a node that has one lives and renews its lease, no other node has it`
  await rest(100_000);
  assertEquals(seen, []);
  connection.isAway = true;
  const gone = setting.time;
  await rest(30_000);
  const [[data, time]] = seen as [[unknown, number]];
  assertEquals(data, "one");
  // Its last renewal was up to a third of the lease before.
  assert(time - gone <= 10_000 * 1.25 + 200, `${time - gone}`);
  assert(time - gone >= 10_000 * (1 - 1 / 3) - 200, `${time - gone}`);
  dead.abort(stopReason());
  await Promise.all([dead.close(), alive.close()]);
});

test("`a look` is `at most a quarter` of the lease, whenever the others begin and the node is gone", async (setting) => {
  const times: number[] = [];
  for (let round = 0; round < 15; round++) {
    setting.store = new MemoryStore();
    const writes = await setting.noteWrites();
    const connection = new Switch();
    const dead = await setting.node(never, { connection });
    await setting.publish("one");
    await rest(1_000 + 200 * (round % 5));
    const seen: number[] = [];
    const alive = await setting.node(() => seen.push(setting.time));
    // It is gone just after it has renewed its lease, for the first time or a later one.
    for (let renewals = 0; renewals <= round / 5; renewals++) {
      const { last } = writes;
      while (writes.last === last) await rest(10);
    }
    const gone = writes.last;
    connection.isAway = true;
    await rest(30_000);
    times.push(seen[0]! - gone);
    dead.abort(stopReason());
    await Promise.all([dead.close(), alive.close()]);
  }
  for (const time of times) assert(time >= 10_000 && time <= 10_000 * 1.25 + 50, `${times}`);
});

test("where a store tells which processes have ended, others do not wait for the lease, also when busy", async (setting) => {
  for (const isBusy of [false, true]) {
    const names = ["dead", "live"];
    const ended = new Set<string>();
    let asked = 0;
    setting.store = Object.assign(new MemoryStore(), {
      processName: () => Promise.resolve(names.shift()),
      hasEnded: (name: string) => Promise.resolve(asked++ >= 0 && ended.has(name)),
    });
    const connection = new Switch();
    const dead = await setting.node(never, { connection, concurrency: 1 });
    await setting.publish("one");
    await rest(1_000);
    const seen: unknown[] = [];
    const alive = await setting.node((data) => seen.push(data));
    await rest(1_000);
    assertEquals(seen, []);
    connection.isAway = true;
    ended.add("dead");
    asked = 0;
    for (let ms = 0; ms < 1_500; ms += 20) {
      if (isBusy) await setting.publish("more");
      await rest(20);
    }
    assert(seen.includes("one"), `${seen.length}`);
    assert(asked <= 3, `${asked}`);
    dead.abort(stopReason());
    await Promise.all([dead.close(), alive.close()]);
  }
});

test("a store that fails to tell who has ended holds up nobody: the lease counts", async (setting) => {
  const fail = () => {
    throw new Error("no");
  };
  let starts = 0;
  setting.store = Object.assign(new MemoryStore(), {
    processName: () => starts++ === 0 ? Promise.resolve("dead") : fail(),
    hasEnded: async () => fail(),
  });
  const connection = new Switch();
  const dead = await setting.node(never, { connection });
  await setting.publish("one");
  await rest(1_000);
  const seen: unknown[] = [];
  const alive = await setting.node((data) => seen.push(data));
  connection.isAway = true;
  await rest(13_000);
  assertEquals(seen, ["one"]);
  dead.abort(stopReason());
  await Promise.all([dead.close(), alive.close()]);
});

test("what is published after a node is gone that waited for it is handled within the lease and a look", async (setting) => {
  const connection = new Switch();
  const seen: [string, unknown, number][] = [];
  const dead = await setting.node((data) => seen.push(["dead", data, setting.time]), { connection });
  await setting.publish("one");
  await rest(1_000);
  const alive = await setting.node((data) => seen.push(["alive", data, setting.time]));
  await rest(1_000);
  assertEquals([seen.map(([node]) => node), (await setting.state()).claimer !== ""], [["dead"], true]);
  connection.isAway = true;
  const gone = setting.time;
  await setting.publish("two");
  await rest(30_000);
  const [, [node, data, time]] = seen as [unknown, [string, unknown, number]];
  assertEquals([node, data, seen.length], ["alive", "two", 2]);
  assert(time - gone <= 10_000 * 1.25 + 200, `${time - gone}`);
  dead.abort(stopReason());
  await Promise.all([dead.close(), alive.close()]);
});

test("`a node that cannot renew` `aborts its signals at 0.8 of it, which counts as no try`", async (setting) => {
  const connection = new Switch();
  const aborted: number[] = [];
  const attempts: number[] = [];
  const writes = await setting.noteWrites();
  const node = await setting.node(async (_, { signal, attempt }) => {
    attempts.push(attempt);
    if (attempts.length > 1) return;
    await new Promise<void>((resolve) => signal.onabort = () => resolve());
    aborted.push(setting.time - writes.last);
    throw new Error("aborted");
  }, { connection, concurrency: 1 });
  await setting.publish("one", "two");
  await rest(50_000);
  const { nodes } = await setting.state();
  assertEquals(Object.keys(nodes).length, 1);
  connection.isAway = true;
  await rest(20_000);
  assertEquals(aborted.length, 1);
  assert(Math.abs(aborted[0]! - 8_000) <= 1, `${aborted}`);
  // It `starts nothing new`.
  assertEquals(attempts, [1]);
  connection.isAway = false;
  await rest(10_000);
  assertEquals(attempts, [1, 1, 1]);
  assertEquals((await setting.state()).pending, []);
  await node.close();
});

test("a node that cannot renew `starts nothing new`, also of what it has in flight", async (setting) => {
  const connection = new Switch();
  const begun: unknown[] = [];
  const node = await setting.node(async (data, { signal }) => {
    begun.push(data);
    if (data === "slow") await new Promise<void>((resolve) => signal.onabort = () => resolve());
  }, { connection, concurrency: 1 });
  // It takes more in flight than it handles at once when its handler is quick.
  await setting.publish(...Array(20).fill("quick"));
  await rest(5_000);
  begun.length = 0;
  await setting.publish("slow", "next");
  await rest(30_000);
  const { ranges } = await setting.state();
  assertEquals([begun, ranges.reduce((sum, { count }) => sum + count, 0)], [["slow"], 2]);
  connection.isAway = true;
  await rest(20_000);
  assertEquals(begun, ["slow"]);
  connection.isAway = false;
  await rest(20_000);
  assertEquals(begun.includes("next"), true);
  await node.close();
});

test("a store that is away for longer than a lease is no death of the nodes", async (setting) => {
  const [own, others] = [new Switch(), new Switch()];
  const seen: unknown[] = [];
  const handle = async (data: unknown) => {
    seen.push(data);
    await rest(60_000);
  };
  const holder = await setting.node(handle, { connection: own, attempts: 1 });
  await setting.publish("long");
  await rest(1_000);
  const other = await setting.node(handle, { connection: others, attempts: 1 });
  await rest(5_000);
  own.isAway = others.isAway = true;
  await rest(15_000);
  // The node that has nothing comes back first.
  others.isAway = false;
  await rest(4_000);
  own.isAway = false;
  await rest(100_000);
  assertEquals(seen, ["long"]);
  assertEquals(await setting.failures(), []);
  await Promise.all([holder.close(), other.close()]);
});

test("with few tries, nothing waits in flight: the end of the node would count as one", async (setting) => {
  for (const [attempts, inHand] of [[2, 1], [3, 2]] as const) {
    const node = await setting.node(async (data) => {
      if (data === "slow") await rest(60_000);
    }, { attempts, concurrency: 1 });
    await setting.publish(...Array(20).fill("quick"));
    await rest(5_000);
    await setting.publish("slow", "quick");
    await rest(20_000);
    const { ranges } = await setting.state();
    assertEquals(ranges.reduce((sum, { count }) => sum + count, 0), inHand, `${attempts}`);
    await rest(60_000);
    await node.close();
  }
});

/** How many nodes end of a message, one after another, before it is given up after three. */
async function countDeaths(setting: Setting, publish: (start: () => Promise<void>) => Promise<void>): Promise<number> {
  const seen: unknown[] = [];
  let deaths = 0;
  const nodes: Consumer[] = [];
  const start = async () => {
    const connection = new Switch();
    nodes.push(
      await setting.node((data) => {
        if (connection.isAway) return never();
        if (data !== "poison") return void seen.push(data);
        deaths++;
        connection.isAway = true;
        void start();
        return never();
      }, { connection, attempts: 3, lease: 1_000 }),
    );
  };
  await publish(start);
  await rest(60_000);
  // What was not said to be done when a node ended is handled again.
  assertEquals([...new Set(seen)].sort(), ["a", "b", "c", "d"]);
  const [failure] = await setting.failures();
  assertMatch(failure!.error, /the processes that had it have ended/);
  for (const node of nodes) node.abort(stopReason());
  await Promise.all(nodes.map((node) => node.close()));
  return deaths;
}

test("`A message whose nodes died attempts times while they had it is given up likewise`", async (setting) => {
  const deaths = await countDeaths(setting, async (start) => {
    await setting.publish("a", "b", "poison", "c", "d");
    await start();
  });
  assertEquals(deaths, 3);
});

test("a node that dies of a message before the record says that it has it counts, too", async (setting) => {
  const deaths = await countDeaths(setting, async (start) => {
    await start();
    await rest(1_000);
    await setting.publish("poison", "a", "b", "c", "d");
  });
  assertEquals(deaths, 3);
});

test(
  "at stop: `no new messages, handlers get the grace period, signal is then aborted, leases are given back`",
  async (setting, log) => {
    const begun: unknown[] = [];
    const ended: unknown[] = [];
    const signals: AbortSignal[] = [];
    const node = await setting.node(async (data, { signal }) => {
      begun.push(data);
      signals.push(signal);
      if (data === 1) await rest(3_000);
      else await new Promise<void>((_, reject) => signal.onabort = () => reject(signal.reason));
      ended.push(data);
    }, { concurrency: 2 });
    await setting.publish(1, 2, 3, 4);
    await rest(1_000);
    assertEquals(begun, [1, 2]);
    node.drain();
    const stopping = node.close();
    await rest(3_000);
    assertEquals(ended, [1]);
    assertEquals([log.text, signals.map(({ aborted }) => aborted)], ["", [false, false]]);
    node.abort(stopReason());
    assertEquals(signals.map(({ aborted }) => aborted), [false, true]);
    await stopping;
    assertEquals([begun, ended], [[1, 2], [1]]);
    const entry = "Handlers of a consumer did not end in the grace period: their signals are aborted";
    assertStringIncludes(log.text, `${entry} topic=orders consumer=mail handlers=1`);
    const attempts: string[] = [];
    const other = await setting.node((data, { attempt }) => attempts.push(`${data}, try ${attempt}`));
    await rest(1_000);
    assertEquals(attempts.sort(), ["2, try 1", "3, try 1", "4, try 1"]);
    await other.close();
  },
);

test("at stop, what waits in flight is given back at once, and does not begin", async (setting) => {
  const begun: unknown[] = [];
  const first = await setting.node(async (data) => {
    begun.push(data);
    if (data === "slow") await rest(5_000);
  }, { concurrency: 1 });
  await setting.publish(...Array(20).fill("quick"));
  await rest(5_000);
  begun.length = 0;
  await setting.publish("slow", "next");
  await rest(1_000);
  const stopping = first.close();
  await rest(1_000);
  const seen: unknown[] = [];
  const other = await setting.node((data) => seen.push(data));
  await rest(1_000);
  assertEquals([begun, seen], [["slow"], ["next"]]);
  await stopping;
  await other.close();
  assertEquals([begun, seen], [["slow"], ["next"]]);
});

test("without `key`, `concurrency` is each node's", async (setting) => {
  const begun = [0, 0];
  const nodes: Consumer[] = [];
  for (const index of [0, 1]) {
    nodes.push(
      await setting.node(() => {
        begun[index]!++;
        return never();
      }, { concurrency: 3 }),
    );
  }
  await setting.publish(...Array(20).fill("one"));
  await rest(60_000);
  assertEquals(begun, [3, 3]);
  for (const node of nodes) node.abort(stopReason());
  await Promise.all(nodes.map((node) => node.close()));
});

for (const kind of ["in flight", "tried again"]) {
  test(`"handled until its handler resolves": a server has not got yet what is ${kind}`, async (setting) => {
    await setting.publish("zero");
    const { highWatermark } = await setting.store.bounds(setting.log);
    await setting.publish("one", "two");
    const first = new Switch();
    const dead = await setting.node(async (data) => {
      if (data === "zero") return;
      if (kind === "in flight") await never();
      throw new Error("no");
    }, { connection: first });
    await rest(500);
    first.isAway = true;
    const connection = new Switch();
    connection.newest = highWatermark;
    const seen: unknown[] = [];
    const node = await setting.node((data) => seen.push(data), { connection });
    await rest(60_000);
    assertEquals([seen, (await setting.state()).lost], [[], 0]);
    connection.newest = undefined;
    await rest(60_000);
    assertEquals([seen.sort(), (await setting.state()).lost], [["one", "two"], 0]);
    dead.abort(stopReason());
    await Promise.all([dead.close(), node.close()]);
  });
}

test(
  "`retention also takes what is not handled yet`: also all of it, and what a node had that is gone",
  async (setting, log) => {
    setting.log = { ...LOG, policy: { ...LOG.policy, age: 10_000 } };
    const options = { lease: 120_000 };
    const lost = "A consumer lost messages, which its topic no longer keeps topic=orders consumer=mail";
    await (await setting.node(never, options)).close();
    await setting.publish("one", "two");
    await rest(60_000);
    // `A consumer whose place is older than what is kept` has nothing to go on at.
    const connection = new Switch();
    const dead = await setting.node(never, { ...options, connection });
    await rest(60_000);
    assertEquals((await setting.state()).lost, 1);
    assertStringIncludes(log.text, `${lost} lost=1`);
    await setting.publish("three", "four");
    await rest(1_000);
    connection.isAway = true;
    const seen: unknown[] = [];
    const alive = await setting.node((data) => seen.push(data), options);
    await rest(300_000);
    assertEquals((await setting.state()).lost, 3);
    assertStringIncludes(log.text, `${lost} lost=2`);
    await setting.publish("five");
    await rest(1_000);
    assertEquals(seen, ["five"]);
    dead.abort(stopReason());
    await Promise.all([dead.close(), alive.close()]);
  },
);

test(
  "`retention also takes what is not handled yet`: also a message that waits for another try",
  async (setting, log) => {
    setting.log = { ...LOG, policy: { ...LOG.policy, age: 10_000 } };
    const tries: number[] = [];
    const handle = (_: unknown, { attempt }: { readonly attempt: number }) => {
      tries.push(attempt);
      throw new Error("no");
    };
    const first = await setting.node(handle, { backoff: 60_000 });
    await setting.publish("one");
    await rest(1_000);
    // Another node does not have it in memory.
    await first.close();
    const second = await setting.node(handle, { backoff: 60_000 });
    await rest(120_000);
    const { pending, lost } = await setting.state();
    assertEquals([tries, pending, lost], [[1], [], 1]);
    assertStringIncludes(log.text, "which its topic no longer keeps topic=orders consumer=mail lost=1");
    await second.close();
  },
);

test("`lag` is `the age of the oldest message that is not handled`, wherever it is", async (setting) => {
  const lag = async () => {
    const [{ lag, position }] = await reportConsumers(setting.store, LOG) as [ConsumerReport];
    return [Math.round(lag / 1_000), Number.parseInt(position.slice(9), 16)];
  };
  // In hand, to be tried again, and not read yet.
  const gate = Promise.withResolvers<void>();
  const node = await setting.node(async (data, { attempt }) => {
    if (data === "slow") await gate.promise;
    if (data === "failing" && attempt === 1) throw new Error("no");
  }, { concurrency: 2, backoff: 100_000 });
  assertEquals(await lag(), [0, 0]);
  await setting.publish("quick", "failing");
  await rest(10_000);
  assertEquals(await lag(), [10, 1]);
  await setting.publish("slow", "slow", "quick");
  await rest(20_000);
  assertEquals(await lag(), [30, 1]);
  await rest(110_000);
  // The one that failed waits for a free hand.
  gate.resolve();
  await rest(10_000);
  assertEquals(await lag(), [0, 5]);
  await setting.publish("quick");
  await rest(1_000);
  await node.close();
  await setting.publish("late");
  await rest(7_000);
  assertEquals(await lag(), [7, 6]);
});

test("a handler that ignores its signal, and a store that is away, hold up a stop by about a second", async (setting) => {
  const connection = new Switch();
  const node = await setting.node(never, { connection });
  await setting.publish(1);
  await rest(1_000);
  connection.isAway = true;
  const begin = setting.time;
  node.abort(stopReason());
  await node.close();
  assert(setting.time - begin <= 2_100, `${setting.time - begin}`);
});

test("a stop that comes while the application starts gives handlers the grace, and no more", async (setting) => {
  const topics = new Topics({ openStore: () => setting.store });
  topics.topic("orders").consume("mail", { from: "earliest" }, never);
  const crons = new Crons<object>({ topics, startApp: async () => {} });
  const precheck = { proxies: { open: async () => {} } } as unknown as PrecheckParts;
  const webhooks = new Webhooks(topics, { allowPrivate: false });
  const parts = { app: {} as AppHandle, precheck, topics, crons, webhooks, mounted: () => [], openSockets: () => 0 };
  const lifecycle = new Lifecycle(parts);
  await setting.publish(1);
  const starting = lifecycle.start([]);
  setTimeout(() => lifecycle.abort(stopReason(), "handlers"), 10_000);
  await lifecycle.drain();
  await starting;
  const begin = setting.time;
  await rest(100);
  await lifecycle.close();
  assert(setting.time - begin <= 12_000, `${setting.time - begin}`);
});

test("a store that is away at the start does not keep a consumer from stopping, and is waited for", async (setting) => {
  const connection = new Switch();
  connection.isAway = true;
  const seen: unknown[] = [];
  const starting = setting.node((data) => seen.push(data), { connection });
  await setting.publish(1);
  await rest(20_000);
  connection.isAway = false;
  const node = await starting;
  await rest(6_000);
  assertEquals(seen, [1]);
  await node.close();
});

test(
  "a dead letter that cannot be published is tried again, without another try of the handler",
  async (setting, log) => {
    const letters: unknown[] = [];
    let [isAway, tries] = [true, 0];
    const node = await setting.node(
      () => {
        tries++;
        throw new Error("no");
      },
      {
        attempts: 2,
        backoff: 10,
        letters: {
          name: "failed",
          maxBytes: 1_000,
          publish: async (letter, { id }) => {
            if (isAway) throw new Error("away");
            letters.push([letter.attempts, letter.error, id.startsWith("orders/mail/")]);
          },
        },
      },
    );
    await setting.publish(1);
    await rest(5_000);
    assertEquals(letters, []);
    isAway = false;
    await rest(5_000);
    assertEquals([letters, tries], [[[2, "no", true]], 2]);
    assertMatch(log.text, /A message could not be given up and will be retried/);
    assertEquals((await setting.state()).pending, []);
    await node.close();
  },
);

test(
  "a log that is lost and made anew is read from its oldest message, which is logged and counted",
  async (setting, log) => {
    const seen: unknown[] = [];
    setting.store = new MemoryStore({ maxBytes: 10_000 });
    const node = await setting.node((data) => seen.push(data));
    await setting.publish("a", "b");
    await rest(1_000);
    // The memory for all topics is full, so whole logs are dropped.
    const message = { id: "large", isGenerated: false, type: undefined, data: "7", bytes: 20_000 };
    await setting.store.append({ ...LOG, name: "other" }, [message]);
    await setting.publish("c");
    await rest(1_000);
    await setting.publish("d");
    await rest(1_000);
    assertEquals(seen, ["a", "b", "c", "d"]);
    assertEquals((await setting.state()).lost, 1);
    assertMatch(log.text, /A consumer lost messages/);
    await node.close();
  },
);

test("a consumer whose record is removed begins anew", async (setting) => {
  const seen: unknown[] = [];
  const node = await setting.node((data) => seen.push(data), { from: "now" });
  await setting.publish("a");
  await rest(1_000);
  await (await setting.records()).delete(consumerKey(NAME), {});
  await rest(6_000);
  await setting.publish("b");
  await rest(6_000);
  assertEquals(seen, ["a", "b"]);
  await node.close();
});

test("the wall clock may be set: messages stay with their node, and are handled once more at most", async (setting) => {
  const seen: unknown[] = [];
  let skew = 0;
  const clock = { ...SYSTEM_CLOCK, wall: () => Date.now() + skew };
  const consumer = new Consumer({
    ...{ name: "mail", log: LOG, store: setting.store, records: await setting.records(), options: OPTIONS },
    ...{ deadLetter: undefined, clock },
    handle: async ([message], { signal }) => {
      seen.push(message!.data);
      if (seen.length > 1) return [];
      return await new Promise((_, reject) => signal.onabort = () => reject(signal.reason));
    },
  });
  await consumer.start();
  await setting.publish("a");
  await rest(1_000);
  skew = -3_600_000;
  await rest(30_000);
  assertEquals(seen, ["a"]);
  skew = 3_600_000;
  await rest(30_000);
  assertEquals(seen, ["a", "a"]);
  await consumer.close();
});

test("a consumer that is slow reads only a little more than it handles", async (setting) => {
  await setting.publish(...Array.from({ length: 10_000 }, (_, n) => n));
  const connection = new Switch();
  let handled = 0;
  const node = await setting.node(async () => {
    await rest(100);
    handled++;
  }, { connection, concurrency: 1 });
  await rest(10_000);
  assert(handled > 50, `${handled}`);
  // Two pages.
  assert(connection.read <= 512, `${connection.read} messages were read`);
  node.abort(stopReason());
  await node.close();
});

test("`At stop: no new messages`, also none that are being claimed", async (setting) => {
  await setting.publish("one");
  const connection = new Switch();
  const seen: unknown[] = [];
  connection.delay = 200;
  const slow = await setting.node((data) => seen.push(data), { connection });
  // It writes its claim by now.
  await rest(300);
  slow.drain();
  await slow.close();
  assertEquals(seen, []);
  const { pending } = await setting.state();
  assertEquals(pending.map(({ node, attempt, crashCount }) => ({ node, attempt, crashCount })), [{
    node: "",
    attempt: 1,
    crashCount: 0,
  }]);
});

test("a write that is carried out late, while its node goes on, does not deliver twice", async (setting) => {
  const records = await setting.records();
  const set = records.set.bind(records);
  let late: (() => Promise<unknown>) | undefined;
  let isArmed = false;
  let isDone = false;
  setting.store.openRecords = () => Promise.resolve(records);
  records.set = async (...given) => {
    if (isArmed) {
      isArmed = false;
      late = () => set(...given);
      await setting.publish("two");
      throw new Error("The answer was lost");
    }
    await late?.();
    isDone ||= late !== undefined;
    late = undefined;
    return await set(...given);
  };
  const seen: unknown[] = [];
  const node = await setting.node(async (data) => {
    seen.push(data);
    await rest(60_000);
  }, { concurrency: 16, attempts: 1 });
  await rest(1_000);
  await setting.publish("one");
  await rest(100);
  // What it has is written when its lease is renewed.
  isArmed = true;
  await rest(200_000);
  assert(isDone);
  assertEquals(seen, ["one", "two"]);
  await node.close();
});

test("what is open to a node is not taken by what a former leader says of the record", async (setting) => {
  const handled: unknown[] = [];
  const connection = new Switch();
  const quick = await setting.node((data) => void handled.push(data), { connection, concurrency: 8 });
  await setting.publish("first");
  await rest(1_000);
  assertEquals((await setting.state()).claimer === "", false);
  const slow = await setting.node(async (data) => {
    handled.push(data);
    await rest(3_000);
  }, { concurrency: 100 });
  const messages = Array.from({ length: 60 }, (_, index) => index);
  connection.losesAnswer = true;
  await setting.publish(...messages);
  await rest(30_000);
  assertEquals(handled.slice(1).toSorted((one, other) => Number(one) - Number(other)), messages);
  await Promise.all([quick.close(), slow.close()]);
});
