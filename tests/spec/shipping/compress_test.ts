// shipping.md, section 2: "run({ compress: true }) (default off, in webfw run as in code):
// automaticCompression of Deno.serve".

import { assert, assertEquals, assertRejects } from "@std/assert";
import { ifMatch } from "@std/http/etag";
import { App, HTTPError, SSE } from "@webfw/core";
import { etag } from "@webfw/core/middleware";
import { exchange, headerOf, RawConnection, type RawReply } from "../support/raw_connection.ts";
import { Serving } from "../support/serving.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const LONG = "0123456789".repeat(100);
const TAG = '"v1"';

function application(): App {
  const app = new App();
  app.get("/json", async () => ({ text: LONG }));
  app.get("/tagged", async () => new Response(LONG, { headers: { etag: TAG } }));
  app.get("/fixed", async () => new Response(LONG, { headers: { etag: TAG, "cache-control": "no-transform" } }));
  app.get("/events", async () =>
    SSE((async function* () {
      yield LONG;
    })()));
  app.put("/tagged", async (request) => {
    const condition = request.headers.get("if-match");
    if (!ifMatch(condition, TAG)) throw new HTTPError(412);
    return [condition, (await request.text()).length];
  });
  return app;
}

/** Asks for something that may be compressed, and reads no body of it. */
async function ask(port: number, path: string, more = "", method = "GET"): Promise<RawReply> {
  using connection = await RawConnection.open(port);
  await connection.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n${more}\r\n`);
  return await connection.reply(true);
}

Deno.test("compress: off by default, and then replies are compressed for clients that accept it", async () => {
  for (const compress of [undefined, false, true]) {
    await using serving = await Serving.start(application(), compress === undefined ? {} : { compress });
    const reply = await ask(serving.port, "/json");
    const expected = compress ? ["gzip", "Accept-Encoding"] : [undefined, undefined];
    assertEquals([headerOf(reply, "content-encoding"), headerOf(reply, "vary")], expected);
    const response = await fetch(`${serving.origin}/json`);
    assertEquals(await response.json(), { text: LONG });
    const plain = await exchange(serving.port, "GET /json HTTP/1.1\r\nHost: x\r\n\r\n");
    assertEquals([headerOf(plain, "content-encoding"), JSON.parse(plain.body)], [undefined, { text: LONG }]);
  }
  const wrong = new App().run({ compress: "gzip" as unknown as boolean });
  await assertRejects(() => wrong, TypeError, '"compress" must be true or false');
});

Deno.test("It makes ETags weak and leaves event streams, 206 and no-transform alone", async () => {
  await using folder = await TemporaryFolder.make();
  const path = await folder.write("long.txt", LONG);
  await Deno.utime(path, 0, 0);
  const app = application();
  app.files("/files", folder.path);
  await using serving = await Serving.start(app, { compress: true });
  const { port } = serving;
  assertEquals(headerOf(await ask(port, "/tagged"), "etag"), `W/${TAG}`);
  for (
    const [path, more] of [["/events", ""], ["/fixed", ""], ["/files/long.txt", "Range: bytes=0-499\r\n"]] as const
  ) {
    const reply = await ask(port, path, more);
    assertEquals(headerOf(reply, "content-encoding"), undefined, path);
    assert(!headerOf(reply, "etag")?.startsWith("W/"), path);
  }
  // A neighbour is sent as it is.
  await folder.write("long.txt.gz", "GZIP".repeat(100));
  const neighbour = await ask(port, "/files/long.txt");
  assertEquals([headerOf(neighbour, "content-encoding"), headerOf(neighbour, "content-length")], ["gzip", "400"]);
  await Deno.remove(folder.within("long.txt.gz"));

  // What the platform made weak is still known, and does not continue an interrupted transfer.
  const whole = await ask(port, "/files/long.txt");
  const weak = headerOf(whole, "etag")!;
  assert(weak.startsWith("W/"), weak);
  assertEquals((await ask(port, "/files/long.txt", `If-None-Match: ${weak}\r\n`)).status, 304);
  assertEquals((await ask(port, "/files/long.txt", `Range: bytes=5-9\r\nIf-Range: ${weak}\r\n`)).status, 200);
  assertEquals((await ask(port, "/files/long.txt", `If-Match: ${weak}\r\n`)).status, 200);
  assertEquals((await ask(port, "/files/long.txt", `If-Match: W/"other"\r\n`)).status, 412);
});

Deno.test("If-Match compares what the handler sent", async () => {
  await using serving = await Serving.start(application(), { compress: true });
  const weak = headerOf(await ask(serving.port, "/tagged"), "etag")!;
  const put = (condition: string) => {
    const head = `Host: x\r\nIf-Match: ${condition}\r\nContent-Length: 5\r\n\r\n`;
    return exchange(serving.port, `PUT /tagged HTTP/1.1\r\n${head}12345`);
  };
  const table: [condition: string, seen: string | undefined][] = [
    [weak, TAG],
    [TAG, TAG],
    [`W/"other", ${weak}`, `"other", ${TAG}`],
    [`"a,W/b",${weak}`, `"a,W/b",${TAG}`],
    ['W/"other"', undefined],
    ["*", "*"],
  ];
  for (const [condition, seen] of table) {
    const reply = await put(condition);
    if (seen === undefined) assertEquals(reply.status, 412, condition);
    else assertEquals(JSON.parse(reply.body), [seen, 5], condition);
  }
  // Without compression, a weak tag is the handler's own.
  await using plain = await Serving.start(application());
  const head = `Host: x\r\nIf-Match: ${weak}\r\nContent-Length: 0\r\n\r\n`;
  assertEquals((await exchange(plain.port, `PUT /tagged HTTP/1.1\r\n${head}`)).status, 412);
});

Deno.test("The tags of the middleware etag() are known, too", async () => {
  const app = application();
  app.middleware(etag());
  await using serving = await Serving.start(app, { compress: true });
  const weak = headerOf(await ask(serving.port, "/json"), "etag")!;
  assert(weak.startsWith("W/"), weak);
  assertEquals((await ask(serving.port, "/json", `If-None-Match: ${weak}\r\n`)).status, 304);
  assertEquals((await ask(serving.port, "/json", `If-Match: ${weak}\r\n`)).status, 200);
});

Deno.test("The page's own files are sent compressed always", async () => {
  const app = application();
  await using serving = await Serving.start(app);
  const { port } = serving;
  const page = await (await fetch(`${serving.origin}/docs`)).text();
  const files = Array.from(page.matchAll(/(?:src|href)="\.(\/docs\/[^"]+)"/g), ([, file]) => file!);
  assertEquals(files.length, 4);
  for (const path of [...files, "/docs/oauth2-redirect.js", "/docs", "/openapi.json"]) {
    const whole = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const reply = await ask(port, path);
    const described = [headerOf(reply, "content-encoding"), headerOf(reply, "vary"), headerOf(whole, "vary")];
    assertEquals(described, ["gzip", "accept-encoding", "accept-encoding"], path);
    assertEquals(headerOf(reply, "content-type"), headerOf(whole, "content-type"));
    const tags = [headerOf(reply, "etag")!, headerOf(whole, "etag")!];
    assertEquals(new Set(tags).size, 2, path);
    assertEquals((await ask(port, path, `If-None-Match: ${tags[0]}\r\n`)).status, 304);
    const length = Number(headerOf(reply, "content-length"));
    assert(length > 0 && (whole.body.length < 1_000 || length < whole.body.length), `${path} ${length}`);
    assertEquals(headerOf(await ask(port, path, "", "HEAD"), "content-length"), String(length), path);
    assertEquals(await (await fetch(serving.origin + path)).text(), whole.body, path);
  }
});
