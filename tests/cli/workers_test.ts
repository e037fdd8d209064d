// Only Linux lets several workers share a port.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { frameworkImports } from "./framework.ts";
import { until } from "../support/wait.ts";
import { Project } from "./project.ts";
import { isGone, Webfw } from "./webfw.ts";

const ignore = Deno.build.os !== "linux";

const MAIN = `import { App, SSE } from "@webfw/core";
const worker = crypto.randomUUID();
export const app = new App();
app.lifespan(async function* () {
  yield;
  await app.topic("news").publish("the end").catch(() => {});
  console.log("lifespan ended");
});
app.get("/worker", async () => worker);
app.get("/limited", { rateLimit: { limit: 20, per: "1h" } }, async () => worker);
app.get("/news", async (request) => {
  request.after(() => console.log("stream ended"));
  return SSE(request.app.topic("news").subscribe());
});
app.post("/news", async (request) => {
  await request.app.topic("news").publish(await request.text());
  return worker;
});
app.post("/crash", async () => void setTimeout(() => { throw new Error("crashed"); }));
`;

function project(): Promise<Project> {
  return frameworkImports().then((imports) => Project.create({ "deno.json": { imports }, "main.ts": MAIN }));
}

/** Sends a request on a new connection: the system distributes connections, not requests. */
async function send(url: string, init: RequestInit = {}): Promise<string> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(url, { ...init, client });
  return await response.text();
}

/** An event stream on a new connection. */
class EventReader implements AsyncDisposable {
  readonly #client: Deno.HttpClient;
  readonly #reader: ReadableStreamDefaultReader<string>;
  text = "";

  private constructor(client: Deno.HttpClient, reader: ReadableStreamDefaultReader<string>) {
    this.#client = client;
    this.#reader = reader;
  }

  static async open(url: string): Promise<EventReader> {
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const response = await fetch(url, { client });
    return new EventReader(client, response.body!.pipeThrough(new TextDecoderStream()).getReader());
  }

  /** Reads until a text has come. */
  async until(text: string): Promise<void> {
    while (!this.text.includes(text)) {
      const { done, value } = await this.#reader.read();
      if (done) throw new Error(`The stream ended after: ${this.text}`);
      this.text += value;
    }
  }

  /** Reads to the end. */
  async end(): Promise<void> {
    for (let part = await this.#reader.read(); !part.done; part = await this.#reader.read()) this.text += part.value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel();
    this.#client.close();
  }
}

Deno.test(
  "webfw run --workers serves with several threads at one port, and stops all of them",
  { ignore },
  async () => {
    await using folder = await project();
    await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--workers", "3"], { cwd: folder.path });
    const origin = await webfw.origin();
    const seen = new Set<string>();
    await until("all workers have answered", async () => seen.add(await send(`${origin}/worker`)).size === 3);
    webfw.signal("SIGTERM");
    assertEquals(await webfw.end(), 0);
    await isGone(webfw.pid);
    assertEquals(webfw.stdout.text.split("\n"), Array(3).fill("lifespan ended"));
    assertEquals(webfw.stderr.text.match(/Listening on/g)?.length, 1);
  },
);

Deno.test("Topics in memory reach all workers, in one order", { ignore }, async () => {
  await using folder = await project();
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--workers", "2"], { cwd: folder.path });
  const origin = await webfw.origin();
  const readers = await Promise.all(Array.from({ length: 12 }, () => EventReader.open(`${origin}/news`)));
  const publishers = new Set<string>();
  let count = 0;
  await until("both workers have published", async () => {
    publishers.add(await send(`${origin}/news`, { method: "POST", body: `message ${count++}` }));
    return publishers.size === 2;
  });
  await Promise.all(readers.map((reader) => reader.until(`message ${count - 1}`)));
  const messages = readers.map(({ text }) => text.match(/message \d+/g)?.join());
  assertEquals(new Set(messages), new Set([Array.from({ length: count }, (_, index) => `message ${index}`).join()]));
  webfw.signal("SIGINT");
  await Promise.all(readers.map((reader) => reader.end()));
  assertEquals(await webfw.end(), 0);
  for (const reader of readers) await reader[Symbol.asyncDispose]();
  const lines = webfw.stdout.text.split("\n");
  assertEquals(lines.filter((line) => line === "stream ended").length, readers.length);
  assertEquals(lines.filter((line) => line === "lifespan ended").length, 2);
});

Deno.test("An uncaught error in a worker ends the program with exit code 1", { ignore }, async () => {
  await using folder = await project();
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--workers", "2"], { cwd: folder.path });
  const origin = await webfw.origin();
  await send(`${origin}/crash`, { method: "POST" }).catch(() => {});
  assertEquals(await webfw.end(), 1);
  assertStringIncludes(webfw.stderr.text, "crashed");
});

Deno.test("Without the permission that workers need, no thread serves", { ignore }, async () => {
  await using folder = await project();
  const run = ["run", "--allow-net=127.0.0.1", "--allow-env", "main.ts", "--port", "0", "--workers", "2"];
  await using webfw = await Webfw.start(run, { cwd: folder.path });
  assertEquals(await webfw.end(), 1);
  assertMatch(webfw.stderr.text, /^error: Cannot load "main.ts": Requires read access to .*--allow-read/m);
  assert(!webfw.stderr.text.includes("Listening on"));
});

Deno.test(
  "A worker that calls Deno.exit() while it is loaded ends the program with that code",
  { ignore },
  async () => {
    await using folder = await Project.create({
      "main.ts": `if ("WorkerGlobalScope" in globalThis) Deno.exit(3);
      export default { fetch: () => Promise.resolve(new Response("")) };`,
    });
    await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--workers", "2"], { cwd: folder.path });
    assertEquals(await webfw.end(), 3);
  },
);

Deno.test("An application that is not webfw's has several workers too", { ignore }, async () => {
  await using folder = await Project.create({
    "main.ts": `const worker = crypto.randomUUID();
      export default { fetch: () => Promise.resolve(new Response(worker)) };`,
  });
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--workers", "2"], { cwd: folder.path });
  const origin = await webfw.origin();
  const seen = new Set<string>();
  await until("both workers have answered", async () => seen.add(await send(origin)).size === 2);
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 0);
});

Deno.test("A number of workers that cannot be is a mistake of usage, as is more than one in a watcher", async () => {
  for (const args of [["--workers", "0"], ["--workers", "two"], ["--workers", "2", "--reload"]]) {
    const { code, stderr } = await Webfw.finish(["run", "main.ts", ...args], { cwd: Deno.cwd() });
    assertEquals(code, 2);
    assert(stderr.startsWith("error: Cannot use"), stderr);
  }
});

Deno.test("workers count the requests of a client together", { ignore }, async () => {
  await using folder = await project();
  await using webfw = await Webfw.start(["run", "main.ts", "--port", "0", "--workers", "3"], { cwd: folder.path });
  const origin = await webfw.origin();
  const seen = new Set<string>();
  await until("all workers have answered", async () => seen.add(await send(`${origin}/worker`)).size === 3);
  const replies: string[] = [];
  // The system chooses a worker for each connection: in turn, so that not one takes all at once.
  while (replies.length < 15) replies.push(await send(`${origin}/limited`));
  replies.push(...await Promise.all(Array.from({ length: 45 }, () => send(`${origin}/limited`))));
  const passed = replies.filter((reply) => seen.has(reply));
  assertEquals(passed.length, 20);
  assert(new Set(passed).size > 1, "only one worker has let requests through");
  webfw.signal("SIGTERM");
  assertEquals(await webfw.end(), 0);
  await isGone(webfw.pid);
});
