// Section 12 of the contract: the ways to start a program, each in its own process.

import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { exchange } from "./support/raw_connection.ts";

const CLOSE = "Host: x\r\nConnection: close\r\n\r\n";
/**
 * How long it may take to download the runtime and to compile, on a machine with much other work.
 */
const COMPILE_PATIENCE_MS = 600_000;

/** An application, without the end of its file. */
const APP = `
import { App } from "${CORE}";
const app = new App<{ greeting: string }>({ title: "Books" });
app.lifespan(async function* () {
  yield { greeting: "hello" };
});
app.get("/hello/{name}", async (request, { name }) => ({ [request.state.greeting]: name, from: request.remoteAddress }));
app.get("/fails", async () => {
  throw new Error("first line\\nsecond line");
});
`;

/** A program that calls run() on a free port. */
const RUNS = `${APP}
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;

/** A program that exports its application. */
const EXPORTS = `${APP}
export default app;
`;

Deno.test("deno run: a program that calls app.run()", async () => {
  await using child = await ChildProgram.start(RUNS);
  const { body } = await exchange(await child.port(), `GET /hello/Ada HTTP/1.1\r\n${CLOSE}`);
  assertEquals(JSON.parse(body), { hello: "Ada", from: "127.0.0.1" });
});

Deno.test("deno serve: a program that has its app as the default export", async () => {
  const command = ["serve", "--host", "127.0.0.1", "--port", "0"];
  await using child = await ChildProgram.start(EXPORTS, { command, isQuiet: false });
  const port = await child.port();
  const { body } = await exchange(port, `GET /hello/Ada HTTP/1.1\r\n${CLOSE}`);
  assertEquals(JSON.parse(body), { hello: "Ada", from: "127.0.0.1" });
  assertEquals((await exchange(port, `GET /missing HTTP/1.1\r\n${CLOSE}`)).status, 404);
  assertEquals((await exchange(port, `HEAD /hello/Ada HTTP/1.1\r\n${CLOSE}`)).status, 200);
});

// "Never both in one file: `import.meta.main` is true under `deno serve`, too"
Deno.test({
  name: "deno serve: a program that calls app.run() ends at once, and its error names the cure",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const program = `${APP}
if (import.meta.main) await app.run({ port: 0 });
export default app;
`;
    for (const flags of [[], ["--parallel"]]) {
      const command = ["serve", "--host", "127.0.0.1", "--port", "0", ...flags];
      await using child = await ChildProgram.start(program, { command });
      const { code, stderr } = await child.end();
      assertEquals(code, 1, stderr);
      assertStringIncludes(stderr, `call run() in another file and start that one with "deno run"`);
    }
  },
});

for (
  const { flags, threads } of [
    { flags: [], threads: [""] },
    { flags: ["--parallel"], threads: ["\\[serve-worker-0 \\] ", "\\[serve-worker-1 \\] "] },
  ]
) {
  Deno.test({
    name: `${["deno serve", ...flags].join(" ")}: SIGTERM ends streams, unwinds lifespans, and ends the process`,
    ignore: Deno.build.os !== "linux",
    async fn() {
      const program = `${APP}
import { SSE } from "${CORE}";
app.get("/events", async () => SSE(app.topic("news").subscribe()));
app.lifespan(async function* () {
  console.log("wound up");
  yield {};
  console.log("unwound");
});
export default app;
`;
      const command = ["serve", "--host", "127.0.0.1", "--port", "0", ...flags];
      await using child = await ChildProgram.start(program, { command, env: { DENO_JOBS: "2" }, isQuiet: false });
      const port = await child.port();
      // A thread that does not listen yet would miss the signal.
      let areServing = false;
      const serving = Promise.all(threads.map((thread) => child.printed(`${thread}wound up`)))
        .then(() => areServing = true);
      while (!areServing) await exchange(port, `GET /hello/Ada HTTP/1.1\r\n${CLOSE}`);
      await serving;
      const events = await fetch(`http://127.0.0.1:${port}/events`);
      const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
      assertMatch((await reader.read()).value!, /^id: /);
      child.signal("SIGTERM");
      const { code, stdout, stderr } = await child.end();
      await reader.read().catch(() => {});
      reader.releaseLock();
      assertEquals(code, 0, stderr);
      for (const thread of threads) assertMatch(stdout, new RegExp(`^${thread}unwound$`, "m"));
      await assertRejects(() => Deno.connect({ hostname: "127.0.0.1", port }), Deno.errors.ConnectionRefused);
    },
  });
}

Deno.test({
  name: "deno serve: lifespans and consumers begin when it listens, and SIGTERM ends them, without permissions",
  ignore: Deno.build.os === "windows",
  async fn() {
    const program = `${APP}
import { SSE } from "${CORE}";
const news = app.topic("news");
app.get("/events", async () => SSE(news.subscribe()));
news.consume("mail", { from: "earliest" }, async () => console.log("mailed"));
app.lifespan(async function* () {
  yield {};
  console.log("unwound");
});
await news.publish("first");
export default app;
`;
    const command = ["serve", "--host", "127.0.0.1", "--port", "0"];
    await using child = await ChildProgram.start(program, { command, permissions: [] });
    const port = await child.port();
    await child.printed("mailed");
    const events = await fetch(`http://127.0.0.1:${port}/events`);
    child.signal("SIGTERM");
    const { code, stdout, stderr } = await child.end();
    await events.body?.cancel().catch(() => {});
    assertEquals([code, stdout], [0, "mailed\nunwound\n"], stderr);
  },
});

Deno.test({
  name: "deno serve: a start that never ends does not outlive SIGTERM, and its log is that of the application",
  ignore: Deno.build.os === "windows",
  async fn() {
    const program = `
import { App } from "${CORE}";
const app = new App({ log: ({ level, message }) => console.log(level, message) });
app.lifespan(async function* () {
  console.log("begun");
  await new Promise((resolve) => setTimeout(resolve, 1e6));
  yield {};
});
export default app;
`;
    const command = ["serve", "--host", "127.0.0.1", "--port", "0"];
    await using child = await ChildProgram.start(program, { command, permissions: [] });
    const port = await child.port();
    await child.printed("begun");
    child.signal("SIGTERM");
    const { code, stdout, stderr } = await child.end();
    const lines = [
      `info Listening on http://127.0.0.1:${port}`,
      "begun",
      "error The start did not end in the grace period",
    ];
    assertEquals([code, stdout], [1, lines.join("\n") + "\n"], stderr);
  },
});

Deno.test("an application may have an onListen of its own", () => {
  const onListen = () => {};
  assertEquals(Object.assign(new App(), { onListen }).onListen, onListen);
  class Own extends App {
    onListen = onListen;
  }
  assertEquals(new Own().onListen, onListen);
});

for (const format of ["text", "json"]) {
  Deno.test(`Log lines are one readable line or one JSON object, on stderr: ${format}`, async () => {
    await using child = await ChildProgram.start(RUNS, { env: { WEBFW_LOG: format } });
    const port = await child.port();
    const target = "/fails?x=%0A";
    assertEquals((await exchange(port, `GET ${target} HTTP/1.1\r\n${CLOSE}`)).status, 500);
    child.signal("SIGINT");
    const { stdout, stderr } = await child.end();
    assertEquals(stdout, `port ${port}\n`);
    const lines = stderr.trimEnd().split("\n");
    assertEquals(lines.length, 1, stderr);
    if (format === "json") {
      const { level, message, method, path, error, time } = JSON.parse(lines[0]!);
      assertEquals([level, method, path, typeof message], ["error", "GET", "/fails", "string"]);
      assertStringIncludes(error, "first line\nsecond line");
      assertMatch(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    } else {
      assertMatch(lines[0]!, /^\d{4}-\d\d-\d\dT[\d:.]+Z ERROR .*first line\\nsecond line/);
    }
  });
}

Deno.test("A program only needs the permission to listen", async () => {
  const command = ["run", "--allow-net=127.0.0.1"];
  await using child = await ChildProgram.start(RUNS, { command, permissions: [] });
  const { status } = await exchange(await child.port(), `GET /hello/Ada HTTP/1.1\r\n${CLOSE}`);
  assertEquals(status, 200);
});

Deno.test("A program that may not make code from text validates all the same", async () => {
  const program = `
import { App } from "${CORE}";
import * as v from "valibot";
const app = new App();
app.get("/{n}", { params: { n: v.number() } }, async (_request, { n }) => n + 1);
const Book = v.object({ title: v.string(), pages: v.optional(v.number(), 1) });
app.post("/", { query: { q: v.array(v.string()) }, body: Book, response: Book }, async (_request, { q, body }) => {
  return { ...body, title: body.title + q, secret: 1 };
});
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;
  const command = ["run", "--v8-flags=--disallow-code-generation-from-strings"];
  await using child = await ChildProgram.start(program, { command });
  const port = await child.port();
  assertEquals((await exchange(port, `GET /5 HTTP/1.1\r\n${CLOSE}`)).body, "6");
  assertEquals((await exchange(port, `GET /x HTTP/1.1\r\n${CLOSE}`)).status, 422);
  const post = (body: string) =>
    `POST /?q=a&q=b HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${CLOSE}${body}`;
  assertEquals((await exchange(port, post(`{"title":"x"}`))).body, `{"title":"xa,b","pages":1}`);
  assertEquals((await exchange(port, post(`{"title":1}`))).status, 422);
});

Deno.test("deno compile: a program as one executable", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const output = `${folder}/app`;
    const command = ["compile", "--no-check", "--output", output];
    await using compiler = await ChildProgram.start(RUNS, { command });
    const { code, stderr } = await compiler.end(COMPILE_PATIENCE_MS);
    if (code !== 0 && /denort|download|client error|connect/i.test(stderr)) {
      return console.log("left out: deno compile has to download its runtime, and cannot");
    }
    assertEquals(code, 0, stderr);
    // An argument of the program, which must not be taken for Deno's command.
    await using child = ChildProgram.run(output, ["serve"]);
    const { body } = await exchange(await child.port(), `GET /hello/Ada HTTP/1.1\r\n${CLOSE}`);
    assertEquals(JSON.parse(body), { hello: "Ada", from: "127.0.0.1" });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
