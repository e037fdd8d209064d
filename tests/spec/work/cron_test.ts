// Section 3 of the contract of work: crons of applications, over real stores.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { App, RouteError } from "@webfw/core";
import type { CronRun } from "@webfw/core/types";
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
    assertEquals(await apps[0]!.records.get(["none"]), null);
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
  const running = app.run({ port: 0, signal: stop.signal, gracePeriod: 1_000, onListen: () => clock.go() });
  const signal = await begun.promise;
  stop.abort();
  await running;
  assert(signal.aborted);
  assertMatch(String(signal.reason), /The application stops/);
  // It broke off, and has not failed.
  assert(!log.text.includes("A cron failed"), log.text);
});

Deno.test("mistakes in a declaration are named", () => {
  const app = new App();
  const declare = (name: unknown, schedule: unknown, options: unknown = {}, handler: unknown = () => {}) => () =>
    app.cron(name as string, schedule as string, options as object, handler as () => void);
  assertThrows(declare("a/b", "* * * * *"), TypeError, "Cannot declare the cron: its name must be 1 to 64 letters");
  assertThrows(declare("", "* * * * *"), TypeError, "its name must be");
  for (const schedule of [undefined, "", "@daily", "* * * *", "* * * * * *"]) {
    assertThrows(declare("a", schedule), TypeError, "the schedule must have five fields");
  }
  const wrong: [schedule: string, field: string][] = [
    ["60 * * * *", 'minute must be from 0 to 59, a range, a list, "*" or "*/2", got "60"'],
    ["5/15 * * * *", "minute"],
    ["*/0 * * * *", "minute"],
    ["1-5-9 * * * *", "minute"],
    ["5- * * * *", "minute"],
    ["1,,2 * * * *", "minute"],
    ["* 24 * * *", "hour"],
    ["* 9-5 * * *", "hour"],
    ["* * 0 * *", "day of the month"],
    ["* * 32W * *", "day of the month"],
    ["* * * 13 *", "month"],
    ["* * * JANUARY *", "month"],
    ["* * * * 8", "day of the week"],
    ["* * * * MON#6", "day of the week"],
  ];
  for (const [schedule, field] of wrong) assertThrows(declare("a", schedule), TypeError, `its ${field}`);
  assertThrows(declare("a", "* * * * *", { zone: "UTC" }), TypeError, 'the option "zone" is unknown');
  assertThrows(declare("a", "* * * * *", { timeZone: "Mars/Base" }), TypeError, 'got "Mars/Base"');
  assertThrows(declare("a", "* * * * *", { catchUp: "32d" }), RangeError, "at most 31d");
  assertThrows(declare("a", "* * * * *", {}, "x"), TypeError, "its handler must be a function");
  app.cron("a", "* * * * *", async () => {});
  const error = assertThrows(declare("a", "* * * * *"), RouteError, "there is one of this name");
  assertEquals(error.code, "conflict");
});

Deno.test("all forms of fields are taken, and have times", async () => {
  const app = new App();
  const forms = [
    "*/5 * * * *",
    "0-30/10,45 8-18 * * MON-FRI",
    "0 0 1,15 JAN,jul *",
    "0 0 L * *",
    "0 0 LW * *",
    "0 0 15W * *",
    "0 0 * * 5L",
    "0 0 * * MON#1",
    " 0  0 29 2 7 ",
  ];
  for (const [index, form] of forms.entries()) app.cron(`cron ${index}`, form, async () => {});
  await app.start();
  await app.stop();
});
