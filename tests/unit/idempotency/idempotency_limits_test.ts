// Section 4 of the contract of work: what callers and handlers may do to idempotent routes.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { App, dependency, Form, HTTPError, SSE } from "@webfw/core";
import * as v from "valibot";
import { inVirtualTime } from "../../../dev/faults/simulation/virtual_time.ts";
import { MemoryRecords } from "../../../src/store/memory/memory_records.ts";
import { recordsOf } from "../../../src/store/records.ts";
import type { RecordStore } from "../../../src/store/record_store.ts";
import { Random } from "../support/random.ts";
import { CapturedLog } from "../../spec/support/captured_log.ts";
// Loaded before time is counted.
import "../../../src/idempotency/runner.ts";
import "../../../src/idempotency/fingerprint.ts";
import { SkippedTimeout } from "../../spec/support/skipped_timeout.ts";

/** Sends a request with the key "a". */
function send(app: App, path?: string, body?: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: "POST", headers: { "idempotency-key": "a", ...headers } };
  return app.fetch(new Request(`http://localhost${path ?? "/"}`, body === undefined ? init : { ...init, body }));
}

async function outcomeOf(response: Response): Promise<[status: number, replayed: string | null, detail: unknown]> {
  const text = await response.text();
  const isProblem = response.headers.get("content-type") === "application/problem+json";
  return [response.status, response.headers.get("idempotency-replayed"), isProblem ? JSON.parse(text).detail : text];
}

/** An application whose records are in a store of the test. */
function appOver(records: RecordStore): App {
  const store = { append() {}, openRecords: () => Promise.resolve(records), close: () => Promise.resolve() };
  return new App({ topics: store as never });
}

/** Counts the requests to a store. */
class CountedRecords extends MemoryRecords {
  count = 0;

  override get(...args: Parameters<MemoryRecords["get"]>) {
    this.count++;
    return super.get(...args);
  }

  override set(...args: Parameters<MemoryRecords["set"]>) {
    this.count++;
    return super.set(...args);
  }

  override delete(...args: Parameters<MemoryRecords["delete"]>) {
    this.count++;
    return super.delete(...args);
  }
}

/** Text that hardly anything can be saved of. */
function randomText(length: number): string {
  let text = "";
  while (text.length < length) text += `"${crypto.randomUUID()}",\n`;
  return text.slice(0, length);
}

Deno.test("up to 48 KiB in one record: two round trips to the store, and none without a key", async () => {
  const records = new CountedRecords();
  const app = appOver(records);
  app.post("/{size}", { params: { size: v.number() }, idempotent: "1h" }, async (_request, { size }) => {
    return new Response(randomText(size));
  });
  for (const size of [0, 2, 42_000, 42_001, 47 * 1024, 48 * 1024]) {
    records.count = 0;
    const first = await outcomeOf(await send(app, `/${size}`));
    assertEquals(records.count, 2, `${size}`);
    assertEquals(await outcomeOf(await send(app, `/${size}`)), [200, "true", first[2]]);
  }
  assertEquals((await Array.fromAsync(recordsOf(app.records, "idempotency").list([]))).length, 6);
  records.count = 0;
  await (await send(app, "/49152", undefined, { "idempotency-key": "b" })).body?.cancel();
  assertEquals(records.count, 2);
  const plain = new Request("http://localhost/49152", { method: "POST" });
  await (await app.fetch(plain)).body?.cancel();
  assertEquals(records.count, 2);
  await app.stop();
});

Deno.test("up to 1 MiB in further ones, also what cannot be compressed", async () => {
  const app = new App();
  app.post("/{size}", { params: { size: v.number() }, idempotent: "1h" }, async (_request, { size }) => {
    const bytes = new Uint8Array(size);
    for (let start = 0; start < size; start += 65_536) crypto.getRandomValues(bytes.subarray(start, start + 65_536));
    return new Response(bytes);
  });
  for (const size of [42_000, 42_001, 48 * 1024, 48 * 1024 + 1, 84_000, 84_001, 1024 * 1024]) {
    const first = await (await send(app, `/${size}`)).bytes();
    const again = await send(app, `/${size}`);
    assertEquals(again.headers.get("idempotency-replayed"), "true");
    const bytes = await again.bytes();
    assert(bytes.length === size && bytes.every((byte, index) => byte === first[index]));
  }
  await app.stop();
});

Deno.test("with another body 422: also one that the route does not declare", async () => {
  const app = new App();
  app.post("/json", { idempotent: "1h" }, async (request) => await request.json());
  app.post("/text", { idempotent: "1h" }, async (request) => await request.text());
  app.post("/stream", { idempotent: "1h" }, async (request) => await new Response(request.stream()).text());
  app.post("/form", { idempotent: "1h" }, async (request) => {
    return await ((await request.formData()).get("file") as File).text();
  });
  const form = (content: string) => {
    const data = new FormData();
    data.set("file", new File([content], "a.txt"));
    return data;
  };
  const bodies: [path: string, make: (text: string) => BodyInit][] = [
    ["/json", JSON.stringify],
    ["/text", (text) => text],
    ["/stream", (text) => text],
    ["/form", form],
  ];
  for (const [path, make] of bodies) {
    const headers: Record<string, string> = path === "/json" ? { "content-type": "application/json" } : {};
    assertEquals(await outcomeOf(await send(app, path, make("one"), headers)), [200, null, '"one"'], path);
    assertEquals(await outcomeOf(await send(app, path, make("one"), headers)), [200, "true", '"one"'], path);
    assertEquals((await outcomeOf(await send(app, path, make("two"), headers)))[0], 422, path);
  }
  await app.stop();
});

Deno.test("with another body 422: also where validation makes values of it that hide what they hold", async () => {
  class Money {
    readonly #amount: string;

    constructor(amount: string) {
      this.#amount = amount;
    }

    toText(): string {
      return this.#amount;
    }
  }
  const amount = v.object({ amount: v.string() });
  const app = new App();
  app.post("/money", {
    body: v.pipe(amount, v.transform(({ amount }) => new Money(amount))),
    idempotent: "1h",
  }, async (_request, { body }) => body.toText());
  app.post("/fields", {
    form: Form(v.pipe(amount, v.transform((fields) => new URLSearchParams(fields)))),
    idempotent: "1h",
  }, async (_request, { form }) => form.get("amount"));
  const json = { "content-type": "application/json" };
  const urlencoded = { "content-type": "application/x-www-form-urlencoded" };
  for (
    const [path, first, other, headers] of [
      ["/money", '{"amount":"1"}', '{"amount":"2"}', json],
      ["/fields", "amount=1", "amount=2", urlencoded],
    ] as const
  ) {
    const bodies = [first, first, other];
    const statuses: number[] = [];
    for (const body of bodies) statuses.push((await outcomeOf(await send(app, path, body, headers)))[0]);
    assertEquals(statuses, [200, 200, 422]);
  }
  await app.stop();
});

Deno.test("a body of 1 MiB, and input that is nested deeply", async () => {
  const app = new App({ limits: { body: 2 * 1024 * 1024 } });
  app.post("/", { body: v.any(), idempotent: "1h" }, async () => "done");
  const json = { "content-type": "application/json" };
  const numbers = `[${"1,".repeat(500_000)}1]`;
  assertEquals(await outcomeOf(await send(app, "/", numbers, json)), [200, null, '"done"']);
  assertEquals((await outcomeOf(await send(app, "/", numbers, json)))[1], "true");
  assertEquals((await outcomeOf(await send(app, "/", numbers.replace("1,", "2,"), json)))[0], 422);
  const deep = "[".repeat(2_000) + "]".repeat(2_000);
  const [status, , detail] = await outcomeOf(await send(app, "/", deep, { ...json, "idempotency-key": "b" }));
  assertEquals(status, 422);
  assertStringIncludes(String(detail), "nested too deeply");
  await app.stop();
});

Deno.test("a 5xx is not kept, and what `onError` makes of an error is: its status counts", async () => {
  class SoldOut extends Error {}
  const app = new App();
  app.onError(async (error) => {
    if (error.cause instanceof SoldOut) return new Response("sold out", { status: 410 });
    return error.status === 404 ? new Response("gone for now", { status: 503 }) : undefined;
  });
  let runs = 0;
  app.post("/mapped", { idempotent: "1h" }, async () => {
    runs++;
    throw new SoldOut();
  });
  app.post("/worse", { idempotent: "1h" }, async () => {
    runs++;
    throw new HTTPError(404);
  });
  using _log = new CapturedLog();
  assertEquals(await outcomeOf(await send(app, "/mapped")), [410, null, "sold out"]);
  assertEquals(await outcomeOf(await send(app, "/mapped")), [410, "true", "sold out"]);
  assertEquals(runs, 1);
  for (let round = 0; round < 2; round++) {
    assertEquals(await outcomeOf(await send(app, "/worse")), [503, null, "gone for now"]);
  }
  assertEquals(runs, 3);
  await app.stop();
});

Deno.test("streamed replies cannot be idempotent: where only the handler knows, it is an error in the log", async () => {
  using log = new CapturedLog();
  const app = new App();
  const topic = app.topic<number>("numbers");
  const values = async function* () {
    yield 1;
  };
  app.post("/events", { idempotent: "1h" }, async () => SSE(topic.subscribe()));
  app.post("/values", { idempotent: "1h" }, async () => values());
  let isCancelled = false;
  app.post("/own", { idempotent: "1h" }, async () => {
    const body = new ReadableStream({ cancel: () => void (isCancelled = true) });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  for (const path of ["/events", "/values", "/own"]) {
    assertEquals((await outcomeOf(await send(app, path)))[0], 500);
    assertMatch(log.text, new RegExp(`Cannot reply to POST ${path}: its reply is a stream, which is not kept`));
  }
  assert(isCancelled);
  await app.stop();
});

Deno.test("a reply that breaks off is a 500, and its key is free again", async () => {
  using _log = new CapturedLog();
  const app = new App();
  let runs = 0;
  app.post("/", { idempotent: "1h" }, async () => {
    if (++runs > 1) return "whole";
    return new Response(new ReadableStream({ pull: () => Promise.reject(new Error("broken")) }));
  });
  assertEquals((await outcomeOf(await send(app)))[0], 500);
  assertEquals(await outcomeOf(await send(app)), [200, null, '"whole"']);
  await app.stop();
});

Deno.test("a reply that takes longer than 30 seconds is sent as it comes, and its status is kept", async () => {
  const app = new App();
  const ended = Promise.withResolvers<void>();
  app.post("/", { idempotent: "1h" }, async () => {
    const parts = ["one", "two"].map((text) => new TextEncoder().encode(text));
    return new Response(
      new ReadableStream({
        start: (controller) => parts.forEach((part) => controller.enqueue(part)),
        cancel: () => ended.resolve(),
      }),
    );
  });
  {
    using _skipped = new SkippedTimeout(30_000);
    const reader = (await send(app)).body!.getReader();
    let text = "";
    while (text.length < 6) text += new TextDecoder().decode((await reader.read()).value);
    assertEquals(text, "onetwo");
    await reader.cancel();
  }
  await ended.promise;
  const [status, , detail] = await outcomeOf(await send(app));
  assertEquals(status, 409);
  assertMatch(String(detail), /was done, with the status 200; its reply was too large or too slow to be kept/);
  await app.stop();
});

Deno.test("a store that takes no reply: it is logged, the reply is sent, and nothing goes on behind it", async () => {
  using log = new CapturedLog();
  const records = new class extends MemoryRecords {
    override set(...args: Parameters<MemoryRecords["set"]>) {
      const isPart = args[0].length > 2;
      return isPart ? Promise.reject(new Error("the disk is full")) : super.set(...args);
    }
  }();
  const app = appOver(records);
  // The reply needs further records.
  app.post("/", { idempotent: "1h" }, async () => new Response("x".repeat(100_000)));
  const response = await send(app);
  assertEquals([response.status, (await response.text()).length], [200, 100_000]);
  assertStringIncludes(log.text, "the disk is full");
  assertEquals((await outcomeOf(await send(app)))[0], 409);
  await app.stop();
});

Deno.test("a store in memory that is full: requests that run stay the only ones, and their replies are kept", async () => {
  const records = new MemoryRecords({ maxBytes: 200_000 });
  const app = appOver(records);
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let runs = 0;
  app.post("/slow", { idempotent: "1h" }, async () => {
    begun.resolve();
    await gate.promise;
    return ++runs;
  });
  app.post("/flood/{n}", { idempotent: "1h" }, async () => "x".repeat(4_000));
  const first = send(app, "/slow");
  await begun.promise;
  for (let n = 0; n < 100; n++) await (await send(app, `/flood/${n}`)).body?.cancel();
  assertEquals((await outcomeOf(await send(app, "/slow")))[0], 409);
  gate.resolve();
  assertEquals(await outcomeOf(await first), [200, null, "1"]);
  assertEquals(await outcomeOf(await send(app, "/slow")), [200, "true", "1"]);
  await app.stop();
});

Deno.test("what is kept of a reply expires, also pages that nothing refers to after a lost answer", async () => {
  /** Carries out a write of a reply, and loses the answer; or only the pages are written. */
  class LossyRecords extends MemoryRecords {
    readonly written = new Map<string, number | undefined>();
    mode: "lost" | "refused" = "lost";

    override async set(...[key, value, write]: Parameters<MemoryRecords["set"]>) {
      this.written.set(key.join("/"), write.expiresIn);
      const isReply = value.includes('"reply"');
      if (isReply && this.mode === "refused") throw new Error("the store is away");
      const version = await super.set(key, value, write);
      return isReply ? null : version;
    }
  }
  using _log = new CapturedLog();
  for (const mode of ["lost", "refused"] as const) {
    let now = Date.now();
    const records = new LossyRecords({ now: () => now });
    records.mode = mode;
    const app = appOver(records);
    app.post("/", { idempotent: "1h" }, async () => randomText(200_000));
    await (await send(app)).body?.cancel();
    assert(records.written.size > 4, "the key and its pages");
    for (const [key, expiresIn] of records.written) {
      assert(expiresIn !== undefined && expiresIn <= 3_660_000, `${key}: ${expiresIn}`);
    }
    now += 3_660_000;
    assertEquals(await Array.fromAsync(records.list([])), []);
    await app.stop();
  }
});

Deno.test("while it runs, however long: 409; `a node that dies in the middle frees the key after the lease (30 s)`", async () => {
  using log = new CapturedLog();
  await inVirtualTime(new Random(1), async () => {
    const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    let isAway = false;
    class Shared extends MemoryRecords {
      override async set(...args: Parameters<MemoryRecords["set"]>) {
        if (isAway) throw new Error("the store is away");
        return await super.set(...args);
      }
    }
    const records = new Shared();
    const ran: string[] = [];
    const apps = ["one", "other"].map((name) => {
      const app = appOver(records);
      app.post("/{ms}", { params: { ms: v.number() }, idempotent: "24h" }, async (_request, { ms }) => {
        ran.push(name);
        await rest(name === "one" ? ms : 0);
        return name;
      });
      return app;
    });
    const [one, other] = apps as [App, App];
    const long = send(one, "/100000");
    for (let time = 0; time < 95_000; time += 5_000) {
      await rest(5_000);
      assertEquals((await send(other, "/100000")).status, 409, `${time}`);
    }
    await rest(6_000);
    assertEquals((await outcomeOf(await send(other, "/100000"))).slice(0, 2), [200, "true"]);
    assertEquals((await long).status, 200);

    const dead = send(one, "/200000");
    await rest(1);
    isAway = true;
    await rest(29_000);
    isAway = false;
    assertEquals((await send(other, "/200000")).status, 409);
    isAway = true;
    await rest(1_500);
    isAway = false;
    assertEquals((await outcomeOf(await send(other, "/200000"))).slice(0, 2), [200, null]);
    assertEquals(ran, ["one", "one", "other"]);
    await dead;
    await Promise.all(apps.map((app) => app.stop()));
  });
  assertStringIncludes(log.text, "An Idempotency-Key may be free before its request ends");
});

Deno.test("a reply of which a part is gone is a 409, and never the rest of it", async () => {
  const records = new MemoryRecords();
  const app = appOver(records);
  app.post("/", { idempotent: "1h" }, async () => randomText(200_000));
  await (await send(app)).body?.cancel();
  const kept = await Array.fromAsync(records.list([]));
  const parts = kept.filter(({ value }) => !value.includes('"reply"'));
  assert(parts.length >= 4, `${parts.length}`);
  await records.delete(parts.at(-1)!.key, {});
  const [status, , detail] = await outcomeOf(await send(app));
  assertEquals(status, 409);
  assertMatch(String(detail), /was done, with the status 200/);
  await app.stop();
});

Deno.test("an abort in the middle: the handler goes on, and the repetition gets its reply", async () => {
  const app = new App();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let runs = 0;
  app.post("/", { idempotent: "1h" }, async () => {
    begun.resolve();
    await gate.promise;
    return ++runs;
  });
  await using server = Deno.serve({ port: 0, onListen() {} }, app.fetch);
  const url = `http://localhost:${server.addr.port}/`;
  const headers = { "idempotency-key": "a" };
  const caller = new AbortController();
  const first = fetch(url, { method: "POST", headers, signal: caller.signal }).catch(() => "aborted");
  await begun.promise;
  caller.abort();
  assertEquals(await first, "aborted");
  gate.resolve();
  for (;;) {
    const again = await fetch(url, { method: "POST", headers });
    if (again.status === 409) {
      await again.body?.cancel();
      continue;
    }
    assertEquals(await outcomeOf(again), [200, "true", "1"]);
    break;
  }
  await app.stop();
});

Deno.test("keys that are long or odd", async () => {
  const app = new App();
  let runs = 0;
  app.post("/", { idempotent: "1h" }, async () => ++runs);
  const ask = async (key: string) => {
    const [status, , text] = await outcomeOf(await send(app, "/", undefined, { "idempotency-key": key }));
    return status === 200 ? text : status;
  };
  assertEquals(await ask("x".repeat(255)), "1");
  assertEquals(await ask(`"${"x".repeat(255)}"`), "1");
  assertEquals(await ask('"a b"'), "2");
  assertEquals(await ask('"\\"\\\\"'), "3");
  assertEquals(await ask("__proto__"), "4");
  const odd = ['"', '""', '"a\\b"', '"a";p=1', "a\tb", "ÿ", "x".repeat(256), "x".repeat(1024 * 1024)];
  for (const key of odd) assertEquals(await ask(key), 400, key.slice(0, 20));
  await app.stop();
});

Deno.test("where nothing in a request tells callers apart, `by` has to", async () => {
  using log = new CapturedLog();
  const app = new App();
  const user = dependency({ security: { certificate: { type: "mutualTLS" } } }, async () => "Ada");
  let runs = 0;
  app.post("/", { deps: { user }, idempotent: "1h" }, async () => ++runs);
  const named = { window: "1h", by: (_request: unknown, { user }: { user: string }) => user } as const;
  app.post("/named", { deps: { user }, idempotent: named }, async () => ++runs);
  assertEquals((await outcomeOf(await send(app)))[0], 500);
  assertStringIncludes(log.text, "certificates are no part of a request, name the caller in");
  assertEquals(await outcomeOf(await send(app, "/named")), [200, null, "1"]);
  await app.stop();
});

Deno.test("10 concurrent requests with one key: one execution, replay afterwards", async () => {
  const app = new App();
  let runs = 0;
  app.post("/", { idempotent: "1h" }, async () => {
    await Promise.resolve();
    return ++runs;
  });
  const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await outcomeOf(await send(app)))[0]));
  assertEquals(
    statuses.filter((status) => status === 200).length + statuses.filter((status) => status === 409).length,
    10,
  );
  assertEquals(await outcomeOf(await send(app)), [200, "true", "1"]);
  await app.stop();
});

Deno.test("its reply again: headers that replace others do so in the repetition, too", async () => {
  const app = new App();
  app.post("/", { idempotent: "1h" }, async (request) => {
    request.replyHeaders.set("content-type", "text/csv");
    request.replyHeaders.set("cache-control", "private");
    return new Response("a,b", { headers: { "cache-control": "no-store" } });
  });
  for (let sent = 0; sent < 2; sent++) {
    const { headers } = await send(app);
    assertEquals([headers.get("content-type"), headers.get("cache-control")], ["text/csv", "private"]);
  }
  await app.stop();
});

Deno.test("headers that JSON writes longer: of a reply that is too large for the records, the status is kept", async () => {
  using log = new CapturedLog();
  for (const value of ['"'.repeat(2_900), "\u00e4".repeat(2_900)]) {
    const app = new App();
    let runs = 0;
    app.post("/", { idempotent: "1h" }, async () => {
      runs++;
      return new Response(crypto.getRandomValues(new Uint8Array(60_000)), { headers: { "x-odd": value } });
    });
    assertEquals((await send(app)).status, 200);
    const [status, , detail] = await outcomeOf(await send(app));
    assertEquals([status, runs], [409, 1]);
    assertMatch(String(detail), /was done, with the status 200/);
    await app.stop();
  }
  assertEquals(log.text, "");
});
