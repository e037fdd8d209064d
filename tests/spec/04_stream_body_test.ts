// Section 4 of the contract: "body: Stream()" is "the raw ReadableStream<Uint8Array>"; section 9:
// "a stream no limit unless set".

import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { App, HTTPError, type Limits, Stream } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { exchange, RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { ticks } from "./support/ticks.ts";
import { FakeTime } from "../unit/support/fake_time.ts";

// deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
type Untyped = any;

const MEBIBYTE = 1024 * 1024;

async function sizeOf(body: ReadableStream<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const chunk of body) size += chunk.length;
  return size;
}

/** Counts the bytes that are sent. */
function counting(limits: Limits = {}, ofApp: Limits = {}): App {
  const app = new App({ limits: ofApp });
  app.post("/", { body: Stream(), limits }, async (_request, { body }) => await sizeOf(body));
  return app;
}

function headOf(length: number | "chunked", path = "/"): string {
  const framing = length === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  return `POST ${path} HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n`;
}

/** Writes pieces until it is stopped, and reports how much was accepted. */
class Pouring {
  sent = 0;
  readonly ended: Promise<void>;
  #isOver = false;

  constructor(connection: RawConnection, size: number) {
    const piece = new Uint8Array(64 * 1024);
    const pour = async (): Promise<void> => {
      for (; this.sent < size && !this.#isOver; this.sent += piece.length) await connection.write(piece);
    };
    this.ended = pour().catch(() => {});
  }

  /** Waits until nothing more is taken. */
  async stalls(): Promise<void> {
    for (let before = -1; before !== this.sent; await ticks(100)) before = this.sent;
  }

  stop(): void {
    this.#isOver = true;
  }
}

Deno.test("A sender waits while the handler does not read, and continues when it does", async () => {
  const gate = Promise.withResolvers<void>();
  const size = 64 * MEBIBYTE;
  const app = new App();
  app.post("/", { body: Stream() }, async (_request, { body }) => {
    const reader = body.getReader();
    const first = (await reader.read()).value!.length;
    await gate.promise;
    reader.releaseLock();
    return first + await sizeOf(body);
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(headOf(size));
  const pouring = new Pouring(connection, size);
  await pouring.stalls();
  assert(pouring.sent > 0 && pouring.sent < 24 * MEBIBYTE, `${pouring.sent} bytes were taken`);
  gate.resolve();
  assertEquals((await connection.reply()).body, String(size));
  await pouring.ended;
});

Deno.test("The handler runs before the body has arrived, and gets it in chunks", async () => {
  const app = new App();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  app.post("/", { body: Stream() }, async (_request, { body }) => {
    first.resolve();
    const reader = body.getReader();
    const text = [new TextDecoder().decode((await reader.read()).value)];
    second.resolve();
    text.push(new TextDecoder().decode((await reader.read()).value), String((await reader.read()).done));
    return text;
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(headOf("chunked"));
  await first.promise;
  await connection.write("3\r\none\r\n");
  await second.promise;
  await connection.write("3\r\ntwo\r\n0\r\n\r\n");
  assertEquals((await connection.reply()).body, '["one","two","true"]');
});

Deno.test("A client that breaks off fails the stream with a 400, cleanup runs, and nothing is logged", async () => {
  for (const length of [1_000, "chunked"] as const) {
    const [arrived, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let thrown: unknown;
    const app = new App();
    app.post("/", { body: Stream() }, async (request, { body }) => {
      request.after(over.resolve, { always: true });
      const reader = body.getReader();
      await reader.read();
      arrived.resolve();
      try {
        await reader.read();
      } catch (error) {
        thrown = error;
        throw error;
      }
    });
    await using serving = await Serving.start(app);
    using log = new CapturedLog();
    using connection = await RawConnection.open(serving.port);
    await connection.write(headOf(length) + (length === "chunked" ? "3\r\nabc\r\n" : "abc"));
    await arrived.promise;
    connection.close();
    await over.promise;
    assertInstanceOf(thrown, HTTPError);
    assertEquals([thrown.status, log.text], [400, ""]);
  }
});

Deno.test("A stream has no limit of the app's, in size or in time", async () => {
  await using client = new TestClient(counting({}, { body: 10, multipart: 10, readTimeout: 1 }));
  const slow = new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      controller.enqueue(new Uint8Array(2 * MEBIBYTE));
      controller.close();
    },
  });
  assertEquals(await client.post("/", { body: slow }).json(), 2 * MEBIBYTE);
});

Deno.test("A size that the route sets is 413: before anything is read where it is announced, else while it comes", async () => {
  let hasRun = false;
  const app = new App();
  app.post("/", { body: Stream(), limits: { body: 100_000 } }, async (_request, { body }) => {
    hasRun = true;
    return await sizeOf(body);
  });
  await using serving = await Serving.start(app);
  using announced = await RawConnection.open(serving.port);
  await announced.write(headOf(100_001));
  assertEquals([(await announced.reply()).status, hasRun], [413, false]);
  const fits = await exchange(serving.port, headOf(100_000) + "x".repeat(100_000));
  assertEquals([fits.status, fits.body], [200, "100000"]);
  const chunk = `c350\r\n${"x".repeat(50_000)}\r\n`;
  assertEquals((await exchange(serving.port, `${headOf("chunked")}${chunk}${chunk}0\r\n\r\n`)).body, "100000");
  using endless = await RawConnection.open(serving.port);
  await endless.write(headOf("chunked") + chunk + chunk + "1\r\nx\r\n");
  assertEquals((await endless.reply()).status, 413);
});

Deno.test("A time that the route sets is for each chunk: one that does not come is 408", async () => {
  using time = new FakeTime();
  const app = counting({ readTimeout: 400 });
  const send = async (pauses: readonly number[]): Promise<Response> => {
    let sender!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (sender = controller) });
    const response = app.fetch(new Request("http://localhost/", { method: "POST", body }));
    for (const pause of pauses) {
      await time.settle();
      sender.enqueue(new Uint8Array(1));
      await time.advance(pause);
    }
    if (pauses.at(-1)! < 400) sender.close();
    return await response;
  };
  assertEquals((await send([0, 400])).status, 408);
  assertEquals(await (await send(Array.from({ length: 30 }, () => 399))).json(), 30);
});

Deno.test("An unread body delays neither the reply nor the connection", async () => {
  const app = new App();
  app.post("/none", { body: Stream() }, async () => "none");
  app.post("/some", { body: Stream() }, async (_request, { body }) => {
    await body.getReader().read();
    return "some";
  });
  app.post("/after", { body: Stream() }, async (request) => {
    request.after(() => ticks(30));
    return "after";
  });
  app.post("/fails", { body: Stream() }, async (request) => {
    request.after(() => ticks(30));
    throw new HTTPError(409);
  });
  app.post("/invalid", { body: Stream(), query: { n: v.number() } }, async () => 1);
  await using serving = await Serving.start(app);
  for (
    const [path, status] of [["/none", 200], ["/some", 200], ["/after", 200], ["/fails", 409], [
      "/invalid",
      422,
    ]] as const
  ) {
    using connection = await RawConnection.open(serving.port);
    await connection.write(headOf(MEBIBYTE, path));
    await connection.write(new Uint8Array(64 * 1024));
    assertEquals((await connection.reply()).status, status, path);
    await ticks(50);
    if (status === 422) continue; // Deno ends a connection whose body was never looked at.
    // The next request on the same connection comes after the rest.
    await connection.write(new Uint8Array(MEBIBYTE - 64 * 1024));
    await connection.write(headOf(0, "/none"));
    assertEquals((await connection.reply()).body, '"none"', path);
  }
});

Deno.test("A body can be the reply: each waits for the other", async () => {
  const app = new App();
  app.post("/", { body: Stream() }, async (_request, { body }) => body);
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(headOf("chunked") + "3\r\none\r\n");
  assert((await connection.until("one\r\n")).includes("application/octet-stream"));
  await connection.write("3\r\ntwo\r\n");
  await connection.until("two\r\n");
  const pouring = new Pouring(connection, MEBIBYTE * 1024);
  await connection.write("40000000\r\n");
  await pouring.stalls();
  assert(pouring.sent < 48 * MEBIBYTE, `${pouring.sent} bytes were taken of a client that reads none`);
  pouring.stop();
  connection.close();
  await pouring.ended;
});

Deno.test("Without a body the stream is empty", async () => {
  await using serving = await Serving.start(counting());
  for (const head of [headOf(0), "POST / HTTP/1.1\r\nHost: x\r\n\r\n", `${headOf("chunked")}0\r\n\r\n`]) {
    assertEquals((await exchange(serving.port, head)).body, "0");
  }
  assertEquals(await new TestClient(counting()).post("/").json(), 0);
});

Deno.test("Any content type is taken", async () => {
  await using client = new TestClient(counting());
  for (const type of ["application/json", "multipart/form-data", "x/y", ""]) {
    assertEquals(await client.post("/", { body: new Uint8Array(5), headers: { "content-type": type } }).json(), 5);
  }
});

Deno.test("A stream under GET is an error where it is declared", () => {
  const app = new App();
  assertThrows(() => app.get("/a", { body: Stream() } as Untyped, async () => {}), TypeError, "has no body");
});
