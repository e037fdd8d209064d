// Section 3 of the contract of work: `app.cron(name, "0 3 * * *", { timeZone: "UTC", catchUp: "1h" },
// async ({ scheduled, signal }) => …)`.

import { Lifecycle } from "../../../../src/app/lifecycle.ts";
import type { PrecheckParts } from "../../../../src/routing/dispatch.ts";
import { MemoryStore } from "../../../../src/store/memory/memory_store.ts";
import { openWorkerStore } from "../../../../src/store/memory/worker_store.ts";
import { Webhooks } from "../../../../src/webhooks/webhooks.ts";
import { Topics } from "../../../../src/topics/topics.ts";
import { stopReason } from "../../../../src/base/service.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { BeforeMinute } from "../../../spec/support/before_minute.ts";
import { CapturedLog } from "../../../spec/support/captured_log.ts";
import { Nodes } from "./cron_nodes.ts";

const forever = (): Promise<never> => new Promise(() => {});

Deno.test("five fields: each time runs, and `scheduled` says which", async () => {
  const nodes = new Nodes("2026-01-01T00:00:30Z", "*/20 3 * * *");
  await nodes.start();
  await nodes.clock.until("2026-01-02T12:00:00Z");
  assertEquals(
    nodes.times,
    ["2026-01-01", "2026-01-02"].flatMap((day) => [
      `${day}T03:00:00.000Z`,
      `${day}T03:20:00.000Z`,
      `${day}T03:40:00.000Z`,
    ]),
  );
  assertEquals(nodes.runs.map(({ at }) => at), nodes.times);
  await nodes.stop();
});

Deno.test("`timeZone` is `UTC` unless given", async () => {
  for (
    const [timeZone, at] of [[undefined, "03:00"], ["Asia/Kolkata", "21:30"], ["America/New_York", "08:00"]] as const
  ) {
    const nodes = new Nodes("2026-01-01T00:00:30Z", "0 3 * * *", timeZone === undefined ? {} : { timeZone });
    await nodes.start();
    await nodes.clock.until("2026-01-02T00:00:00Z");
    assertEquals(nodes.times, [`2026-01-01T${at}:00.000Z`]);
    await nodes.stop();
  }
});

Deno.test("a local time that is skipped or doubled at the change of summer time runs once", async () => {
  // 2:00 to 3:00 is skipped on March 29, and doubled on October 25.
  for (const schedule of ["30 2 * * *", "30 2,2 * * *", "30 1-2 * * *", "*/30 2 * * *", "30 */2 * * *"]) {
    const spring = new Nodes("2026-03-29T00:45:00Z", schedule, { timeZone: "Europe/Berlin" });
    await spring.start();
    await spring.clock.until("2026-03-29T01:45:00Z");
    assertEquals(spring.times, ["2026-03-29T01:00:00.000Z"], schedule);
    await spring.stop();
  }
  for (const schedule of ["30 2 * * *", "30 2-3 * * *", "30 */2 * * *"]) {
    const autumn = new Nodes("2026-10-25T00:15:00Z", schedule, { timeZone: "Europe/Berlin" });
    await autumn.start();
    await autumn.clock.until("2026-10-25T02:15:00Z");
    assertEquals(autumn.times, ["2026-10-25T00:30:00.000Z"], schedule);
    await autumn.stop();
  }
});

Deno.test("where the hour is `*`, the cron runs in each hour that passes", async () => {
  const nodes = new Nodes("2026-10-25T00:15:00Z", "30 * * * *", { timeZone: "Europe/Berlin" });
  await nodes.start();
  await nodes.clock.until("2026-10-25T02:45:00Z");
  assertEquals(nodes.times.map((time) => time.slice(11, 16)), ["00:30", "01:30", "02:30"]);
  await nodes.stop();
});

Deno.test("each time runs on one node of all that share the store", async () => {
  const nodes = new Nodes("2026-01-01T00:00:30Z", "* * * * *");
  for (let count = 0; count < 5; count++) await nodes.start();
  await nodes.clock.advance(60 * 60_000);
  assertEquals(nodes.times.length, 60);
  assertEquals(new Set(nodes.times).size, 60);
  await nodes.stop();
});

Deno.test("taken over within the lease where that node dies", async () => {
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const dying = await nodes.start(forever);
  await nodes.clock.until("2026-01-01T03:00:00Z");
  assertEquals(nodes.runs.length, 1);
  dying.freeze();
  const other = await nodes.start();
  // The dead node may have renewed the lease just before it died.
  await nodes.clock.advance(29_000);
  assertEquals(nodes.runs.length, 1);
  await nodes.clock.advance(9_000);
  assertEquals(nodes.times, ["2026-01-01T03:00:00.000Z", "2026-01-01T03:00:00.000Z"]);
  assertEquals((await other.report()).runs, 1);
  await nodes.stop();
  assertEquals(nodes.runs.length, 2);
});

Deno.test("where the store can say so, a node whose thread is blocked has not died: its run runs once", async () => {
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  nodes.ended = new Set();
  const { promise, resolve } = Promise.withResolvers<void>();
  const blocked = await nodes.start(() => promise);
  await nodes.clock.until("2026-01-01T03:00:00Z");
  blocked.freeze();
  await nodes.start();
  await nodes.clock.until("2026-01-01T03:10:00Z");
  assertEquals(nodes.times, ["2026-01-01T03:00:00.000Z"]);
  resolve();
  blocked.thaw();
  await nodes.clock.until("2026-01-01T03:11:00Z");
  assertEquals([nodes.runs[0]!.signal.aborted, (await blocked.report()).runs, nodes.times.length], [false, 1, 1]);
  await nodes.stop();
});

Deno.test("where the store can say so, others take over at the next look when its process has ended", async () => {
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  nodes.ended = new Set();
  const dying = await nodes.start(forever);
  await nodes.clock.until("2026-01-01T03:00:00Z");
  dying.freeze();
  await nodes.start();
  nodes.ended.add(dying.name);
  await nodes.clock.advance(8_000);
  assertEquals(nodes.times, ["2026-01-01T03:00:00.000Z", "2026-01-01T03:00:00.000Z"]);
  await nodes.stop();
});

Deno.test("while a node lives, no other one takes its run over, however long it takes", async () => {
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const gate = Promise.withResolvers<void>();
  for (let count = 0; count < 3; count++) await nodes.start(() => gate.promise);
  await nodes.clock.until("2026-01-01T11:00:00Z");
  assertEquals([nodes.runs.length, nodes.runs[0]!.signal.aborted], [1, false]);
  gate.resolve();
  await nodes.clock.advance(1_000);
  await nodes.stop();
  assertEquals(nodes.runs.length, 1);
});

Deno.test("a node that cannot renew aborts its signal at 0.8 of the lease, before another one takes over", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const cut = await nodes.start(forever);
  await nodes.clock.until("2026-01-01T03:00:00Z");
  const other = await nodes.start();
  cut.store.failures = Infinity;
  await nodes.clock.advance(23_000);
  assertEquals([nodes.runs[0]!.signal.aborted, nodes.runs.length], [false, 1]);
  await nodes.clock.advance(2_000);
  assertEquals([nodes.runs[0]!.signal.aborted, nodes.runs.length], [true, 1]);
  assertStringIncludes(log.text, "the lease could not be renewed");
  await nodes.clock.advance(20_000);
  assertEquals(nodes.runs.map(({ node }) => node), [cut.name, other.name]);
  // The first node comes back, and goes on with the others.
  cut.store.failures = 0;
  await nodes.clock.until("2026-01-02T03:00:00Z");
  assertEquals(nodes.runs.length, 3);
  assertEquals((await other.report()).runs, 2);
  await nodes.stop();
});

Deno.test("a node that was frozen finds that another one has its run, and its result does not count", async () => {
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const gate = Promise.withResolvers<void>();
  const frozen = await nodes.start(async () => {
    await gate.promise;
    throw new Error("too late");
  });
  await nodes.clock.until("2026-01-01T03:00:00Z");
  frozen.freeze();
  const other = await nodes.start();
  await nodes.clock.advance(60_000);
  using _log = new CapturedLog();
  frozen.thaw();
  await nodes.clock.advance(1_000);
  assert(nodes.runs[0]!.signal.aborted);
  gate.resolve();
  await nodes.clock.advance(60_000);
  const { runs, failures } = await other.report();
  assertEquals([nodes.runs.length, runs, failures], [2, 1, 0]);
  await nodes.stop();
});

Deno.test("a time that was missed by less than `catchUp` is made up for once", async () => {
  const nodes = new Nodes("2026-01-01T00:00:00Z", "0 3 * * *", { catchUp: "1h" });
  await (await nodes.start()).crons.close();
  await nodes.clock.until("2026-01-01T03:59:00Z");
  await nodes.start();
  await nodes.start();
  await nodes.clock.advance(60_000);
  assertEquals(nodes.times, ["2026-01-01T03:00:00.000Z"]);
  await nodes.stop();

  const late = new Nodes("2026-01-01T00:00:00Z", "0 3 * * *", { catchUp: "1h" });
  await (await late.start()).crons.close();
  await late.clock.until("2026-01-01T04:00:00Z");
  using log = new CapturedLog();
  await late.start();
  await late.clock.advance(60_000);
  assertEquals(late.times, []);
  assertMatch(log.text, /A scheduled cron run was missed cron=job scheduled=2026-01-01T03:00:00.000Z/);
  await late.stop();
});

Deno.test("of several missed times, the last one runs; by default none does", async () => {
  for (const [catchUp, expected] of [["6h", ["2026-01-01T09:00:00.000Z"]], [undefined, []]] as const) {
    using _log = new CapturedLog();
    const nodes = new Nodes("2026-01-01T00:30:00Z", "0 * * * *", catchUp === undefined ? {} : { catchUp });
    await (await nodes.start()).crons.close();
    await nodes.clock.until("2026-01-01T09:30:00Z");
    await nodes.start();
    await nodes.clock.advance(60_000);
    assertEquals(nodes.times, [...expected]);
    await nodes.stop();
  }
});

Deno.test("a machine that slept over a time makes up for it by `catchUp`, and logs what it missed", async () => {
  for (const [catchUp, expected] of [["3h", ["2026-01-02T03:00:00.000Z"]], ["1h", []]] as const) {
    using log = new CapturedLog();
    const nodes = new Nodes("2026-01-01T04:00:00Z", "0 3 * * *", { catchUp });
    await nodes.start();
    await nodes.clock.advance(60_000);
    nodes.clock.set("2026-01-02T05:00:00Z");
    await nodes.clock.advance(120_000);
    assertEquals(nodes.times, [...expected]);
    assertEquals(log.text.match(/A scheduled cron run was missed/g)?.length ?? 0, 1 - expected.length);
    await nodes.stop();
  }
});

Deno.test("times before the first start of a cron were not missed", async () => {
  const nodes = new Nodes("2026-01-01T03:10:00Z", "0 3 * * *", { catchUp: "12h" });
  await nodes.start();
  await nodes.clock.advance(60_000);
  assertEquals(nodes.times, []);
  await nodes.stop();
});

Deno.test("a run that still goes on when the next is due: the next is skipped and logged", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T00:00:30Z", "* * * * *");
  const gate = Promise.withResolvers<void>();
  const node = await nodes.start(() => gate.promise);
  await nodes.start(() => gate.promise);
  await nodes.clock.until("2026-01-01T00:03:30Z");
  assertEquals(nodes.times, ["2026-01-01T00:01:00.000Z"]);
  const skips = log.text.match(/A cron skips a time: the run before still goes on cron=job scheduled=\S+/g);
  assertEquals(skips?.map((line) => line.slice(-13)), ["00:02:00.000Z", "00:03:00.000Z"]);
  gate.resolve();
  await nodes.clock.until("2026-01-01T00:04:30Z");
  assertEquals(nodes.times, ["2026-01-01T00:01:00.000Z", "2026-01-01T00:04:00.000Z"]);
  const { runs, skipped } = await node.report();
  assertEquals([runs, skipped], [2, 2]);
  await nodes.stop();
});

Deno.test("where the next time comes while the run of a dead node is waited for, it runs in its place", async () => {
  const nodes = new Nodes("2026-01-01T00:00:30Z", "* * * * *");
  const dying = await nodes.start(forever);
  await nodes.clock.until("2026-01-01T00:01:50Z");
  dying.freeze();
  await nodes.start();
  await nodes.clock.until("2026-01-01T00:02:30Z");
  assertEquals(nodes.times, ["2026-01-01T00:01:00.000Z", "2026-01-01T00:02:00.000Z"]);
  await nodes.stop();
});

Deno.test("a throw is logged and shown, not tried again", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const thrown: unknown[] = [new Error("no disk"), "text", undefined, { toString: fail }];
  const node = await nodes.start(() => {
    throw thrown.shift();
  });
  await nodes.clock.until("2026-01-01T12:00:00Z");
  assertEquals(nodes.runs.length, 1);
  assertMatch(log.text, /A cron failed cron=job scheduled=2026-01-01T03:00:00.000Z error="Error: no disk/);
  const { runs, failures, lastError, last } = await node.report();
  assertEquals([runs, failures, lastError?.error], [1, 1, "no disk"]);
  assertEquals(last?.scheduled, new Date("2026-01-01T03:00:00Z"));
  await nodes.clock.until("2026-01-04T12:00:00Z");
  assertEquals((await node.report()).failures, 4);
  await nodes.stop();
});

Deno.test("an error that is returned is a failed run, as if it was thrown", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const node = await nodes.start(() => Promise.resolve(new Error("no disk")));
  await nodes.clock.until("2026-01-01T03:01:00Z");
  assertEquals((await node.report()).lastError?.error, "no disk");
  assertMatch(log.text, /A cron failed cron=job/);
  await nodes.stop();
});

Deno.test("`log` writes entries that say which time of which cron they are of", async () => {
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  await nodes.start(({ log }) => log.info("Counted", { sales: 3, cron: "other" }));
  await nodes.clock.until("2026-01-01T03:01:00Z");
  assertEquals(nodes.entries.map(({ level, message, fields }) => [level, message, fields]), [
    ["info", "Counted", { sales: 3, cron: "job", scheduled: "2026-01-01T03:00:00.000Z" }],
  ]);
  await nodes.stop();
});

function fail(): never {
  throw new Error("cannot be described");
}

Deno.test("on Deno Deploy the times come from `Deno.cron`", async () => {
  const nodes = new Nodes("2026-01-01T02:30:00Z", "0,30 3-4 * * MON-FRI");
  const given: [name: string, schedule: string, handler: () => Promise<void>][] = [];
  await nodes.start(undefined, (...cron) => given.push(cron));
  const other = nodes.make(undefined, (...cron) => given.push(cron));
  assertEquals(given.map(([name, schedule]) => [name, schedule]), Array(2).fill(["job", "0,30 3,4 * * *"]));
  await nodes.clock.until("2026-01-01T03:00:02Z");
  // No timer runs it.
  assertEquals([nodes.runs.length, nodes.clock.timers], [0, 0]);
  // Each isolate that the platform starts gets the time.
  for (let round = 0; round < 2; round++) {
    const done = Promise.all(given.map(([, , handler]) => handler()));
    await nodes.clock.advance(10_000);
    await done;
    assertEquals(nodes.times, ["2026-01-01T03:00:00.000Z"]);
  }
  using _log = new CapturedLog();
  await nodes.clock.until("2026-01-03T03:00:05Z");
  // The days are the library's affair: this is a Saturday.
  await given[0]![2]();
  assertEquals([nodes.runs.length, (await other.report()).runs], [1, 1]);
  await nodes.stop();
});

Deno.test("on Deno Deploy, in another time zone: at least at all of its times", async () => {
  const zoned = new Nodes("2026-01-01T02:30:00Z", "7 3 * * *", { timeZone: "Asia/Kathmandu" });
  const schedules: string[] = [];
  await zoned.start(undefined, (_name, schedule) => schedules.push(schedule));
  assertEquals(schedules, ["0,7,15,22,30,37,45,52 * * * *"]);
  await zoned.stop();
});

Deno.test("stop gives the grace and aborts the signal; a run that broke off is given back to the others", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const node = await nodes.start(({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  );
  await nodes.clock.until("2026-01-01T03:00:00Z");
  const other = await nodes.start();
  await nodes.clock.advance(1_000);
  nodes.clock.after(10_000, () => node.crons.abort(stopReason()));
  const stopped = node.crons.close();
  await nodes.clock.advance(9_000);
  assertEquals([nodes.runs.length, nodes.runs[0]!.signal.aborted], [1, false]);
  await nodes.clock.advance(2_000);
  await stopped;
  assert(nodes.runs[0]!.signal.aborted);
  const entry = "A cron did not end in the grace period: its signal is aborted";
  assertStringIncludes(log.text, `${entry} cron=job scheduled=2026-01-01T03:00:00.000Z`);
  await nodes.clock.advance(8_000);
  assertEquals(nodes.runs.map(({ node, scheduled }) => [node, scheduled.getUTCHours()]), [[node.name, 3], [
    other.name,
    3,
  ]]);
  const { runs, failures } = await other.report();
  assertEquals([runs, failures], [1, 0]);
  await nodes.stop();
});

Deno.test("a run that ends within the grace has run, and a stop begins no new one", async () => {
  const nodes = new Nodes("2026-01-01T00:00:30Z", "* * * * *");
  const gate = Promise.withResolvers<void>();
  using _log = new CapturedLog();
  const node = await nodes.start(() => gate.promise);
  await nodes.clock.until("2026-01-01T00:01:55Z");
  node.crons.drain();
  const stopped = node.crons.close();
  await nodes.clock.advance(10_000);
  gate.resolve();
  await stopped;
  assertEquals([nodes.runs.length, nodes.clock.timers, (await node.report()).runs], [1, 0, 1]);
});

Deno.test("a run whose claim is answered after a stop does not begin here", async () => {
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const node = await nodes.start();
  await nodes.clock.advance(1_000);
  const other = await nodes.start();
  await nodes.clock.advance(1_000);
  other.freeze();
  node.store.answers.close();
  await nodes.clock.until("2026-01-01T03:00:01Z");
  node.crons.drain();
  const stopped = node.crons.close();
  node.store.answers.open();
  await nodes.clock.advance(1_000);
  await stopped;
  assertEquals(nodes.runs.length, 0);
  other.thaw();
  await nodes.clock.advance(10_000);
  assertEquals(nodes.runs.map(({ node }) => node), [other.name]);
  await nodes.stop();
});

Deno.test("a stop that comes while the application starts aborts runs, too", async () => {
  using _log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:59:59Z", "0 3 * * *", { catchUp: "1h" });
  const early = await nodes.start();
  await nodes.clock.advance(100);
  early.freeze();
  const { crons } = nodes.make(forever);
  const topics = new Topics({ openStore: () => new MemoryStore() });
  const precheck = { proxies: { open: async () => {} } } as unknown as PrecheckParts;
  const lifecycle = new Lifecycle({
    ...{ app: nodes.app, precheck, topics, crons, webhooks: new Webhooks(topics, { allowPrivate: false }) },
    mounted: () => [],
    openSockets: () => 0,
  });
  const gate = Promise.withResolvers<void>();
  lifecycle.add(async function* () {
    await gate.promise;
    yield;
  });
  const starting = lifecycle.start([]);
  await nodes.clock.until("2026-01-01T03:00:01Z");
  await lifecycle.drain();
  lifecycle.abort(stopReason());
  gate.resolve();
  await starting;
  const stopped = lifecycle.close();
  await nodes.clock.advance(2_000);
  await stopped;
  await nodes.stop();
});

Deno.test("a claim whose answer comes after the stop leaves no timer", async () => {
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const node = await nodes.start();
  await nodes.clock.until("2026-01-01T02:59:30Z");
  node.store.answers.close();
  await nodes.clock.until("2026-01-01T03:00:01Z");
  node.crons.abort(stopReason());
  const stopped = node.crons.close();
  await nodes.clock.advance(2_000);
  await stopped;
  node.store.answers.open();
  await nodes.clock.advance(60_000);
  assertEquals([nodes.runs.length, nodes.clock.timers], [0, 0]);
});

Deno.test("a handler that never ends, and a store that is away, do not hold up a stop", async () => {
  using _log = new CapturedLog();
  for (const isAway of [false, true]) {
    const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
    const node = await nodes.start(forever);
    await nodes.clock.until("2026-01-01T03:00:00Z");
    if (isAway) node.store.gate.close();
    node.crons.drain();
    node.crons.abort(stopReason());
    const stopped = node.crons.close();
    await nodes.clock.advance(2_000);
    await stopped;
    await nodes.clock.advance(60_000);
    assertEquals(nodes.clock.timers, 0);
    node.store.gate.open();
  }
});

Deno.test("a time that is due while the store is away runs when it is back, once", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  const all = [await nodes.start(), await nodes.start()];
  await nodes.clock.advance(1_000);
  for (const { store } of all) store.failures = Infinity;
  await nodes.clock.until("2026-01-01T03:10:00Z");
  assertEquals(nodes.runs.length, 0);
  for (const { store } of all) store.failures = 0;
  await nodes.clock.advance(10_000);
  assertEquals(nodes.times, ["2026-01-01T03:00:00.000Z"]);
  assertEquals(log.text.match(/A cron cannot use the records/g)?.length, 2);
  await nodes.stop();
});

Deno.test("answers of the store that are lost change nothing", async () => {
  for (let lost = 1; lost <= 6; lost++) {
    const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
    const gate = Promise.withResolvers<void>();
    const node = await nodes.start(() => gate.promise);
    await nodes.start(() => gate.promise);
    await nodes.clock.advance(1_000);
    node.store.lostAnswers = lost;
    await nodes.clock.until("2026-01-01T03:00:25Z");
    node.store.lostAnswers = lost;
    gate.resolve();
    await nodes.clock.advance(120_000);
    assertEquals([nodes.runs.length, (await node.report()).runs], [1, 1], `${lost}`);
    await nodes.stop();
  }
});

Deno.test("a clock that is set back runs no time twice, and one that was far ahead blocks nothing", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  await nodes.start();
  await nodes.clock.until("2026-01-01T03:10:00Z");
  nodes.clock.set("2026-01-01T02:50:00Z");
  await nodes.clock.until("2026-01-01T03:10:00Z");
  assertEquals(nodes.runs.length, 1);
  nodes.clock.set("2031-01-01T02:59:00Z");
  await nodes.clock.until("2031-01-01T03:10:00Z");
  assertEquals(nodes.runs.length, 2);
  nodes.clock.set("2026-01-02T02:50:00Z");
  await nodes.clock.until("2026-01-02T03:10:00Z");
  assertEquals(nodes.runs.length, 3);
  assertEquals(nodes.times.at(-1), "2026-01-02T03:00:00.000Z");
  assertStringIncludes(log.text, "The clock was set back: a cron begins again");
  await nodes.stop();
});

Deno.test("a clock that is set back by less than an hour holds a cron, which is logged once", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:55:00Z", "*/20 * * * *");
  await nodes.start();
  await nodes.clock.until("2026-01-01T03:10:00Z");
  nodes.clock.set("2026-01-01T02:30:00Z");
  await nodes.clock.until("2026-01-01T02:35:00Z");
  const entry = "The clock was set back: a cron waits until it is past its last time " +
    "cron=job last=2026-01-01T03:00:00.000Z";
  assertStringIncludes(log.text, entry);
  // One that starts meanwhile says so, too.
  await nodes.start();
  await nodes.clock.until("2026-01-01T03:30:00Z");
  assertEquals(log.text.split(entry).length - 1, 2);
  assertEquals(nodes.times, ["2026-01-01T03:00:00.000Z", "2026-01-01T03:20:00.000Z"]);
  await nodes.stop();
});

Deno.test("clocks of nodes that differ by some seconds are no reason to log", async () => {
  using log = new CapturedLog();
  const nodes = new Nodes("2026-01-01T02:59:00Z", "0 3 * * *");
  await nodes.start();
  await nodes.clock.until("2026-01-01T03:00:10Z");
  nodes.clock.set("2026-01-01T02:59:50Z");
  const node = await nodes.start();
  assertEquals((await node.report()).next, new Date("2026-01-02T03:00:00Z"));
  await nodes.clock.until("2026-01-01T03:10:00Z");
  assertEquals([nodes.runs.length, log.text], [1, ""]);
  await nodes.stop();
});

Deno.test("a node that begins nothing reads nothing between two times", async () => {
  const nodes = new Nodes("2026-01-01T03:30:00Z", "0 3 * * *");
  const node = await nodes.start();
  await nodes.clock.advance(60_000);
  node.store.failures = 1;
  await nodes.clock.until("2026-01-02T02:59:00Z");
  assertEquals(node.store.failures, 1);
  node.store.failures = 0;
  await nodes.stop();
});

Deno.test("each time runs once for all workers of a process", async () => {
  using clock = new BeforeMinute();
  const { port1, port2 } = new MessageChannel();
  const stores = [openWorkerStore({ guests: [port1] }), openWorkerStore({ host: port2 })];
  const ran = Promise.withResolvers<void>();
  let runs = 0;
  const apps = stores.map((store) => {
    const app = new App({ topics: store });
    app.cron("job", "* * * * *", async () => {
      runs++;
      ran.resolve();
    });
    return app;
  });
  await Promise.all(apps.map((app) => app.start()));
  clock.go();
  await ran.promise;
  await Promise.all(apps.map((app) => app.stop()));
  assertEquals(runs, 1);
});
