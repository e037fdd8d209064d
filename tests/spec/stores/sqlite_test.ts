// Stores, section 1: "`{ sqlite: "shop.sqlite" }` | tables in the application's own SQLite file, by
// `node:sqlite`". "All promises of `interface.md` section 8 and `work.md` hold".

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { recordSessions, session } from "@webfw/core/auth";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import { takeData } from "../../contract/reading.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";
import { Visitor } from "../support/visitor.ts";

const visit = session(v.object({ text: v.string() }), { store: recordSessions() });

function nodeOf(sqlite: string, made: string[] = []) {
  const app = new App({ topics: { sqlite } });
  const orders = app.topic<number>("orders", { durable: true });
  app.post("/orders/{item}", { idempotent: "24h" }, async (_request, { item }) => {
    made.push(item);
    return { number: made.length };
  });
  app.post("/login/{text}", { deps: { visit } }, async (_request, { text, visit }) => await visit.set({ text }));
  app.get("/visit", { deps: { visit } }, async (_request, { visit }) => visit.data);
  return { app, orders };
}

Deno.test("nodes share a file: its consumers handle each message once, beside the rows of the application", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  using db = new DatabaseSync(file, { timeout: 5_000 });
  db.exec("CREATE TABLE orders (id integer); INSERT INTO orders VALUES (1)");
  const nodes = [nodeOf(file), nodeOf(file)];
  const handled: number[] = [];
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const total = 40;
  for (const { orders } of nodes) {
    orders.consume("mail", { concurrency: 4 }, async ({ data }) => {
      handled.push(data);
      if (handled.length === total) resolve();
    });
  }
  await Promise.all(nodes.map(({ app }) => app.start()));
  const reader = nodes[1]!.orders.subscribe();
  await reader.cursor();
  await Promise.all(Array.from({ length: total }, (_, number) => nodes[number % 2]!.orders.publish(number)));
  await done;
  const all = Array.from({ length: total }, (_, number) => number);
  assertEquals(handled.toSorted((one, other) => one - other), all);
  assertEquals((await takeData(reader, total) as number[]).toSorted((one, other) => one - other), all);
  assertEquals(db.prepare("SELECT id FROM orders").all().length, 1);
  await Promise.all(nodes.map(({ app }) => app.stop()));
});

Deno.test("nodes share a file: idempotent requests, records and sessions are those of all nodes", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const made: string[] = [];
  const nodes = [nodeOf(file, made), nodeOf(file, made)];
  const order = ({ app }: (typeof nodes)[number]) =>
    app.fetch(
      new Request("http://localhost/orders/tea", { method: "POST", headers: { "idempotency-key": "8e03978e" } }),
    );
  const replies = [await order(nodes[0]!), await order(nodes[1]!)];
  assertEquals(await Promise.all(replies.map((reply) => reply.json())), [{ number: 1 }, { number: 1 }]);
  assertEquals(made, ["tea"]);

  const count = async ({ app: { records } }: (typeof nodes)[number]) => {
    for (let counted = 0; counted < 5;) {
      const entry = await records.get<number>(["count"]);
      const version = await records.set(["count"], (entry?.value ?? 0) + 1, { expect: entry?.version ?? null });
      if (version !== null) counted++;
    }
  };
  await Promise.all(nodes.map(count));
  assertEquals((await nodes[0]!.app.records.get(["count"]))?.value, 10);

  const [visitor, elsewhere] = nodes.map(({ app }) => new Visitor(app));
  await visitor!.post("/login/Ada");
  for (const [name, value] of visitor!.cookies) elsewhere!.cookies.set(name, value);
  assertEquals(await elsewhere!.get("/visit"), { text: "Ada" });
  await Promise.all(nodes.map(({ app }) => app.stop()));
});

const NODE = `
  import { App } from ${JSON.stringify(CORE)};
  const app = new App({ topics: { sqlite: Deno.env.get("FILE")! } });
  const orders = app.topic<number>("orders", { durable: true });
  orders.consume("mail", { lease: "5m" }, async () => {
    console.log("handling");
    await new Promise(() => {});
  });
  await app.start();
  console.log("ready");
`;

Deno.test("a message of a node that was killed is handled by another one, before its lease ends", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  await using child = await ChildProgram.start(NODE, { env: { FILE: file } });
  await child.printed("ready");
  const { app, orders } = nodeOf(file);
  await orders.publish(7);
  await child.printed("handling");
  child.signal("SIGKILL");
  await child.end();
  const { promise: handled, resolve } = Promise.withResolvers<number>();
  orders.consume("mail", { lease: "5m" }, async ({ data }) => resolve(data));
  await app.start();
  assertEquals(await handled, 7);
  await app.stop();
});

Deno.test("missing permissions are one error, with the flags that grant them", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const permissions = ["--no-prompt", `--allow-read=${folder.path}/other`];
  await using child = await ChildProgram.start(NODE, {
    env: { FILE: file },
    permissions: [...permissions, "--allow-env"],
  });
  const { code, stderr } = await child.end();
  assert(code !== 0);
  assertStringIncludes(stderr, `permissions are missing, start Deno with --allow-read=${file} --allow-write=${file}`);
});

Deno.test("a program with permissions for the file alone works", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const source = NODE.replace(
    'console.log("ready");',
    "console.log((await orders.publish(1)).duplicate); Deno.exit();",
  );
  const permissions = ["--no-prompt", "--allow-env=FILE", `--allow-read=${file}`, `--allow-write=${file}`];
  await using child = await ChildProgram.start(source, { env: { FILE: file }, permissions });
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stdout.split("\n")[0]], [0, "false"], stderr);
});
