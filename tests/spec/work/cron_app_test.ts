// Section 3 of the contract of work: crons of applications, over real stores.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { App, RouteError } from "@webfw/core";
import type { CronRun } from "@webfw/core/types";
import { openWorkerStore } from "../../../src/store/memory/worker_store.ts";
import { BeforeMinute } from "../support/before_minute.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

Deno.test("without a durable store it runs in this process, with the application and its state", async () => {
  using clock = new BeforeMinute();
  const app = new App<{ names: string[] }>();
  app.lifespan(async function* () {
    yield { names: ["Ada"] };
  });
  const ran = Promise.withResolvers<CronRun<{ names: string[] }>>();
  app.cron("job", "* * * * *", async (run) => ran.resolve(run));
  await app.start();
  clock.go();
  const { scheduled, signal, app: handle, state } = await ran.promise;
  assertEquals([scheduled.getTime() % 60_000, signal.aborted, state.names], [0, false, ["Ada"]]);
  assert(handle === app);
  await app.stop();
});

Deno.test("once for all nodes that share a file; `app.reportTopics()` shows it", async () => {
  using clock = new BeforeMinute();
  await using folder = await TemporaryFolder.make();
  const scheduled: Date[] = [];
  const apps = Array.from({ length: 3 }, () => {
    const app = new App({ topics: folder.within("a.sqlite") });
    app.cron("job", "* * * * *", { timeZone: "Europe/Berlin" }, async (run) => void scheduled.push(run.scheduled));
    return app;
  });
  await Promise.all(apps.map((app) => app.start()));
  clock.go();
  let report = (await apps[0]!.reportTopics()).crons[0]!;
  while (report.runs === 0) {
    for await (const entry of apps[0]!.records.watch(["none"])) {
      assertEquals(entry, null);
      break;
    }
    report = (await apps[0]!.reportTopics()).crons[0]!;
  }
  await Promise.all(apps.map((app) => app.stop()));
  assertEquals(scheduled.length, 1);
  const { name, schedule, timeZone, next, running, last, runs, failures, skipped, lastError } = report;
  assertEquals([name, schedule, timeZone, running, lastError], [
    "job",
    "* * * * *",
    "Europe/Berlin",
    undefined,
    undefined,
  ]);
  assertEquals([runs, failures, skipped, last?.scheduled], [1, 0, 0, scheduled[0]]);
  assert(next > scheduled[0]!);
});

Deno.test("once for all workers of a process", async () => {
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

Deno.test("`on Deno Deploy the times come from Deno.cron`, and nowhere else", async () => {
  const source = `
    import { App } from "${CORE}";
    const given = [];
    Object.defineProperty(Deno, "cron", { value: (...cron) => given.push(cron) });
    const app = new App({ topics: ":memory:" });
    app.lifespan(async function* () {
      console.log("started");
      yield;
    });
    app.cron("nightly", "0 3 * * *", async () => {});
    for (const [name, schedule, handler] of given) {
      console.log(name, schedule);
      await handler();
    }
    await app.stop();
  `;
  const table: [env: Record<string, string>, output: string][] = [
    [{ DENO_DEPLOYMENT_ID: "x" }, "nightly 0 3 * * *\nstarted\n"],
    [{}, ""],
  ];
  for (const [env, output] of table) {
    await using program = await ChildProgram.start(source, { env });
    const { code, stdout, stderr } = await program.end();
    assertEquals([code, stdout, stderr], [0, output, ""]);
  }
});

Deno.test("where a cron is declared, `start()` opens the store, and rejects with what is wrong", async () => {
  await using folder = await TemporaryFolder.make();
  await Deno.writeTextFile(folder.within("text"), "no database");
  const app = new App({ topics: folder.within("text") });
  app.cron("job", "* * * * *", async () => {});
  await assertRejects(() => app.start(), Error, "Cannot open");
  await app.stop();
});

Deno.test("a schedule that no day has is refused at the start", async () => {
  const app = new App();
  app.cron("job", "0 0 31 2 *", async () => {});
  await assertRejects(() => app.start(), TypeError, 'no day has the date of "0 0 31 2 *"');
  await app.stop();
});

Deno.test("no cron can be declared when the application has started", async () => {
  const app = new App();
  await app.start();
  const error = assertThrows(() => app.cron("job", "* * * * *", async () => {}), RouteError);
  assertEquals([error.code, error.message], ["frozen", 'Cannot declare the cron "job": the application has started']);
  await app.stop();
});

Deno.test("a stop waits for a run before the lifespans end", async () => {
  using clock = new BeforeMinute();
  const app = new App();
  const order: string[] = [];
  app.lifespan(async function* () {
    yield;
    order.push("lifespan");
  });
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  app.cron("job", "* * * * *", async () => {
    begun.resolve();
    await gate.promise;
    order.push("run");
  });
  await app.start();
  clock.go();
  await begun.promise;
  const stopped = app.stop();
  gate.resolve();
  await stopped;
  assertEquals(order, ["run", "lifespan"]);
});

Deno.test("`app.run({ gracePeriod })`: the signal of a run is aborted at its end, and the server stops", async () => {
  using log = new CapturedLog();
  using clock = new BeforeMinute();
  const app = new App();
  const begun = Promise.withResolvers<AbortSignal>();
  app.cron("job", "* * * * *", ({ signal }) => {
    begun.resolve(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  const stop = new AbortController();
  const running = app.run({ port: 0, signal: stop.signal, gracePeriod: 100, onListen: () => clock.go() });
  const signal = await begun.promise;
  stop.abort();
  await running;
  assert(signal.aborted);
  assertMatch(String(signal.reason), /The application stops/);
  // It broke off, and has not failed.
  assert(!log.text.includes("A cron failed"), log.text);
});
