// Section 13 of the contract: "bytes that are not UTF-8 are 400 in JSON, urlencoded and multipart
// fields, their names and file names; a body without a content type and without a byte is no body,
// chunked or not".

import { App, Form } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { file, latin1 } from "../unit/http/support/multipart_body.ts";
import { exchange } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";

const URLENCODED = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data; boundary=boundary";

/** Takes bodies in all ways that read text. */
function reading(): App {
  const app = new App();
  const text = v.object({ a: v.string() });
  app.post("/json", { body: text }, async (_request, { body }) => body.a);
  app.post("/form", { form: Form(text) }, async (_request, { form }) => form.a);
  app.post("/part", { form: Form(v.object({ part: text })) }, async (_request, { form }) => form.part.a);
  app.post("/own-json", async (request) => (await request.json() as { a: string }).a);
  app.post("/own-form", async (request) => (await request.formData()).get("a"));
  app.post("/own-text", async (request) => await request.text());
  return app;
}

/** The ways to send a text: path, content type, and the body. */
const WAYS: readonly [path: string, type: string, body: (text: string) => string][] = [
  ["/json", "application/json", (text) => `{"a":"${text}"}`],
  ["/own-json", "application/json", (text) => `{"a":"${text}"}`],
  ["/form", URLENCODED, (text) => `a=${text}`],
  ["/form", URLENCODED, (text) => `a=${text.replace(/[^\w]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`)}`],
  ["/own-form", URLENCODED, (text) => `a=${text}`],
  ["/form", URLENCODED, (text) => `${text}=x&a=x`],
  ["/form", MULTIPART, (text) => part('name="a"', text)],
  ["/own-form", MULTIPART, (text) => part('name="a"', text)],
  ["/own-form", MULTIPART, (text) => part(`name="${text}"`, "x")],
  ["/own-form", MULTIPART, (text) => part(`name="a"; filename="${text}"`, "x")],
  [
    "/part",
    MULTIPART,
    (text) => `--boundary\r\n${file("part", "a", `{"a":"${text}"}`, "application/json")}\r\n--boundary--`,
  ],
];

function part(disposition: string, content: string): string {
  return `--boundary\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n--boundary--\r\n`;
}

Deno.test("Bytes that are not UTF-8 are 400, however text is sent", async () => {
  await using client = new TestClient(reading());
  // A single byte of Latin-1, a character that is cut short, half of a pair, and a long form of "/".
  for (const bytes of ["x\xffy", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\xaf"]) {
    for (const [path, type, body] of WAYS) {
      const { status } = await client.post(path, { body: latin1(body(bytes)), headers: { "content-type": type } });
      assertEquals(status, 400, `${path} ${type} ${JSON.stringify(body(bytes))}`);
    }
  }
});

Deno.test("The replacement character is a character like any other where a client sends it", async () => {
  await using client = new TestClient(reading());
  for (const [path, type, body] of WAYS) {
    const sent = body("\xef\xbf\xbd\xf0\x9f\x98\x80");
    const { status } = await client.post(path, { body: latin1(sent), headers: { "content-type": type } });
    assertEquals(status, 200, `${path} ${type} ${sent}`);
  }
});

Deno.test("A body that a handler reads as text is decoded as by the platform", async () => {
  await using client = new TestClient(reading());
  assertEquals(await (await client.post("/own-text", { body: latin1("a\xff") })).json(), "a\ufffd");
});

Deno.test("JSON that is compressed is 415, and says so, although it is no UTF-8", async () => {
  await using client = new TestClient(reading());
  for (const path of ["/json", "/own-json"]) {
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    assertEquals((await client.post(path, { body: latin1("\x1f\x8b\x08"), headers })).status, 415);
  }
});

Deno.test("A body without a content type and without a byte is no body, however it is framed", async () => {
  const app = new App();
  const reason = v.object({ reason: v.string() });
  app.post("/json", { body: v.optional(reason) }, async (_request, { body }) => body?.reason ?? "none");
  app.post("/form", { form: Form(v.optional(reason)) }, async (_request, { form }) => form?.reason ?? "none");
  app.post("/required", { body: reason }, async (_request, { body }) => body.reason);
  await using serving = await Serving.start(app);
  const framings: [head: string, isEmpty: boolean][] = [
    ["", true],
    ["Content-Length: 0\r\n", true],
    ["Transfer-Encoding: chunked\r\n\r\n0\r\n", true],
    ["Content-Length: 2\r\n\r\n{}", false],
    ["Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", false],
  ];
  for (const [framing, isEmpty] of framings) {
    for (const path of ["/json", "/form", "/required"]) {
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
      const { status, body } = await exchange(serving.port, `${head}${framing}\r\n`);
      const expected = !isEmpty ? 415 : path === "/required" ? 422 : 200;
      assertEquals(status, expected, `${path} ${JSON.stringify(framing)} ${body}`);
    }
  }
});

Deno.test("A body of any size and framing is read as it was sent", async () => {
  const app = new App();
  app.post("/json", { body: v.string() }, async (request, { body }) => [body.length, (await request.bytes()).length]);
  await using serving = await Serving.start(app);
  for (const size of [0, 1, 1_000, 32_766, 32_767, 65_536, 500_000]) {
    const json = JSON.stringify("é".repeat(size / 2) + "x".repeat(size % 2));
    const bytes = new TextEncoder().encode(json).length;
    const framings = [`Content-Length: ${bytes}\r\n\r\n${json}`];
    framings.push(`Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n${json}\r\n0\r\n\r\n`);
    for (const framing of framings) {
      const head = "POST /json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n";
      const { body } = await exchange(serving.port, head + framing);
      assertEquals(JSON.parse(body), [json.length - 2, bytes], framing.slice(0, 40));
    }
  }
});
