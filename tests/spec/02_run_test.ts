// Section 2 of the contract: run() serves on a socket, and stops in good order.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { App, dependency, type RunOptions } from "@webfw/core";
import * as v from "valibot";
import { makeCertificate } from "../support/certificate.ts";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { CapturedLog } from "./support/captured_log.ts";
import { exchange, RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";
import { ticks } from "./support/ticks.ts";
import { until } from "../support/wait.ts";

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

function noting(notes: string[]): App {
  const app = new App();
  for (const name of ["a", "b"]) {
    app.lifespan(async function* () {
      notes.push(`${name} starts`);
      yield;
      notes.push(`${name} ends`);
    });
  }
  return app;
}

/** Waits until nothing listens on a port any more. */
async function refused(port: number): Promise<void> {
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      await ticks(1);
    } catch (error) {
      if (error instanceof Deno.errors.ConnectionRefused) return;
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
    }
  }
}

Deno.test("run() listens on 127.0.0.1 and passes the hostname and port to onListen", async () => {
  const app = new App();
  app.get("/", async () => "served");
  const addresses: unknown[] = [];
  await using serving = await Serving.start(app, { onListen: (address) => addresses.push(address) });
  assertEquals(addresses, [{ hostname: "127.0.0.1", port: serving.port }]);
  assertEquals(await (await fetch(serving.origin)).json(), "served");
});

Deno.test("The default port is 8000, the default hostname 127.0.0.1", async () => {
  const { serve } = Deno;
  const given: Deno.ServeTcpOptions[] = [];
  // The port itself may be taken on the machine that runs this.
  Deno.serve = ((options: Deno.ServeTcpOptions) => {
    given.push(options);
    return { finished: Promise.resolve(), shutdown: async () => {} };
  }) as unknown as typeof Deno.serve;
  try {
    await new App().run({ signal: AbortSignal.abort() });
  } finally {
    Deno.serve = serve;
  }
  for (const { port, hostname } of given) assertEquals([port, hostname], [8000, "127.0.0.1"]);
  assertEquals(given.length, 1);
});

Deno.test("Without onListen, it prints its address to stderr", async () => {
  const app = new App();
  const stop = new AbortController();
  using log = new CapturedLog();
  app.lifespan(async function* () {
    yield;
  });
  const stopped = app.run({ port: 0, signal: stop.signal });
  await until("the address is logged", () => log.lines.length > 0);
  stop.abort();
  await stopped;
  assertEquals(log.lines.length, 1);
  assert(/http:\/\/127\.0\.0\.1:[1-9]\d*/.test(log.text), log.text);
});

Deno.test("run() starts the lifespans before it listens, and unwinds them in reverse after it has stopped", async () => {
  const notes: string[] = [];
  const app = noting(notes);
  app.get("/", async () => notes.push("request"));
  const serving = await Serving.start(app, { onListen: () => notes.push("listens") });
  await (await fetch(serving.origin)).body?.cancel();
  await serving.stop();
  assertEquals(notes, ["a starts", "b starts", "listens", "request", "b ends", "a ends"]);
});

Deno.test("A signal that is aborted already stops it at once, with the lifespans unwound", async () => {
  const notes: string[] = [];
  await noting(notes).run({ port: 0, signal: AbortSignal.abort(), onListen: () => {} });
  assertEquals(notes, ["a starts", "b starts", "b ends", "a ends"]);
});

Deno.test("A port in use rejects with AddrInUse, and the lifespans unwind", async () => {
  const notes: string[] = [];
  await using serving = await Serving.start(new App());
  const second = noting(notes).run({ port: serving.port, onListen: () => notes.push("listens") });
  await assertRejects(() => second, Deno.errors.AddrInUse);
  assertEquals(notes, ["a starts", "b starts", "b ends", "a ends"]);
});

Deno.test("A port in use is an error of one line that names it, without calls of the framework", async () => {
  await using serving = await Serving.start(new App());
  const error = await assertRejects(() => new App().run({ port: serving.port, onListen: () => {} }), Error);
  const message =
    `Cannot listen on 127.0.0.1:${serving.port}: the port is taken, stop the program that has it, or choose another one by the option port or the variable PORT`;
  assertEquals([error.message, error.stack], [message, `AddrInUse: ${message}`]);
  await using child = await ChildProgram.start(`
    import { App } from "${CORE}";
    await new App().run({ port: ${serving.port} });
  `);
  const { code, stderr } = await child.end();
  assertEquals([code, stderr], [1, `error: Uncaught (in promise) AddrInUse: ${message}\n`]);
});

Deno.test({
  name: "A Unix socket in use is told by its path",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await TemporaryFolder.make();
    const path = folder.within("socket");
    using _listener = Deno.listen({ transport: "unix", path });
    const message = `Cannot listen on ${path}: the path is taken`;
    await assertRejects(() => new App().run({ path }), Deno.errors.AddrInUse, message);
  },
});

Deno.test("When it stops it accepts no more connections, and waits for requests in flight", async () => {
  const notes: string[] = [];
  const [arrived, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const app = noting(notes);
  app.get("/", async () => {
    arrived.resolve();
    await gate.promise;
    notes.push("handled");
    return "late";
  });
  const serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await arrived.promise;
  serving.tellToStop();
  await refused(serving.port);
  gate.resolve();
  assertEquals((await connection.reply()).body, '"late"');
  await serving.stopped;
  assertEquals(notes, ["a starts", "b starts", "handled", "b ends", "a ends"]);
});

Deno.test("Idle connections do not delay it", async () => {
  const app = new App();
  app.get("/", async () => 1);
  const serving = await Serving.start(app);
  using idle = await RawConnection.open(serving.port);
  await idle.write(GET);
  await idle.reply();
  using silent = await RawConnection.open(serving.port);
  await serving.stop();
  assertEquals(await idle.rest(), "");
  silent.close();
});

Deno.test("After the grace period it waits no more: that is logged, the lifespans unwind, and it resolves", async () => {
  const notes: string[] = [];
  const [arrived, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const app = noting(notes);
  app.get("/", async () => {
    arrived.resolve();
    await gate.promise;
    return "too late";
  });
  const serving = await Serving.start(app, { gracePeriod: 30 });
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await arrived.promise;
  using log = new CapturedLog();
  await serving.stop();
  assertEquals(notes, ["a starts", "b starts", "b ends", "a ends"]);
  assertEquals(log.lines.length, 1);
  gate.resolve();
  await connection.rest();
});

Deno.test("The grace period may be written as a text with its unit", async () => {
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const app = new App();
  app.get("/", async () => {
    arrived.resolve();
    await gate.promise;
    return "in time";
  });
  const serving = await Serving.start(app, { gracePeriod: "1m" as unknown as number });
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await arrived.promise;
  using log = new CapturedLog();
  serving.tellToStop();
  await ticks(20);
  gate.resolve();
  assertEquals((await connection.reply()).body, '"in time"');
  await serving.stopped;
  assertEquals(log.text, "");
});

const ENDLESS: Record<string, (app: App) => void> = {
  "an async generator that waits": (app) =>
    app.get("/", async function* () {
      yield 1;
      await new Promise(() => {});
    }),
  "an async generator that goes on": (app) =>
    app.get("/", async function* () {
      for (let count = 0;; count++) {
        yield count;
        await ticks(1);
      }
    }),
  "an async iterable": (app) =>
    app.get("/", async () => ({
      [Symbol.asyncIterator]: () => {
        let isFirst = true;
        return {
          next: () => isFirst ? Promise.resolve({ done: isFirst = false, value: 1 }) : new Promise(() => {}),
        };
      },
    })),
  "a ReadableStream": (app) =>
    app.get("/", async () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([65])) })),
};

for (const [name, declare] of Object.entries(ENDLESS)) {
  Deno.test(`When it stops it ends streams, which do not look complete: ${name}`, async () => {
    const app = new App();
    declare(app);
    const serving = await Serving.start(app, { gracePeriod: 3_000 });
    using connection = await RawConnection.open(serving.port);
    await connection.write(GET);
    await connection.until("\r\n\r\n");
    await connection.until("\r\n");
    using log = new CapturedLog();
    serving.tellToStop();
    assert(!(await connection.rest()).endsWith("0\r\n\r\n"), "the reply ends as a whole one");
    await serving.stopped;
    assertEquals(log.text, "");
    // The generator that goes on waits for a turn.
    await ticks(1);
  });
}

Deno.test("A stream that would start while it stops is 503, so that the client asks elsewhere", async () => {
  const [arrived, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const app = new App();
  app.get("/", async () => {
    arrived.resolve();
    await gate.promise;
    return (async function* () {
      yield 1;
      await new Promise(() => {});
    })();
  });
  const serving = await Serving.start(app, { gracePeriod: 3_000 });
  using connection = await RawConnection.open(serving.port);
  await connection.write(GET);
  await arrived.promise;
  using log = new CapturedLog();
  serving.tellToStop();
  await ticks(3);
  gate.resolve();
  assertEquals((await connection.reply()).status, 503);
  await serving.stopped;
  assertEquals(log.text, "");
});

Deno.test("An app that has stopped can run again, and stream again", async () => {
  const app = new App();
  app.get("/", async function* () {
    yield 1;
    yield 2;
  });
  for (let turn = 0; turn < 2; turn++) {
    await using serving = await Serving.start(app);
    const reply = await exchange(serving.port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assertEquals(reply.body, "1\n2\n");
  }
  const response = await app.fetch(new Request("http://localhost/"));
  assertEquals(await response.text(), "1\n2\n");
  await app.stop();
});

Deno.test("Tasks and cleanups of requests end before the lifespans unwind", async () => {
  const notes: string[] = [];
  const app = noting(notes);
  const dep = dependency(async function* () {
    yield 1;
    await ticks(20);
    notes.push("cleanup");
  });
  app.get("/", { deps: { dep } }, async (request) => {
    request.after(async () => {
      await ticks(20);
      notes.push("after");
    });
    return 1;
  });
  const serving = await Serving.start(app);
  await exchange(serving.port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await serving.stop();
  assertEquals(notes, ["a starts", "b starts", "after", "cleanup", "b ends", "a ends"]);
});

Deno.test("It listens at the path of a Unix socket", { ignore: Deno.build.os === "windows" }, async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/app.sock`;
  const app = new App();
  app.get("/{x}", { query: { q: v.number() } }, async ({ path, remoteAddress, url }, { x, q }) => {
    return [x, q, path, url.pathname, url.search, remoteAddress];
  });
  for (let turn = 0; turn < 2; turn++) {
    const listening = Promise.withResolvers<unknown>();
    const stop = new AbortController();
    const stopped = app.run({ path, signal: stop.signal, onListen: listening.resolve });
    stopped.catch(listening.reject);
    assertEquals(await listening.promise, { hostname: path, port: 0 });
    using client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
    const response = await fetch("http://localhost/hello?q=1", { client });
    assertEquals(await response.json(), ["hello", 1, "/hello", "/hello", "?q=1", null]);
    stop.abort();
    await stopped;
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("With a certificate and its key it serves HTTPS", async () => {
  const pair = await makeCertificate();
  if (!pair) return console.log("left out: openssl is needed to make a certificate");
  const app = new App();
  app.get("/", async ({ url }) => url.protocol);
  await using serving = await Serving.start(app, pair);
  using client = Deno.createHttpClient({ caCerts: [pair.cert] });
  const response = await fetch(`https://localhost:${serving.port}/`, { client });
  assertEquals(await response.json(), "https:");
});

Deno.test("A certificate without its key, or a key alone, is an error: it never serves in the clear instead", async () => {
  const notes: string[] = [];
  for (const half of [{ cert: "cert" }, { key: "key" }]) {
    const options: RunOptions = {
      ...half,
      port: 0,
      signal: AbortSignal.abort(),
      onListen: () => notes.push("listens"),
    };
    await assertRejects(() => new App().run(options), Error);
  }
  assertEquals(notes, []);
});

Deno.test("The access log is one line a request, with method, target and status", async () => {
  const app = new App();
  app.get("/{x}", async () => 1);
  await using serving = await Serving.start(app, { accessLog: true });
  using log = new CapturedLog();
  for (const target of ["/hello?a=%0Ab", "/a%0d%0aINFO%20forged", "/x?\x1b[31m".replace("\x1b", "%1b")]) {
    await exchange(serving.port, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  }
  await exchange(serving.port, "POST /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  assertEquals(log.lines.length, 4);
  assertStringIncludes(log.lines[0]!, "GET /hello?a=%0Ab 200");
  assertStringIncludes(log.lines[3]!, "POST /hello 405");
});
