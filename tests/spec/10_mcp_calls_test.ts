// Section 10 of the contract, POST /mcp: a call runs the same code as an HTTP request.

import { assertEquals } from "@std/assert";
import { App, dependency, html, HTTPError, redirect, Router, text } from "@webfw/core";
import * as v from "valibot";
import { Agent } from "../agents/agent.ts";
import { CapturedLog } from "./support/captured_log.ts";

const Book = v.pipe(v.object({ id: v.pipe(v.number(), v.integer()), title: v.string() }), v.title("Book"));

Deno.test("A call takes its arguments through path, query and body to the handler", async () => {
  const app = new App();
  app.put("/{kind}/a b/{rest...}", {
    query: { n: v.number(), on: v.boolean(), big: v.bigint(), tags: v.array(v.string()), none: v.nullable(v.string()) },
    body: v.object({ deep: v.array(v.object({ x: v.number() })) }),
    tool: true,
  }, async function put(_, args) {
    return args;
  });
  const given = {
    kind: "50% & more?#/ü",
    rest: "a/b c/../d".replace("../", "") + "//e",
    n: 1e21,
    on: false,
    big: "123456789012345678901234567890",
    tags: ["a&b=c", "d+e", ""],
    none: null,
    body: { deep: [{ x: -0.5 }] },
  };
  assertEquals(await new Agent(app).result("put", given), given);
});

Deno.test("A call runs middleware, validation, dependencies and the response model, each once", async () => {
  const ran: string[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    ran.push(`middleware ${request.path}`);
    return await next(request);
  });
  const connection = dependency(async function* () {
    ran.push("opened");
    try {
      yield "connection";
    } finally {
      ran.push("closed");
    }
  });
  const router = new Router();
  router.middleware(async (request, next) => {
    ran.push("router");
    return await next(request);
  });
  router.get("/books/{id}", {
    params: { id: v.number() },
    response: Book,
    deps: { connection },
    tool: true,
  }, async function getBook(request, { id, connection }) {
    request.after(() => ran.push("after"));
    ran.push(connection);
    return { id, title: "Emma", secret: "x" } as { id: number; title: string };
  });
  app.include(router);
  assertEquals(await new Agent(app).result("getBook", { id: 1 }), { id: 1, title: "Emma" });
  await app.stop();
  const expected = ["middleware /mcp", "middleware /books/1", "router", "opened", "connection", "after", "closed"];
  assertEquals(ran, expected);
});

Deno.test("A call has the headers and cookies of its caller, but for those of the message", async () => {
  const app = new App();
  app.post("/echo", {
    headers: { authorization: v.string(), "x-tenant": v.string() },
    cookies: { sid: v.string() },
    body: v.string(),
    tool: true,
  }, async function echo(request, { headers, cookies, body }) {
    return { headers: { ...headers }, cookies: { ...cookies }, body, all: [...request.headers.keys()] };
  });
  const agent = new Agent(app, "http://localhost/mcp", {
    "authorization": "Bearer ada",
    "x-tenant": "t1",
    "cookie": "sid=s1; other=2",
    "accept": "text/event-stream",
    "accept-language": "de",
    "content-language": "en",
    "if-none-match": "*",
    "last-event-id": "7",
    "mcp-session-id": "s",
    "mcp-protocol-version": "2025-11-25",
    "transfer-encoding": "chunked",
  });
  assertEquals(await agent.result("echo", { body: "b" }), {
    headers: { authorization: "Bearer ada", "x-tenant": "t1" },
    cookies: { sid: "s1" },
    body: "b",
    all: ["accept", "accept-language", "authorization", "content-type", "cookie", "x-tenant"],
  });
});

Deno.test("The faults of all arguments are listed by name, without the values that were sent", async () => {
  const app = new App();
  app.post(
    "/books/{id}",
    { params: { id: v.number() }, query: { q: v.string() }, body: Book, tool: true },
    async function add() {
      throw new Error("The handler must not run");
    },
  );
  const agent = new Agent(app);
  assertEquals(
    await agent.failure("add", { id: "MARKER", body: { id: "MARKER" } }),
    [
      "422 Invalid input: The request does not fit its description",
      "- id: Invalid type: expected number",
      "- q: Missing value",
      "- body.id: Invalid type: expected number",
      "- body.title: Missing value",
    ].join("\n"),
  );
});

Deno.test("Arguments that no request can carry are refused", async () => {
  const app = new App();
  app.get("/{name}/{rest...}", { query: { q: v.optional(v.string()) }, tool: true }, async function get(_, args) {
    return args;
  });
  const agent = new Agent(app);
  const refused = async (given: Record<string, unknown>) => (await agent.failure("get", given))?.split("\n").slice(1);
  const rest = "r";
  assertEquals(await refused({ rest }), ["- name: Missing value"]);
  assertEquals(await refused({ rest, name: "" }), ["- name: Must not be empty"]);
  assertEquals(await refused({ rest, name: ["a"] }), ["- name: Must be a value without parts"]);
  for (const name of [".", "..", "../x", "a/.."]) {
    assertEquals(await refused({ rest, name }), ["- name: Must not hold a dot segment"], name);
  }
  assertEquals(await refused({ name: "a", rest: "b/../../c" }), ["- rest: Must not hold a dot segment"]);
  for (const q of [{}, [["a"]]]) {
    assertEquals(await refused({ name: "a", rest, q }), ["- q: Must be a value without parts, or a list of them"]);
  }
  assertEquals(await refused({ name: "a", rest, x: 1 }), ["- x: Unknown argument: expected name, rest, q"]);
  assertEquals(await agent.result("get", { name: "a", rest, q: null }), { name: "a", rest });
  assertEquals(await agent.result("get", { name: "\ud800", rest }), { name: "\ufffd", rest });
});

Deno.test("A call cannot reach a route that is no tool, nor the endpoint itself", async () => {
  const app = new App();
  app.post("/{name}", { tool: true }, async function post(_, { name }) {
    return { name };
  });
  app.post("/secret", async () => "secret");
  const agent = new Agent(app);
  assertEquals(await agent.result("post", { name: "a" }), { name: "a" });
  for (const name of ["secret", "mcp"]) {
    const failure = await agent.failure("post", { name });
    assertEquals(failure, "404 Not Found: The arguments lead to another route than that of the tool");
  }
});

Deno.test("A failure is a result that says why, and nothing of the cause", async () => {
  const app = new App();
  app.get("/fail/{how}", { tool: true }, async function fail(_, { how }): Promise<unknown> {
    if (how === "conflict") throw new HTTPError(409, "Sold out", { extensions: { left: 0 }, cause: "MARKER" });
    if (how === "bug") throw new Error("MARKER");
    if (how === "redirect") return redirect("/elsewhere");
    return new Response("gone", { status: 410 });
  });
  using log = new CapturedLog();
  const agent = new Agent(app);
  assertEquals(await agent.failure("fail", { how: "conflict" }), "409 Conflict: Sold out\nleft: 0");
  assertEquals(await agent.failure("fail", { how: "bug" }), "500 Internal Server Error");
  assertEquals(await agent.failure("fail", { how: "redirect" }), "Status 303, go to /elsewhere");
  assertEquals(await agent.failure("fail", { how: "gone" }), "Status 410: gone");
  assertEquals(log.lines.length, 1, log.text);
});

Deno.test("The text of a failure is the reply that onError makes", async () => {
  const app = new App();
  app.onError(async (error) => Response.json({ oops: error.detail }, { status: error.status }));
  app.get("/fail", { tool: true }, async function fail() {
    throw new HTTPError(402, "Pay first");
  });
  assertEquals(await new Agent(app).failure("fail"), 'Status 402: {"oops":"Pay first"}');
});

Deno.test("Results are structured if they are JSON", async () => {
  const app = new App();
  app.get("/{what}", { tool: true }, async function get(_, { what }): Promise<unknown> {
    switch (what) {
      case "list":
        return [1];
      case "null":
        return null;
      case "text":
        return text("t");
      case "html":
        return html("<p>");
      case "svg":
        return new Response("<svg/>", { headers: { "content-type": "image/svg+xml" } });
      case "png":
        return new Blob([Uint8Array.of(1)], { type: "image/png" });
      case "wav":
        return new Blob([Uint8Array.of(1)], { type: "audio/wav" });
      case "pdf":
        return new Blob([Uint8Array.of(1)], { type: "application/pdf" });
      case "problem":
        return Response.json({ a: 1 }, { headers: { "content-type": "application/problem+json; charset=utf-8" } });
      default:
        return undefined;
    }
  });
  const agent = new Agent(app);
  const blocks = async (what: string) => (await agent.call("get", { what })).content;
  assertEquals(await agent.result("get", { what: "list" }), { result: [1] });
  assertEquals(await agent.result("get", { what: "null" }), { result: null });
  assertEquals(await agent.result("get", { what: "problem" }), { a: 1 });
  assertEquals(await blocks("text"), [{ type: "text", text: "t" }]);
  assertEquals(await blocks("html"), [{ type: "text", text: "<p>" }]);
  assertEquals(await blocks("svg"), [{ type: "text", text: "<svg/>" }]);
  assertEquals(await blocks("nothing"), [{ type: "text", text: "Done" }]);
  assertEquals(await blocks("png") as unknown[], [{ type: "image", data: "AQ==", mimeType: "image/png" }]);
  assertEquals(await blocks("wav") as unknown[], [{ type: "audio", data: "AQ==", mimeType: "audio/wav" }]);
  assertEquals(await blocks("pdf") as unknown[], [{
    type: "resource",
    resource: { uri: "http://localhost/pdf", mimeType: "application/pdf", blob: "AQ==" },
  }]);
});

Deno.test("A result that does not fit the tool's declaration is a server error", async () => {
  const app = new App();
  app.get("/{what}", { response: Book, tool: true }, async function get(_, { what }) {
    if (what === "none") return new Response(null, { status: 204 });
    return what === "text" ? text("t") : Response.json([]);
  });
  using log = new CapturedLog();
  const agent = new Agent(app);
  for (const what of ["none", "text", "list"]) {
    assertEquals(await agent.failure("get", { what }), "500 Internal Server Error");
  }
  assertEquals(log.lines.length, 3, log.text);
});
