// Section 8 of the contract: durable topics in a file on one machine; and the parts of section 13
// about them.

import { assert, assertEquals, assertNotEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { App, PublishOutcomeUnknownError, type Subscription } from "@webfw/core";
import type { TopicStore } from "@webfw/core/store";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ChildProgram, CORE } from "./support/child_program.ts";

const DURABLE = { durable: true } as const;

/** The data of the next messages, and the reasons of gaps. */
async function read<Data>(subscription: Subscription<Data>, count: number): Promise<unknown[]> {
  const found: unknown[] = [];
  while (found.length < count) {
    const { value } = await subscription.next();
    assert(value, "The subscription has ended");
    found.push("gap" in value ? value.gap.reason : value.data);
  }
  return found;
}

/** Registers a test with its own folder. */
function test(title: string, body: (folder: string) => Promise<void>): void {
  Deno.test(title, async () => {
    const folder = await Deno.makeTempDir({ prefix: "webfw_spec_" });
    try {
      await body(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

test("A durable topic is in a file: another process resumes where one has ended", async (folder) => {
  const topics = join(folder, "nested", "topics.sqlite");
  const one = new App({ topics });
  const orders = one.topic<{ n: number }>("orders", DURABLE);
  const first = await orders.publish({ n: 1 }, { id: "o-1", type: "made" });
  await orders.publish({ n: 2 });
  assertEquals(await orders.publish({ n: 1 }, { id: "o-1" }), { id: first.id, duplicate: true });
  await one.stop();

  const other = new App({ topics: pathToFileURL(topics) });
  const again = other.topic<{ n: number }>("orders", DURABLE);
  assertEquals(await again.publish({ n: 1 }, { id: "o-1" }), { id: first.id, duplicate: true });
  await using subscription = again.subscribe({ after: first.id });
  assertEquals(await read(subscription, 1), [{ n: 2 }]);
  await using all = again.subscribe({ from: "earliest" });
  const { value } = await all.next();
  assert(value && "data" in value);
  assertEquals([value.id, value.type, value.data], [first.id, "made", { n: 1 }]);
  await other.stop();
});

test("Processes that share a file see one order, and get the messages of the others", async (folder) => {
  const apps = [1, 2, 3].map(() => new App({ topics: join(folder, "topics.sqlite") }));
  const topics = apps.map((app) => app.topic<string>("news", DURABLE));
  const readers = topics.map((topic) => topic.subscribe());
  await Promise.all(readers.map((reader) => reader.cursor()));
  await Promise.all(topics.map(async (topic, node) => {
    for (let number = 0; number < 20; number++) await topic.publish(`${node} ${number}`);
  }));
  const [first, ...others] = await Promise.all(readers.map((reader) => read(reader, 60)));
  for (const seen of others) assertEquals(seen, first);
  for (const node of [0, 1, 2]) {
    const own = first!.filter((text) => String(text).startsWith(`${node} `));
    assertEquals(own, Array.from({ length: 20 }, (_, number) => `${node} ${number}`));
  }
  await Promise.all(apps.map((app) => app.stop()));
});

test("A topic that is not durable stays in memory, among durable ones", async (folder) => {
  const topics = join(folder, "topics.sqlite");
  const app = new App({ topics });
  const { id } = await app.topic("passing").publish(1);
  await app.stop();
  await assertRejects(() => Deno.stat(topics), Deno.errors.NotFound);
  assertEquals(await read(app.topic("passing").subscribe({ after: id }), 1), ["epoch"]);
  await app.stop();
});

test("After a stop, a durable topic continues where it was", async (folder) => {
  const app = new App({ topics: join(folder, "topics.sqlite") });
  const topic = app.topic<string>("news", DURABLE);
  const waiting = topic.subscribe().next();
  const { id } = await topic.publish("before");
  assert(!(await waiting).done);
  await app.stop();
  await topic.publish("after");
  assertEquals(await read(topic.subscribe({ after: id }), 1), ["after"]);
  await app.stop();
});

test("WEBFW_TOPICS names the file; the default is .webfw/topics.sqlite next to the program", async (folder) => {
  const program = `
    import { App } from "${CORE}";
    const app = new App();
    await app.topic("news", { durable: true }).publish("once", { id: "one" });
    await app.stop();
    console.log(new URL(".webfw/topics.sqlite", import.meta.url).pathname);
  `;
  const named = join(folder, "named.sqlite");
  await using there = await ChildProgram.start(program, { env: { WEBFW_TOPICS: named } });
  const { stdout: path, stderr } = await there.end();
  assertEquals(stderr, "");
  assert((await Deno.stat(named)).isFile);
  await assertRejects(() => Deno.stat(path.trim()), Deno.errors.NotFound);

  await using beside = await ChildProgram.start(program, { env: { WEBFW_TOPICS: "" } });
  const { code, stdout } = await beside.end();
  assertEquals(code, 0);
  assert((await Deno.stat(stdout.trim())).isFile);
  await Deno.remove(join(stdout.trim(), ".."), { recursive: true });
});

test("A path is relative to the folder in which the application was made, wherever it is used", async (folder) => {
  const program = `
    import { App } from "${CORE}";
    Deno.chdir(${JSON.stringify(folder)});
    await Deno.mkdir("elsewhere");
    const app = new App({ topics: "here/topics.sqlite" });
    Deno.chdir("elsewhere");
    await app.topic("news", { durable: true }).publish("once");
    await app.stop();
  `;
  await using child = await ChildProgram.start(program);
  const { code, stderr } = await child.end();
  assertEquals([code, stderr], [0, ""]);
  assert((await Deno.stat(join(folder, "here", "topics.sqlite"))).isFile);
});

test("If Deno has no KV client, a file works with npm's", async (folder) => {
  const topics = join(folder, "topics.sqlite");
  await using program = await ChildProgram.start(
    `
    delete Deno.openKv;
    import { App } from "${CORE}";
    const app = new App();
    const topic = app.topic("news", { durable: true });
    await using subscription = topic.subscribe();
    const { id } = await topic.publish("by npm");
    await topic.publish("second");
    console.log((await subscription.next()).value.data, (await topic.publish("by npm")).duplicate);
    await app.stop();
  `,
    { env: { WEBFW_TOPICS: topics } },
  );
  const { code, stdout, stderr } = await program.end();
  assertEquals([code, stdout, stderr], [0, "by npm false\n", ""]);
  const app = new App({ topics });
  const subscription = app.topic("news", DURABLE).subscribe({ from: "earliest" });
  assertEquals(await read(subscription, 3), ["by npm", "second", "by npm"]);
  await app.stop();
});

test("Without any KV client there is one error with its cures", async (folder) => {
  const topics = join(folder, "topics.sqlite");
  // Without the permission, the addon that npm's client has for files cannot be loaded.
  const options = { env: { WEBFW_TOPICS: topics }, permissions: ["-A", "--deny-ffi"] };
  await using program = await ChildProgram.start(
    `
    delete Deno.openKv;
    import { App } from "${CORE}";
    const app = new App();
    const topic = app.topic("news", { durable: true });
    await topic.head().catch((error) => console.log(error.message));
    await topic.publish(1).catch((error) => console.log(error.message));
    await app.stop();
  `,
    options,
  );
  const { stdout, stderr } = await program.end();
  const why = /(?<=cannot be loaded) \(.*Requires ffi access.*flag\)/g;
  const message =
    `Cannot open the store of topics "${topics}": this Deno has no KV client, and npm's cannot be loaded, ` +
    'start the program with "webfw run", give Deno the flag --unstable-kv, or put "unstable": ["kv"] into deno.json; ' +
    "for tests, set WEBFW_TOPICS=:memory:";
  assertEquals([stdout.replace(why, ""), stderr], [`${message}\n${message}\n`, ""]);
});

test("A location without a store is one error at once for all uses of the topic, and names the cure", async (folder) => {
  const text = join(folder, "notes.txt");
  await Deno.writeTextFile(text, "These are notes, and no database of any kind. ".repeat(10));
  const program = `
    import { App, SSE } from "${CORE}";
    const app = new App();
    const topic = app.topic("news", { durable: true });
    app.get("/news", async () => SSE(topic.subscribe()));
    const report = (name) => (error) => console.log(name, error.message);
    await topic.head().catch(report("head"));
    await topic.publish(1).catch(report("publish"));
    await topic.subscribe({ from: "earliest" }).next().catch(report("next"));
    await topic.subscribe().cursor().catch(report("cursor"));
    const reply = await app.fetch(new Request("http://localhost/news"));
    console.log("stream", reply.status, (await reply.json()).title);
    await app.stop();
    console.log("stopped");
  `;
  const table: { topics: string; permissions?: string[]; message: string }[] = [
    { topics: text, message: `Cannot open the store of topics "${text}": it is no database, name another file` },
    {
      topics: folder,
      message:
        `Cannot open the store of topics "${folder}": it cannot be read and written, name a file in a folder that can`,
    },
    {
      topics: join(folder, "a.sqlite"),
      permissions: ["--allow-env", "--allow-read"],
      message: `Cannot open the store of topics "${join(folder, "a.sqlite")}": permissions are missing, ` +
        `start Deno with --allow-write=${join(folder, "a.sqlite")}`,
    },
    {
      topics: "http://127.0.0.1:1/",
      permissions: ["--allow-env=WEBFW_TOPICS,WEBFW_LOG"],
      message: 'Cannot open the store of topics "http://127.0.0.1:1/": permissions are missing, ' +
        "start Deno with --allow-net=127.0.0.1:1 --allow-env=DENO_KV_ACCESS_TOKEN",
    },
    {
      topics: "http://127.0.0.1:1/",
      message: 'Cannot open the store of topics "http://127.0.0.1:1/": it has no token, ' +
        "set DENO_KV_ACCESS_TOKEN or give topics as { url, token }",
    },
    {
      topics: "http://me:secret@127.0.0.1:1/",
      message: "Cannot keep topics: their URL must have no user and no password, " +
        "give the token by DENO_KV_ACCESS_TOKEN or topics as { url, token }",
    },
    {
      topics: "ftp://host/topics",
      message: 'Cannot keep topics: their URL must be one of https, http, nats, tls, postgres or file, got "ftp:"',
    },
  ];
  for (const clients of ["", "delete Deno.openKv;"]) {
    for (const { topics, permissions = ["-A"], message } of table) {
      // The addon of npm's client does not check Deno's permissions.
      if (clients !== "" && permissions[0] !== "-A") continue;
      await using child = await ChildProgram.start(clients + program, {
        env: { WEBFW_TOPICS: topics },
        permissions: [...permissions, "--no-prompt"],
      });
      const { code, stdout, stderr } = await child.end();
      const told = ["head", "publish", "next", "cursor"].map((name) => `${name} ${message}`);
      assertEquals([code, stdout.trimEnd().split("\n")], [0, [...told, "stream 500 Internal Server Error", "stopped"]]);
      // The first request has started the application.
      const lines = stderr.trimEnd().split("\n");
      assertEquals(lines.length, 1, stderr);
      assertStringIncludes(lines[0]!, "The application failed to start");
    }
  }
});

Deno.test("topics can be your own store, and must name a location", async () => {
  const calls: string[] = [];
  const store = {
    capabilities: { maxMessageBytes: 100, maxBatchMessages: 1, maxBatchIds: 1, maxBatchBytes: 100 },
    append: async () => (calls.push("append"), { incarnation: "0".repeat(8), outcomes: [{ cursor: "1".repeat(22) }] }),
    close: async () => void calls.push("close"),
  } as unknown as TopicStore;
  const app = new App({ topics: store });
  const { id } = await app.topic("a", DURABLE).publish(1);
  assertEquals(id, `${"0".repeat(8)}-${"1".repeat(22)}`);
  await app.stop();
  assertEquals(calls, ["append", "close"]);
  const unusable = [
    "https://me:secret@host:99999/",
    "ws://me:secret@host",
    "http://me:secret@",
    "",
    "ftp://host/x",
    "http://",
  ];
  for (const topics of [...unusable, {}, null, { url: "nonsense" }, new URL("ws://host")]) {
    const { message } = assertThrows(() => new App({ topics: topics as string }), TypeError, "Cannot keep topics: ");
    assert(!message.includes("secret"), message);
  }
  new App({ topics: { url: "https://kv.example", token: "secret" } });
});

Deno.test("An address without a database is one error at once, and no outcome is unknown", async () => {
  const notFound = () => new Response(null, { status: 404 });
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, notFound);
  const url = `http://127.0.0.1:${server.addr.port}/shop`;
  const app = new App({ topics: { url, token: "a token of a test" } });
  const topic = app.topic("news", DURABLE);
  const message = `Cannot open the store of topics "${url}": there is no KV Connect at this address, ` +
    "give that of a denokv";
  for (const use of [() => topic.publish(1), () => topic.head(), () => topic.subscribe().next()]) {
    const error = await assertRejects(use, Error);
    assertEquals([error.name, error.message], ["CannotOpenError", message]);
  }
  await app.stop();
});

Deno.test("topics cannot be a URL with a user or a password, which would be sent instead of the token", () => {
  const cure = "their URL must have no user and no password, " +
    "give the token by DENO_KV_ACCESS_TOKEN or topics as { url, token }";
  const url = "https://me:secret@kv.example/";
  const places = [url, "http://:secret@kv.example", "http://secret@kv.example", new URL(url), { url, token: "token" }];
  for (const topics of places) {
    const { message } = assertThrows(() => new App({ topics }), TypeError);
    assertEquals(message, `Cannot keep topics: ${cure}`);
  }
});

test("A large message is a RangeError; the error of an aborted signal has the id to publish again", async (folder) => {
  const app = new App({ topics: join(folder, "topics.sqlite") });
  const topic = app.topic<string>("news", DURABLE);
  await topic.publish("x".repeat(60 * 1024 - 2));
  await assertRejects(() => topic.publish("x".repeat(60 * 1024 - 1)), RangeError, "61441 bytes");
  const controller = new AbortController();
  const publishing = topic.publish("perhaps", { signal: controller.signal });
  await Promise.resolve();
  await Promise.resolve();
  controller.abort();
  const error = await assertRejects(() => publishing, PublishOutcomeUnknownError);
  const { id } = await topic.publish("perhaps", { id: error.id });
  const second = await topic.publish("perhaps", { id: error.id });
  assertEquals(second, { id, duplicate: true });
  await app.stop();
});

test("A file that other processes keep busy is never an error", async (folder) => {
  const program = `
    import { App } from "${CORE}";
    const app = new App();
    const topic = app.topic("news", { durable: true });
    for (let number = 0; number < 100; number++) await topic.publish(number, { id: Deno.pid + " " + number });
    await app.stop();
  `;
  const topics = join(folder, "topics.sqlite");
  const programs = await Promise.all(
    [1, 2, 3].map(() => ChildProgram.start(program, { env: { WEBFW_TOPICS: topics } })),
  );
  const ends = await Promise.all(programs.map((program) => program.end()));
  assertEquals(ends.map(({ code, stderr }) => [code, stderr]), [[0, ""], [0, ""], [0, ""]]);
  const app = new App({ topics });
  const subscription = app.topic("news", DURABLE).subscribe({ from: "earliest" });
  const numbers = await read(subscription, 300) as number[];
  assertEquals(numbers.toSorted((a, b) => a - b), Array.from({ length: 300 }, (_, index) => Math.floor(index / 3)));
  await app.stop();
  for (const program of programs) await program[Symbol.asyncDispose]();
});

test("Ids of two durable topics are of two incarnations", async (folder) => {
  const app = new App({ topics: join(folder, "topics.sqlite") });
  const { id } = await app.topic("a", DURABLE).publish(1);
  await app.topic("b", DURABLE).publish(2);
  assertEquals(await read(app.topic("b", DURABLE).subscribe({ after: id }), 2), ["epoch", 2]);
  assertNotEquals(await app.topic("b", DURABLE).head(), id);
  await app.stop();
});
