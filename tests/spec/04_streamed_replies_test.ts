// Sections 4 and 13 of the contract: "SSE(...), an async iterable, a ReadableStream and Blob
// stream"; "bytes are sent raw (application/octet-stream), any other value as one line of JSON
// (application/jsonl)"; "all stopped when the client goes".

import { assert, assertEquals, assertFalse, assertRejects, assertStringIncludes } from "@std/assert";
import { App, dependency } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { CapturedLog } from "./support/captured_log.ts";
import { exchange, headerOf, RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { SkippedTimeout } from "./support/skipped_timeout.ts";
import { ticks } from "./support/ticks.ts";

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/** How long a reply waits for its first value. */
const PATIENCE = 5_000;

/** An iterable that yields a value only when the test says so. */
class Tap<Value> implements AsyncIterableIterator<Value> {
  readonly closed: Promise<void>;
  readonly #close: () => void;
  #next = Promise.withResolvers<IteratorResult<Value>>();

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#close = resolve;
  }

  give(value: Value): void {
    this.#next.resolve({ done: false, value });
  }

  fail(error: Error): void {
    this.#next.reject(error);
  }

  async next(): Promise<IteratorResult<Value>> {
    const { promise } = this.#next;
    const result = await promise;
    this.#next = Promise.withResolvers();
    return result;
  }

  return(): Promise<IteratorResult<Value>> {
    this.#close();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function giving(source: () => AsyncIterable<unknown>): App {
  const app = new App();
  app.get("/", async () => source());
  return app;
}

Deno.test("An iterable that gives nothing yet is let go when its client leaves", async () => {
  using _skipped = new SkippedTimeout(PATIENCE);
  const tap = new Tap();
  await using serving = await Serving.start(giving(() => tap));
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  assertStringIncludes(await connection.until("\r\n\r\n"), "content-type: application/jsonl");
  connection.close();
  await tap.closed;
});

Deno.test("A subscription to a quiet topic is closed when its client leaves", async () => {
  using _skipped = new SkippedTimeout(PATIENCE);
  const app = new App();
  const quiet = app.topic("quiet");
  const subscription = quiet.subscribe();
  app.get("/", async () => subscription);
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await connection.until("\r\n\r\n");
  connection.close();
  // Its pending read ends, and a closed subscription has nothing more to give.
  for (;;) {
    const result = await subscription.next().catch(() => undefined);
    if (result?.done) break;
    await ticks(1);
  }
});

Deno.test("A stop ends an iterable without a first value at once, with a 503", async () => {
  const [tap, arrived] = [new Tap(), Promise.withResolvers<void>()];
  const serving = await Serving.start(giving(() => {
    arrived.resolve();
    return tap;
  }));
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await arrived.promise;
  await ticks(2);
  using log = new CapturedLog();
  serving.tellToStop();
  assertEquals((await connection.reply()).status, 503);
  await tap.closed;
  await serving.stopped;
  assertEquals(log.text, "");
});

Deno.test("A stop breaks a streamed reply off: no client takes it for complete", async () => {
  const sources = {
    "/lines": async function* () {
      yield 1;
      await new Promise(() => {});
    },
    "/bytes": () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([65])) }),
  };
  for (const [path, make] of Object.entries(sources)) {
    const app = new App();
    app.get(path, async () => make());
    const serving = await Serving.start(app);
    using connection = await RawConnection.open(serving.port);
    await connection.write(GET.replace("/ ", `${path} `));
    await connection.until(path === "/lines" ? "\n1\n" : "\nA");
    using log = new CapturedLog();
    await serving.stop();
    assertFalse((await connection.rest()).endsWith("0\r\n\r\n"), path);
    assertEquals(log.text, "", path);
  }
});

Deno.test("Values after a reply that began in silence are sent, and an error then breaks it off", async () => {
  using _skipped = new SkippedTimeout(PATIENCE);
  const [given, failing] = [new Tap(), new Tap()];
  const response = await giving(() => given).fetch(new Request("http://localhost/"));
  const reader = response.body!.getReader();
  given.give({ a: 1 });
  assertEquals(new TextDecoder().decode((await reader.read()).value), '{"a":1}\n');
  await reader.cancel();
  await given.closed;

  using log = new CapturedLog();
  await using serving = await Serving.start(giving(() => failing));
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  assertStringIncludes(await connection.until("\r\n\r\n"), "200 OK");
  failing.fail(new Error("too late"));
  assertEquals(await connection.rest(), "");
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "too late");
});

Deno.test("Bytes after a reply that began in silence are sent unchanged, and the log says what to do", async () => {
  using _skipped = new SkippedTimeout(PATIENCE);
  for (
    const [accept, type, warnings] of [["*/*", "application/jsonl", 1], [
      "application/octet-stream, */*;q=0.1",
      "application/octet-stream",
      0,
    ]] as const
  ) {
    const tap = new Tap();
    using log = new CapturedLog();
    const response = await giving(() => tap).fetch(new Request("http://localhost/", { headers: { accept } }));
    assertEquals(response.headers.get("content-type"), type);
    tap.give(new Uint8Array([0xff, 0x00]));
    const reader = response.body!.getReader();
    assertEquals((await reader.read()).value, new Uint8Array([0xff, 0x00]));
    await reader.cancel();
    assertEquals(log.lines.length, warnings);
    assertEquals(log.text.includes("yield an empty Uint8Array at once"), warnings === 1);
  }
});

Deno.test("An empty array of bytes announces bytes, and empty ones in between send nothing", async () => {
  await using serving = await Serving.start(giving(async function* () {
    yield new Uint8Array();
    yield new Uint8Array([65]);
    yield new Uint8Array();
    yield new Uint8Array([66]);
  }));
  const reply = await exchange(serving.port, GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
  assertEquals([headerOf(reply, "content-type"), reply.body], ["application/octet-stream", "AB"]);
});

Deno.test("Lines of JSON have the name that the client prefers, the first unless it says", async () => {
  const app = giving(async function* () {
    yield 1;
  });
  const table: [accept: string | undefined, type: string][] = [
    [undefined, "application/jsonl"],
    ["*/*", "application/jsonl"],
    ["application/*", "application/jsonl"],
    ["application/jsonl", "application/jsonl"],
    ["application/x-ndjson", "application/x-ndjson"],
    ["application/x-ndjson, application/jsonl;q=0.9", "application/x-ndjson"],
    ["application/x-ndjson;q=0.1, application/jsonl", "application/jsonl"],
    ["text/html", "application/jsonl"],
    ["application/octet-stream", "application/jsonl"],
    ["application/json", "application/jsonl"],
    ["garbage;;;,,", "application/jsonl"],
  ];
  for (const [accept, type] of table) {
    const headers: HeadersInit = accept === undefined ? {} : { accept };
    const response = await app.fetch(new Request("http://localhost/", { headers }));
    assertEquals([response.headers.get("content-type"), response.headers.get("vary")], [type, "accept"], accept);
    assertEquals(await response.text(), "1\n");
  }
});

Deno.test("A reply that fails midway does not end as a whole one does", async () => {
  const sources: Record<string, () => unknown> = {
    "a generator": async function* () {
      yield 1;
      throw new Error("midway");
    },
    "a value without a JSON form": async function* () {
      yield 1;
      yield () => "midway";
    },
    "text among bytes": async function* () {
      yield new Uint8Array([65]);
      yield "midway";
    },
    "a ReadableStream": () =>
      new ReadableStream({
        pull(controller) {
          controller.enqueue(new Uint8Array([65]));
          controller.error(new Error("midway"));
        },
      }),
    "a ReadableStream of text": () => ReadableStream.from(["midway"]),
  };
  for (const [name, make] of Object.entries(sources)) {
    const app = new App();
    app.get("/", async () => make());
    await using serving = await Serving.start(app);
    using connection = await RawConnection.open(serving.port);
    using log = new CapturedLog();
    await connection.write(GET);
    assertFalse((await connection.rest()).endsWith("0\r\n\r\n"), name);
    assertEquals(log.lines.length, 1, name);
    assertStringIncludes(log.text, "A streamed reply broke off");
    await assertRejects(async () => await (await fetch(serving.origin)).text(), name);
  }
});

Deno.test("A ReadableStream that gives nothing yet is cancelled when its client leaves", async () => {
  const cancelled = Promise.withResolvers<void>();
  const app = new App();
  app.get(
    "/",
    async () => new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => cancelled.resolve() }),
  );
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await connection.until("\r\n\r\n");
  connection.close();
  await cancelled.promise;
});

Deno.test("A stream that is being read already is a server error", async () => {
  const app = new App();
  app.get("/", async () => {
    const stream = new ReadableStream();
    stream.getReader();
    return stream;
  });
  using log = new CapturedLog();
  assertEquals((await new TestClient(app).get("/")).status, 500);
  assertEquals(log.lines.length, 1);
});

/** A stream whose source, dependency and task record when they end. */
function telling(order: string[], end: () => void): App {
  const app = new App();
  const db = dependency(async function* () {
    yield "db";
    order.push("dependency");
    end();
  });
  app.get("/", { deps: { db } }, async function* (request) {
    request.after(() => order.push("after"));
    try {
      for (;;) yield new Uint8Array(1_000);
    } finally {
      await ticks(2);
      order.push("source");
    }
  });
  return app;
}

Deno.test("When the client disconnects, the source ends before the dependencies that it used are cleaned up", async () => {
  const [order, ended] = [[] as string[], Promise.withResolvers<void>()];
  await using serving = await Serving.start(telling(order, ended.resolve));
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await connection.until("\r\n\r\n");
  connection.close();
  await ended.promise;
  assertEquals(order.toSorted(), ["after", "dependency", "source"]);
  assert(order.indexOf("source") < order.indexOf("dependency"), order.join());
});

Deno.test("A source ends also where a middleware sends another reply", async () => {
  const [order, ended] = [[] as string[], Promise.withResolvers<void>()];
  const app = telling(order, ended.resolve);
  app.middleware(async (request, next) => {
    await next(request);
    return new Response("another");
  });
  await using serving = await Serving.start(app);
  assertEquals(await (await fetch(serving.origin)).text(), "another");
  await ended.promise;
  assertEquals(order, ["after", "source", "dependency"]);
});

Deno.test("A source that hangs does not delay the cleanup", async () => {
  const cleaned = Promise.withResolvers<void>();
  const app = new App();
  const db = dependency(async function* () {
    yield "db";
    cleaned.resolve();
  });
  app.get("/", { deps: { db } }, async function* () {
    yield 1;
    await new Promise(() => {});
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await connection.until("1\n");
  connection.close();
  await cleaned.promise;
});

Deno.test("A source that fails to end is logged, and cleanup continues", async () => {
  const cleaned = Promise.withResolvers<void>();
  const app = new App();
  const db = dependency(async function* () {
    yield "db";
    cleaned.resolve();
  });
  app.get("/", { deps: { db } }, async () => ({
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: false, value: 1 }),
      return: () => {
        throw new Error("no end");
      },
    }),
  }));
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await connection.until("1\n");
  connection.close();
  await cleaned.promise;
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "no end");
});
