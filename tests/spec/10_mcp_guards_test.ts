// Sections 4 and 10 of the contract: a call of a tool runs the same code as an HTTP request, in the
// same order: middlewares, guards, the validation of all arguments, the other dependencies, the
// handler.

import { assertEquals } from "@std/assert";
import { App, dependency, Form, HTTPError, Router } from "@webfw/core";
import type { SecurityRequirement } from "@webfw/core/types";
import * as v from "valibot";
import { Agent } from "../agents/agent.ts";

const security: SecurityRequirement = { bearer: { type: "http", scheme: "bearer" } };
const user = dependency(
  { headers: { authorization: v.optional(v.string()) }, security },
  async (_request, { headers }) => {
    if (headers.authorization !== undefined) return headers.authorization;
    throw new HTTPError(401, "Sign in");
  },
);
const URL = "http://localhost/mcp";

/** An agent without a token, and one with it. */
function agents(app: App): { stranger: Agent; known: Agent } {
  return { stranger: new Agent(app), known: new Agent(app, URL, { authorization: "ada" }) };
}

/** The status and the detail of the reply to a call. */
async function refusal(agent: Agent, name: string, given: Readonly<Record<string, unknown>>): Promise<unknown> {
  const params = { name, arguments: given };
  const { status, body } = await agent.post({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return [status, body?.detail];
}

Deno.test("A caller whom a guard refuses does not see the faults of the call", async () => {
  const app = new App();
  const order: string[] = [];
  const plain = dependency(async () => order.push("plain"));
  app.post("/items/{id}", {
    params: { id: v.number() },
    query: { page: v.number(), tags: v.optional(v.array(v.string())) },
    body: v.object({ name: v.string() }),
    deps: { plain, user },
    tool: true,
  }, async function change(_request, { id, user }) {
    return { id, user };
  });
  app.post("/forms", { form: Form(v.object({ name: v.string() })), deps: { user }, tool: true }, async function fill() {
    return "filled";
  });
  const { stranger, known } = agents(app);
  const faulty: Record<string, unknown>[] = [
    {},
    { id: "x", page: [{}], body: { name: 1 }, other: 1 },
    { id: "../x", page: "2", body: null },
    { id: 1, page: 2, body: { name: 1 } },
  ];
  for (const given of faulty) {
    assertEquals(await refusal(stranger, "change", given), [401, "Sign in"]);
    assertEquals(
      (await known.failure("change", given))?.split("\n")[0],
      "422 Invalid input: The request does not fit its description",
    );
  }
  assertEquals(await refusal(stranger, "fill", { form: { name: 1 } }), [401, "Sign in"]);
  assertEquals((await known.failure("fill", { form: { name: 1 } }))?.includes("form.name"), true);
  assertEquals(order, []);
  assertEquals(await known.result("change", { id: 1, page: 2, body: { name: "a" } }), { id: 1, user: "ada" });
});

Deno.test("A guard runs although other inputs are missing, and not if its own are", async () => {
  const app = new App();
  const seen: unknown[] = [];
  const member = dependency(
    { params: { club: v.string() }, query: { as: v.optional(v.string()) }, security },
    async (_request, args) => {
      seen.push({ ...args });
      throw new HTTPError(403, "No member");
    },
  );
  app.get(
    "/clubs/{club}/{page...}",
    { query: { n: v.number() }, deps: { member }, tool: true },
    async function read() {},
  );
  const agent = new Agent(app);
  const missing = "422 Invalid input: The request does not fit its description\n- club: Missing value";
  assertEquals(await agent.failure("read", { n: "x" }), missing);
  assertEquals(await agent.failure("read", { n: "x", club: ".." }), missing);
  assertEquals(seen, []);
  assertEquals(await agent.failure("read", { club: "a/b", n: "x", as: "me" }), "403 Forbidden: No member");
  assertEquals(seen, [{ club: "a/b", as: "me" }]);
});

Deno.test("Middlewares and onError see a faulty call as they see a faulty request", async () => {
  const app = new App();
  const seen: unknown[] = [];
  app.middleware(async (request, next) => {
    const response = await next(request);
    seen.push([request.path, request.route?.path ?? null, response.status]);
    return response;
  });
  app.onError((error) => new Response(`shaped ${error.status}`, { status: error.status }));
  const router = new Router();
  router.middleware(async (request, next) =>
    request.headers.has("x-key") ? await next(request) : new Response(null, { status: 403 })
  );
  router.get("/items/{id}", { params: { id: v.number() }, tool: true }, async function item() {});
  app.include(router);
  assertEquals(await new Agent(app).failure("item", { id: "x" }), "Status 403");
  assertEquals(await new Agent(app, URL, { "x-key": "k" }).failure("item", { id: "x" }), "Status 422: shaped 422");
  assertEquals(seen.filter((_, index) => index % 2 === 0), [
    ["/items/x", "/items/{id}", 403],
    ["/items/x", "/items/{id}", 422],
  ]);
});
