// Section 5 of the contract over a real socket: tasks and cleanups run after the last byte, and
// after the client has disconnected.

import { assert, assertEquals } from "@std/assert";
import { App, dependency } from "@webfw/core";
import { CapturedLog } from "./support/captured_log.ts";
import { exchange, RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { ticks } from "./support/ticks.ts";

/** Notes of a request, and a promise that settles with its cleanup. */
class Notes {
  readonly lines: string[] = [];
  readonly #closed = Promise.withResolvers<void>();

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Two dependencies, of which the first is closed last. */
  get deps() {
    const first = dependency(async function* (this: void) {
      try {
        yield 1;
      } finally {
        await ticks(1);
      }
    });
    const note = (line: string) => this.lines.push(line);
    const settle = this.#closed.resolve;
    const outer = dependency({ deps: { first } }, async function* () {
      try {
        yield 1;
      } finally {
        note("outer closes");
        settle();
      }
    });
    const inner = dependency({ deps: { outer } }, async function* () {
      try {
        yield 1;
      } finally {
        await ticks(1);
        note("inner closes");
      }
    });
    return { inner };
  }
}

Deno.test("Tasks and cleanups run after the last byte of a reply", async () => {
  const notes = new Notes();
  const app = new App();
  app.get("/", { deps: notes.deps }, async (request) => {
    request.after(() => notes.lines.push("after"));
    return "done";
  });
  await using serving = await Serving.start(app);
  assertEquals((await exchange(serving.port, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).body, '"done"');
  await notes.closed;
  assertEquals(notes.lines, ["after", "inner closes", "outer closes"]);
});

Deno.test("Cleanup waits for the last byte of a streamed reply", async () => {
  const notes = new Notes();
  const gate = Promise.withResolvers<void>();
  const app = new App();
  app.get("/", { deps: notes.deps }, async function* () {
    yield "first";
    await gate.promise;
    notes.lines.push("last part");
    yield "last";
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await connection.until('"first"');
  await ticks(5);
  assertEquals(notes.lines, []);
  gate.resolve();
  assert((await connection.rest()).includes('"last"'));
  await notes.closed;
  assertEquals(notes.lines, ["last part", "inner closes", "outer closes"]);
});

const STREAMS: Record<string, (app: App, notes: Notes, told: () => void) => void> = {
  "an async generator": (app, notes, told) =>
    app.get("/", { deps: notes.deps }, async function* () {
      try {
        for (let part = 0;; part++) {
          yield part;
          await ticks(1);
        }
      } finally {
        told();
      }
    }),
  "a ReadableStream": (app, notes, told) =>
    app.get("/", { deps: notes.deps }, async () =>
      new ReadableStream({
        async pull(controller) {
          await ticks(1);
          controller.enqueue(new Uint8Array(1_000));
        },
        cancel: told,
      })),
  "a Response of the handler": (app, notes, told) =>
    app.get("/", { deps: notes.deps }, async () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await ticks(1);
            controller.enqueue(new Uint8Array(1_000));
          },
          cancel: told,
        }),
      )),
};

for (const [name, declare] of Object.entries(STREAMS)) {
  Deno.test(`When the client disconnects, a stream is cancelled, and cleanup runs: ${name}`, async () => {
    const notes = new Notes();
    const told = Promise.withResolvers<void>();
    const app = new App();
    declare(app, notes, told.resolve);
    await using serving = await Serving.start(app);
    using log = new CapturedLog();
    using connection = await RawConnection.open(serving.port);
    await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await connection.until("\r\n\r\n");
    connection.close();
    await told.promise;
    await notes.closed;
    assertEquals(notes.lines, ["inner closes", "outer closes"]);
    assertEquals(log.text, "");
  });
}

for (const [name, declare] of Object.entries(STREAMS)) {
  Deno.test(`HEAD sends no byte of a stream, cancels it, and cleans up: ${name}`, async () => {
    const notes = new Notes();
    const told = Promise.withResolvers<void>();
    const app = new App();
    declare(app, notes, told.resolve);
    await using serving = await Serving.start(app);
    const reply = await exchange(serving.port, "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assertEquals([reply.status, reply.body], [200, ""]);
    await told.promise;
    await notes.closed;
    assertEquals(notes.lines, ["inner closes", "outer closes"]);
  });
}

Deno.test("When the client disconnects while the handler runs, the signal is aborted, and cleanup runs after the handler", async () => {
  const notes = new Notes();
  const [arrived, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const app = new App();
  app.get("/", { deps: notes.deps }, async (request) => {
    request.signal.addEventListener("abort", () => aborted.resolve());
    request.after(() => notes.lines.push("after"));
    arrived.resolve();
    await aborted.promise;
    await ticks(2);
    notes.lines.push("handled");
    return 1;
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await arrived.promise;
  connection.close();
  await notes.closed;
  assertEquals(notes.lines, ["handled", "after", "inner closes", "outer closes"]);
});

Deno.test("When the client disconnects while a body is read, dependencies are cleaned up, and nothing is logged", async () => {
  const notes = new Notes();
  const arrived = Promise.withResolvers<void>();
  const app = new App();
  app.post("/", { deps: notes.deps }, async (request) => {
    arrived.resolve();
    return await request.text();
  });
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  using connection = await RawConnection.open(serving.port);
  await connection.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc");
  await arrived.promise;
  connection.close();
  await notes.closed;
  assertEquals(notes.lines, ["inner closes", "outer closes"]);
  assertEquals(log.text, "");
});

Deno.test("A stream waits for a slow reader, and makes no more than the connection buffers", async () => {
  const app = new App();
  let made = 0;
  const ended = Promise.withResolvers<void>();
  app.get("/", async function* () {
    try {
      for (;;) {
        made++;
        yield new Uint8Array(256 * 1024);
      }
    } finally {
      ended.resolve();
    }
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("\r\n\r\n");
  let before = -1;
  while (before !== made) {
    before = made;
    await ticks(100);
  }
  assert(made < 400, `${made} parts of 256 KiB`);
  connection.close();
  await ended.promise;
});
