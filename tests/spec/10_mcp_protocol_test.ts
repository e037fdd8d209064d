// Section 10 of the contract, POST /mcp: HTTP and the protocol, in all of its revisions.

import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { Agent } from "../agents/agent.ts";

Deno.test("The endpoint can be moved and turned off", async () => {
  const moved = new App({ mcpUrl: "/agents" });
  assertEquals((await new Agent(moved, "http://localhost/agents").list()).length, 0);
  await using off = new TestClient(new App({ mcpUrl: null }));
  assertEquals((await off.post("/mcp", { json: {} })).status, 404);
});

Deno.test("Only POST is served, whatever else the application serves", async () => {
  const app = new App();
  app.get("/{page}", async (_, { page }) => page);
  app.delete("/{page}", async (_, { page }) => page);
  await using client = new TestClient(app);
  for (const method of ["GET", "HEAD", "DELETE", "PUT", "OPTIONS"]) {
    const response = await client.request(method, "/mcp", { headers: { accept: "text/event-stream" } });
    assertEquals([method, response.status, response.headers.get("allow")], [method, 405, "POST"]);
  }
});

Deno.test("A refusal by HTTP is a problem, and passes the application's middleware, unless it is of a foreign page", async () => {
  const statuses: number[] = [];
  const app = new App({ limits: { body: 100 } });
  app.middleware(async (request, next) => {
    const response = await next(request);
    statuses.push(response.status);
    return response;
  });
  const agent = new Agent(app);
  const wrongType = await agent.send("{}", { "content-type": "text/plain" });
  assertEquals([wrongType.status, wrongType.headers.get("content-type")], [415, "application/problem+json"]);
  const tooLarge = await agent.send(JSON.stringify({ jsonrpc: "2.0", method: "x".repeat(200) }));
  assertEquals([tooLarge.status, tooLarge.body?.detail], [413, "The body is larger than 100 bytes"]);
  const foreign = await agent.send("{}", { origin: "https://attacker.example" });
  assertEquals(foreign.status, 403);
  const compressed = await agent.send("{}", { "content-encoding": "gzip" });
  assertEquals([compressed.status, compressed.headers.get("accept-encoding")], [415, "identity"]);
  assertEquals(statuses, [415, 413, 415]);
});

Deno.test("A refusal by the protocol has the protocol's format", async () => {
  const app = new App();
  app.get("/x", { tool: true }, async function x() {
    return 1;
  });
  const agent = new Agent(app);
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const refused = async (body: string, headers: HeadersInit = {}) => {
    const reply = await agent.send(body, headers);
    return [reply.status, reply.body?.error?.code];
  };
  assertEquals(await refused("{"), [400, -32700]);
  assertEquals(await refused(""), [400, -32700]);
  for (const body of ["{}", "1", "null", '"x"', "[]", "[1]"]) assertEquals(await refused(body), [400, -32600], body);
  assertEquals(await refused(JSON.stringify(ping), { "mcp-protocol-version": "1999-01-01" }), [400, -32022]);
  assertEquals(await refused(JSON.stringify({ ...ping, method: "nothing" })), [200, -32601]);
  assertEquals(await refused(JSON.stringify({ ...ping, method: "tools/call", params: { name: "y" } })), [200, -32602]);
  assertEquals(await refused(JSON.stringify({ ...ping, method: "tools/call", params: { name: "x", arguments: 1 } })), [
    200,
    -32602,
  ]);
});

Deno.test("A handshake agrees on a revision, and the server keeps no state of it", async () => {
  const app = new App({ title: "Books", version: "1.2.3", description: "Sells books." });
  const agent = new Agent(app);
  const shake = (protocolVersion: string) =>
    agent.ask("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "a", version: "1" } });
  for (const version of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
    assertEquals(await shake(version), {
      protocolVersion: version,
      capabilities: { tools: {} },
      serverInfo: { name: "Books", version: "1.2.3" },
      instructions: "Sells books.",
    });
  }
  assertEquals((await shake("1999-01-01")).protocolVersion, "2025-11-25");
  const initialized = await agent.post({ jsonrpc: "2.0", method: "notifications/initialized" });
  assertEquals([initialized.status, initialized.body], [202, undefined]);
  const { headers } = await agent.post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "mcp-session-id": "none of ours" });
  assertEquals(headers.get("mcp-session-id"), null);
});

Deno.test("An agent may accept whatever it likes: the reply is JSON", async () => {
  const agent = new Agent(new App());
  for (const accept of ["application/json", "text/event-stream", "*/*", "text/html"]) {
    const reply = await agent.post({ jsonrpc: "2.0", id: 1, method: "ping" }, { accept });
    assertEquals([reply.status, reply.headers.get("content-type")], [200, "application/json"]);
  }
});

Deno.test("Batches are answered where the revision has them", async () => {
  const agent = new Agent(new App());
  const batch = [
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } },
    { jsonrpc: "2.0", id: "b", method: "nothing" },
  ];
  const { status, body } = await agent.post(batch);
  assertEquals(status, 200);
  assertEquals(body as unknown, [
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: "b", error: { code: -32601, message: "Method not found" } },
  ]);
  assertEquals((await agent.post([batch[1]])).status, 202);
  const refused = async (messages: unknown[], headers = {}) => {
    const reply = await agent.post(messages, headers);
    return [reply.status, reply.body?.error?.code];
  };
  assertEquals(await refused(batch, { "mcp-protocol-version": "2025-06-18" }), [400, -32600]);
  assertEquals(await refused(Array(101).fill(batch[0])), [400, -32600]);
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "a", version: "1" } };
  assertEquals(await refused([{ jsonrpc: "2.0", id: 1, method: "initialize", params }]), [400, -32600]);
});

Deno.test("The newest revision needs no handshake, and its headers have to agree with its body", async () => {
  const app = new App({ title: "Books", version: "1.2.3" });
  app.get("/x/{id}", { tool: true }, async function x(_, { id }) {
    return { id };
  });
  const agent = new Agent(app);
  const _meta = { "io.modelcontextprotocol/serverInfo": { name: "Books", version: "1.2.3" } };
  const discovered = await agent.askModern("server/discover");
  assertEquals(discovered.body?.result, {
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {} },
    resultType: "complete",
    ttlMs: 0,
    cacheScope: "private",
    _meta,
  });
  const { body } = await agent.askModern("tools/call", { name: "x", arguments: { id: "7" } });
  assertEquals(body?.result, {
    content: [{ type: "text", text: '{"id":"7"}' }],
    structuredContent: { id: "7" },
    resultType: "complete",
    _meta,
  });
  const list = (await agent.askModern("tools/list")).body?.result;
  assertEquals([list?.resultType, list?.ttlMs, list?.cacheScope], ["complete", 60_000, "private"]);

  const refused = async (method: string, params = {}, headers = {}) => {
    const reply = await agent.askModern(method, params, headers);
    return [reply.status, reply.body?.error?.code];
  };
  assertEquals(await refused("nothing"), [404, -32601]);
  assertEquals(await refused("ping"), [404, -32601]);
  assertEquals(await refused("tools/call", { name: "y" }), [200, -32602]);
  assertEquals(await refused("tools/list", {}, { "mcp-method": "tools/call" }), [400, -32020]);
  assertEquals(await refused("tools/call", { name: "x" }, { "mcp-name": "y" }), [400, -32020]);
  assertEquals(await refused("tools/list", {}, { "mcp-protocol-version": "2025-11-25" }), [400, -32020]);
});
