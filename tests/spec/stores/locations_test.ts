// "`topics` / `WEBFW_TOPICS`: `postgres://user@host/db?sslmode=verify-full`, `{ url, password, tls:
// { ca }, schema }`; `{ sqlite: "shop.sqlite" }`: tables in the application's own SQLite file;
// PostgreSQL by `npm:pg`, loaded on first use; the password from the URL, the option or `PGPASSWORD`."

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { App } from "@webfw/core";
import type { TopicsLocation } from "@webfw/core/types";
import { CapturedLog } from "../support/captured_log.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { until } from "../../support/wait.ts";

const SECRET = "a-password";

/** Counts its starts in a record, and prints it with the messages that it finds. */
const PROGRAM = `
  import { App } from "${CORE}";
  const app = new App();
  const topic = app.topic("news", { durable: true });
  await app.start();
  const { value = 0 } = await app.records.get(["starts"]) ?? {};
  await app.records.set(["starts"], value + 1);
  await topic.publish("start", { id: String(value) });
  console.log(value, (await app.reportTopics()).topics.map(({ messages }) => messages).join());
  await app.stop();
`;

Deno.test("a mistake in the location is an error where the App is made, with the cure and without the password", () => {
  const table: [topics: unknown, message: string][] = [
    [`postgres://shop:${SECRET}@db`, "the URL of PostgreSQL must be like postgres://user@host:5432/database"],
    [`postgres://:${SECRET}@db/shop`, "the URL of PostgreSQL must be like postgres://user@host:5432/database"],
    [`postgres://shop:${SECRET}@db/shop?sslmode=prefer`, "sslmode must be verify-full, require, no-verify or disable"],
    [{ url: `postgres://shop:${SECRET}@db/shop`, schema: "My Shop" }, "schema must be 1 to 63 lower-case letters"],
    [{ url: `postgres://shop:${SECRET}@db/shop`, user: "shop" }, "user"],
    [{ url: "postgres://shop@db/shop", tls: { ca: "ca.pem" } }, "tls.ca must be a certificate in PEM"],
    [{ url: undefined, schema: "pay" }, "url must be a string or a URL, got undefined"],
    [{ url: undefined, token: SECRET }, "url must be a string or a URL, got undefined"],
    [{ url: "", replicas: 3 }, 'url must be a string or a URL, got ""'],
    [{ sqlite: "" }, "sqlite must be the path of a file"],
    [{ sqlite: ":memory:" }, 'for tests, give topics: ":memory:"'],
  ];
  for (const [topics, message] of table) {
    const error = assertThrows(() => new App({ topics: topics as TopicsLocation }), TypeError);
    assertStringIncludes(error.message, message);
    assert(!error.message.includes(SECRET), error.message);
  }
});

Deno.test("`{ sqlite }`: the tables are in the application's own file, and outlive its process", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/shop.sqlite`;
  {
    using own = new DatabaseSync(path);
    own.exec("CREATE TABLE orders (id text)");
  }
  const permissions = ["--no-prompt", "--allow-env=WEBFW_TOPICS", `--allow-read=${path}`, `--allow-write=${path}`];
  for (const expected of ["0 1", "1 2"]) {
    await using child = await ChildProgram.start(PROGRAM, { env: { WEBFW_TOPICS: `sqlite:${path}` }, permissions });
    const { code, stdout, stderr } = await child.end();
    assertEquals([code, stdout.trim(), stderr], [0, expected, ""]);
  }
  const app = new App({ topics: { sqlite: path } });
  app.topic("news", { durable: true });
  assertEquals((await app.reportTopics()).topics.map(({ name, messages }) => [name, messages]), [["news", 2]]);
  await app.stop();
  {
    using own = new DatabaseSync(path);
    const tables = own.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
    assertEquals(tables.map(({ name }) => name).filter((name) => !String(name).startsWith("sqlite_")), [
      "orders",
      "webfw_logs",
      "webfw_messages",
      "webfw_outbox",
      "webfw_records",
      "webfw_version",
    ]);
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a program without permissions is told the flags, by one message without the password", async () => {
  const topics = `postgres://shop:${SECRET}@db.invalid/shop`;
  const table: [topics: string, flags: string][] = [
    [topics, "--allow-net=db.invalid:5432"],
    ["sqlite:/var/lib/shop.sqlite", "--allow-read=/var/lib/shop.sqlite --allow-write=/var/lib/shop.sqlite"],
  ];
  for (const [location, flags] of table) {
    const permissions = ["--no-prompt", "--allow-env=WEBFW_TOPICS"];
    await using child = await ChildProgram.start(PROGRAM, { env: { WEBFW_TOPICS: location }, permissions });
    const { code, stderr } = await child.end();
    assertEquals(code, 1);
    assertStringIncludes(stderr, `: permissions are missing, start Deno with ${flags}`);
    assert(!stderr.includes(SECRET), stderr);
  }
});

Deno.test("a server that does not answer is logged by its address, without the user and the password", async () => {
  using log = new CapturedLog();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const app = new App({ topics: `postgres://shop:${SECRET}@127.0.0.1:${port}/shop` });
  app.topic("news", { durable: true });
  const starting = app.start().catch(() => {});
  await until("it is logged", () => log.text !== "");
  assertStringIncludes(log.text, `store=127.0.0.1:${port}/shop reason="connect ECONNREFUSED`);
  assert(!log.text.includes(SECRET), log.text);
  await app.stop();
  await starting;
});
