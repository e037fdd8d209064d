// Section 8 of the contract: an application whose durable topics cannot work says why at its start.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { App } from "@webfw/core";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CapturedLog } from "./support/captured_log.ts";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { SkippedTimeout } from "./support/skipped_timeout.ts";
import { until } from "../support/wait.ts";

const PROGRAM = `
  import { App } from "${CORE}";
  const app = new App({ readyUrl: "/ready" });
  app.get("/", async () => "served");
  const topic = app.topic("news", { durable: true });
  app.post("/", async () => (await topic.publish("once")).duplicate);
  await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;

/** The permissions of a program that serves. */
const SERVES = ["--no-prompt", "--allow-net=127.0.0.1:0"];
const DENIED = "permissions are missing, start Deno with ";

/** Registers a test with its own folder, and a server that answers as the test says. */
function test(title: string, body: (folder: string, serverOf: (answer: () => Response) => string) => Promise<void>) {
  Deno.test(title, async () => {
    const folder = await Deno.makeTempDir({ prefix: "webfw_spec_" });
    await using servers = new AsyncDisposableStack();
    try {
      await body(folder, (answer) => {
        const server = servers.use(Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, answer));
        return `http://127.0.0.1:${server.addr.port}/`;
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

/** The stderr of a program that has failed to start. */
async function failure(env: Record<string, string>, permissions: readonly string[], source = PROGRAM): Promise<string> {
  await using program = await ChildProgram.start(source, { env, permissions });
  const { code, stdout, stderr } = await program.end();
  assertEquals([code, stdout], [1, ""], stderr);
  return stderr.trimEnd();
}

test("All permissions that the store lacks are named at once, with the flags that grant them", async (folder) => {
  const path = join(folder, "topics.sqlite");
  const fresh = join(folder, "new folder", "topics.sqlite");
  const url = "http://127.0.0.1:1/";
  const named = "--allow-env=WEBFW_TOPICS";
  const table: [topics: string, permissions: string[], flags: string][] = [
    [path, [named], `--allow-read=${folder} --allow-write=${folder}`],
    [path, [named, `--allow-read=${folder}`], `--allow-write=${path}`],
    [fresh, [named, `--allow-read=${folder}`], `--allow-write="${dirname(fresh)}"`],
    [url, [named], "--allow-net=127.0.0.1:1 --allow-env=DENO_KV_ACCESS_TOKEN"],
    [url, ["--allow-env"], "--allow-net=127.0.0.1:1"],
    ["https://kv.example/", ["--allow-env"], "--allow-net=kv.example:443"],
    [url, [named, "--allow-net=127.0.0.1:1"], "--allow-env=DENO_KV_ACCESS_TOKEN"],
  ];
  for (const [topics, permissions, flags] of table) {
    const env = { WEBFW_TOPICS: topics, DENO_KV_ACCESS_TOKEN: "a token of a test" };
    const stderr = await failure(env, [...SERVES, ...permissions]);
    const message = `Cannot open the store of topics "${topics}": ${DENIED}${flags}`;
    assertEquals(stderr, `error: Uncaught (in promise) CannotOpenError: ${message}`);
  }
});

test("A variable that may not be read is not set, without an error or a prompt", async (folder) => {
  const env = { WEBFW_TOPICS: join(folder, "topics.sqlite") };
  // The command line also says so.
  const main = pathToFileURL(join(folder, "main.ts")).href;
  const source = `globalThis[Symbol.for("webfw.command")] = { main: "${main}" };${PROGRAM}`;
  const beside = join(folder, ".webfw");
  const stderr = await failure(env, SERVES, source);
  const flags = `--allow-read=${beside} --allow-write=${beside}`;
  const message = `Cannot open the store of topics "${join(beside, "topics.sqlite")}": ${DENIED}${flags}, ` +
    "and with --allow-env=WEBFW_TOPICS where that names another place";
  assertEquals(stderr, `error: Uncaught (in promise) CannotOpenError: ${message}`);

  const permissions = [...SERVES, `--allow-read=${folder}`, `--allow-write=${folder}`];
  await using program = await ChildProgram.start(source, { env, permissions });
  const port = await program.port();
  assertEquals(await (await fetch(`http://127.0.0.1:${port}/`)).text(), '"served"');
  program.signal("SIGTERM");
  const { code, stderr: said } = await program.end();
  assertEquals([code, said], [0, ""]);
  assert((await Deno.stat(join(beside, "topics.sqlite"))).isFile);
});

test("A location without a store ends the start with one message", async (folder, serverOf) => {
  const text = join(folder, "notes.txt");
  await Deno.writeTextFile(text, "These are notes, and no database of any kind. ".repeat(10));
  const refusing = serverOf(() => new Response(null, { status: 401 }));
  const empty = serverOf(() => new Response(null, { status: 404 }));
  const page = serverOf(() => new Response("<!doctype html>"));
  const token = { DENO_KV_ACCESS_TOKEN: "a token of a test" };
  const absent = "there is no KV Connect at this address, give that of a denokv";
  const table: [env: Record<string, string>, message: string][] = [
    [{ WEBFW_TOPICS: text }, `Cannot open the store of topics "${text}": it is no database, name another file`],
    [
      { WEBFW_TOPICS: "ftp://host/x" },
      'Cannot keep topics: their URL must be one of https, http, nats, tls, postgres or file, got "ftp:"',
    ],
    [
      { WEBFW_TOPICS: refusing, DENO_KV_ACCESS_TOKEN: "" },
      `Cannot open the store of topics "${refusing}": it has no token, set DENO_KV_ACCESS_TOKEN or give topics as { url, token }`,
    ],
    [
      { WEBFW_TOPICS: refusing, ...token },
      `Cannot open the store of topics "${refusing}": it refuses the token, give the one that it was started with`,
    ],
    [{ WEBFW_TOPICS: empty, ...token }, `Cannot open the store of topics "${empty}": ${absent}`],
    [{ WEBFW_TOPICS: page, ...token }, `Cannot open the store of topics "${page}": ${absent}`],
    [
      { WEBFW_TOPICS: page.replace("http:", "https:"), ...token },
      `Cannot open the store of topics "${
        page.replace("http:", "https:")
      }": the server does not speak TLS, give its address with http://`,
    ],
  ];
  for (const [env, message] of table) {
    assertEquals(await failure(env, ["-A"]), `error: Uncaught (in promise) CannotOpenError: ${message}`);
  }
});

test("A client that cannot be loaded ends the start, with its cures and the permissions that are missing, too", async (folder) => {
  const topics = join(folder, "topics.sqlite");
  const why = /, and npm's cannot be loaded \(.*Requires (?:ffi|sys) access.*flag\), /;
  const cures = "this Deno has no KV client, " +
    'start the program with "webfw run", give Deno the flag --unstable-kv, or put "unstable": ["kv"] into deno.json';
  const forTests = "; for tests, set WEBFW_TOPICS=:memory:";
  const source = `delete Deno.openKv;${PROGRAM}`;
  const line = (await failure({ WEBFW_TOPICS: topics }, ["-A", "--deny-ffi"], source)).replace(why, ", ");
  const message = `error: Uncaught (in promise) CannotOpenError: Cannot open the store of topics "${topics}": ${cures}`;
  assertEquals(line, `${message}${forTests}`);
  const more = (await failure({ WEBFW_TOPICS: topics }, [...SERVES, "--allow-env"], source)).replace(why, ", ");
  assertEquals(more, `${message}; then with --allow-read=${folder} --allow-write=${folder}${forTests}`);
});

test("An address where nothing answers for 10 s ends the start, and is named", async (_folder, serverOf) => {
  using _log = new CapturedLog();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const failing = serverOf(() => new Response(null, { status: 503 }));
  for (const url of [`http://127.0.0.1:${port}/`, failing, `nats://127.0.0.1:${port}`]) {
    const topics = url.startsWith("nats:") ? url : { url, token: "a token of a test" };
    const app = new App({ topics });
    app.topic("news", { durable: true });
    using _skipped = new SkippedTimeout(10_000);
    const { message } = await assertRejects(() => app.start(), Error);
    const name = url.replace("nats://", "");
    assertStringIncludes(message, `Cannot open the store of topics "${name}": nothing has answered there for 10 s (`);
    assertStringIncludes(message, "check the address, or start the store before");
    await app.stop();
  }
});

test("A stop does not wait for a start whose store does not answer", async (_folder, serverOf) => {
  using log = new CapturedLog();
  const failing = serverOf(() => new Response(null, { status: 503 }));
  const app = new App({ topics: { url: failing, token: "a token of a test" } });
  app.topic("news", { durable: true });
  const starting = assertRejects(() => app.start(), Error);
  await until("a retry is logged", () => log.text.includes("does not answer and is retried"));
  await app.stop();
  await starting;
});

test("The first request fails if the application has not started, and the log says why", async (folder) => {
  using log = new CapturedLog();
  const topics = join(folder, "notes.txt");
  await Deno.writeTextFile(topics, "These are notes, and no database of any kind. ".repeat(10));
  const app = new App({ topics });
  app.topic("news", { durable: true });
  app.get("/", async () => "served");
  const reply = await app.fetch(new Request("http://localhost/"));
  assertEquals([reply.status, (await reply.json()).title], [500, "Internal Server Error"]);
  assertStringIncludes(log.text, "The application failed to start");
  assertStringIncludes(log.text, "it is no database, name another file");
  await app.stop();
});

test("A topic that a lifespan declares is looked at, too, and the lifespans are ended", async (folder) => {
  const topics = join(folder, "notes.txt");
  await Deno.writeTextFile(topics, "These are notes, and no database of any kind. ".repeat(10));
  const app = new App({ topics });
  const steps: string[] = [];
  app.lifespan(async function* () {
    steps.push("begun");
    app.topic("news", { durable: true });
    yield;
    steps.push("ended");
  });
  await assertRejects(() => app.start(), Error, "it is no database");
  assertEquals(steps, ["begun", "ended"]);
  await app.stop();
});

test("The store exists after the application has started, and not before", async (folder) => {
  const topics = join(folder, "nested", "topics.sqlite");
  const app = new App({ topics });
  app.topic("news", { durable: true });
  await assertRejects(() => Deno.stat(topics), Deno.errors.NotFound);
  await app.start();
  assert((await Deno.stat(topics)).isFile);
  await app.stop();
});
