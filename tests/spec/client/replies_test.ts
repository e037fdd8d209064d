// Section 1 of the contract of clients: "What a reply is, declared". How such replies are made.

import { App, Bytes, Events, file, Html, JsonLines, SSE, Text, text } from "@webfw/core";
import { etag } from "@webfw/core/middleware";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const Order = v.object({ id: v.number(), total: v.number() });

function get(app: App, path = "/", headers: HeadersInit = {}, method = "GET"): Promise<Response> {
  return app.fetch(new Request(`http://localhost${path}`, { headers, method }));
}

/** Reads events up to a number of them, and cancels the rest. */
async function events(response: Response, count: number): Promise<Record<string, string>[]> {
  const found: Record<string, string>[] = [];
  let rest = "";
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const fields = block.split("\n").map((line) => /^(\w*):? ?(.*)$/.exec(line)!.slice(1) as [string, string]);
      const event = Object.fromEntries(fields);
      if (event.data !== undefined) found.push(event);
    }
    if (found.length >= count) break;
  }
  return found;
}

Deno.test("`SSE(…)` of such data: data that is not in the schema of Events is left out", async () => {
  const app = new App();
  app.get("/", { response: Events(Order) }, async () => {
    return SSE((async function* () {
      yield { id: 1, total: 2, secret: "s3cret" };
      yield { event: "paid", id: "7", retry: "2s", data: { id: 2, total: 3, secret: "s3cret" } } as const;
    })());
  });
  const response = await get(app);
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  assertEquals(
    await response.text(),
    'data: {"id":1,"total":2}\n\nretry: 2000\nid: 7\nevent: paid\ndata: {"id":2,"total":3}\n\n',
  );
});

Deno.test("An async generator of it, or of `{ data, id, event, retry }`, is a stream of events, also from an async function", async () => {
  const app = new App();
  const rows = async function* () {
    yield { id: 1, total: 2, secret: "s3cret" };
    yield { event: "paid", data: { id: 2, total: 3 } };
  };
  app.get("/generator", { response: Events(Order) }, rows);
  app.get("/returned", { response: Events(Order), status: 203 }, async () => rows());
  const expected = 'data: {"id":1,"total":2}\n\nevent: paid\ndata: {"id":2,"total":3}\n\n';
  for (const [path, status] of [["/generator", 200], ["/returned", 203]] as const) {
    const response = await get(app, path);
    assertEquals([response.status, response.headers.get("content-type")], [status, "text/event-stream"]);
    assertEquals(await response.text(), expected);
  }
});

Deno.test("Data that looks like an event after it was reduced is sent as data", async () => {
  const app = new App();
  const Entry = v.object({ data: v.string(), id: v.string() });
  app.get("/", { response: Events(Entry) }, async function* () {
    yield { data: { data: "a", id: "1" } };
  });
  assertEquals(await (await get(app)).text(), 'data: {"data":"a","id":"1"}\n\n');
});

Deno.test("`Events(topic)`: the messages keep their ids, and a client resumes after one of them", async () => {
  const app = new App();
  const orders = app.topic("orders", { schema: Order });
  app.get("/", { response: Events(orders) }, async () => SSE(orders.subscribe()));
  const first = await orders.publish({ id: 1, total: 2 });
  const second = await orders.publish({ id: 2, total: 3 }, { type: "paid" });
  const found = await events(await get(app, "/", { "last-event-id": first.id }), 1);
  assertEquals(found, [{ id: second.id, event: "paid", data: '{"id":2,"total":3}' }]);
  const refused = await get(app, "/", { "last-event-id": "garbage" });
  assertEquals(refused.status, 400);
  await refused.body?.cancel();
  await app.stop();
});

Deno.test("Messages of a topic are reduced to the declared schema, those that wait and those that come later", async () => {
  const app = new App();
  const rows = app.topic<{ id: number; total: number; secret: string }>("rows");
  const others = app.topic<{ id: number; total: number }>("others");
  const AsyncOrder = v.pipeAsync(v.object({ id: v.number(), total: v.number() }), v.checkAsync(async () => true));
  app.get("/one", { response: Events(Order) }, async () => SSE(rows.subscribe({ from: "earliest" })));
  app.get("/async", { response: Events(AsyncOrder) }, async () => SSE(rows.subscribe({ from: "earliest" })));
  app.get("/several", { response: Events(Order) }, async () => {
    return SSE([rows.subscribe({ from: "earliest" }), others.subscribe()]);
  });
  app.get("/several/async", { response: Events(AsyncOrder) }, async () => {
    return SSE([rows.subscribe({ from: "earliest" }), others.subscribe()]);
  });
  await rows.publish({ id: 1, total: 2, secret: "s3cret" });
  for (const path of ["/one", "/async", "/several", "/several/async"]) {
    const response = await get(app, path);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("data")) text += (await reader.read()).value;
    const later = reader.read();
    await rows.publish({ id: 3, total: 4, secret: "s3cret" });
    text += (await later).value;
    await reader.cancel();
    const data = text.split("\n").filter((line) => line.startsWith("data"));
    assertEquals([data[0], data.at(-1)], ['data: {"id":1,"total":2}', 'data: {"id":3,"total":4}']);
    assert(!text.includes("s3cret"));
  }
  await app.stop();
});

Deno.test("A topic's own schema that cannot take its messages again leaves them as they were stored", async () => {
  const app = new App();
  const schema = v.object({ n: v.pipe(v.string(), v.transform(Number)) });
  const visits = app.topic("visits", { schema });
  app.get("/topic", { response: Events(visits) }, async () => SSE(visits.subscribe({ from: "earliest" })));
  await visits.publish({ n: "5" });
  const [visit] = await events(await get(app, "/topic"), 1);
  assertEquals(visit!.data, '{"n":5}');
  await app.stop();
});

Deno.test("A gap of a topic is sent as it is, whatever the schema", async () => {
  const app = new App();
  const orders = app.topic("orders", { schema: Order, retention: { count: 1 } });
  app.get("/", { response: Events(Order) }, async () => SSE(orders.subscribe()));
  const { id } = await orders.publish({ id: 1, total: 2 });
  const other = `${id[0] === "0" ? "1" : "0"}${id.slice(1)}`;
  const [gap] = await events(await get(app, "/", { "last-event-id": other }), 1);
  assertEquals(gap!.event, "webfw.gap");
  assertEquals(JSON.parse(gap!.data!).reason, "epoch");
  await app.stop();
});

Deno.test("Data that does not fit is never sent: a generator's stream ends, a topic's has a gap, and the log says where", async () => {
  const app = new App();
  const rows = app.topic<{ id: number; total: number }>("rows");
  let isClosed = false;
  app.get("/generator", { response: Events(Order) }, async function* () {
    try {
      yield { id: 1, total: 2 };
      yield { id: "s3cret", total: 2 } as unknown as { id: number; total: number };
      yield { id: 3, total: 2 };
    } finally {
      isClosed = true;
    }
  });
  app.get("/topic", { response: Events(Order) }, async () => SSE(rows.subscribe({ from: "earliest" })));
  using log = new CapturedLog();
  assertEquals(await (await get(app, "/generator")).text(), 'data: {"id":1,"total":2}\n\n');
  assert(isClosed);
  assertStringIncludes(log.text, "Cannot reply to GET /generator: the item does not fit the response model");
  await rows.publish({ id: "s3cret" } as unknown as { id: number; total: number });
  const [gap] = await events(await get(app, "/topic"), 1);
  assertEquals([gap!.event, JSON.parse(gap!.data!).reason], ["webfw.gap", "schema"]);
  assertStringIncludes(log.text, "Cannot reply to GET /topic");
  assert(!log.text.includes("s3cret"));
  await app.stop();
});

Deno.test("`JsonLines(Schema)`: an async iterable, or an async generator; data that is not in the schema is left out", async () => {
  const app = new App();
  const rows = async function* () {
    yield { id: 1, total: 2, secret: "s3cret" };
    yield { id: 2, total: 3 };
  };
  app.get("/generator", { response: JsonLines(Order) }, rows);
  app.get("/iterable", { response: JsonLines(Order), status: 206 }, async () => rows());
  app.get("/stream", { response: JsonLines(Order) }, async () => ReadableStream.from(rows()));
  for (const [path, status] of [["/generator", 200], ["/iterable", 206], ["/stream", 200]] as const) {
    const response = await get(app, path);
    assertEquals([response.status, response.headers.get("content-type")], [status, "application/jsonl"]);
    assertEquals(await response.text(), '{"id":1,"total":2}\n{"id":2,"total":3}\n');
  }
  const ndjson = await get(app, "/iterable", { accept: "application/x-ndjson" });
  assertEquals(ndjson.headers.get("content-type"), "application/x-ndjson");
  await ndjson.body?.cancel();
});

Deno.test("A first line that does not fit is a 500, a later one breaks the reply off, as for each generator", async () => {
  const app = new App();
  const wrong = { id: "s3cret", total: 1 } as unknown as { id: number; total: number };
  let closed = 0;
  const rows = async function* (valid: number) {
    try {
      for (let n = 0; n < valid; n++) yield { id: n, total: n };
      yield wrong;
    } finally {
      closed++;
    }
  };
  app.get("/first", { response: JsonLines(Order) }, async () => rows(0));
  app.get("/later", { response: JsonLines(Order) }, async () => rows(1));
  app.get("/model", { response: Order }, async function* () {
    yield* rows(0);
  });
  using log = new CapturedLog();
  for (const path of ["/first", "/model"]) {
    const response = await get(app, path);
    assertEquals(response.status, 500);
    assert(!(await response.text()).includes("s3cret"));
  }
  const reader = (await get(app, "/later")).body!.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value), '{"id":0,"total":0}\n');
  const broken = await reader.read().then(() => "read", () => "broken");
  assertEquals([broken, closed], ["broken", 3]);
  assert(!log.text.includes("s3cret"));
});

Deno.test("An iterable of lines is closed at once when its client goes, also while it waits", async () => {
  const app = new App();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  let isFirst = true;
  const source: AsyncIterable<{ id: number; total: number }> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const value = { done: false as const, value: { id: 1, total: 2 } };
        if (!isFirst) return new Promise(() => {});
        isFirst = false;
        return Promise.resolve(value);
      },
      return: () => {
        close();
        return Promise.resolve({ done: true as const, value: undefined });
      },
    }),
  };
  app.get("/", { response: JsonLines(Order) }, async () => source);
  const reader = (await get(app)).body!.getReader();
  await reader.read();
  await reader.cancel();
  await closed;
});

Deno.test("`Bytes(type)`: a Blob, a ReadableStream, a Uint8Array and `file(…)` get the declared type", async () => {
  await using folder = await TemporaryFolder.make();
  const path = `${folder.path}/picture.gif`;
  await Deno.writeTextFile(path, "0123456789");
  const app = new App();
  const bytes = new TextEncoder().encode("0123456789");
  app.get("/blob", { response: Bytes("image/png") }, async () => new Blob([bytes], { type: "text/html" }));
  app.get("/stream", { response: Bytes("image/png") }, async () => ReadableStream.from([bytes]));
  app.get("/bytes", { response: Bytes("image/png") }, async () => bytes);
  app.get("/file", { response: Bytes("image/png") }, async () => await file(path));
  for (const path of ["/blob", "/stream", "/bytes", "/file"]) {
    const response = await get(app, path);
    assertEquals([path, response.headers.get("content-type")], [path, "image/png"]);
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
    assertEquals(await response.text(), "0123456789");
    const head = await get(app, path, {}, "HEAD");
    assertEquals([head.status, head.headers.get("content-type"), await head.text()], [200, "image/png", ""]);
  }
  for (const path of ["/blob", "/file"]) {
    const part = await get(app, path, { range: "bytes=2-4" });
    assertEquals([part.status, await part.text()], [206, "234"]);
    const { headers } = await get(app, path, {}, "HEAD");
    const unchanged = await get(app, path, { "if-none-match": headers.get("etag")! });
    assertEquals(unchanged.status, 304);
  }
});

Deno.test("Bytes: the default is `application/octet-stream`, and the status is the route's", async () => {
  const app = new App();
  app.post("/", { response: Bytes(), status: 201 }, async () => new Uint8Array([1]));
  const response = await get(app, "/", {}, "POST");
  assertEquals([response.status, response.headers.get("content-type")], [201, "application/octet-stream"]);
  assertEquals(await response.bytes(), new Uint8Array([1]));
});

Deno.test('`Text("text/csv")` and `Html()`: a string is sent as it is, with that type', async () => {
  const app = new App();
  app.get("/csv", { response: Text("text/csv"), status: 202 }, async () => "a,b\r\n");
  app.get("/plain", { response: Text() }, async () => "plain");
  app.get("/latin", { response: Text("text/plain; charset=US-ASCII") }, async () => "plain");
  app.get("/html", { response: Html() }, async () => "<p>page</p>");
  const sent = async (path: string) => {
    const response = await get(app, path);
    return [response.status, response.headers.get("content-type")!.toLowerCase(), await response.text()];
  };
  assertEquals(await sent("/csv"), [202, "text/csv;charset=utf-8", "a,b\r\n"]);
  assertEquals(await sent("/plain"), [200, "text/plain;charset=utf-8", "plain"]);
  assertEquals(await sent("/latin"), [200, "text/plain; charset=us-ascii", "plain"]);
  assertEquals(await sent("/html"), [200, "text/html;charset=utf-8", "<p>page</p>"]);
});

Deno.test("The middleware of entity tags tags declared text and bytes in memory", async () => {
  const app = new App();
  app.middleware(etag());
  app.get("/text", { response: Text("text/csv") }, async () => "a,b\r\n");
  app.get("/bytes", { response: Bytes() }, async () => new Uint8Array([1]));
  for (const path of ["/text", "/bytes"]) {
    const first = await get(app, path);
    const tag = first.headers.get("etag");
    assert(tag !== null, path);
    await first.body?.cancel();
    assertEquals((await get(app, path, { "if-none-match": tag })).status, 304);
  }
});

Deno.test("A handler may always return a Response of its own", async () => {
  const app = new App();
  app.get("/", { response: Events(Order) }, async () => text("own", { status: 202 }));
  const response = await get(app);
  assertEquals([response.status, await response.text()], [202, "own"]);
});

Deno.test("An item that looks like an event is one, and the log says so where its `data` does not fit", async () => {
  const app = new App();
  const response = Events(v.object({ data: v.number() }));
  app.get("/alone", { response }, async function* () {
    yield { data: 1 };
  });
  app.get("/wrapped", { response }, async function* () {
    yield { data: { data: 1 } };
  });
  using log = new CapturedLog();
  assertEquals(await (await get(app, "/alone")).text(), "");
  assertStringIncludes(log.text, "the `data` of the event does not fit the response model");
  assertEquals(await (await get(app, "/wrapped")).text(), 'data: {"data":1}\n\n');
});

Deno.test("A result that is not what the route declares is a 500, and the log says what it takes", async () => {
  const app = new App();
  // deno-lint-ignore no-explicit-any -- what the compiler refuses
  const wrong = async (): Promise<any> => ({ a: 1 });
  app.get("/events", { response: Events(Order) }, wrong);
  app.get("/lines", { response: JsonLines(Order) }, wrong);
  app.get("/bytes", { response: Bytes() }, wrong);
  // deno-lint-ignore no-explicit-any -- what the compiler refuses
  app.get("/text", { response: Text() }, async (): Promise<any> => undefined);
  using log = new CapturedLog();
  for (const path of ["/events", "/lines", "/bytes", "/text"]) {
    const response = await get(app, path);
    assertEquals(response.status, 500);
    await response.body?.cancel();
    assertStringIncludes(log.text, `Cannot reply to GET ${path}: its response declares that the handler returns`);
  }
  assertStringIncludes(log.text, "returns SSE(…), got Object");
  assertStringIncludes(log.text, "returns a string, got undefined");
});

Deno.test("A declaration that cannot work throws where it is made", () => {
  const app = new App();
  // deno-lint-ignore no-explicit-any -- mistakes
  const any = (value: unknown) => value as any;
  assertThrows(() => Events(any({ id: v.number() })), TypeError, "Cannot declare a reply by Events(): the argument");
  assertThrows(() => JsonLines(any("x")), TypeError, "Cannot declare a reply by JsonLines(): the argument");
  assertThrows(() => Bytes("image/*"), TypeError, "Cannot declare a reply by Bytes(): the argument must be a media");
  assertThrows(() => Text("csv"), TypeError, "Cannot declare a reply by Text(): the argument must be a media type");
  assertThrows(() => Text("text/csv\r\nx: y"), TypeError, "Cannot declare a reply by Text()");
  const generator = any(async function* () {});
  assertThrows(
    () => app.get("/bytes", { response: Bytes() }, generator),
    TypeError,
    "Cannot register GET /bytes: its response is application/octet-stream, and the handler yields values, return a",
  );
  assertThrows(() => app.get("/", { response: Html() }, generator), TypeError, "and the handler yields values");
  assertThrows(() => app.post("/", { body: any(Events(Order)) }, any(async () => {})), TypeError, '"body" must be');
  assertThrows(() => app.get("/", { response: any(Html) }, any(async () => {})), TypeError, '"response" must be');
  assertThrows(
    () => app.get("/", { response: any(Events) }, generator),
    TypeError,
    '"response" must be a valibot schema, got the function "Events": call it',
  );
  assertThrows(
    () => app.get("/", { response: Events(Order), status: 204 }, generator),
    TypeError,
    "a reply with status 204 has no body",
  );
  const Unsent = v.object({ keys: v.set(v.string()) });
  assertThrows(() => app.get("/", { response: Events(Unsent) }, generator), TypeError, 'the kind "set" cannot');
  assertThrows(() => app.get("/", { response: JsonLines(Unsent) }, generator), TypeError, 'the kind "set" cannot');
});
