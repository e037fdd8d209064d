// Section 9 of the contract: "a body costs memory as its bytes come, whatever length it announces
// (at most 64 KiB beyond what has come)".

import { assert, assertEquals } from "@std/assert";
import { App, Form, HTTPError, type HttpRequest, Stream, UploadFile } from "@webfw/core";
import * as v from "valibot";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { RawConnection } from "./support/raw_connection.ts";

const CLIENTS = 100;

/** What a connection itself and its request may take, in bytes. A connection alone takes 20 KiB. */
const PER_REQUEST = 64 * 1024;

/** What the process itself may take meanwhile: code that is compiled, and garbage. */
const NOISE = 24 * 1024 * 1024;

/** What a body may take beyond the bytes that have arrived. */
const BEYOND = 64 * 1024;

const PROGRAM = `
import { App, Form } from "${CORE}";
import * as v from "npm:valibot@^1.5.0";
const app = new App({ limits: { multipart: 2 ** 30, body: 2 ** 26 } });
let waiting = 0;
app.middleware(async (request, next) => {
  if (request.method === "POST" && ++waiting % ${CLIENTS} === 0) console.log("waiting " + waiting);
  return await next(request);
});
app.get("/memory", async () => Deno.memoryUsage().rss);
app.post("/json", { body: v.any() }, async () => 1);
app.post("/form", { form: Form(v.object({ a: v.string() })) }, async () => 1);
app.post("/bytes", async (request) => (await request.bytes()).length);
app.post("/text", async (request) => (await request.text()).length);
await app.run({ port: 0, onListen: ({ port }) => console.log("port " + port) });
`;

const MULTIPART = "multipart/form-data; boundary=B";

/** What a client announces, with the first kilobyte of it. */
const BODIES: readonly [path: string, type: string, length: number, start: string][] = [
  ["/json", "application/json", 2 ** 26, "[".repeat(1024)],
  ["/form", "application/x-www-form-urlencoded", 2 ** 26, "a=".padEnd(1024, "x")],
  ["/form", MULTIPART, 2 ** 30, '--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n'.padEnd(1024, "x")],
  ["/bytes", MULTIPART, 2 ** 30, "x".repeat(1024)],
  ["/bytes", "application/octet-stream", 2 ** 26, "x".repeat(1024)],
  ["/text", "text/plain", 60_000, "x".repeat(1024)],
];

async function memoryOf(port: number): Promise<number> {
  return Number(await (await fetch(`http://127.0.0.1:${port}/memory`)).text());
}

Deno.test("A body takes memory as its bytes arrive, whatever length it announces", async () => {
  await using child = await ChildProgram.start(PROGRAM);
  const port = await child.port();
  let total = 0;
  for (const [path, type, length, start] of BODIES) {
    await memoryOf(port);
    const before = await memoryOf(port);
    const head =
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${start}`;
    const connections = await Promise.all(Array.from({ length: CLIENTS }, () => RawConnection.open(port)));
    for (const connection of connections) await connection.write(head);
    await child.printed(`waiting ${total += CLIENTS}`);
    // The reply comes after the turn in which the last body is read.
    await memoryOf(port);
    const each = (await memoryOf(port) - before - NOISE) / CLIENTS;
    for (const connection of connections) connection.close();
    assert(each < start.length + BEYOND + PER_REQUEST, `${path} ${type} ${length}: ${Math.round(each)} bytes each`);
  }
  child.signal("SIGTERM");
  await child.end();
});

Deno.test("A stream, an upload and the body of a mount are not kept, however high the limits are", async () => {
  const limits = { body: 2 ** 30, multipart: 2 ** 30, decompress: true };
  const app = new App({ limits });
  // What is kept can be read again.
  const again = async (request: HttpRequest) => {
    const error = await request.bytes().catch((error) => error);
    return error instanceof HTTPError && error.message.endsWith("can be read only once");
  };
  const drain = async (body: ReadableStream<Uint8Array>) => {
    let size = 0;
    for await (const chunk of body) size += chunk.length;
    return size;
  };
  app.post("/stream", { body: Stream(), limits }, async (request, { body }) => {
    return [await drain(body), await again(request)];
  });
  app.post("/form", { form: Form(v.object({ file: UploadFile })) }, async (request, { form }) => {
    return [form.file.size, await again(request)];
  });
  app.mount("/mount", async ({ body }, { request }) => Response.json([await drain(body!), await again(request)]));
  const size = 2 ** 21;
  const form = new FormData();
  form.append("file", new File([new Uint8Array(size)], "a"));
  for (const [path, body] of [["/stream", new Uint8Array(size)], ["/form", form], ["/mount", new Uint8Array(size)]]) {
    const plain = new Request(`http://localhost${path}`, { method: "POST", body: body as BodyInit });
    const compressed = new Request(plain.clone(), {
      headers: { ...Object.fromEntries(plain.headers), "content-encoding": "gzip" },
      body: plain.clone().body!.pipeThrough(new CompressionStream("gzip")),
    });
    assertEquals(await (await app.fetch(plain)).json(), [size, true], `${path}`);
    const response = await app.fetch(compressed);
    // A mount gets the few compressed bytes.
    if (path !== "/mount") assertEquals(await response.json(), [size, true], `${path} in gzip`);
    else await response.body?.cancel();
  }
});
