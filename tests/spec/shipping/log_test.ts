// The log: entries of requests, request.log, and the option `log` of an application.

import { App, type ConsumerContext, type LogEntry } from "@webfw/core";
import { apiKey } from "@webfw/core/auth";
import { requestId } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { freePorts } from "../../support/free_ports.ts";
import { CapturedLog } from "../support/captured_log.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";

function get(app: { fetch(request: Request): Promise<Response> }, path: string): Promise<Response> {
  return app.fetch(new Request(`http://localhost${path}`));
}

/** Gets a reply, and reads it to its end. */
async function drain(reply: Promise<Response>): Promise<string> {
  return await (await reply).text().catch(() => "broken");
}

/** An entry without what differs each time. */
function rest({ level, message, fields: { request_id: _id, error, ...fields } }: LogEntry): unknown[] {
  return [level, message, fields, ...(typeof error === "string" ? [error.split("\n")[0]] : [])];
}

Deno.test('request.log.info("…", { … }) writes an entry with request_id', async () => {
  using log = new CapturedLog();
  const app = new App();
  app.middleware(requestId());
  app.get("/", async (request) => {
    request.log.info("An order has come", { items: 2, from: "Ada Lovelace" });
    const { warn, error } = request.log;
    warn("It is late");
    error("It failed", { error: new Error("out of\nstock") });
  });
  const reply = await get(app, "/");
  const id = reply.headers.get("x-request-id");
  assertEquals(log.lines.length, 3);
  assertMatch(log.lines[0]!, / INFO An order has come items=2 from="Ada Lovelace" request_id=[\w-]{36}$/);
  assertMatch(log.lines[1]!, / WARN It is late request_id=/);
  assertMatch(log.lines[2]!, / ERROR It failed error="Error: out of\\nstock/);
  for (const line of log.lines) assert(line.includes(`request_id=${id}`));
});

Deno.test("app.log writes entries of the application, wherever it is called", async () => {
  using captured = new CapturedLog();
  const seen: unknown[] = [];
  const make = (name: string) => {
    const app = new App({ log: ({ level, message, fields }) => seen.push([name, level, message, fields]) });
    app.lifespan(async function* (app) {
      app.log.info("open");
      yield;
      app.log.warn("closed", { n: 1 });
    });
    return app;
  };
  const [one, other] = [make("one"), make("other")];
  // Of another application, in a request of this one.
  one.get("/", async () => other.log.error("here", { error: new TypeError("no") }));
  await one.start();
  await drain(get(one, "/"));
  await one.stop();
  const [error] = seen.splice(1, 1) as [[string, string, string, { error: string }]];
  assertEquals(seen, [["one", "info", "open", {}], ["one", "warn", "closed", { n: 1 }]]);
  assertEquals(error.slice(0, 3), ["other", "error", "here"]);
  assertStringIncludes(error[3].error, "TypeError: no");
  new App().log.info("plain", { n: 2 });
  assertEquals(captured.lines.length, 1);
  assertMatch(captured.lines[0]!, / INFO plain n=2$/);
});

Deno.test("A consumer has a log, whose entries say which message they are of", async () => {
  const entries: LogEntry[] = [];
  const { promise: hasRun, resolve } = Promise.withResolvers<void>();
  const app = new App({ log: (entry) => entries.push(entry) });
  const orders = app.topic<string>("orders");
  let last: ConsumerContext | undefined;
  orders.consume("mail", { retry: { attempts: 2, backoff: 1 } }, ({ data }, context) => {
    const { attempt, log } = last = context;
    log.info("Mail", { data, topic: "other" });
    if (attempt === 1) throw new Error("away");
    resolve();
  });
  await app.start();
  const { id } = await orders.publish("book");
  await hasRun;
  await app.stop();
  last!.log.info("Later");
  const fields = { topic: "orders", consumer: "mail", message_id: id };
  assertEquals(entries.map(rest), [
    ["info", "Mail", { ...fields, data: "book", attempt: 1 }],
    ["warn", "A consumer failed to handle a message and will retry", { ...fields, attempt: 1 }, "Error: away"],
    ["info", "Mail", { ...fields, data: "book", attempt: 2 }],
    ["info", "Later", { ...fields, attempt: 2 }],
  ]);
});

Deno.test("new App({ log }) takes all entries of the application, and stderr gets none", async () => {
  using captured = new CapturedLog();
  const entries: LogEntry[] = [];
  const app = new App({ log: (entry) => entries.push(entry) });
  app.lifespan(async function* () {
    yield;
    throw new Error("lifespan");
  });
  app.get("/", async (request) => {
    request.log.info("own", { a: 1 });
    request.after(() => Promise.reject(new Error("after")), { always: true });
    throw new Error("handler");
  });
  app.get("/stream", async function* () {
    yield { n: 1 };
    throw new Error("stream");
  });
  app.websocket("/socket", async (socket) => {
    for await (const _message of socket) throw new Error("socket");
  });
  {
    await using client = new TestClient(app);
    assertEquals((await client.get("/")).status, 500);
    await client.get("/stream").text().catch(() => {});
    await using socket = await client.websocket("/socket");
    socket.send("x");
    for await (const _message of socket) assert(false);
  }
  assertEquals(captured.lines, []);
  assertEquals(entries.map(rest), [
    ["info", "own", { a: 1 }],
    ["error", "A request failed", { method: "GET", path: "/", route: "/" }, "Error: handler"],
    ["error", "A task after the reply failed", {}, "Error: after"],
    ["error", "A streamed reply broke off", {}, "Error: stream"],
    ["error", "A WebSocket failed", { route: "WEBSOCKET /socket" }, "Error: socket"],
    ["error", "A lifespan failed to end", {}, "Error: lifespan"],
  ]);
  const ids = entries.map(({ fields }) => fields["request_id"]);
  assertEquals(ids[0], ids[1]);
  assertEquals(ids[0], ids[2]);
  assertEquals(new Set(ids).size, 4);
  assertEquals(ids[5], undefined);
  for (const { time } of entries) assert(time instanceof Date);
});

Deno.test("Entries belong to the instance: two applications of a process, and one inside the other", async () => {
  using captured = new CapturedLog();
  const seen: string[] = [];
  const make = (name: string, takes = true) => {
    const app = new App(takes ? { log: ({ fields }) => seen.push(`${name}: ${fields["from"]}`) } : {});
    app.get("/", async (request) => request.log.info("x", { from: name }));
    return app;
  };
  const [one, two, quiet] = [make("one"), make("two"), make("quiet", false)];
  one.mount("/two", two.fetch);
  one.mount("/quiet", quiet.fetch);
  await Promise.all([one, two, quiet].map((app) => drain(get(app, "/"))));
  assertEquals(seen.splice(0).sort(), ["one: one", "two: two"]);
  assertEquals(captured.lines.length, 1);
  assertStringIncludes(captured.text, "from=quiet");
  await drain(get(one, "/two/"));
  await drain(get(one, "/quiet/"));
  assertEquals(seen, ["two: two"]);
  assertEquals(captured.lines.length, 2);
  for (const app of [one, two, quiet]) await app.stop();
});

Deno.test("A log that throws or rejects breaks no request, and the entry goes to stderr", async () => {
  using captured = new CapturedLog();
  let turn = 0;
  const app = new App({
    log: (entry) => {
      if (turn++ === 0) throw new Error("thrown");
      return turn === 2 ? Promise.reject(new Error("rejected")) : entry;
    },
  });
  app.get("/{n}", async (request, { n }) => {
    request.log.info(`entry ${n}`);
    return n;
  });
  for (const n of ["1", "2", "3"]) assertEquals(await drain(get(app, `/${n}`)), JSON.stringify(n));
  assertEquals(captured.lines.map((line) => line.slice(25, 60).split(" request_id")[0]), [
    "INFO entry 1",
    "ERROR The log of the App failed err",
    "INFO entry 2",
    "ERROR The log of the App failed err",
  ]);
  await app.stop();
});

Deno.test("A log that logs itself does not call itself without end", async () => {
  using captured = new CapturedLog();
  const taken: string[] = [];
  const app: App = new App({
    log({ message }) {
      taken.push(message);
      void app.fetch(new Request("http://localhost/inner"));
    },
  });
  let inner = 0;
  app.get("/{name}", async (request, { name }) => {
    if (name === "inner" && ++inner > 1) return;
    request.log.info(name);
  });
  await drain(get(app, "/outer"));
  await app.stop();
  assertEquals(taken[0], "outer");
  assert(captured.lines.length <= 1);
});

Deno.test("What a log does after a wait is not given to it again", async () => {
  using captured = new CapturedLog();
  const taken: string[] = [];
  const again = Promise.withResolvers<void>();
  const app: App = new App({
    async log({ message }) {
      taken.push(message);
      await Promise.resolve();
      if (taken.length > 9) return again.resolve();
      later("later");
      await drain(get(app, "/inner"));
      again.resolve();
    },
  });
  let later = (_message: string): void => {};
  app.get("/{name}", async ({ log }, { name }) => {
    later = log.info;
    log.info(name);
  });
  await drain(get(app, "/outer"));
  await again.promise;
  assertEquals(taken, ["outer"]);
  assertEquals(captured.lines.map((line) => line.split(" ")[2]), ["later", "inner"]);
  // Another request's entries still come to it.
  await drain(get(app, "/next"));
  assertEquals(taken, ["outer", "next"]);
  await app.stop();
});

Deno.test("What a log starts belongs to its own application, not to the log", async () => {
  using captured = new CapturedLog();
  const seen: string[] = [];
  let started: Promise<void> | undefined;
  const app: App = new App({
    log({ message }) {
      seen.push(message);
      started ??= app.start();
    },
  });
  const orders = app.topic<string>("orders");
  const { promise: hasRun, resolve } = Promise.withResolvers<void>();
  orders.consume("mail", (_message, { log }) => {
    log.info("handled");
    resolve();
  });
  app.lifespan(async function* (app) {
    app.log.info("open");
    yield;
  });
  app.log.info("before");
  await started;
  await orders.publish("tea");
  await hasRun;
  await app.stop();
  assertEquals([seen, captured.lines], [["before", "open", "handled"], []]);
});

Deno.test("An error in place of the fields is the field `error`", async () => {
  const entries: LogEntry[] = [];
  const app = new App({ log: (entry) => entries.push(entry) });
  // The callback gets `any`, so this compiles.
  await Promise.reject(new TypeError("no such file")).catch((thrown) => app.log.error("Cannot load", thrown));
  assertEquals(entries.map(rest), [["error", "Cannot load", {}, "TypeError: no such file"]]);
});

Deno.test("A log that nobody takes any more breaks no request, and no start", async () => {
  for (const code of ["EPIPE", "ENOSPC"]) {
    const real = Deno.stderr.writeSync;
    Deno.stderr.writeSync = () => {
      throw new Error(code);
    };
    try {
      const app = new App();
      app.get("/", async ({ log }) => log.info("lost"));
      assertEquals((await get(app, "/")).status, 204);
      await app.stop();
    } finally {
      Deno.stderr.writeSync = real;
    }
  }
});

Deno.test("Whatever is logged, request.log does not throw, and an entry is JSON of a bounded size", async () => {
  const entries: LogEntry[] = [];
  const app = new App({ log: (entry) => entries.push(entry) });
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const hostile = {
    good: 1,
    get bad(): never {
      throw new Error("getter");
    },
  };
  const unwritable = Object.assign(() => {}, {
    toString(): never {
      throw new Error("toString");
    },
  });
  const trap = new Proxy({}, {
    ownKeys() {
      throw new Error("trap");
    },
  });
  app.get("/", async ({ log }) => {
    log.info("values", {
      text: "a",
      big: 12n,
      nothing: undefined,
      none: null,
      not: NaN,
      at: new Date(0),
      list: [1, { a: 2n, error: new Error("inner") }],
      sign: Symbol("s"),
      unwritable,
      cycle,
      long: "x".repeat(100_000),
      large: { text: "y".repeat(100_000) },
      wrong: new Date(NaN),
      hostile,
    });
    log.warn("getter", hostile);
    log.warn("proxy", trap);
    log.error("y".repeat(100_000));
    (log.info as (message: unknown) => void)({ a: 1 });
    (log.info as (message: unknown) => void)(undefined);
    (log.info as (message: unknown, fields: unknown) => void)("fields", "text");
  });
  assertEquals((await get(app, "/")).status, 204);
  const [{ fields: { list, cycle: round, hostile: bad, long, large, ...fields } }, ...others] = entries as [
    LogEntry,
    ...LogEntry[],
  ];
  const { request_id, ...plain } = fields;
  assertEquals(typeof request_id, "string");
  assertEquals(plain, {
    text: "a",
    big: "12",
    none: null,
    not: "NaN",
    at: "1970-01-01T00:00:00.000Z",
    sign: "Symbol(s)",
    unwritable: "a function",
    wrong: null,
  });
  const { good, bad: thrown } = others[0]!.fields;
  assertEquals(good, 1);
  assertMatch(String(thrown), /^Error: getter\n/);
  assertMatch(JSON.stringify(list), /^\[1,\{"a":"2","error":"Error: inner\\n/);
  assertStringIncludes(String(round), "[Circular");
  assertEquals(typeof bad, "string");
  for (const text of [long, large, others[2]!.message]) assert(String(text).length < 17_000);
  assertEquals(others.map(({ message }) => message.slice(0, 7)), [
    "getter",
    "proxy",
    "yyyyyyy",
    '{"a":1}',
    "undefin",
    "fields",
  ]);
  for (const entry of entries) assertEquals(JSON.parse(JSON.stringify(entry)).fields, entry.fields);
  await app.stop();
});

Deno.test("Entries have no secrets of queries, also for the function of an application", async () => {
  const entries: LogEntry[] = [];
  const app = new App({ log: (entry) => entries.push(entry) });
  const key = apiKey(async () => true, { in: "query", name: "secret_key" });
  app.get("/", { deps: { key } }, async (request) => {
    request.log.info(`at ${request.url}`, { url: request.url, nested: { url: `${request.url}` } });
    throw new Error(`at ${request.url}`);
  });
  await drain(get(app, "/?secret_key=s3cret"));
  assertEquals(entries.length, 2);
  assertEquals(JSON.stringify(entries).includes("s3cret"), false);
  assertEquals(JSON.stringify(entries).match(/secret_key=REDACTED/g)?.length, 4);
  await app.stop();
});

Deno.test("No field, and no name of one, can pass for another or for an entry", async () => {
  using captured = new CapturedLog();
  const app = new App();
  app.get("/", async (request) => {
    request.log.info("text", {
      "a b=1 level": 1,
      time: "never",
      "line\nbreak": "\u202e\u001b[2J",
      request_id: "forged",
    });
  });
  await drain(get(app, "/"));
  await app.stop();
  assertMatch(
    captured.text,
    /^\S+ INFO text "a b=1 level"=1 time=never "line\\nbreak"="\\u202e\\u001b\[2J" request_id=[\w-]{36}\n$/,
  );
});

Deno.test("The option log must be a function", () => {
  const error = assertThrows(() => new App({ log: {} as () => void }), TypeError);
  assertEquals(error.message, 'Cannot make the App: "log" must be a function, got object; write (entry) => …');
});

/** A server that logs its requests, and prints the entries if it takes them. */
function serverWith(options: string): string {
  return `import { App } from "${CORE}";
const app = new App(${options});
app.get("/", async (request) => request.id);
app.get("/broken", async () => { throw new TypeError("broken", { cause: new RangeError("deep") }); });
await app.run({ port: 0, accessLog: true, onListen: ({ port }) => console.log("port " + port) });`;
}

Deno.test("Access lines and errors of a server carry request_id; in production an entry is one line", async () => {
  await using child = await ChildProgram.start(serverWith("{}"), { env: { WEBFW_LOG: "json" } });
  const origin = `http://localhost:${await child.port()}`;
  const id = await (await fetch(`${origin}/`)).json();
  await (await fetch(`${origin}/broken?x=1`)).body?.cancel();
  child.signal("SIGTERM");
  const { stderr } = await child.end();
  const [ok, failed, line, ...others] = stderr.trimEnd().split("\n").map((text) => JSON.parse(text));
  assertEquals([ok.message, ok.level, ok.request_id], ["GET / 200", "info", id]);
  assertEquals([failed.message, failed.path, failed.route], ["A request failed", "/broken", "/broken"]);
  assertMatch(failed.error, /^TypeError: broken\n[^]*\[cause\]: RangeError: deep\n/);
  assertEquals([line.message, line.request_id], ["GET /broken?x=1 500", failed.request_id]);
  assert(failed.request_id !== id);
  assertEquals(others, []);
});

Deno.test("new App({ log }) takes the access lines and the entries of its server", async () => {
  const log =
    `{ log: ({ message, fields }) => console.log(message.replace(/\\d{4,}/, "N"), typeof fields.request_id) }`;
  const source = serverWith(log).replace(/, onListen: .*\}\)/, " })").replace(
    "port: 0",
    "port: Number(Deno.env.get('P'))",
  );
  const [port] = freePorts(1);
  await using child = await ChildProgram.start(source, { env: { P: String(port) } });
  await child.printed("Listening on http://127.0.0.1:N undefined");
  await (await fetch(`http://127.0.0.1:${port}/`)).body?.cancel();
  await child.printed("GET / 200 string");
  child.signal("SIGTERM");
  assertEquals((await child.end()).stderr, "");
});

Deno.test("The entries of topics, consumers and crons go to the application's log, too", async () => {
  using captured = new CapturedLog();
  const entries: LogEntry[] = [];
  const given = Promise.withResolvers<void>();
  const app = new App({
    log(entry) {
      entries.push(entry);
      if (entry.message === "A message was given up") given.resolve();
    },
  });
  const topic = app.topic<string>("mail");
  topic.consume("send", { retry: { attempts: 1 } }, async () => {
    throw new Error("refused");
  });
  app.cron("report", "0 0 1 1 *", async () => {});
  await app.start();
  await topic.publish("one");
  await given.promise;
  await app.stop();
  assertEquals(captured.lines, []);
  assert(entries.every(({ fields }) => fields["topic"] === "mail" && fields["request_id"] === undefined));
});
