// Section 2 of the contract: "waits for requests in flight up to a grace period"; shipping.md, section 2:
// "bodies that have not come 2 s after the stop are cut, so that one slow client does not hold the
// stop". Clients that do
// not send what they announced, or do not read what they requested, do not delay a stop for the
// whole period, and the exit code is 0.

import { assert, assertEquals } from "@std/assert";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { RawConnection } from "../spec/support/raw_connection.ts";
import { TemporaryFolder } from "../spec/support/temporary_folder.ts";

const PROGRAM = `
import { App, dependency, file, Form, Stream, UploadFile } from "${CORE}";
import * as v from "valibot";
const app = new App({ mcp: { origins: ["*"] } });
app.lifespan(async function* () {
  yield;
  console.log("lifespan ends");
});
const cleaned = dependency(async function* () {
  console.log("begins");
  try {
    yield;
  } finally {
    console.log("cleaned up");
  }
});
const deps = { cleaned };
const LARGE = 64 * 1024 * 1024;
app.middleware(async (request, next) => {
  if (request.method === "POST") console.log("begins " + new URL(request.url).search);
  return await next(request);
});
app.post("/json", { body: v.string() }, async () => 1);
app.post("/stream", { body: Stream() }, async (_request, { body }) => {
  for await (const _ of body);
});
app.post("/form", { form: Form(v.object({ file: UploadFile })) }, async () => 1);
app.get("/text", { deps }, async () => "x".repeat(LARGE));
app.get("/response", { deps }, async () => new Response(new Uint8Array(LARGE)));
app.get("/blob", { deps }, async () => new Blob([new Uint8Array(LARGE)]));
app.get("/file", { deps }, async () => await file(Deno.env.get("SERVED_FILE")));
app.get("/own", { deps }, async () => new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(65536)) })));
await app.run({ port: 0, gracePeriod: GRACE, onListen: ({ port }) => console.log("port " + port) });
console.log("run resolved");
await new Promise((resolve) => setTimeout(resolve, 1));
console.log("program ends");
`;

function program({ gracePeriod = 600_000 } = {}): string {
  return PROGRAM.replace("GRACE", String(gracePeriod));
}

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const PART = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';

function namesIn({ path }: TemporaryFolder): string[] {
  return [...Deno.readDirSync(path)].map(({ name }) => name);
}

/** Bodies that never come to their end. */
const BODIES: readonly (readonly [path: string, type: string, start: string])[] = [
  ["/json", "application/json", '"x'],
  ["/stream", "application/octet-stream", "x"],
  ["/form", "multipart/form-data; boundary=x", PART + "x".repeat(500 * KIBIBYTE)],
];

Deno.test("Bodies that do not arrive do not delay a stop, and get 503", async () => {
  await using temporary = await TemporaryFolder.make();
  await using child = await ChildProgram.start(program(), { env: { TMPDIR: temporary.path } });
  using connections = new DisposableStack();
  const opened: RawConnection[] = [];
  for (const [path, type, start] of BODIES) {
    for (const framing of ["Content-Length: 900000", "Transfer-Encoding: chunked"]) {
      const connection = connections.use(await RawConnection.open(await child.port()));
      const query = opened.push(connection);
      const sent = framing.startsWith("T") ? `${start.length.toString(16)}\r\n${start}\r\n` : start;
      const head = `Host: x\r\nContent-Type: ${type}\r\n${framing}\r\n\r\n`;
      await connection.write(`POST ${path}?${query} HTTP/1.1\r\n${head}${sent}`);
      await child.printed(`begins \\?${query}`);
    }
  }
  child.signal("SIGTERM");
  const replies = await Promise.all(opened.map((connection) => connection.reply()));
  const expected = opened.map(() => [503, "The server stops"]);
  assertEquals(replies.map(({ status, body }) => [status, JSON.parse(body).detail]), expected);
  // The clients leave their connections open.
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stderr], [0, ""]);
  assert(stdout.endsWith("lifespan ends\nrun resolved\nprogram ends\n"), stdout);
  assertEquals(namesIn(temporary), []);
});

Deno.test("Large replies that clients do not read do not delay a stop, and their cleanups run", async () => {
  await using child = await ChildProgram.start(program({ gracePeriod: 8_000 }));
  using connections = new DisposableStack();
  const paths = ["/text", "/response", "/blob", "/own"];
  for (const path of paths) {
    const connection = connections.use(await RawConnection.open(await child.port()));
    await connection.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await connection.until("HTTP/1.1 200");
  }
  child.signal("SIGTERM");
  const { code, stdout, stderr } = await child.end();
  assertEquals(code, 0);
  assertEquals(stdout.match(/^cleaned up$/gm)?.length, paths.length, stdout);
  assert(stdout.endsWith("lifespan ends\nrun resolved\nprogram ends\n"), stdout);
  assertEquals(stderr.match(/ WARN /g)?.length, 1, stderr);
});

Deno.test("A reply that its client keeps reading is not cut off at half of the grace period", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("large");
  await Deno.writeFile(path, new Uint8Array(32 * MEBIBYTE));
  await using child = await ChildProgram.start(program({ gracePeriod: 8_000 }), { env: { SERVED_FILE: path } });
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: await child.port() });
  await connection.write(new TextEncoder().encode("GET /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  await child.printed("begins");
  child.signal("SIGTERM");
  const begin = performance.now();
  const chunk = new Uint8Array(64 * KIBIBYTE);
  let size = 0;
  for (;;) {
    const read = await connection.read(chunk);
    if (read === null) break;
    size += read;
    // A slow client, until some time after the half of the grace period.
    if (performance.now() - begin < 4_600) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert(size > 32 * MEBIBYTE, `${size} bytes`);
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stderr], [0, ""]);
  assert(stdout.endsWith("cleaned up\nlifespan ends\nrun resolved\nprogram ends\n"), stdout);
});

Deno.test("A preflight that was answered is no request in flight", async () => {
  await using child = await ChildProgram.start(program({ gracePeriod: 8_000 }));
  const port = await child.port();
  using page = await RawConnection.open(port);
  const asked = "Origin: https://page.example\r\nAccess-Control-Request-Method: POST\r\n\r\n";
  await page.write(`OPTIONS /mcp HTTP/1.1\r\nHost: x\r\n${asked}`);
  await page.until("HTTP/1.1 204");
  using connection = await RawConnection.open(port);
  await connection.write("GET /text HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("HTTP/1.1 200");
  child.signal("SIGTERM");
  const { code, stderr } = await child.end();
  assertEquals(code, 0, stderr);
});
