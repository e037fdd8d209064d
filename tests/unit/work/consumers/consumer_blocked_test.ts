// Section 2 of the contract of work: "a lease that ran out while its process lives (a handler that
// blocks its thread) is no death where the store can tell, and a handler that resolves makes its
// message done, also late"; "a message whose nodes died `attempts` times while they had it is given
// up likewise".

import { stopReason } from "../../../../src/base/service.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import { never, rest, type Setting, Switch, test } from "./consumer_setting.ts";

/** A store that says which processes live: all that have not ended. */
function tellingStore(ended: ReadonlySet<string>): MemoryStore {
  let processes = 0;
  return Object.assign(new MemoryStore(), {
    processName: () => Promise.resolve(`process${processes++}`),
    hasEnded: (name: string) => Promise.resolve(ended.has(name)),
  });
}

/** A node whose thread is blocked while it handles a message: nothing of it goes on, and it lives. */
async function blockedNode(setting: Setting, attempts: number) {
  const connection = new Switch();
  const { promise, resolve } = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  const node = await setting.node((_data, { signal }) => {
    signals.push(signal);
    connection.isAway = true;
    return promise;
  }, { connection, attempts, lease: 2_000 });
  return {
    node,
    /** Its thread goes on, and the handler has resolved. */
    goOn() {
      resolve();
      connection.isAway = false;
    },
  };
}

for (const attempts of [1, 2, 5]) {
  test(
    `A handler that blocks its thread is no death where the store can tell, with ${attempts} attempts`,
    async (setting, log) => {
      setting.store = tellingStore(new Set());
      const blocked = await blockedNode(setting, attempts);
      await setting.publish("one");
      await rest(1_000);
      const seen: [unknown, number, AbortSignal][] = [];
      const other = await setting.node((data, { attempt, signal }) => {
        seen.push([data, attempt, signal]);
        return data === "one" ? never() : undefined;
      }, { attempts, lease: 2_000 });
      await rest(5_000);
      // Others go on without it, and the message is not given up.
      await setting.publish("two");
      await rest(1_000);
      assertEquals(seen.map(([data, attempt]) => [data, attempt]), [["one", 1], ["two", 1]]);
      blocked.goOn();
      await rest(3_000);
      // It is done: nobody needs to go on with it.
      assert(seen[0]![2].aborted || (await setting.state()).ranges.every(({ left }) => left.includes("1")));
      other.abort(stopReason());
      await Promise.all([blocked.node.close(), other.close()]);
      const third = await setting.node((data) => seen.push([data, 0, AbortSignal.abort()]), { attempts, lease: 2_000 });
      await rest(10_000);
      assertEquals([seen.length, await setting.failures()], [2, []]);
      assertEquals(log.text.includes("given up"), false);
      await third.close();
    },
  );
}

test("A handler that resolves late makes its message done, also where it was given up", async (setting, log) => {
  const blocked = await blockedNode(setting, 1);
  await setting.publish("one");
  await rest(1_000);
  const seen: unknown[] = [];
  const other = await setting.node((data) => seen.push(data), { attempts: 1, lease: 2_000 });
  await rest(5_000);
  assertMatch((await setting.failures())[0]!.error, /the processes that had it have ended/);
  blocked.goOn();
  await rest(3_000);
  assertEquals([seen, await setting.failures()], [[], []]);
  assertMatch(log.text, /A message was given up/);
  await Promise.all([blocked.node.close(), other.close()]);
});

test("A handler that resolves after its time makes its message done: there is no other try", async (setting) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const tries: number[] = [];
  const node = await setting.node((_data, { attempt }) => {
    tries.push(attempt);
    return promise;
  }, { timeout: 1_000, backoff: 60_000 });
  await setting.publish("one");
  await rest(2_000);
  assertEquals((await setting.state()).pending.length, 1);
  resolve();
  await rest(1_000);
  assertEquals((await setting.state()).pending, []);
  await rest(120_000);
  assertEquals(tries, [1]);
  await node.close();
});

test("One that fails after its time changes nothing", async (setting) => {
  const { promise, reject } = Promise.withResolvers<void>();
  const tries: number[] = [];
  const node = await setting.node((_data, { attempt }) => {
    tries.push(attempt);
    return attempt === 1 ? promise : undefined;
  }, { timeout: 1_000, backoff: 60_000 });
  await setting.publish("one");
  await rest(2_000);
  reject(new Error("late"));
  await rest(120_000);
  assertEquals(tries, [1, 2]);
  await node.close();
});

for (const attempts of [1, 2, 3, 5]) {
  test(`A node that is killed in a handler's first moment is counted, with ${attempts} attempts`, async (setting) => {
    const ended = new Set<string>();
    setting.store = tellingStore(ended);
    const handled: string[] = [];
    const fine: unknown[] = [];
    let running = 0;
    const stops: (() => Promise<void>)[] = [];
    const start = async () => {
      const process = `process${running++}`;
      const connection = new Switch();
      const node = await setting.node((data) => {
        if (data !== "poison") return fine.push(data);
        handled.push(process);
        // Nothing of it goes on from here.
        connection.isAway = true;
        ended.add(process);
        return never();
      }, { connection, attempts, lease: 2_000 });
      stops.push(() => {
        node.abort(stopReason());
        return node.close();
      });
    };
    await start();
    // The end of the log is open to the node: it begins with a message before it writes that down.
    await setting.publish("first");
    await rest(1_000);
    await setting.publish("poison");
    for (let kills = 0; kills < attempts + 2; kills++) {
      await rest(5_000);
      await start();
    }
    await setting.publish("after");
    await rest(10_000);
    assertEquals(handled.length, attempts);
    assertEquals((await setting.failures()).map(({ attempts }) => attempts), [1]);
    assertEquals(fine, ["first", "after"]);
    await Promise.all(stops.map((stop) => stop()));
  });
}
