// Section 4 of the contract: a route with several successes. Each is checked against its own model.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, Bytes, Events, Html, type HttpRequest, JsonLines, Replies, reply, Text } from "@webfw/core";
import { client } from "@webfw/core/client";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

const Item = v.pipe(v.object({ id: v.string() }), v.title("Item"));
const Made = v.pipe(v.object({ id: v.string(), at: v.date() }), v.title("Made"));

/** More than the models have. */
const row = { id: "1", at: new Date(0), password: "s3cret" };
const asItem: v.InferInput<typeof Item> = row;

function choose({ query }: HttpRequest) {
  switch (query.get("as")) {
    case "made":
      return reply(201, row);
    case "none":
      return reply(204);
    case "undeclared":
      return reply(202 as 201, row);
    case "unfit":
      return reply(201, { id: "1", at: "today" } as unknown as typeof row);
    default:
      return asItem;
  }
}

const response = Replies({ 200: Item, 201: Made, 204: v.void() });

Deno.test("A plain result has the lowest status, reply() any other, and each is reduced to its own model", async () => {
  const app = new App();
  app.get("/", { response }, async (request) => choose(request));
  await using client = new TestClient(app);
  const seen = async (as: string) => {
    const reply = await client.get(`/?as=${as}`);
    return [reply.status, await reply.text()];
  };
  assertEquals(await seen("item"), [200, '{"id":"1"}']);
  assertEquals(await seen("made"), [201, '{"id":"1","at":"1970-01-01T00:00:00.000Z"}']);
  assertEquals(await seen("none"), [204, ""]);
});

Deno.test("A plain result has the status of the route, if it declares one", async () => {
  const app = new App();
  const two = Replies({ 201: Item, 200: Item });
  app.get("/lowest", { response: two }, async () => asItem);
  app.get("/given", { response: two, status: 201 }, async () => asItem);
  await using client = new TestClient(app);
  assertEquals((await client.get("/lowest")).status, 200);
  assertEquals((await client.get("/given")).status, 201);
});

Deno.test("A status that is not declared, and a result that does not fit, are 500 and are not sent", async () => {
  const app = new App();
  app.get("/", { response }, async (request) => choose(request));
  app.get("/bare", async () => reply(201, row));
  await using client = new TestClient(app);
  for (
    const [path, reason] of [
      ["/?as=undeclared", "reply(202, …) has a status that its response does not declare"],
      ["/?as=unfit", "the result of status 201 does not fit the response model"],
      ["/bare", "write response: Replies({ 201: … })"],
    ]
  ) {
    using log = new CapturedLog();
    assertEquals((await client.get(path!).problem(500)).status, 500);
    assertStringIncludes(log.text, reason!);
  }
});

Deno.test("Async models are awaited, and text and bytes are sent as what they are", async () => {
  const app = new App();
  const Checked = v.pipeAsync(v.object({ id: v.string() }), v.checkAsync(async () => await true));
  const mixed = Replies({ 200: Checked, 202: Text("text/csv"), 203: Html(), 206: Bytes("image/png") });
  app.get("/json", { response: mixed }, async () => asItem);
  app.get("/text", { response: mixed }, async () => reply(202, "a,b"));
  app.get("/page", { response: mixed }, async () => reply(203, "<p>"));
  app.get("/bytes", { response: mixed }, async () => reply(206, new Blob(["png"]).stream()));
  await using client = new TestClient(app);
  const seen = async (path: string) => {
    const reply = await client.get(path);
    return [reply.status, reply.headers.get("content-type"), await reply.text()];
  };
  assertEquals(await seen("/json"), [200, "application/json", '{"id":"1"}']);
  assertEquals(await seen("/text"), [202, "text/csv;charset=UTF-8", "a,b"]);
  assertEquals(await seen("/page"), [203, "text/html;charset=UTF-8", "<p>"]);
  assertEquals(await seen("/bytes"), [206, "image/png", "png"]);
});

Deno.test("A stream of reply() ends before the tasks after it run", async () => {
  const app = new App();
  const order: string[] = [];
  const done = Promise.withResolvers<void>();
  app.get("/", { response: Replies({ 200: Item, 206: Bytes() }) }, async (request) => {
    request.after(() => {
      order.push("after");
      done.resolve();
    });
    return reply(
      206,
      new ReadableStream<Uint8Array<ArrayBuffer>>({
        pull(controller) {
          order.push("read");
          controller.close();
        },
      }, { highWaterMark: 0 }),
    );
  });
  await using client = new TestClient(app);
  assertEquals(await client.get("/").text(), "");
  await done.promise;
  assertEquals(order, ["read", "after"]);
});

Deno.test("The document has each success with its model, and none of one without content", () => {
  const app = new App();
  app.get(
    "/",
    { response, responses: { 201: { description: "It is new", headers: { location: v.string() } } } },
    async function find() {
      return asItem;
    },
  );
  const untitled = v.object({ count: v.number() });
  app.get(
    "/names",
    { response: Replies({ 200: untitled, 203: v.object({ all: v.number() }) }) },
    async function count() {
      return { count: 1 };
    },
  );
  const { paths, components } = app.openapi();
  const responses = paths["/"]!.get!.responses;
  assertEquals(Object.keys(responses), ["200", "201", "204", "4XX", "5XX"]);
  assertEquals(responses[200], {
    description: "OK",
    content: { "application/json": { schema: { $ref: "#/components/schemas/Item" } } },
  });
  assertEquals(responses[201], {
    description: "It is new",
    headers: { location: { required: true, schema: { type: "string" } } },
    content: { "application/json": { schema: { $ref: "#/components/schemas/Made" } } },
  });
  assertEquals(responses[204], { description: "No Content" });
  assertEquals(Object.keys(components.schemas!).filter((name) => name.startsWith("Count")), [
    "CountResult",
    "CountResult203",
  ]);
});

Deno.test("A typed client gets the union of the results", async () => {
  const app = new App();
  const find = app.get("/", { response, query: { as: v.string() } }, async (request) => choose(request));
  const mixed = app.get("/mixed", { response: Replies({ 200: Item, 203: Text() }) }, async () => reply(203, "text"));
  const routes = { find, mixed };
  const api = client<typeof routes>("http://localhost", { fetch: app.fetch });
  const found: { id: string } | { id: string; at: string } | undefined = await api.get("/", { as: "made" });
  assertEquals(found, { id: "1", at: "1970-01-01T00:00:00.000Z" });
  assertEquals(await api.get("/", { as: "none" }), undefined);
  const either: { id: string } | string = await api.get("/mixed");
  assertEquals(either, "text");
});

Deno.test("A tool declares the results of all successes, and gives any of them", async () => {
  const app = new App();
  app.get(
    "/one",
    { response: Replies({ 200: Item, 201: Made }), query: { as: v.string() }, tool: true },
    async (request) => {
      const result = choose(request);
      return "~status" in result && result["~status"] === 204 ? asItem : result as typeof asItem;
    },
  );
  app.get("/text", { response: Replies({ 200: Item, 203: Text() }), tool: true }, async () => reply(203, "text"));
  await using client = new TestClient(app);
  const call = async (method: string, params: unknown) => {
    const reply = await client.post("/mcp", {
      json: { jsonrpc: "2.0", id: 1, method, params },
      headers: { accept: "application/json, text/event-stream" },
    }).json() as { result: Record<string, unknown> };
    return reply.result;
  };
  const { tools } = await call("tools/list", {}) as {
    tools: { name: string; outputSchema?: Record<string, unknown> }[];
  };
  assertEquals(tools.map(({ outputSchema }) => outputSchema?.type), ["object", undefined]);
  assertEquals((tools[0]!.outputSchema!.anyOf as unknown[]).length, 2);
  for (const [as, content] of [["item", { id: "1" }], ["made", { id: "1", at: "1970-01-01T00:00:00.000Z" }]] as const) {
    const result = await call("tools/call", { name: tools[0]!.name, arguments: { as } });
    assertEquals(result.structuredContent, content);
  }
});

Deno.test("A repetition of an idempotent request keeps the status", async () => {
  const app = new App();
  let runs = 0;
  app.post("/", { response, idempotent: "1h", query: { as: v.string() } }, async (request) => {
    runs++;
    return choose(request);
  });
  for (const [as, status] of [["made", 201], ["none", 204]] as const) {
    for (let times = 0; times < 2; times++) {
      const headers = { "idempotency-key": as };
      const reply = await app.fetch(new Request(`http://localhost/?as=${as}`, { method: "POST", headers }));
      assertEquals(reply.status, status);
      await reply.body?.cancel();
    }
  }
  assertEquals(runs, 2);
  await app.stop();
});

Deno.test("Replies() refuses what is no success, and says what to write", () => {
  const table: [models: unknown, message: string][] = [
    [{}, "write { 200: Item, 201: Item }"],
    [Item, "write { 200: Item, 201: Item }"],
    [undefined, "write { 200: Item, 201: Item }"],
    [{ 404: Item }, '"404" is not a status from 200 to 399'],
    [{ ok: Item }, '"ok" is not a status from 200 to 399'],
    [{ 200: { id: v.string() } }, "write v.object({ … }) around the entries"],
    [{ 200: Events(Item) }, "Text(…), Html() or Bytes(…)"],
    [{ 200: JsonLines(Item) }, "Text(…), Html() or Bytes(…)"],
    [{ 200: Replies({ 200: Item }) }, "Text(…), Html() or Bytes(…)"],
    [{ 204: Item }, "write 204: v.void()"],
  ];
  for (const [models, message] of table) {
    assertStringIncludes(assertThrows(() => Replies(models as { 200: typeof Item }), TypeError).message, message);
  }
  const app = new App();
  assertStringIncludes(
    assertThrows(() => app.get("/", { response, status: 202 }, async () => asItem), TypeError).message,
    "the status 202 is not in Replies({ … }), which has 200, 201, 204",
  );
  const stream = async function* () {
    yield row;
  } as unknown as () => Promise<typeof asItem>;
  assertStringIncludes(
    assertThrows(() => app.get("/", { response }, stream), TypeError).message,
    "return reply(status, value) from an async function",
  );
  const nested = { 404: response } as unknown as Record<number, typeof Item>;
  assertThrows(() => app.get("/", { responses: nested }, async () => 1), TypeError);
  assertThrows(() => reply("201" as unknown as 201, row), TypeError, "must be a number");
});
