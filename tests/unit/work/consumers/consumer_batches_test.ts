// Section 3 of the contract of stores: "**Batches.** `consume(name, { batch: { size: 100, wait: "200ms"
// } }, async (messages) => …)`: at most `size` of one consumer (of one key with `key`), handled
// together; `throw new Discard` for all, or `return { failed: [ids] }`." What depends on time and on
// other nodes; the rest is in tests/spec/stores/batches_test.ts.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { stopReason } from "../../../../src/base/service.ts";
import { type ConsumerTry, Discard } from "../../../../src/topics/consume_options.ts";
import type { TopicMessage } from "../../../../src/topics/message.ts";
import { never, rest, type Setting, Switch, test } from "./consumer_setting.ts";

/** What a handler got: the time, the attempt, and the data of the messages. */
type Got = [time: number, attempt: number, ...data: unknown[]];

interface Keyed {
  readonly key: string;
  readonly n: number;
}

const key = ({ data }: TopicMessage<unknown>) => (data as Keyed).key;

/** Notes what the handlers of batches get. */
function noting(setting: Setting, got: Got[], failed: (data: readonly unknown[], context: ConsumerTry) => unknown) {
  return async (data: readonly unknown[], context: ConsumerTry) => {
    got.push([setting.time, context.attempt, ...data]);
    return await failed(data, context);
  };
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

test("a batch is `at most size`, and begins when it is full, or `wait` after its first message", async (setting) => {
  const got: Got[] = [];
  const node = await setting.batchNode(noting(setting, got, () => {}), { batch: { size: 3, wait: 200 } });
  await rest(1_000);
  const begin = setting.time;
  await setting.publish(1);
  await rest(100);
  await setting.publish(2);
  await rest(50);
  assertEquals(got, []);
  await setting.publish(3);
  await rest(20);
  // Full: the rest of the time is not waited for.
  assertEquals(got.map(([_, ...got]) => got), [[1, 1, 2, 3]]);
  await setting.publish(4);
  await rest(190);
  assertEquals(got.length, 1);
  // Not held longer by what comes later.
  await setting.publish(5);
  await rest(30);
  assertEquals(got.slice(1).map(([_, ...got]) => got), [[1, 4, 5]]);
  assert(got[1]![0] - begin <= 170 + 210);
  await setting.publish(...numbers(6, 12));
  await rest(250);
  assertEquals(got.slice(2).map(([_, ...got]) => got), [[1, 6, 7, 8], [1, 9, 10, 11], [1, 12]]);
  await node.close();
});

test("`concurrency` counts handlers: batches, whose messages are claimed for them", async (setting) => {
  const got: Got[] = [];
  const ends: (() => void)[] = [];
  const slow = () => new Promise<void>((resolve) => ends.push(resolve));
  const node = await setting.batchNode(noting(setting, got, slow), { batch: { size: 10, wait: 50 }, concurrency: 2 });
  await setting.publish(...numbers(1, 45));
  await rest(1_000);
  assertEquals(got.map(([, , ...data]) => data.length), [10, 10]);
  const { ranges } = await setting.state();
  assertEquals(ranges.reduce((sum, { count }) => sum + count, 0), 20);
  while (ends.length > 0) {
    ends.splice(0).forEach((end) => end());
    await rest(1_000);
  }
  assertEquals(got.map(([, , ...data]) => data.length), [10, 10, 10, 10, 5]);
  await node.close();
});

test("`failed` are `retries with backoff` of those alone, together; the rest is done", async (setting, log) => {
  const got: Got[] = [];
  const handle = noting(setting, got, (data, { attempt }) => attempt < 3 ? data.filter((n) => n as number % 2) : []);
  const node = await setting.batchNode(handle, { batch: { size: 4, wait: 10 }, concurrency: 1 });
  await setting.publish(1, 2, 3, 4);
  await rest(60_000);
  assertEquals(got.map(([_, ...got]) => got), [[1, 1, 2, 3, 4], [2, 1, 3], [3, 1, 3]]);
  const [first, second, third] = got.map(([time]) => time);
  assert(second! - first! >= 1_000 && second! - first! <= 1_250 + 100);
  assert(third! - second! >= 2_000 && third! - second! <= 2_500 + 100);
  const { pending, ranges, lastError } = await setting.state();
  assertEquals([pending, ranges, lastError], [[], [], "The handler returned the message as failed"]);
  assertMatch(
    log.text,
    /failed to handle messages of a batch and will retry .*messages=2 attempt=1 error="\[Error: The handler returned/,
  );
  await node.close();
});

test(
  "`failed` with errors: each message has its own, one that is discarded is parked, the rest comes together",
  async (setting, log) => {
    const got: Got[] = [];
    const letters: unknown[] = [];
    const node = await setting.batchNode(
      noting(setting, got, (data, { attempt }) => {
        if (attempt > 1) return data;
        return data.filter((n) => n !== 4).map((id) => {
          return id === 3 ? id : { id, error: id === 1 ? new Discard("never") : new Error("the mailbox is full") };
        });
      }),
      {
        batch: { size: 4, wait: 10 },
        attempts: 2,
        letters: {
          name: "failed",
          maxBytes: 1e6,
          publish: async (letter) => void letters.push([letter.data, letter.error]),
        },
      },
    );
    await setting.publish(1, 2, 3, 4);
    await rest(60_000);
    assertEquals(got.map(([_, ...got]) => got), [[1, 1, 2, 3, 4], [2, 2, 3]]);
    const returned = "The handler returned the message as failed";
    assertEquals(letters, [[1, "never"], [2, returned], [3, returned]]);
    assertMatch(log.text, /will retry .*messages=1 attempt=1 error="Error: the mailbox is full/);
    await node.close();
  },
);

test("a `throw` fails all, they come together again, apart from others, and the last one parks each", async (setting) => {
  const got: Got[] = [];
  const handle = noting(setting, got, (data) => {
    if (data.includes("a")) throw new Error("no");
  });
  const node = await setting.batchNode(handle, { batch: { size: 10, wait: 500 }, attempts: 3 });
  await setting.publish("a", "b");
  await rest(1_700);
  await setting.publish("c");
  await rest(60_000);
  const others = got.filter(([, , first]) => first === "a").map(([_, ...got]) => got);
  assertEquals(others, [[1, "a", "b"], [2, "a", "b"], [3, "a", "b"]]);
  assertEquals(got.filter(([, , first]) => first !== "a").map(([_, ...got]) => got), [[1, "c"]]);
  assertEquals((await setting.failures()).map(({ error, attempts }) => [error, attempts]), [["no", 3], ["no", 3]]);
  await node.close();
});

test("a `throw new Discard` parks all messages of the batch", async (setting, log) => {
  const letters: unknown[] = [];
  const node = await setting.batchNode(() => {
    throw new Discard("never");
  }, {
    batch: { size: 3, wait: 10 },
    letters: {
      name: "failed",
      maxBytes: 1e6,
      publish: async (letter) => void letters.push([letter.data, letter.error]),
    },
  });
  await setting.publish(1, 2, 3);
  await rest(60_000);
  assertEquals(letters, [[1, "never"], [2, "never"], [3, "never"]]);
  const { ranges, pending } = await setting.state();
  assertEquals([ranges, pending, log.text.match(/given up/g)?.length], [[], [], 3]);
  await node.close();
});

test("with `key`, a batch has one key, in order; what is behind a failed one waits", async (setting) => {
  const got: Got[] = [];
  const handle = noting(setting, got, (data, { attempt }) => {
    const { n, key } = data[0] as Keyed;
    return attempt === 1 && key === "a" && n === 1 ? data.slice(1) : [];
  });
  const node = await setting.batchNode(handle, { batch: { size: 3, wait: 100 }, key, concurrency: 8 });
  await setting.publish(
    ...["a", "b", "a", "a", "b", "a", "a"].map((key, index): Keyed => ({ key, n: index + 1 })),
  );
  await rest(30_000);
  const seen = got.map(([_, attempt, ...data]) =>
    `${(data[0] as Keyed).key}${attempt}: ${data.map((one) => (one as Keyed).n)}`
  );
  assertEquals(seen.filter((one) => one.startsWith("a")), ["a1: 1,3,4", "a2: 3,4", "a1: 6,7"]);
  assertEquals(seen.filter((one) => one.startsWith("b")), ["b1: 2,5"]);
  await node.close();
});

test("messages of a key that waited in the record, for another node, come together too", async (setting) => {
  const got: Got[] = [];
  const options = { batch: { size: 10, wait: 10 }, key, concurrency: 1 };
  const { promise, resolve } = Promise.withResolvers<void>();
  const one = await setting.batchNode(() => promise, options);
  await setting.publish({ key: "a", n: 0 });
  await rest(1_000);
  const two = await setting.batchNode(noting(setting, got, () => {}), options);
  await setting.publish(...numbers(1, 12).map((n) => ({ key: "a", n })));
  await rest(20_000);
  assertEquals(got, []);
  one.drain();
  resolve();
  await rest(20_000);
  assertEquals(got.map(([, , ...data]) => data.map((one) => (one as Keyed).n)), [numbers(1, 10), [11, 12]]);
  await Promise.all([one.close(), two.close()]);
});

test("`timeout` fails all messages of a batch, and a late result counts for those that it does not name", async (setting) => {
  const got: Got[] = [];
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const signals: AbortSignal[] = [];
  const handle = noting(setting, got, (_data, { attempt, signal }) => {
    signals.push(signal);
    return attempt === 1 ? promise : undefined;
  });
  const node = await setting.batchNode(handle, { batch: { size: 3, wait: 10 }, timeout: 2_000, backoff: 10_000 });
  await setting.publish(1, 2, 3);
  await rest(3_000);
  assertEquals((await setting.state()).pending.map(({ attempt }) => attempt), [2, 2, 2]);
  assertEquals(signals[0]!.reason.name, "TimeoutError");
  resolve([2]);
  await rest(60_000);
  assertEquals(got.map(([_, ...got]) => got), [[1, 1, 2, 3], [2, 2]]);
  await node.close();
});

test("at stop, a batch that waits is given back, and one that runs is aborted, which counts as no attempt", async (setting) => {
  const got: Got[] = [];
  const options = { batch: { size: 2, wait: 10_000 } };
  const handle = noting(setting, got, (_data, { signal }) => {
    return new Promise<void>((_, reject) => signal.onabort = () => reject(signal.reason));
  });
  const one = await setting.batchNode(handle, options);
  await setting.publish(1, 2, 3);
  await rest(1_000);
  one.drain();
  await rest(100);
  const { pending, next } = await setting.state();
  assert(pending.some(({ node, attempt }) => node === "" && attempt === 1) || next < "0000000000000003");
  one.abort(stopReason());
  await one.close();
  const two = await setting.batchNode(noting(setting, got, () => {}), options);
  await rest(30_000);
  assertEquals(got.map(([_, ...got]) => got), [[1, 1, 2], [1, 1, 2], [1, 3]]);
  await two.close();
});

test("the messages of a node that died are handled again, and one that kills its nodes is given up alone", async (setting) => {
  const alive: Switch[] = [];
  const done = new Set<unknown>();
  let deaths = 0;
  const start = async () => {
    const connection = new Switch();
    alive.push(connection);
    await setting.batchNode(async (data) => {
      if (data.includes("poison")) {
        deaths++;
        connection.isAway = true;
        await never();
      }
      for (const one of data) done.add(one);
    }, { connection, batch: { size: 8, wait: 10 }, attempts: 5, lease: 2_000 });
  };
  await start();
  await setting.publish("a", "b", "poison", "c");
  for (let round = 0; round < 8; round++) {
    await rest(20_000);
    if (alive.at(-1)!.isAway) await start();
  }
  await rest(60_000);
  assertEquals([...done].toSorted(), ["a", "b", "c"]);
  assertEquals([(await setting.failures()).length, deaths], [1, 5]);
});
