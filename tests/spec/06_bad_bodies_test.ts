// Section 6 and 9 of the contract over a real socket: bodies that are too large, too slow, cut
// short or wrongly framed.

import { assert, assertEquals } from "@std/assert";
import { App, Form, type Limits } from "@webfw/core";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { exchange, headerOf, RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";

const JSON_TYPE = "Content-Type: application/json\r\n";

interface Counting {
  readonly app: App;
  readonly reached: () => number;
}

/** An app whose routes count how often they were reached. */
function counting(limits: Limits): Counting {
  const app = new App({ limits });
  let reached = 0;
  app.post("/json", { body: v.any() }, async () => ++reached);
  app.post("/text", async (request) => (await request.text()).length);
  app.post("/bytes", async (request) => (await request.bytes()).length);
  app.post("/stream", async (request) => {
    let size = 0;
    for await (const chunk of request.stream()) size += chunk.length;
    return size;
  });
  app.post("/ignored", async () => "ignored");
  app.get("/alive", async () => "alive");
  return { app, reached: () => reached };
}

async function assertAlive(port: number): Promise<void> {
  const { body } = await exchange(port, "GET /alive HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  assertEquals(body, '"alive"');
}

function chunked(...chunks: string[]): string {
  return chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("") + "0\r\n\r\n";
}

Deno.test("A content length over the limit is refused with 413 before a byte of the body is read", async () => {
  const { app, reached } = counting({ body: 100 });
  await using serving = await Serving.start(app);
  for (const path of ["/json", "/text", "/bytes"]) {
    for (const length of [101, 1_000_000_000, Number.MAX_SAFE_INTEGER]) {
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: ${length}\r\n\r\n`;
      assertEquals((await exchange(serving.port, head)).status, 413, `${path} ${length}`);
    }
  }
  assertEquals(reached(), 0);
  await assertAlive(serving.port);
});

Deno.test("A compressed body is refused, and the reply says to send it uncompressed", async () => {
  const app = new App();
  app.post("/json", { body: v.object({ a: v.number() }) }, async (_request, { body }) => body);
  app.post("/read", async (request) => await request.json());
  app.post("/form", { form: Form(v.object({ a: v.number() })) }, async (_request, { form }) => form);
  app.post("/bytes", async (request) => (await request.bytes()).length);
  await using serving = await Serving.start(app);
  const send = async (path: string, type: string, text: string, coding?: string): Promise<Response> => {
    const plain = new Blob([text]).stream();
    const body = coding === "gzip" ? plain.pipeThrough(new CompressionStream(coding)) : plain;
    const headers = { "content-type": type, ...(coding !== undefined && { "content-encoding": coding }) };
    const { port } = serving;
    return await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers,
      body: await new Response(body).bytes(),
    });
  };
  const json = "application/json";
  const form = "application/x-www-form-urlencoded";
  for (const [path, type, text] of [["/json", json, '{"a":1}'], ["/read", json, '{"a":1}'], ["/form", form, "a=1"]]) {
    const refused = await send(path!, type!, text!, "gzip");
    assertEquals([refused.status, refused.headers.get("accept-encoding")], [415, "identity"], path);
    assertEquals((await refused.json()).detail, "The body must be sent as it is, without a content-encoding");
    for (const coding of [undefined, "identity", " Identity "]) {
      assertEquals(await (await send(path!, type!, text!, coding)).json(), { a: 1 }, `${path} ${coding}`);
    }
  }
  // A handler that takes bytes gets them unchanged.
  const bytes = await send("/bytes", "application/octet-stream", "a".repeat(1000), "gzip");
  assert(Number(await bytes.text()) < 100);
});

Deno.test("A content length that is too large for a number is a client's fault", async () => {
  const { app } = counting({});
  await using serving = await Serving.start(app);
  for (const length of ["99999999999999999999999", "-1", "1e3", "0x10", "abc", "1,2", ""]) {
    const head = `POST /json HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: ${length}\r\n\r\n{}`;
    const { status } = await exchange(serving.port, head);
    assert(status >= 400 && status < 500, `${length} ${status}`);
  }
  await assertAlive(serving.port);
});

Deno.test("A missing required body is 422, in each way to send none", async () => {
  const app = new App();
  app.post("/", { body: v.object({}) }, async () => 1);
  app.post("/optional", { body: v.optional(v.object({})) }, async () => 1);
  await using serving = await Serving.start(app);
  const heads = [
    "\r\n",
    "Content-Length: 0\r\n\r\n",
    `${JSON_TYPE}\r\n`,
    `${JSON_TYPE}Content-Length: 0\r\n\r\n`,
    `${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ];
  for (const head of heads) {
    const start = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
    assertEquals((await exchange(serving.port, start("/") + head)).status, 422, head);
    assertEquals((await exchange(serving.port, start("/optional") + head)).status, 200, head);
  }
});

Deno.test("A chunked body over the limit is refused with 413, one within it is taken", async () => {
  const { app } = counting({ body: 100 });
  await using serving = await Serving.start(app);
  const head = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`;
  for (const path of ["/json", "/text", "/bytes"]) {
    const fits = chunked(`"${"a".repeat(49)}`, `${"a".repeat(48)}"`);
    assertEquals((await exchange(serving.port, head(path) + fits)).status, 200, path);
    const large = chunked(`"${"a".repeat(49)}`, `${"a".repeat(50)}"`);
    assertEquals((await exchange(serving.port, head(path) + large)).status, 413, path);
  }
});

Deno.test("An endless chunked body is refused as soon as it exceeds the limit", async () => {
  const { app } = counting({ body: 1_000 });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(`POST /json HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`);
  const sending = (async () => {
    for (let sent = 0; sent < 200; sent++) await connection.write(`400\r\n${"[".repeat(1_024)}\r\n`);
  })().catch(() => {});
  assertEquals((await connection.reply()).status, 413);
  connection.close();
  await sending;
  await assertAlive(serving.port);
});

Deno.test("The content of a refused body is never read as a request", async () => {
  const { app } = counting({ body: 100 });
  await using serving = await Serving.start(app);
  const smuggled = "GET /alive HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1_000);
  for (const path of ["/json", "/text", "/ignored", "/missing"]) {
    using connection = await RawConnection.open(serving.port);
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\nConnection: close\r\n\r\n`;
    await connection.write(head + smuggled).catch(() => {});
    const answer = await connection.rest();
    assertEquals(answer.includes("alive"), false, path);
    assertEquals(answer.match(/HTTP\/1\.1 /g)?.length ?? 0, 1, path);
  }
});

Deno.test("A body that does not arrive in time is 408, and announces the end of its connection", async () => {
  const { app, reached } = counting({ readTimeout: 50 });
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  for (const framing of ["Content-Length: 100", "Transfer-Encoding: chunked"]) {
    for (const path of ["/json", "/text", "/bytes"]) {
      using connection = await RawConnection.open(serving.port);
      await connection.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}${framing}\r\n\r\n`);
      const reply = await connection.reply();
      assertEquals([reply.status, headerOf(reply, "connection")], [408, "close"], `${framing} ${path}`);
    }
  }
  assertEquals(reached(), 0);
  assertEquals(log.text, "");
  await assertAlive(serving.port);
});

Deno.test("A slow body is 408, too: the time limit is for the whole body", async () => {
  const { app } = counting({ readTimeout: 100 });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(`POST /json HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`);
  let isOver = false;
  const dripping = (async () => {
    while (!isOver) {
      await connection.write("1\r\n[\r\n");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })().catch(() => {});
  assertEquals((await connection.reply()).status, 408);
  isOver = true;
  await dripping;
});

Deno.test("The time limit is for the body: a handler may take longer", async () => {
  const gate = Promise.withResolvers<void>();
  const app = new App({ limits: { readTimeout: 300 } });
  app.post("/", { body: v.any() }, async () => {
    await gate.promise;
    return "done";
  });
  app.post("/slow", async (request) => await request.text());
  await using serving = await Serving.start(app);
  const waiting = exchange(
    serving.port,
    `POST / HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: 2\r\nConnection: close\r\n\r\n{}`,
  );
  const slow = "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
  assertEquals((await exchange(serving.port, slow)).status, 408);
  gate.resolve();
  assertEquals((await waiting).body, '"done"');
});

Deno.test("A body that is cut short never reaches the handler, is not logged as a fault, and the server serves on", async () => {
  const { app, reached } = counting({});
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const cuts = [
    `POST /json HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: 100\r\n\r\n{"a":`,
    `POST /json HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n`,
    `POST /json HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\nff\r\n{"a`,
    `POST /text HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n`,
    `POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc`,
  ];
  for (const cut of cuts.slice(0, 4)) {
    using connection = await RawConnection.open(serving.port);
    await connection.write(cut);
  }
  await assertAlive(serving.port);
  assertEquals(reached(), 0);
  await serving.stop();
  assertEquals(log.text.includes("ERROR"), false, log.text);
});

Deno.test("Malformed chunks are a client's fault", async () => {
  const { app, reached } = counting({});
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  for (
    const body of ["zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}0\r\n\r\n", "-2\r\n{}\r\n0\r\n\r\n", "fffffffffffffffff\r\n{}"]
  ) {
    using connection = await RawConnection.open(serving.port);
    await connection.write(`POST /json HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n${body}`);
    const answer = await connection.rest();
    assert(answer === "" || /^HTTP\/1\.1 4\d\d /.test(answer), `${JSON.stringify(body)} ${answer.slice(0, 100)}`);
  }
  assertEquals(reached(), 0);
  await assertAlive(serving.port);
  assertEquals(log.text.includes("ERROR"), false, log.text);
});

Deno.test("Huge and deeply nested JSON is answered within the limit, and refused over it", async () => {
  const { app } = counting({});
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const post = (body: string) =>
    exchange(
      serving.port,
      `POST /json HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  const mebibyte = 1024 * 1024;
  assertEquals((await post("[".repeat(mebibyte))).status, 400);
  assertEquals((await post("[".repeat(mebibyte / 2) + "]".repeat(mebibyte / 2))).status, 200);
  assertEquals((await post('{"a":'.repeat(mebibyte / 5))).status, 400);
  assertEquals((await post(`"${"a".repeat(mebibyte - 2)}"`)).status, 200);
  assertEquals((await post(`[${"1,".repeat(mebibyte / 2 - 1)}1]`)).status, 413);
  assertEquals((await post(`"${"a".repeat(mebibyte - 1)}"`)).status, 413);
  assertEquals(log.text, "");
});

Deno.test("A handler that does not read the body answers all the same", async () => {
  const { app } = counting({});
  await using serving = await Serving.start(app);
  const body = "x".repeat(100_000);
  const head = `POST /ignored HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  assertEquals((await exchange(serving.port, head + body)).body, '"ignored"');
});

Deno.test("Expect: 100-continue is answered, and the body taken", async () => {
  const { app } = counting({});
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  const head = `Host: x\r\n${JSON_TYPE}Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
  await connection.write(`POST /json HTTP/1.1\r\n${head}`);
  assert((await connection.until("\r\n\r\n")).startsWith("HTTP/1.1 100 "));
  await connection.write("{}");
  assertEquals((await connection.reply()).status, 200);
});

Deno.test("Several requests on one connection each get the reply to their own body", async () => {
  const { app } = counting({ body: 10 });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  const post = (body: string) => `POST /text HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  await connection.write(post("a") + post("ab") + post(""));
  assertEquals((await connection.reply()).body, "1");
  assertEquals((await connection.reply()).body, "2");
  assertEquals((await connection.reply()).body, "0");
});
