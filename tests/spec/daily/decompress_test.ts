// "limits: { decompress: true } on the application or a route takes Content-Encoding: gzip, deflate and, where the
// platform has it, br; all limits count what comes out; otherwise 415 as today, with Accept-Encoding on the reply."

import { assertEquals, assertLess, assertThrows } from "@std/assert";
import { App, Form, Stream } from "@webfw/core";
import * as v from "valibot";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { Serving } from "../support/serving.ts";

const COMPRESSORS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const;
type Coding = keyof typeof COMPRESSORS;

function compress(coding: Coding, content: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(COMPRESSORS[coding](content));
}

function post(path: string, coding: string, body: BodyInit, type = "application/json"): Request {
  const headers = { "content-encoding": coding, "content-type": type };
  return new Request(`http://localhost${path}`, { method: "POST", body, headers });
}

const Item = v.object({ name: v.string() });

function application(): App {
  const app = new App({ limits: { decompress: true, body: 1_000, parts: 10 } });
  app.post("/json", { body: Item }, async (_request, { body }) => body.name);
  app.post("/form", { form: Form(Item) }, async (_request, { form }) => form.name);
  app.post("/text", async (request) => (await request.text()).length);
  app.post("/stream", { body: Stream() }, async (_request, { body }) => {
    let size = 0;
    for await (const chunk of body) size += chunk.length;
    return size;
  });
  app.post("/bounded", { body: Stream(), limits: { body: 100 } }, async (_request, { body }) => {
    for await (const _chunk of body);
    return null;
  });
  app.post("/plain", { body: Item, limits: { decompress: false } }, async (_request, { body }) => body.name);
  return app;
}

Deno.test("JSON, forms, text and streams are decompressed, over a socket too", async () => {
  const app = application();
  await using serving = await Serving.start(app);
  const boundary = "b0";
  const multipart = `--${boundary}\r\ncontent-disposition: form-data; name="name"\r\n\r\nEmma\r\n--${boundary}--\r\n`;
  for (const coding of ["gzip", "deflate", "br"] as const) {
    const cases = [
      ["/json", '{"name":"Emma"}', "application/json", "Emma"],
      ["/form", "name=Emma", "application/x-www-form-urlencoded", "Emma"],
      ["/form", multipart, `multipart/form-data; boundary=${boundary}`, "Emma"],
      ["/text", "x".repeat(1_000), "text/plain", 1_000],
      ["/stream", "x".repeat(3_000_000), "text/plain", 3_000_000],
    ] as const;
    for (const [path, content, type, expected] of cases) {
      const body = compress(coding, content);
      const local = await app.fetch(post(path, coding, body, type));
      assertEquals([local.status, await local.json()], [200, expected], `${coding} ${path}`);
      const headers = { "content-encoding": coding, "content-type": type };
      const remote = await fetch(`${serving.origin}${path}`, { method: "POST", body, headers });
      assertEquals([remote.status, await remote.json()], [200, expected], `${coding} ${path}`);
    }
  }
});

Deno.test("A coding is read in any case, x-gzip is gzip, and identity is none", async () => {
  const app = application();
  const gzip = compress("gzip", '{"name":"Emma"}');
  for (const coding of ["GZip", " gzip ", "x-gzip"]) {
    assertEquals(await (await app.fetch(post("/json", coding, gzip))).json(), "Emma");
  }
  assertEquals(await (await app.fetch(post("/json", "identity", '{"name":"Emma"}'))).json(), "Emma");
});

Deno.test("Other and combined codings are 415 with Accept-Encoding, as are all where a route says so", async () => {
  const app = application();
  const gzip = compress("gzip", '{"name":"Emma"}');
  for (const coding of ["zstd", "gzip, gzip", "gzip, br", "gzip;q=1"]) {
    for (const path of ["/json", "/text", "/stream"]) {
      const response = await app.fetch(post(path, coding, gzip));
      assertEquals([response.status, response.headers.get("accept-encoding")], [415, "gzip, deflate, br, identity"]);
      await response.body?.cancel();
    }
  }
  const response = await app.fetch(post("/plain", "gzip", gzip));
  assertEquals([response.status, response.headers.get("accept-encoding")], [415, "identity"]);
});

Deno.test("Malformed, cut and wrongly named bodies are 400, and JSON faults are those of the content", async () => {
  const app = application();
  const gzip = compress("gzip", '{"name":"Emma"}');
  const wrong: [string, Uint8Array<ArrayBuffer>, number][] = [
    ["gzip", new TextEncoder().encode('{"name":"Emma"}'), 400],
    ["gzip", gzip.slice(0, -3), 400],
    ["br", gzip, 400],
    ["gzip", compress("gzip", "{"), 400],
    ["gzip", compress("gzip", '{"name":7}'), 422],
    ["gzip", new Uint8Array(), 400],
  ];
  for (const [coding, body, status] of wrong) {
    const response = await app.fetch(post("/json", coding, body));
    assertEquals(response.status, status, `${coding} ${body.length}`);
    await response.body?.cancel();
  }
});

Deno.test("Limits count what comes out: size, fields, and the limit of a stream", async () => {
  const app = application();
  for (const coding of ["gzip", "deflate", "br"] as const) {
    const wrong: [string, string, string][] = [
      ["/json", JSON.stringify({ name: "x".repeat(1_000) }), "application/json"],
      ["/text", "x".repeat(1_001), "text/plain"],
      ["/bounded", "x".repeat(101), "text/plain"],
      ["/form", "a=1&".repeat(20), "application/x-www-form-urlencoded"],
    ];
    for (const [path, content, type] of wrong) {
      const response = await app.fetch(post(path, coding, compress(coding, content), type));
      assertEquals(response.status, 413, `${coding} ${path}`);
      await response.body?.cancel();
    }
  }
});

Deno.test("A few bytes that expand to a thousand times as many take no more memory than the limit", async () => {
  const app = application();
  const zeros = new Uint8Array(32 * 1024 * 1024);
  const bombs: [Coding, Uint8Array<ArrayBuffer>][] = [
    ["br", new Uint8Array(brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }))],
    ["gzip", compress("gzip", zeros)],
  ];
  for (const [coding, bomb] of bombs) {
    await (await app.fetch(post("/json", coding, bomb))).body?.cancel();
    const before = Deno.memoryUsage().external;
    const response = await app.fetch(post("/json", coding, bomb));
    assertEquals(response.status, 413);
    assertLess(Deno.memoryUsage().external - before, 8 * 1024 * 1024);
    await response.body?.cancel();
  }
});

Deno.test("Bytes without content do not go on for ever", async () => {
  const app = application();
  // A stored block of deflate with no content (RFC 1951, section 3.2.4), after the header of zlib.
  const empty = new Uint8Array(50_000).map((_, index) => [0, 0, 0, 255, 255][index % 5]!);
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(sent === 0 ? new Uint8Array([0x78, 0x9c]) : empty);
      sent += empty.length;
    },
  });
  const response = await app.fetch(post("/stream", "deflate", body, "text/plain"));
  assertEquals(response.status, 400);
  assertLess(sent, 1024 * 1024);
});

Deno.test("A client that leaves, and a handler that stops reading, leave nothing open", async () => {
  const app = new App({ limits: { decompress: true } });
  const first = Promise.withResolvers<number>();
  app.post("/", { body: Stream() }, async (_request, { body }) => {
    const reader = body.getReader();
    first.resolve((await reader.read()).value!.length);
    await reader.cancel();
    return null;
  });
  await using serving = await Serving.start(app);
  const response = await fetch(serving.origin, {
    method: "POST",
    body: compress("gzip", crypto.getRandomValues(new Uint8Array(60_000))),
    headers: { "content-encoding": "gzip" },
  });
  assertEquals([response.status, await response.json()], [200, null]);
  assertEquals(await first.promise > 0, true);
});

Deno.test("A mount gets the body as it was sent, and a mounted application applies its own limits", async () => {
  const app = new App({ limits: { decompress: true } });
  app.mount("/decompressing", application());
  const plain = new App();
  plain.post("/json", { body: Item }, async (_request, { body }) => body.name);
  app.mount("/plain", plain);
  app.mount(
    "/foreign",
    async (request) => Response.json([request.headers.get("content-encoding"), (await request.bytes()).length]),
  );
  const content = '{"name":"Emma"}';
  const body = compress("gzip", content);
  const decompressed = await app.fetch(post("/decompressing/json", "gzip", body));
  assertEquals([decompressed.status, await decompressed.json()], [200, "Emma"]);
  assertEquals((await app.fetch(post("/plain/json", "gzip", body))).status, 415);
  for (const coding of ["gzip", "zstd"]) {
    const foreign = await app.fetch(post("/foreign", coding, body));
    assertEquals([foreign.status, await foreign.json()], [200, [coding, body.length]]);
  }
});

Deno.test("A mount gets what was read before it, without the headers of the compression", async () => {
  const app = new App({ limits: { decompress: true } });
  app.middleware(async (request, next) => {
    assertEquals(await request.json(), { name: "Emma" });
    return await next(request);
  });
  app.mount("/decompressing", application());
  app.mount(
    "/foreign",
    async ({ headers, body }) =>
      Response.json([headers.get("content-encoding"), headers.get("content-length"), await new Response(body).text()]),
  );
  await using serving = await Serving.start(app);
  const init = {
    method: "POST",
    body: compress("gzip", '{"name":"Emma"}'),
    headers: { "content-encoding": "gzip", "content-type": "application/json" },
  };
  const inner = await fetch(`${serving.origin}/decompressing/json`, init);
  assertEquals([inner.status, await inner.json()], [200, "Emma"]);
  const foreign = await fetch(`${serving.origin}/foreign`, init);
  assertEquals(await foreign.json(), [null, null, '{"name":"Emma"}']);
});

Deno.test("The option is a boolean", () => {
  assertThrows(
    () => new App({ limits: { decompress: "gzip" as never } }),
    TypeError,
    '"decompress" must be true or false, got "gzip"',
  );
});
