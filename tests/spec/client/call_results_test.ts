// Section 2 of the contract of the client: what calls give of declared replies.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { App, Bytes, Events, file, Html, JsonLines, Text } from "@webfw/core";
import { client } from "@webfw/core/client";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { FakeTime } from "../../unit/support/fake_time.ts";
import { Serving } from "../support/serving.ts";
import { countListeners } from "./support/listeners.ts";

Deno.test("calls: `JsonLines` give an async iterable, `Bytes` a `Blob`, `Text` a string", async () => {
  const app = new App();
  const lines = app.get("/lines", { response: JsonLines(v.object({ at: v.date() })) }, async function* () {
    yield { at: new Date(0) };
    yield { at: new Date(1) };
  });
  const none = app.get("/none", { response: JsonLines(v.number()) }, async function* () {});
  const bytes = app.get("/bytes", { response: Bytes("text/csv") }, async () => new TextEncoder().encode("a,b"));
  const self = app.get("/self", { response: Bytes("text/plain") }, async () => await file(import.meta.filename!));
  const text = app.get("/text", { response: Text("text/csv") }, async () => "a,b");
  const blank = app.get("/blank", { response: Text() }, async () => "");
  const html = app.get("/html", { response: Html() }, async () => "<p>");
  const api = { lines, none, bytes, self, text, blank, html };
  await using serving = await Serving.start(app);
  const shop = client<typeof api>(serving.origin);
  const dates: string[] = [];
  for await (const { at } of await shop.get("/lines")) dates.push(at);
  assertEquals(dates, ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.001Z"]);
  assertEquals(await Array.fromAsync(await shop.get("/none")), []);
  const blob = await shop.get("/bytes");
  assertEquals([blob.type, await blob.text()], ["text/csv", "a,b"]);
  assert((await (await shop.get("/self")).text()).startsWith("// Section 2"));
  assertEquals([await shop.get("/text"), await shop.get("/blank"), await shop.get("/html")], ["a,b", "", "<p>"]);
});

Deno.test("calls: what a reply says it is decides over `Bytes` and `Text`: JSON is parsed, and bytes with a charset are text", async () => {
  const app = new App();
  const cached = app.get("/cached", { response: Text("application/json") }, async () => '{"id":1}');
  const noted = app.get("/noted", { response: Bytes("text/plain;charset=utf-8") }, async () => Uint8Array.of(97));
  const shop = client<{ cached: typeof cached; noted: typeof noted }>("http://localhost", { fetch: app.fetch });
  assertEquals([await shop.get("/cached"), await shop.get("/noted")], [{ id: 1 }, "a"]);
});

Deno.test("calls: `return` of JsonLines cancels the reply, also while a line is waited for", async () => {
  const app = new App();
  const ended = Promise.withResolvers<void>();
  const lines = app.get("/", { response: JsonLines(v.number()) }, async function* (request) {
    request.signal.addEventListener("abort", () => ended.resolve());
    yield 1;
    await ended.promise;
  });
  await using serving = await Serving.start(app);
  const shop = client<{ lines: typeof lines }>(serving.origin);
  const iterator = (await shop.get("/"))[Symbol.asyncIterator]();
  assertEquals(await iterator.next(), { done: false, value: 1 });
  const next = iterator.next();
  await iterator.return!();
  assertEquals((await next).done, true);
  await ended.promise;
});

Deno.test("calls: a line of JSON has a limit of 16 Mi characters", async () => {
  const endless = () => {
    const chunk = new TextEncoder().encode("1".repeat(1024 * 1024));
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
    return new Response(body, { headers: { "content-type": "application/jsonl" } });
  };
  const app = new App();
  const lines = app.get("/", { response: JsonLines(v.number()) }, async function* () {});
  const shop = client<{ lines: typeof lines }>("http://localhost", { fetch: endless });
  const iterable = await shop.get("/");
  await assertRejects(() => Array.fromAsync(iterable), RangeError, "16777216 characters");
});

Deno.test("calls: `signal` ends lines that have begun, and does not keep those that have ended", async () => {
  const app = new App();
  const lines = app.get("/", { response: JsonLines(v.number()) }, async function* (request) {
    yield 1;
    await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
  });
  const few = app.get("/few", { response: JsonLines(v.number()) }, async function* () {
    yield 1;
  });
  await using serving = await Serving.start(app);
  const stop = new AbortController();
  const listeners = countListeners(stop.signal);
  const shop = client<{ lines: typeof lines; few: typeof few }>(serving.origin, { signal: stop.signal });
  await Array.fromAsync(await shop.get("/few"));
  assertEquals(listeners(), 0);
  const iterator = (await shop.get("/"))[Symbol.asyncIterator]();
  await iterator.next();
  assertEquals(listeners(), 1);
  const next = iterator.next().catch((reason) => reason);
  stop.abort("enough");
  assertEquals(await next, "enough");
  assertEquals(listeners(), 0);
});

Deno.test("calls: `timeout` does not end lines that have begun", async () => {
  using time = new FakeTime();
  const { readable, writable } = new TextEncoderStream();
  const headers = { "content-type": "application/jsonl" };
  const app = new App();
  const lines = app.get("/", { response: JsonLines(v.number()) }, async function* () {});
  const shop = client<{ lines: typeof lines }>("http://localhost", {
    fetch: () => new Response(readable, { headers }),
  });
  const iterator = (await shop.get("/", {}, { timeout: 50 }))[Symbol.asyncIterator]();
  await time.advance(100);
  const writer = writable.getWriter();
  // The last line may have no end.
  writer.write("1\n2");
  assertEquals((await iterator.next()).value, 1);
  writer.close();
  assertEquals((await iterator.next()).value, 2);
  assertEquals((await iterator.next()).done, true);
});

Deno.test("calls: events of another method than GET that break off are an error, never an end", async () => {
  const app = new App();
  const answer = app.post("/", { response: Events(v.number()) }, async function* () {
    yield 1;
    throw new Error("midway");
  });
  await using serving = await Serving.start(app);
  using _log = new CapturedLog();
  const numbers: unknown[] = [];
  await assertRejects(async () => {
    const shop = client<{ answer: typeof answer }>(serving.origin);
    for await (const event of await shop.post("/")) numbers.push(event.gap ?? event.data);
  });
  assertEquals(numbers, [1]);
});
