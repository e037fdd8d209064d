// Section 1 of the contract of clients: what the document says of declared replies, and what agents
// get of them.

import { App, Bytes, Events, Html, JsonLines, RouteError, Router, SSE, Text } from "@webfw/core";
import type { OpenAPIDocument, OpenAPIHeader, OpenAPIMediaType, OpenAPIResponse } from "@webfw/core/openapi";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals, assertThrows } from "@std/assert";
import * as v from "valibot";
import { INT64 } from "../../unit/describe/json_schema/support/integer_bounds.ts";

const Order = v.pipe(v.object({ id: v.number() }), v.title("Order"));
const ORDER = { $ref: "#/components/schemas/Order" };
const BYTES = { schema: { type: "string", format: "binary" } } as const;
const EVENT = {
  id: { type: "string", description: "What a client resumes after, as `Last-Event-ID`." },
  event: {
    type: "string",
    description:
      "The name of the event; without one it is `message`. `webfw.gap` says that messages are missing, with `reason`, `from` and `oldest` as data.",
  },
  retry: {
    type: "integer",
    format: "int64",
    minimum: 0,
    description: "The milliseconds after which a client connects again.",
  },
} as const;

function replyAt(document: OpenAPIDocument, path: string, status = 200, method: "get" | "post" = "get") {
  return document.paths[path]![method]!.responses[status] as OpenAPIResponse | undefined;
}

Deno.test("Events: `text/event-stream`, the event's form with the data's schema", () => {
  const app = new App();
  const orders = app.topic("orders", { schema: Order });
  const any = app.topic("any");
  app.get("/schema", { response: Events(Order) }, async () => SSE(orders.subscribe()));
  app.get("/topic", { response: Events(orders) }, async () => SSE(orders.subscribe()));
  app.get("/any", { response: Events(any) }, async () => SSE(any.subscribe()));
  app.get("/untitled", { response: Events(v.object({ n: v.number() })), operationId: "count" }, async function* () {});
  const document = app.openapi();
  const media: OpenAPIMediaType = {
    schema: ORDER,
    "x-itemSchema": {
      type: "object",
      properties: {
        ...EVENT,
        data: { type: "string", contentMediaType: "application/json", contentSchema: ORDER },
      },
    },
  };
  const described: OpenAPIResponse = { description: "OK", content: { "text/event-stream": media } };
  assertEquals(replyAt(document, "/schema"), described);
  assertEquals(replyAt(document, "/topic"), described);
  assertEquals(replyAt(document, "/any")!.content, {
    "text/event-stream": { "x-itemSchema": { type: "object", properties: { ...EVENT, data: { type: "string" } } } },
  });
  assertEquals(replyAt(document, "/untitled")!.content!["text/event-stream"]!.schema, {
    $ref: "#/components/schemas/CountItem",
  });
});

Deno.test("JsonLines: `application/jsonl`; items of a stream are in `x-itemSchema`, and their model is a component", () => {
  const app = new App();
  app.get("/", { response: JsonLines(Order), status: 206 }, async function* () {});
  assertEquals(replyAt(app.openapi(), "/", 206), {
    description: "Partial Content",
    content: { "application/jsonl": { "x-itemSchema": ORDER } },
  });
});

Deno.test("Bytes, Text and Html: that type, `string` `binary` or a string", () => {
  const app = new App();
  app.get("/png", { response: Bytes("image/png") }, async () => new Uint8Array());
  app.get("/bytes", { response: Bytes() }, async () => new Uint8Array());
  app.get("/csv", { response: Text("text/csv; header=present") }, async () => "");
  app.get("/text", { response: Text() }, async () => "");
  app.get("/html", { response: Html() }, async () => "");
  const document = app.openapi();
  const content = (path: string) => replyAt(document, path)!.content;
  assertEquals(content("/png"), { "image/png": BYTES });
  assertEquals(content("/bytes"), { "application/octet-stream": BYTES });
  assertEquals(content("/csv"), { "text/csv": { schema: { type: "string" } } });
  assertEquals(content("/text"), { "text/plain": { schema: { type: "string" } } });
  assertEquals(content("/html"), { "text/html": { schema: { type: "string" } } });
});

Deno.test("`responses: { 201: { schema, description, headers } }` documents headers and descriptions", () => {
  const app = new App();
  const Location = v.pipe(v.string(), v.url(), v.description("Where it is."));
  const headers = { location: Location, "x-left": v.optional(v.pipe(v.number(), v.integer())) };
  app.post("/declared", {
    status: 201,
    responses: { 201: { schema: Order, description: "It is stored.", headers }, 409: { description: "It is there." } },
  }, async () => new Response());
  app.post("/model", { response: Order, status: 201, responses: { 201: { headers } } }, async () => ({ id: 1 }));
  const described: Record<string, OpenAPIHeader> = {
    location: { required: true, description: "Where it is.", schema: { type: "string", format: "uri" } },
    "x-left": { schema: INT64 },
  };
  const document = app.openapi();
  const content = { "application/json": { schema: ORDER } };
  assertEquals(replyAt(document, "/declared", 201, "post"), {
    description: "It is stored.",
    headers: described,
    content,
  });
  assertEquals(replyAt(document, "/declared", 409, "post"), { description: "It is there." });
  assertEquals(replyAt(document, "/declared", 200, "post"), undefined);
  assertEquals(replyAt(document, "/model", 201, "post"), {
    description: "Created",
    headers: described,
    content,
  });
});

Deno.test("`responses` without `schema` documents a reply without content, beside the plain schema form", () => {
  const app = new App();
  app.get("/", { responses: { 202: {}, 303: { headers: { location: v.string() } }, 404: Order } }, async () => {
    return new Response(null, { status: 202 });
  });
  const document = app.openapi();
  assertEquals(replyAt(document, "/", 202), { description: "Accepted" });
  assertEquals(replyAt(document, "/", 303), {
    description: "See Other",
    headers: { location: { required: true, schema: { type: "string" } } },
  });
  assertEquals(replyAt(document, "/", 404)!.content, { "application/json": { schema: ORDER } });
});

Deno.test("Declared replies stand in `responses`, too, of routes and of scopes", () => {
  const router = new Router({
    prefix: "/r",
    responses: { 206: { schema: Bytes("image/png"), description: "A part." } },
  });
  router.get("/", { responses: { 203: Text("text/csv") }, response: Order }, async () => ({ id: 1 }));
  const app = new App({ responses: { 503: { description: "It is busy.", headers: { "retry-after": v.string() } } } });
  app.include(router);
  const document = app.openapi();
  assertEquals(replyAt(document, "/r/", 206), { description: "A part.", content: { "image/png": BYTES } });
  assertEquals(replyAt(document, "/r/", 203)!.content, { "text/csv": { schema: { type: "string" } } });
  assertEquals(replyAt(document, "/r/", 503), {
    description: "It is busy.",
    headers: { "retry-after": { required: true, schema: { type: "string" } } },
  });
});

Deno.test("A mistake in `responses` throws at the declaration, and names the part", () => {
  const app = new App();
  // deno-lint-ignore no-explicit-any -- mistakes
  const register = (reply: any) => () => app.get("/", { responses: { 201: reply } }, async () => {});
  assertThrows(register({ id: v.number() }), TypeError, '"201" must be one valibot schema, write v.object({ … })');
  assertThrows(register({ schema: Order, headrs: {} }), TypeError, "headers");
  const headers = { "Content-Type": v.string() };
  assertThrows(register({ headers }), TypeError, '"responses.201.headers" has "Content-Type", which the schema gives');
  for (const status of ["created", "99", "600", "2XX"]) {
    assertThrows(
      () => app.get("/", { responses: { [status]: v.string() } }, async () => {}),
      TypeError,
      `"responses" has "${status}", which is not a status: write a number from 100 to 599`,
    );
  }
  assertThrows(register({ schema: {} }), TypeError, '"responses.201.schema" must be a valibot schema');
  assertThrows(register({ description: 1 }), TypeError, '"responses.201.description" must be a string');
  assertThrows(register({ headers: v.string() }), TypeError, '"responses.201.headers" must be schemas by name');
  assertThrows(register({ headers: { location: "x" } }), TypeError, '"responses.201.headers.location" must be');
  assertThrows(register({ headers: { "a b": v.string() } }), TypeError, "is not the name of a header");
  assertThrows(register({ headers: { tags: v.set(v.string()) } }), TypeError, 'the kind "set" cannot');
  assertThrows(
    () => new Router({ responses: { 201: { description: 1 as unknown as string } } }),
    TypeError,
    'Cannot make a router: "responses.201.description" must be a string',
  );
});

Deno.test("A route that streams is no tool; texts and bytes are content of a tool's result", async () => {
  const app = new App();
  for (const response of [Events(Order), JsonLines(Order)] as const) {
    const error = assertThrows(() => {
      app.get("/stream", { response: response as never, tool: true }, async () => null as never);
    }, RouteError);
    assertEquals(error.code, "tool");
  }
  app.get("/csv", { response: Text("text/csv"), tool: true }, async function csv() {
    return "a,b";
  });
  app.get("/dot", { response: Bytes("image/gif"), tool: true }, async function dot() {
    return new Uint8Array([1]);
  });
  await using client = new TestClient(app);
  const call = async (method: string, params: object) => {
    const headers = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18" };
    const body = { jsonrpc: "2.0", id: 1, method, params };
    return (await client.post("/mcp", { headers, json: body }).json() as { result: Record<string, unknown> }).result;
  };
  const { tools } = await call("tools/list", {}) as { tools: { name: string; outputSchema?: unknown }[] };
  assertEquals(tools.map(({ name, outputSchema }) => [name, outputSchema]), [["csv", undefined], ["dot", undefined]]);
  const csv = await call("tools/call", { name: "csv", arguments: {} });
  assertEquals(csv.content, [{ type: "text", text: "a,b" }]);
  const dot = await call("tools/call", { name: "dot", arguments: {} });
  assertEquals(dot.content, [{ type: "image", data: "AQ==", mimeType: "image/gif" }]);
  assert(!dot.isError);
});
