// Section 3 of the contract of stores: "**Rate.** `consume(name, { rate: { limit: 10, per: "1s" } })`
// for all nodes together." What depends on time; the rest is in tests/spec/stores/rate_test.ts.

import { assert, assertEquals } from "@std/assert";
import type { TopicMessage } from "../../../../src/topics/message.ts";
import { SYSTEM_CLOCK } from "../../../../src/base/clock.ts";
import { Consumer } from "../../../../src/work/consumers/consumer.ts";
import { LOG, NAME, never, OPTIONS, rest, Switch, test } from "./consumer_setting.ts";

const RATE = { limit: 10, per: 1_000 } as const;

/** When messages were given to handlers, and how many. */
type Begins = (readonly [time: number, count: number])[];

/** The most messages in a time of the length `per`, wherever it begins. */
function mostIn(begins: Begins, per: number): number {
  return Math.max(...begins.map(([begin]) => {
    return begins.reduce((sum, [time, count]) => time >= begin && time < begin + per ? sum + count : sum, 0);
  }));
}

function totalOf(begins: Begins): number {
  return begins.reduce((sum, [, count]) => sum + count, 0);
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

function spread(delay: number): Switch {
  const connection = new Switch();
  connection.delay = delay;
  return connection;
}

for (const [kind, delays, time] of [["quick", [0, 0, 0], 0], ["slow", [20, 60, 120], 300]] as const) {
  test(`at most \`limit\` messages begin in any time of \`per\`, on three nodes with ${kind} stores`, async (setting) => {
    const begins: Begins = [];
    const nodes = await Promise.all(delays.map((delay) =>
      setting.node(async () => {
        begins.push([setting.time, 1]);
        await rest(time);
      }, { rate: RATE, connection: spread(delay) })
    ));
    await setting.publish(...numbers(200));
    while (totalOf(begins) < 200) await rest(100);
    assertEquals(mostIn(begins, RATE.per), RATE.limit);
    // The rate is used: without a bound they would begin at once.
    const took = begins.at(-1)![0] - begins[0]![0];
    assert(took >= 19_000 && took <= 19_000 * (kind === "quick" ? 1.15 : 1.5), `${took} ms`);
    await Promise.all(nodes.map((node) => node.close()));
  });
}

test("a burst after a pause is `limit`, and no more", async (setting) => {
  const begins: Begins = [];
  const node = await setting.node(() => begins.push([setting.time, 1]), { rate: RATE, concurrency: 64 });
  await rest(60_000);
  await setting.publish(...numbers(40));
  await rest(100);
  assertEquals(begins.length, 10);
  await rest(10_000);
  assertEquals([begins.length, mostIn(begins, RATE.per)], [40, 10]);
  await node.close();
});

test("retries count", async (setting) => {
  const begins: Begins = [];
  const node = await setting.node((_data, { attempt }) => {
    begins.push([setting.time, 1]);
    if (attempt < 3) throw new Error("again");
  }, { rate: RATE, backoff: 1 });
  await setting.publish(...numbers(30));
  await rest(30_000);
  assertEquals([begins.length, mostIn(begins, RATE.per)], [90, RATE.limit]);
  await node.close();
});

test("with `key`, messages of one key are in order, and the rate is used by others", async (setting) => {
  const begins: Begins = [];
  const seen = new Map<string, number[]>();
  const key = ({ data }: TopicMessage<unknown>) => `${data as number % 4}`;
  const handle = async (data: unknown) => {
    begins.push([setting.time, 1]);
    const name = `${data as number % 4}`;
    seen.set(name, [...seen.get(name) ?? [], data as number]);
    await rest(data as number % 4 === 0 ? 900 : 10);
  };
  const nodes = [await setting.node(handle, { rate: RATE, key }), await setting.node(handle, { rate: RATE, key })];
  await setting.publish(...numbers(80));
  await rest(60_000);
  assertEquals([begins.length, mostIn(begins, RATE.per)], [80, RATE.limit]);
  for (const [name, data] of seen) assertEquals(data, numbers(80).filter((n) => `${n % 4}` === name));
  await Promise.all(nodes.map((node) => node.close()));
});

for (const [limit, size] of [[10, 10], [10, 3], [100, 40]] as const) {
  test(`with \`batch\`, messages are counted: ${limit} in a second, ${size} in a batch`, async (setting) => {
    const begins: Begins = [];
    const sizes: number[] = [];
    const rate = { limit, per: 1_000 };
    const handle = async (data: readonly unknown[]) => {
      begins.push([setting.time, data.length]);
      sizes.push(data.length);
      await rest(50);
    };
    const options = { rate, batch: { size, wait: 100 } };
    const nodes = [await setting.batchNode(handle, options), await setting.batchNode(handle, options)];
    await setting.publish(...numbers(limit * 10));
    while (totalOf(begins) < limit * 10) await rest(100);
    assert(mostIn(begins, 1_000) <= limit);
    assert(begins.at(-1)![0] - begins[0]![0] <= 13_000, `${begins.at(-1)![0] - begins[0]![0]} ms`);
    // They are not torn apart by permits that come one by one.
    assert(totalOf(begins) / sizes.length >= size * 0.6, sizes.join());
    await Promise.all(nodes.map((node) => node.close()));
  });
}

test("a full batch begins though another node uses permits again and again", async (setting) => {
  const begins: Begins = [];
  const handle = (data: readonly unknown[]) => void begins.push([setting.time, data.length]);
  const rate = { limit: 10, per: 1_000 };
  const one = await setting.batchNode(handle, { rate, batch: { size: 10, wait: 5_000 } });
  const two = await setting.batchNode(handle, { rate, batch: { size: 1, wait: 1 } });
  for (let n = 0; n < 300; n++) {
    await setting.publish(n);
    await rest(110);
  }
  await rest(20_000);
  assertEquals([totalOf(begins), mostIn(begins, 1_000)], [300, 10]);
  await Promise.all([one.close(), two.close()]);
});

test("a node that is killed, paused or stopped does not hold permits for ever", async (setting) => {
  const begins: Begins = [];
  const connection = new Switch();
  const rate = { limit: 4, per: 10_000 };
  await setting.node(async () => {
    begins.push([setting.time, 1]);
    connection.isAway = true;
    await never();
  }, { rate, connection, lease: 2_000, concurrency: 4 });
  await setting.publish(...numbers(4));
  await rest(1_000);
  const begun = begins.length;
  const other = await setting.node(() => begins.push([setting.time, 1]), { rate, lease: 2_000, concurrency: 4 });
  await rest(16_000);
  assertEquals(begins.length, begun + 4);
  // One that stops gives back what it has not used.
  await setting.publish(...numbers(4));
  await rest(30_000);
  await other.close();
  const third = await setting.node(() => begins.push([setting.time, 1]), { rate, lease: 2_000, concurrency: 4 });
  await setting.publish(...numbers(4));
  await rest(12_000);
  assertEquals(begins.length, begun + 12);
  assert(mostIn(begins, rate.per) <= rate.limit);
  await third.close();
});

test("a slow store lowers the rate, and does not stop it", async (setting) => {
  const begins: Begins = [];
  const options = { rate: RATE, connection: spread(700) };
  const node = await setting.node(() => begins.push([setting.time, 1]), options);
  await setting.publish(...numbers(40));
  await rest(60_000);
  assertEquals(begins.length, 40);
  assert(mostIn(begins, RATE.per) <= RATE.limit);
  await node.close();
});

test("a clock that was an hour ahead does not block the others", async (setting) => {
  const begins: Begins = [];
  let skew = 3_600_000;
  const consumer = new Consumer({
    ...{ name: NAME.name, log: LOG, store: setting.store, records: await setting.records() },
    ...{ options: { ...OPTIONS, rate: RATE }, deadLetter: undefined },
    clock: { ...SYSTEM_CLOCK, wall: () => Date.now() + skew },
    handle: async () => {
      begins.push([setting.time, 1]);
      return [];
    },
  });
  await consumer.start();
  await setting.publish(...numbers(10));
  await rest(500);
  skew = 0;
  await setting.publish(...numbers(30));
  await rest(60_000);
  assertEquals([begins.length, mostIn(begins, RATE.per)], [40, RATE.limit]);
  await consumer.close();
});

test("the record stays small, also with a high limit", async (setting) => {
  const rate = { limit: 1_000_000, per: 60_000 };
  let handled = 0;
  const node = await setting.node(() => void handled++, { rate, concurrency: 64 });
  for (let n = 0; n < 100; n++) {
    await setting.publish(...numbers(20));
    await rest(1_000);
  }
  assertEquals(handled, 2_000);
  const { begun } = await setting.state();
  assert(begun!.length <= 40, `${begun!.length}`);
  await node.close();
});
