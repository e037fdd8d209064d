// Section 4 of the contract: a Blob streams; with issue "Streams": "Blob and file replies with
// Range and conditional requests".

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { App, dependency, file, Form, UploadFile } from "@webfw/core";
import type { FileOptions } from "@webfw/core/types";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { exchange, headerOf, RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";
import { ticks } from "./support/ticks.ts";

const DIGITS = "0123456789";
const YEAR_2000 = new Date("2000-01-01T00:00:00.500Z");
const LAST_MODIFIED = "Sat, 01 Jan 2000 00:00:00 GMT";

/** Requests the result of a handler. */
async function ask(
  give: () => Promise<unknown>,
  headers: HeadersInit = {},
  method = "GET",
): Promise<{ status: number; headers: Headers; body: string }> {
  const app = new App();
  app.route("/", { methods: ["GET", "POST"] }, async () => await give());
  const response = await app.fetch(new Request("http://localhost/", { method, headers }));
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** A file of ten digits, of the year 2000. */
async function digits(folder: TemporaryFolder): Promise<string> {
  const path = await folder.write("digits.txt", DIGITS);
  await Deno.utime(path, YEAR_2000, YEAR_2000);
  return path;
}

/** The same content from disk and from memory. */
async function givers(folder: TemporaryFolder): Promise<Record<string, () => Promise<unknown>>> {
  const path = await digits(folder);
  return {
    "a file": () => file(path),
    "a blob": async () => new Blob([DIGITS], { type: "text/plain; charset=utf-8" }),
  };
}

Deno.test("A file and a blob are sent whole, with their length, their type and their version", async () => {
  await using folder = await TemporaryFolder.make();
  for (const [name, give] of Object.entries(await givers(folder))) {
    const { status, headers, body } = await ask(give);
    assertEquals([status, body], [200, DIGITS], name);
    assertEquals(headers.get("content-type"), "text/plain; charset=utf-8");
    assertEquals(headers.get("content-length"), "10");
    assertEquals(headers.get("accept-ranges"), "bytes");
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    assertEquals(headers.get("last-modified"), name === "a file" ? LAST_MODIFIED : null);
    assert(/^"[^"]+"$/.test(headers.get("etag")!), headers.get("etag")!);
  }
});

Deno.test("A single range is 206, one beyond the end 416, and an invalid one is ignored", async () => {
  await using folder = await TemporaryFolder.make();
  const table: [range: string, status: number, body: string, contentRange: string | null][] = [
    ["bytes=0-0", 206, "0", "bytes 0-0/10"],
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=-99", 206, DIGITS, "bytes 0-9/10"],
    ["bytes=0-99", 206, DIGITS, "bytes 0-9/10"],
    ["BYTES=9-9", 206, "9", "bytes 9-9/10"],
    [`bytes=5-${"9".repeat(400)}`, 206, "56789", "bytes 5-9/10"],
    ["bytes=10-", 416, "", "bytes */10"],
    ["bytes=10-20", 416, "", "bytes */10"],
    ["bytes=-0", 416, "", "bytes */10"],
    [`bytes=${"9".repeat(400)}-`, 416, "", "bytes */10"],
    ["bytes=4-2", 200, DIGITS, null],
    ["bytes=-", 200, DIGITS, null],
    ["bytes=a-b", 200, DIGITS, null],
    ["bytes=1-2,4-5", 200, DIGITS, null],
    [`bytes=${Array.from({ length: 5_000 }, () => "0-").join(",")}`, 200, DIGITS, null],
    ["lines=1-2", 200, DIGITS, null],
    ["bytes = 1-2", 200, DIGITS, null],
    ["xbytes=1-2", 200, DIGITS, null],
    ["bytes=1-2x", 200, DIGITS, null],
    ["bytes=0x1-2", 200, DIGITS, null],
  ];
  for (const [name, give] of Object.entries(await givers(folder))) {
    for (const [range, status, body, contentRange] of table) {
      const reply = await ask(give, { range });
      assertEquals([reply.status, reply.headers.get("content-range")], [status, contentRange], `${name} ${range}`);
      if (status === 416) assertEquals(JSON.parse(reply.body).status, 416);
      else assertEquals([reply.body, reply.headers.get("content-length")], [body, String(body.length)]);
    }
  }
});

Deno.test("A range is of a GET with status 200, and of something", async () => {
  await using folder = await TemporaryFolder.make();
  const headers = { range: "bytes=1-2" };
  for (const give of Object.values(await givers(folder))) {
    const head = await ask(give, headers, "HEAD");
    assertEquals([head.status, head.headers.get("content-length"), head.body], [200, "10", ""]);
    const post = await ask(give, { ...headers, "if-none-match": "*" }, "POST");
    assertEquals([post.status, post.body, post.headers.has("etag"), post.headers.has("accept-ranges")], [
      200,
      DIGITS,
      false,
      false,
    ]);
  }
  const empty = await folder.write("empty", "");
  for (const give of [() => file(empty), async () => new Blob([])]) {
    const reply = await ask(give, headers);
    assertEquals([reply.status, reply.headers.get("content-length"), reply.body], [200, "0", ""]);
  }
  const app = new App();
  app.get("/", { status: 203 }, async () => new Blob([DIGITS]));
  const other = await app.fetch(new Request("http://localhost/", { headers }));
  assertEquals([other.status, await other.text()], [203, DIGITS]);
});

Deno.test("A client that has the version gets a 304 without content", async () => {
  await using folder = await TemporaryFolder.make();
  for (const [name, give] of Object.entries(await givers(folder))) {
    const etag = (await ask(give)).headers.get("etag")!;
    for (const known of [etag, `W/${etag}`, "*", `"other", ${etag}`, `"other" ,${etag},"more"`]) {
      for (const method of ["GET", "HEAD"]) {
        const reply = await ask(give, { "if-none-match": known, range: "bytes=1-2" }, method);
        assertEquals([reply.status, reply.body, reply.headers.get("etag")], [304, "", etag], `${name} ${known}`);
        assertEquals([reply.headers.get("content-type"), reply.headers.get("content-length")], [null, null]);
      }
    }
    for (const known of ['"other"', "", etag.slice(1, -1)]) {
      assertEquals((await ask(give, { "if-none-match": known })).status, 200, known);
    }
  }
});

Deno.test("Dates are compared where no tag is", async () => {
  await using folder = await TemporaryFolder.make();
  const path = await digits(folder);
  const later = "Sun, 02 Jan 2000 00:00:00 GMT";
  const earlier = "Fri, 31 Dec 1999 23:59:59 GMT";
  const table: [headers: HeadersInit, status: number][] = [
    [{ "if-modified-since": LAST_MODIFIED }, 304],
    [{ "if-modified-since": later }, 304],
    [{ "if-modified-since": earlier }, 200],
    [{ "if-modified-since": "yesterday" }, 200],
    [{ "if-modified-since": "garbage 2050" }, 200],
    [{ "if-modified-since": "2050-01-01T00:00:00Z" }, 200],
    [{ "if-modified-since": "Saturday, 01-Jan-00 00:00:00 GMT" }, 304],
    [{ "if-modified-since": "Sat Jan  1 00:00:00 2000" }, 304],
    [{ "if-modified-since": "Fri Dec 31 23:59:59 1999" }, 200],
    [{ "if-modified-since": later, "if-none-match": '"other"' }, 200],
    [{ "if-unmodified-since": LAST_MODIFIED }, 200],
    [{ "if-unmodified-since": earlier }, 412],
    [{ "if-unmodified-since": "yesterday" }, 200],
    [{ "if-unmodified-since": "garbage 1950" }, 200],
    [{ "if-match": '"other"' }, 412],
    [{ "if-match": "*" }, 200],
    [{ "if-match": "*", "if-unmodified-since": earlier }, 200],
  ];
  for (const [headers, status] of table) {
    assertEquals((await ask(() => file(path), headers)).status, status, JSON.stringify(headers));
  }
});

Deno.test("An interrupted transfer resumes if the version is still the same", async () => {
  await using folder = await TemporaryFolder.make();
  const path = await digits(folder);
  const etag = (await ask(() => file(path))).headers.get("etag")!;
  const table: [condition: string, status: number][] = [
    [etag, 206],
    [LAST_MODIFIED, 206],
    [`W/${etag}`, 200],
    ['"other"', 200],
    // One version or one date, and nothing else (RFC 9110 section 13.1.5).
    ["*", 200],
    [`"other", ${etag}`, 200],
    ["Sun, 02 Jan 2000 00:00:00 GMT", 200],
    ["garbage", 200],
  ];
  for (const [condition, status] of table) {
    const reply = await ask(() => file(path), { range: "bytes=5-", "if-range": condition });
    assertEquals([reply.status, reply.body], [status, status === 206 ? "56789" : DIGITS], condition);
  }
});

Deno.test("The tag of a file that was changed a moment ago is weak: another change might not show", async () => {
  await using folder = await TemporaryFolder.make();
  const path = await folder.write("new", DIGITS);
  const now = new Date();
  await Deno.utime(path, now, now);
  const { headers } = await ask(() => file(path));
  assert(headers.get("etag")!.startsWith('W/"'), headers.get("etag")!);
  const ranged = await ask(() => file(path), { range: "bytes=5-", "if-range": headers.get("last-modified")! });
  assertEquals(ranged.status, 200);
  // A weak tag is none that this header may name, but a star asks only whether there is a file.
  assertEquals((await ask(() => file(path), { "if-match": headers.get("etag")! })).status, 412);
  assertEquals((await ask(() => file(path), { "if-match": "*" })).status, 200);
  assertEquals((await ask(() => file(path), { "if-match": " * " })).status, 200);
  assertEquals((await ask(() => file(path), { "if-none-match": "*" })).status, 304);
  await Deno.utime(path, YEAR_2000, YEAR_2000);
  assert((await ask(() => file(path))).headers.get("etag")!.startsWith('"'));
});

Deno.test("A large blob of memory has ranges and no tag", async () => {
  const blob = new Blob(["x".repeat(1024 * 1024), "y"]);
  const reply = await ask(async () => blob, { range: "bytes=-2" });
  assertEquals([reply.status, reply.body, reply.headers.get("etag")], [206, "xy", null]);
  assertEquals((await ask(async () => blob, { "if-match": "*", range: "bytes=-2" })).status, 206);
  assertEquals((await ask(async () => blob, { "if-match": '"other"' })).status, 412);
  assertEquals((await ask(async () => blob, { "if-none-match": "*" })).status, 304);
});

Deno.test("A header that would take a pattern seconds takes none", async () => {
  const hostile = `"a${" ".repeat(60_000)}b"`;
  const start = performance.now();
  for (const name of ["if-none-match", "if-match", "if-range", "range"]) {
    await ask(async () => new Blob([DIGITS]), { range: "bytes=0-", [name]: hostile });
  }
  // It took 1.5 s each; no machine is so slow that this matters.
  assert(performance.now() - start < 3_000);
});

Deno.test("The type of a file is that of its extension, unless it is set", async () => {
  await using folder = await TemporaryFolder.make();
  const table: [name: string, options: FileOptions, type: string][] = [
    ["a.html", {}, "text/html; charset=utf-8"],
    ["a.CSS", {}, "text/css; charset=utf-8"],
    ["a.json", {}, "application/json"],
    ["a.png", {}, "image/png"],
    ["a.tar.gz", {}, "application/gzip"],
    ["favicon.ico", {}, "image/vnd.microsoft.icon"],
    ["a.docx", {}, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
    ["a.xlsx", {}, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
    ["a.pptx", {}, "application/vnd.openxmlformats-officedocument.presentationml.presentation"],
    ["a.doc", {}, "application/msword"],
    ["a.odt", {}, "application/vnd.oasis.opendocument.text"],
    ["a.m3u8", {}, "application/vnd.apple.mpegurl"],
    ["a.tar", {}, "application/x-tar"],
    ["a.7z", {}, "application/x-7z-compressed"],
    ["a.apk", {}, "application/vnd.android.package-archive"],
    ["a.flac", {}, "audio/x-flac"],
    ["a.mkv", {}, "video/x-matroska"],
    ["a.js", {}, "text/javascript; charset=utf-8"],
    ["a.mjs", {}, "text/javascript; charset=utf-8"],
    ["a.wasm", {}, "application/wasm"],
    ["a.woff2", {}, "font/woff2"],
    ["a.avif", {}, "image/avif"],
    ["a.webmanifest", {}, "application/manifest+json"],
    ["a.svg", {}, "image/svg+xml"],
    ["a.unknown", {}, "application/octet-stream"],
    ["none", {}, "application/octet-stream"],
    ["a.html", { type: "text/plain" }, "text/plain"],
  ];
  for (const [name, options, type] of table) {
    const path = await folder.write(name, "x");
    assertEquals((await ask(() => file(path, options))).headers.get("content-type"), type, name);
  }
  const url = new URL(`file://${folder.path}/a.png`);
  assertEquals((await ask(() => file(url))).headers.get("content-type"), "image/png");
});

Deno.test("A file is saved under the given name, whatever its characters", async () => {
  await using folder = await TemporaryFolder.make();
  const path = await folder.write("a.txt", "x");
  const table: [filename: string, header: string][] = [
    ["report.pdf", 'attachment; filename="report.pdf"'],
    ["my report.pdf", 'attachment; filename="my report.pdf"'],
    ["Übersicht €.pdf", "attachment; filename=\"_bersicht _.pdf\"; filename*=UTF-8''%C3%9Cbersicht%20%E2%82%AC.pdf"],
    ['a"b\\c', "attachment; filename=\"a_b_c\"; filename*=UTF-8''a%22b%5Cc"],
    ["../x", "attachment; filename=\".._x\"; filename*=UTF-8''..%2Fx"],
    ["a\r\nset-cookie: b=c", 'attachment; filename="aset-cookie: b=c"'],
    ["it's (1)*.txt", `attachment; filename="it's (1)*.txt"`],
    ["é'(1)*", "attachment; filename=\"_'(1)*\"; filename*=UTF-8''%C3%A9%27%281%29%2a"],
    ["\ud800", "attachment; filename=\"_\"; filename*=UTF-8''%EF%BF%BD"],
    ["", "attachment"],
  ];
  for (const [filename, header] of table) {
    assertEquals((await ask(() => file(path, { filename }))).headers.get("content-disposition"), header, filename);
  }
  assertEquals((await ask(() => file(path))).headers.get("content-disposition"), null);
});

Deno.test("An uploaded file that is sent back is saved, not shown: its type is the client's own", async () => {
  const app = new App();
  app.post("/", { form: Form(v.object({ f: UploadFile })) }, async (_request, { form }) => form.f);
  const body = new FormData();
  body.append("f", new File(["<script>"], "x.html", { type: "text/html" }));
  const response = await app.fetch(new Request("http://localhost/", { method: "POST", body }));
  assertEquals(response.headers.get("content-disposition"), 'attachment; filename="x.html"');
  assertEquals(await response.text(), "<script>");
});

Deno.test("Over a socket a file has its length, a HEAD the same headers, and a range its part", async () => {
  await using folder = await TemporaryFolder.make();
  const path = await digits(folder);
  const app = new App();
  app.get("/", async () => await file(path));
  await using serving = await Serving.start(app);
  const send = (method: string, more = "") => exchange(serving.port, `${method} / HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
  const [get, head, part] = [await send("GET"), await send("HEAD"), await send("GET", "Range: bytes=3-5\r\n")];
  assertEquals([get.body, part.status, part.body], [DIGITS, 206, "345"]);
  const plain = ({ headers }: typeof get) => headers.filter(([name]) => name !== "date").toSorted();
  assertEquals(plain(head), plain(get));
  assertEquals([headerOf(get, "content-length"), headerOf(get, "transfer-encoding")], ["10", undefined]);
  const etag = headerOf(get, "etag");
  assertEquals((await send("GET", `If-None-Match: ${etag}\r\n`)).status, 304);
  assertEquals((await send("HEAD", `If-None-Match: ${etag}\r\n`)).status, 304);
});

Deno.test("When the client disconnects, a file is closed, and tasks and cleanups run", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("large");
  await Deno.writeFile(path, new Uint8Array(0));
  await Deno.truncate(path, 2 ** 30);
  const [order, ended] = [[] as string[], Promise.withResolvers<void>()];
  const db = dependency(async function* () {
    yield "db";
    order.push("dependency");
    ended.resolve();
  });
  const app = new App();
  app.get("/", { deps: { db } }, async (request) => {
    request.after(() => order.push("after"));
    return await file(path);
  });
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  using connection = await RawConnection.open(serving.port);
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("\r\n\r\n\0\0\0\0");
  await ticks(20);
  assertEquals(order, []);
  // The leak checker counts open files.
  connection.close();
  await ended.promise;
  assertEquals([order, log.text], [["after", "dependency"], ""]);
});

Deno.test("A file that is cut off while it is sent breaks the reply off, and is logged", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("large");
  await Deno.writeFile(path, new Uint8Array(0));
  await Deno.truncate(path, 2 ** 28);
  const app = new App();
  app.get("/", async () => await file(path));
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const response = await fetch(serving.origin);
  const reader = response.body!.getReader();
  await reader.read();
  await Deno.truncate(path, 1_000);
  await assertRejects(async () => {
    while (!(await reader.read()).done);
  });
  assertStringIncludes(log.text, "A streamed reply broke off");
});

Deno.test("A file that a stop finds on its way is sent to its end", async () => {
  await using folder = await TemporaryFolder.make();
  const path = folder.within("large");
  await Deno.writeFile(path, new Uint8Array(0));
  await Deno.truncate(path, 2 ** 26);
  const app = new App();
  app.get("/", async () => await file(path));
  const serving = await Serving.start(app);
  const response = await fetch(serving.origin);
  const reader = response.body!.getReader();
  let size = (await reader.read()).value!.length;
  serving.tellToStop();
  for (let part; !(part = await reader.read()).done;) size += part.value.length;
  assertEquals(size, 2 ** 26);
  await serving.stopped;
});
