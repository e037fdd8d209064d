// Section 7 of the contract: events that proxies must not hold back, and what readers get when the
// server stops: they come back, not all at once.

import { App, JsonLines, SSE } from "@webfw/core";
import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";
import { Serving } from "./support/serving.ts";

/** Reads an event stream to its end, after its first event. */
async function untilStop(path: string, method: string, retry?: number): Promise<string[]> {
  const app = new App();
  const topic = app.topic<number>("numbers");
  const given = retry === undefined ? {} : { retry };
  app.route("/topic", { methods: [method] }, async () => SSE(topic.subscribe({ from: "earliest" }), given));
  app.route("/generator", { methods: [method] }, async () =>
    SSE(
      async function* () {
        yield 1;
        await new Promise(() => {});
      }(),
      given,
    ));
  const serving = await Serving.start(app);
  await topic.publish(1);
  const readers = Array.from({ length: 20 }, async () => {
    const response = await fetch(`${serving.origin}${path}`, { method });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("data: 1\n\n")) text += (await reader.read()).value;
    begun.push();
    if (++count === 20) serving.tellToStop();
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done) return text.slice(text.indexOf("data: 1\n\n") + "data: 1\n\n".length);
      text += value;
    }
  });
  const begun: unknown[] = [];
  let count = 0;
  const ends = await Promise.all(readers);
  await serving.stopped;
  return ends;
}

for (const path of ["/topic", "/generator"]) {
  for (const retry of [undefined, 100, 10_000]) {
    Deno.test(`At a stop, each reader gets a retry of its own: ${path}, retry ${retry}`, async () => {
      const ends = await untilStop(path, "GET", retry);
      const times = ends.map((end) => Number(/^retry: (\d+)\n\n$/.exec(end)?.[1]));
      const base = retry ?? 3_000;
      assert(times.every((time) => time >= base / 2 && time <= base / 2 + Math.max(base, 2_000)), `${times}`);
      assert(new Set(times).size > 10, `${times}`);
    });
  }

  Deno.test(`Events that no client asks for again break off at a stop, without a retry: ${path}`, async () => {
    assertEquals(new Set(await untilStop(path, "POST")), new Set([""]));
  });
}

Deno.test("Events and lines of JSON have the headers by which proxies pass them on at once", async () => {
  const app = new App();
  app.get("/events", async () => SSE(ReadableStream.from([1])));
  app.get("/lines", async function* () {
    yield { n: 1 };
  });
  app.get("/declared", { response: JsonLines(v.object({ n: v.number() })) }, async function* () {
    yield { n: 1 };
  });
  app.get("/bytes", async () => new Blob(["x"]).stream());
  const headersOf = async (path: string) => {
    const { headers, body } = await app.fetch(new Request(`http://localhost${path}`));
    await body?.cancel();
    return [headers.get("x-accel-buffering"), headers.get("cache-control")];
  };
  assertEquals(await headersOf("/events"), ["no", "no-store, no-transform"]);
  assertEquals(await headersOf("/lines"), ["no", null]);
  assertEquals(await headersOf("/declared"), ["no", null]);
  assertEquals(await headersOf("/bytes"), [null, null]);
  await app.stop();
});
