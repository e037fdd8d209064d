// `webfw topics`, which shows operators the durable topics.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CRON_SPACE, type CronRecord } from "../../src/work/cron/record.ts";
import { schemaText } from "../../src/store/sql/schema.ts";
import { recordsOf } from "../../src/store/records.ts";
import { frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";
import { until } from "../support/wait.ts";

const MAIN = `
import { App } from "@webfw/core";
console.log("loaded");
export const app = new App();
app.topic("orders", { durable: true, retention: { age: "2d", count: 500 } });
app.topic("declared", { durable: true });
app.topic("chat");
`;

/** A project whose store has an hour's work in it, and the ids of its orders. */
async function projectWithTopics(): Promise<{ project: Project; ids: string[] }> {
  const imports = await frameworkImports();
  const project = await Project.create({ "site/main.ts": MAIN, "site/deno.json": { imports } });
  // The store of the program when it is started directly.
  const app = new App({ topics: join(project.path, "site/.webfw/topics.sqlite") });
  const orders = app.topic<object>("orders", { durable: true, retention: { age: "2d", count: 500 } });
  const ids: string[] = [];
  for (let n = 1; n <= 3; n++) ids.push((await orders.publish({ n }, { type: "made" })).id);
  await app.topic("two words", { durable: true, retention: { bytes: 1536 } }).publish("text");
  await app.stop();
  return { project, ids };
}

Deno.test("webfw topics lists the store next to the module, from any folder", async () => {
  const { project, ids } = await projectWithTopics();
  await using _project = project;
  const cwd = project.path;
  const listed = await Webfw.finish(["topics", "site/main.ts:app"], { cwd });
  assertEquals([listed.code, listed.stderr.split("\n").at(-1)], [0, "loaded"]);
  const [header, declared, orders, words, ...others] = listed.stdout.split("\n");
  assertEquals(header?.split(/ {2,}/), ["TOPIC", "MESSAGES", "SIZE", "OLDEST", "NEWEST", "RETENTION"]);
  // Nothing was published there yet.
  assertMatch(declared!, /^declared +0 +0 B +- +- /);
  assertMatch(orders!, /^orders +3 +21 B +\d+ s +\d+ s +2 d, 500 messages, 64 MiB$/);
  assertMatch(words!, /^"two words" +1 +6 B +\d+ s +\d+ s +1\.5 KiB$/);
  assertEquals(others, []);

  const behind = await Webfw.finish(["topics", "site/main.ts", "--after", ids[0]!], { cwd });
  assertEquals(behind.stdout.split("\n").map((line) => line.split(/ {2,}/).at(-1)), ["BEHIND", "-", "2", "-"]);
});

Deno.test("webfw topics lists the crons of the application below the topics, with their last errors", async () => {
  const imports = await frameworkImports();
  const main = `
    import { App } from "@webfw/core";
    export const app = new App({ topics: new URL("a.sqlite", import.meta.url).pathname });
    app.cron("nightly", "0 3 * * *", { timeZone: "Europe/Berlin" }, async () => {});
    app.cron("hourly", "5 * * * *", async () => {});
  `;
  await using project = await Project.create({ "main.ts": main, "deno.json": { imports } });
  const cwd = project.path;
  const app = new App({ topics: join(cwd, "a.sqlite") });
  const [scheduled, at] = [Date.parse("2026-01-02T02:00:00Z"), Date.parse("2026-01-02T02:07:00Z")];
  await recordsOf(app.records, CRON_SPACE).set(
    ["nightly"],
    {
      watermark: scheduled,
      last: { scheduled, began: scheduled, ended: at },
      runs: 12,
      failures: 3,
      skipped: 1,
      lastError: { at, error: "Error: no \u001b[31mdisk" },
    } satisfies CronRecord,
  );
  await app.stop();
  const { code, stdout } = await Webfw.finish(["topics", "main.ts"], { cwd });
  const [topics, between, header, hourly, nightly, error] = stdout.split("\n");
  assertEquals([code, topics?.split(" ")[0], between], [0, "TOPIC", ""]);
  assertEquals(
    header?.split(/ {2,}/),
    ["CRON", "SCHEDULE", "ZONE", "NEXT", "LAST", "RUNS", "FAILED", "SKIPPED", "STATE"],
  );
  assertMatch(hourly!, /^hourly +5 \* \* \* \* +UTC +\S+:05Z +- +0 +0 +0 +waiting$/);
  assertMatch(nightly!, /^nightly +0 3 \* \* \* +Europe\/Berlin +\S+:00Z +2026-01-02T02:00Z +12 +3 +1 +waiting$/);
  assertEquals(error, "nightly: failed at 2026-01-02T02:07Z: Error: no \\u001b[31mdisk");
});

Deno.test("webfw topics shows what is declared where there is no store yet, creates none, and says so", async () => {
  const imports = await frameworkImports();
  const main = MAIN + `
    app.topic("orders").consume("mail", () => {});
    app.cron("nightly", "0 3 * * *", () => {});
  `;
  await using project = await Project.create({ "main.ts": main, "notes": "text", "deno.json": { imports } });
  const cwd = project.path;
  const places = ["mistyped/topics.sqlite", "notes/topics.sqlite", "mistyped.sqlite"];
  for (const args of [[], ["--tail", "orders"]]) {
    for (const place of places) {
      const path = join(cwd, place);
      const { code, stdout, stderr } = await Webfw.finish(["topics", "main.ts", ...args], {
        cwd,
        env: { WEBFW_TOPICS: path },
      });
      const message = `Cannot open the store of topics "${path}": there is no such file, ` +
        "start the application with its durable topics once, or name another file in WEBFW_TOPICS; " +
        "topics in memory cannot be seen from another process";
      if (args.length > 0) assertEquals([code, stdout, stderr.split("\n").at(-1)], [1, "", `error: ${message}`]);
      else {
        assertEquals(code, 0, stderr);
        assertStringIncludes(stderr, `WARN ${message}`);
        const rows = stdout.trimEnd().split("\n").map((line) => line.split(/ {2,}/));
        assertEquals(rows.map((cells) => cells.slice(0, 4).join()), [
          "TOPIC,MESSAGES,SIZE,OLDEST",
          "declared,0,0 B,-",
          "orders,0,0 B,-",
          "",
          "CONSUMER,POSITION,LAG,IN FLIGHT",
          "orders/mail,-,-,0",
          "",
          "CRON,SCHEDULE,ZONE,NEXT",
          `nightly,0 3 * * *,UTC,${rows.at(-1)![3]}`,
        ]);
      }
    }
  }
  const names = await Array.fromAsync(Deno.readDir(cwd), ({ name }) => name);
  assertEquals(names.filter((name) => name.startsWith("mistyped")), []);
});

Deno.test("webfw topics says that topics in memory cannot be seen from another process", async () => {
  const imports = await frameworkImports();
  const main = `
    import { App } from "@webfw/core";
    export const app = new App({ topics: ":memory:" });
    app.topic("orders", { durable: true }).consume("mail", () => {});
  `;
  await using project = await Project.create({ "main.ts": main, "deno.json": { imports } });
  for (const args of [[], ["--retry", "orders/mail"]]) {
    const { code, stdout, stderr } = await Webfw.finish(["topics", "main.ts", ...args], { cwd: project.path });
    const message = 'Cannot open the store of topics ":memory:": ' +
      "topics in memory cannot be seen from another process, name a file";
    assertEquals([code, stdout, stderr.split("\n").at(-1)], [1, "", `error: ${message}`]);
  }
});

Deno.test("webfw topics lists the other topics where a later version has written one, and reports that one", async () => {
  const { project, ids } = await projectWithTopics();
  await using _project = project;
  const cwd = project.path;
  const kv = await Deno.openKv(join(cwd, "site/.webfw/topics.sqlite"));
  for await (const { key, value } of kv.list<Uint8Array>({ prefix: ["webfw", "1", "log", "orders"] })) {
    // The format comes first.
    if (value[0] === 1) await kv.set(key, value.with(0, 2));
  }
  kv.close();
  const { code, stdout, stderr } = await Webfw.finish(["topics", "site/main.ts", "--after", ids[0]!], { cwd });
  const message = "Cannot read the store of topics: a later version of webfw has written it, use that one";
  assertEquals([code, stderr.split("\n").at(-1)], [1, `error: Topic orders: ${message}`]);
  const [, , orders, words] = stdout.split("\n");
  assertMatch(orders!, /^orders( +-){4} +2 d, 500 messages, 64 MiB +-$/);
  assertMatch(words!, /^"two words" +1 +6 B +\d+ s +\d+ s +1\.5 KiB +-$/);
});

Deno.test("webfw topics gives a long name in full, and does not widen the rows of the others for it", async () => {
  const { project } = await projectWithTopics();
  await using _project = project;
  const cwd = project.path;
  const name = "x".repeat(256);
  const app = new App({ topics: join(cwd, "site/.webfw/topics.sqlite") });
  await app.topic(name, { durable: true, retention: { count: 5 } }).publish(1);
  await app.stop();
  const { stdout } = await Webfw.finish(["topics", "site/main.ts"], { cwd });
  const [header, , orders, , long] = stdout.split("\n");
  assertEquals([header!.indexOf("MESSAGES"), orders!.indexOf("3")], ['"two words"  '.length, '"two words"  '.length]);
  assertMatch(long!, new RegExp(`^${name}  1 +1 B `));
});

Deno.test("webfw topics shows how many messages are scheduled, if there are any", async () => {
  const { project } = await projectWithTopics();
  await using _project = project;
  const cwd = project.path;
  const app = new App({ topics: join(cwd, "site/.webfw/topics.sqlite") });
  await app.topic("orders", { durable: true, retention: { age: "2d", count: 500 } }).publish(1, { after: "1h" });
  await app.stop();
  const { stdout } = await Webfw.finish(["topics", "site/main.ts"], { cwd });
  const [header, declared, orders] = stdout.split("\n");
  assertEquals(header?.split(/ {2,}/).at(-1), "SCHEDULED");
  assertMatch(declared!, / {2,}0$/);
  assertMatch(orders!, /^orders +3 .* {2,}1$/);
});

Deno.test("webfw topics shows a store without topics as a table without rows", async () => {
  await using project = await Project.create({
    "main.ts": 'import { App } from "@webfw/core";\nexport const app = new App();\napp.topic("chat");\n',
    "deno.json": { imports: await frameworkImports() },
  });
  const cwd = project.path;
  const app = new App({ topics: join(cwd, ".webfw/topics.sqlite") });
  await app.topic("orders", { durable: true }).head();
  await app.stop();
  const { code, stdout } = await Webfw.finish(["topics", "main.ts"], { cwd });
  assertEquals([code, stdout], [0, "TOPIC  MESSAGES  SIZE  OLDEST  NEWEST  RETENTION"]);
});

Deno.test("webfw topics shows names and data of clients without control characters of terminals", async () => {
  const { project } = await projectWithTopics();
  await using _project = project;
  const cwd = project.path;
  const name = "room\u009b2J\u202e\u007f";
  const app = new App({ topics: join(cwd, "site/.webfw/topics.sqlite") });
  await app.topic(name, { durable: true }).publish("\u009b31m\u2066", { type: "\u009d" });
  await app.stop();
  const listed = await Webfw.finish(["topics", "site/main.ts"], { cwd });
  assertMatch(listed.stdout, /^"room\\u009b2J\\u202e\\u007f" +1 /m);
  await using tail = await Webfw.start(["topics", "site/main.ts", "--tail", name, "--from", "earliest"], { cwd });
  const [line] = await tail.stdout.next(/"id".*/);
  assertMatch(line, /"type":"\\u009d","data":"\\u009b31m\\u2066"/);
});

Deno.test("webfw topics --tail prints messages of other processes as they come, until it is stopped", async () => {
  const { project, ids } = await projectWithTopics();
  await using _project = project;
  const cwd = project.path;
  await using earliest = await Webfw.start(["topics", "site/main.ts", "--tail", "orders", "--from", "earliest"], {
    cwd,
  });
  for (const [index, id] of ids.entries()) {
    const [line] = await earliest.stdout.next(/^{.*}$/);
    const { time, ...message } = JSON.parse(line);
    assertEquals(message, { id, type: "made", data: { n: index + 1 } });
    assert(!Number.isNaN(Date.parse(time)));
  }
  await using after = await Webfw.start(["topics", "site/main.ts", "--tail", "orders", "--after", ids[2]!], { cwd });
  const app = new App({ topics: join(cwd, "site/.webfw/topics.sqlite") });
  await app.topic<object>("orders", { durable: true }).publish({ n: 4 });
  await app.stop();
  for (const webfw of [earliest, after]) {
    assertEquals(webfw.stderr.text.includes("is empty"), false);
    const [line] = await webfw.stdout.next(/^{.*}$/);
    assertEquals(JSON.parse(line).data, { n: 4 });
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 0);
  }
});

Deno.test("webfw topics --tail of an unknown name is an error that names the nearest one", async () => {
  const { project } = await projectWithTopics();
  await using _project = project;
  const cwd = project.path;
  const app = new App({ topics: join(cwd, "site/.webfw/topics.sqlite") });
  await app.topic("room\u009b2J\u202e", { durable: true }).publish("text");
  await app.stop();
  const nearest = { ordesr: "orders", declard: "declared", "tow words": "two words", room2J: "room\\u009b2J\\u202e" };
  for (const [name, known] of Object.entries(nearest)) {
    const { stderr, ...rest } = await Webfw.finish(["topics", "site/main.ts", "--tail", name], { cwd });
    const message =
      `Cannot follow "${name}": neither the application nor its store has a durable topic of this name, ` +
      `the nearest is "${known}"`;
    assertEquals([rest, stderr.split("\n").at(-1)], [{ code: 1, stdout: "" }, `error: ${message}`]);
  }
});

Deno.test("webfw topics --tail waits for messages of an empty topic that the application declares", async () => {
  const { project } = await projectWithTopics();
  await using _project = project;
  const cwd = project.path;
  await using webfw = await Webfw.start(["topics", "site/main.ts", "--tail", "declared"], { cwd });
  await webfw.stderr.next(/^The topic "declared" is empty: waiting$/);
  const app = new App({ topics: join(cwd, "site/.webfw/topics.sqlite") });
  await app.topic<object>("declared", { durable: true }).publish({ n: 1 });
  await app.stop();
  const [line] = await webfw.stdout.next(/^{.*}$/);
  assertEquals(JSON.parse(line).data, { n: 1 });
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 0);
});

Deno.test("A topic that webfw topics cannot show is an error of one line", async () => {
  await using project = await Project.create({
    "main.ts": MAIN,
    "other.ts": "export const app = { fetch() {} };",
    "deno.json": { imports: await frameworkImports() },
  });
  const cases: [args: string[], code: number, message: string][] = [
    [["other.ts"], 1, 'Cannot show the topics of "other.ts": it is no App'],
    [["main.ts", "--after", "x"], 1, 'Cannot resume after "x": it is not the id of a message'],
    [
      ["main.ts", "--tail", "chat"],
      1,
      'Cannot follow "chat": it is not durable, and no other process can read its messages in memory',
    ],
    [["main.ts", "--from", "earliest"], 2, 'Option "--from" needs a topic: add "--tail <topic>"'],
    [["main.ts", "--tail", "orders", "--from", "x"], 2, 'Cannot start from "x": expected now or earliest'],
    [
      ["main.ts", "--tail", "orders", "--from", "now", "--after", "x"],
      2,
      "Cannot start at two positions: remove --from or --after",
    ],
  ];
  for (const [args, code, message] of cases) {
    const { stderr, ...rest } = await Webfw.finish(["topics", ...args], { cwd: project.path });
    assertEquals([rest, stderr.split("\n").at(-1)], [{ code, stdout: "" }, `error: ${message}`]);
  }
});

Deno.test("webfw topics --retry: a failure `whose message is no longer kept says so`", async () => {
  const { project, ids } = await projectWithFailures();
  await using _project = project;
  const app = new App({ topics: join(project.path, ".webfw/topics.sqlite") });
  // A message of a log that was lost.
  const id = ids[0]!.replace(/^\w{8}/, "00000000");
  await recordsOf(app.records, "consumers.failed").set(["orders", "mail", id], { id, error: "no", attempts: 1 });
  await app.stop();
  const { code, stdout, stderr } = await Webfw.finish(["topics", "main.ts", "--retry", "orders/mail"], {
    cwd: project.path,
  });
  assertEquals([code, stderr.split("\n").at(-1)], [1, `error: Message ${id} is no longer kept`]);
  assertEquals(stdout, "2 messages are redelivered");
});

/** A project with a consumer that has given up two messages, and their ids. */
async function projectWithFailures(): Promise<{ project: Project; ids: string[] }> {
  const project = await Project.create({ "main.ts": MAIN, "deno.json": { imports: await frameworkImports() } });
  const app = new App({ topics: join(project.path, ".webfw/topics.sqlite") });
  const orders = app.topic<number>("orders", { durable: true });
  orders.consume("mail", { retry: { attempts: 1 } }, () => {
    throw new Error("no\x1b[2J server");
  });
  await app.start();
  const ids = [(await orders.publish(1)).id, (await orders.publish(2)).id];
  const isKept = async () => (await app.reportTopics()).topics[0]?.consumers[0]?.failures === 2;
  await until("both failures are kept", isKept);
  await app.stop();
  return { project, ids };
}

Deno.test("webfw topics shows consumers, redelivers what one has given up, and forgets it", async () => {
  const { project, ids } = await projectWithFailures();
  await using _project = project;
  const run = (...args: string[]) => Webfw.finish(["topics", "main.ts:app", ...args], { cwd: project.path });
  const rows = async () => (await run()).stdout.split("\n").slice(4).map((line) => line.split(/ {2,}/));
  assertEquals(await rows(), [
    ["CONSUMER", "POSITION", "LAG", "IN FLIGHT", "FAILED", "LOST", "PAUSED", "LAST ERROR"],
    ["orders/mail", ids[1], "-", "0", "2", "0", "-", "no\\u001b[2J server"],
  ]);

  const unknown = await run("--retry", "orders/mial");
  assertEquals([unknown.code, unknown.stderr.split("\n").at(-1)], [
    1,
    'error: Cannot redeliver failures of "orders/mial": the store has no such consumer, the nearest is "orders/mail"',
  ]);
  const retried = await run("--retry", "orders/mail");
  assertEquals([retried.code, retried.stdout], [0, "2 messages are redelivered"]);
  const [, [, , lag, , failed]] = await rows() as [unknown, string[]];
  assertMatch(lag!, /^\d+ (?:s|min)$/);
  assertEquals(failed, "0");

  const both = await run("--retry", "orders/mail", "--remove", "orders/mail");
  assertEquals([both.code, both.stderr], [
    2,
    "error: Cannot do two things at once: use only one of --tail, --schema, --pause, --resume, --retry, --redrive and --remove",
  ]);
  const removed = await run("--remove", "orders/mail");
  assertEquals([removed.code, removed.stdout], [0, "The consumer orders/mail is removed"]);
  assertEquals(await rows(), []);
});

Deno.test("webfw topics pauses and resumes a consumer, and shows it", async () => {
  const { project } = await projectWithFailures();
  await using _project = project;
  const run = (...args: string[]) => Webfw.finish(["topics", "main.ts:app", ...args], { cwd: project.path });
  const paused = async () => (await run()).stdout.split("\n")[5]!.split(/ {2,}/)[6]!;
  const pause = await run("--pause", "orders/mail");
  assertEquals([pause.code, pause.stdout], [0, "The consumer orders/mail is paused on all nodes"]);
  assertMatch(await paused(), /^since \d{4}-\d\d-\d\dT\d\d:\d\dZ$/);
  const resume = await run("--resume", "orders/mail");
  assertEquals([resume.code, resume.stdout], [0, "The consumer orders/mail is resumed"]);
  assertEquals(await paused(), "-");
  const unknown = await run("--pause", "orders/mial");
  assertEquals([unknown.code, unknown.stderr.split("\n").at(-1)], [
    1,
    'error: Cannot pause "orders/mial": the store has no such consumer, the nearest is "orders/mail"',
  ]);
});

Deno.test("webfw topics --redrive redelivers the dead letters of a consumer, each once", async () => {
  const main = `import { App } from "@webfw/core";
    export const app = new App();
    app.topic("orders.failed", { durable: true });
    app.topic("orders", { durable: true }).consume("mail", { deadLetter: "orders.failed" }, () => {});`;
  await using project = await Project.create({ "main.ts": main, "deno.json": { imports: await frameworkImports() } });
  const app = new App({ topics: join(project.path, ".webfw/topics.sqlite") });
  const failed = app.topic<object>("orders.failed", { durable: true });
  const orders = app.topic<number>("orders", { durable: true });
  orders.consume("mail", { retry: { attempts: 1 }, deadLetter: "orders.failed" }, () => {
    throw new Error("no");
  });
  await app.start();
  await using letters = failed.subscribe();
  await Promise.all([orders.publish(1), orders.publish(2)]);
  await letters.next();
  await letters.next();
  await app.stop();

  const run = (...args: string[]) => Webfw.finish(["topics", "main.ts:app", ...args], { cwd: project.path });
  const first = await run("--redrive", "orders/mail");
  assertEquals([first.code, first.stdout], [0, "2 messages are redelivered"]);
  const again = await run("--retry", "orders/mail");
  assertEquals([again.code, again.stdout], [0, "0 messages are redelivered"]);
  const unknown = await run("--redrive", "orders/mial");
  assertEquals([unknown.code, unknown.stderr.split("\n").at(-1)], [
    1,
    'error: Cannot redeliver dead letters of "orders/mial": the store has no such consumer, the nearest is "orders/mail"',
  ]);
});

Deno.test("`webfw topics --schema` prints the SQL for migrations, and connects to nothing", async () => {
  const imports = await frameworkImports();
  const main = `
    import { App } from "@webfw/core";
    export const app = new App({ topics: { url: "postgres://shop:secret@127.0.0.1:1/shop", schema: "shop" } });
    export const other = new App({ topics: { sqlite: "shop.sqlite" } });
    export const file = new App({ topics: "topics.sqlite" });
  `;
  await using project = await Project.create({ "main.ts": main, "deno.json": { imports } });
  const print = (attribute: string) =>
    Webfw.finish(["topics", `main.ts:${attribute}`, "--schema"], { cwd: project.path });
  const postgres = await print("app");
  assertEquals(postgres.code, 0, postgres.stderr);
  assertEquals(`${postgres.stdout}\n`, schemaText("postgres", "shop"));
  assertStringIncludes(postgres.stdout, '-- GRANT INSERT ON "shop".outbox TO …;');
  const sqlite = await print("other");
  using database = new DatabaseSync(":memory:");
  database.exec(sqlite.stdout);
  assertEquals(database.prepare("SELECT version FROM webfw_version").all().length, 1);
  const file = await print("file");
  assertEquals(file.code, 1);
  assertStringIncludes(
    file.stderr,
    'error: Cannot print the schema: the store of topics is no SQL database, give topics as "postgres://…" or',
  );
});
