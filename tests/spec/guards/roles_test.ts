// "any dependency below a route's `deps` that declares `security` is one, also where only another
// dependency needs it, and so is one that needs a guard: a role or a membership refuses before the
// body is read."

import { assertEquals } from "@std/assert";
import { anySecurity, App, dependency, Form, HTTPError, Router, UploadFile } from "@webfw/core";
import { apiKey, bearer, optional } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { Agent } from "../../agents/agent.ts";

const users = new Map([["ada", { name: "Ada", role: "admin" }], ["bob", { name: "Bob", role: "reader" }]]);
const user = bearer(async (token) => users.get(token));
const admin = dependency({ deps: { user } }, async (_request, { user }) => {
  if (user.role !== "admin") throw new HTTPError(403, "Only administrators may do this");
  return user.name;
});
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const Title = v.object({ title: v.string() });

/** A body whose first chunk says whether the application has read it. */
function unread(): { readonly body: ReadableStream<Uint8Array<ArrayBuffer>>; readonly isRead: () => boolean } {
  let isRead = false;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>) => {
    isRead = true;
    controller.enqueue(new Uint8Array([123]));
    controller.close();
  };
  return { body: new ReadableStream({ pull }, { highWaterMark: 0 }), isRead: () => isRead };
}

/** The status for a wrong body of a caller, and whether the body was read. */
async function refusal(app: App, path: string, token: string, type = "application/json"): Promise<unknown> {
  const { body, isRead } = unread();
  const headers = { "content-type": type, authorization: `Bearer ${token}` };
  const reply = await app.fetch(new Request(`http://localhost${path}`, { method: "POST", headers, body }));
  await reply.body?.cancel();
  return [reply.status, isRead()];
}

Deno.test("A role of a route's `deps` refuses before the body is read, however far below it the guard is", async () => {
  const membership = dependency({ deps: { admin } }, async (_request, { admin }) => `${admin} of the club`);
  const app = new App();
  app.post("/books", { deps: { admin }, body: Title }, async () => {});
  app.post("/covers", { deps: { membership }, form: Form(v.object({ file: UploadFile })) }, async () => {});
  for (const [token, status] of [["bob", 403], ["eve", 401]] as const) {
    assertEquals(await refusal(app, "/books", token), [status, false]);
    assertEquals(await refusal(app, "/covers", token, "multipart/form-data; boundary=x"), [status, false]);
  }
  assertEquals(await refusal(app, "/books", "ada"), [400, true]);
});

Deno.test("A dependency that needs a guard of a scope is a guard, also if that declares no `security`", async () => {
  const tenant = dependency(async () => "acme");
  const member = dependency({ deps: { tenant } }, async (): Promise<string> => {
    throw new HTTPError(403, "Only for members");
  });
  const router = new Router({ prefix: "/r" });
  router.post("/books", { deps: { member }, body: Title }, async () => {});
  const alone = new App();
  alone.post("/books", { deps: { member }, body: Title }, async () => {});
  assertEquals(await refusal(alone, "/books", "ada"), [400, true], "there it is no guard");
  const app = new App({ deps: { tenant } });
  app.post("/books", { deps: { member }, body: Title }, async () => {});
  app.include(router);
  assertEquals(await refusal(app, "/books", "ada"), [403, false]);
  assertEquals(await refusal(app, "/r/books", "ada"), [403, false]);
});

Deno.test("What a guard needs is no guard, and neither is what needs only that", async () => {
  const order: string[] = [];
  const database = dependency(async () => order.push("database"));
  const known = dependency({
    deps: { database },
    security: { key: { type: "apiKey", in: "header", name: "x-key" } },
  }, async () => order.push("known"));
  const book = dependency({ deps: { database } }, async () => order.push("book"));
  const app = new App();
  app.post("/books", { deps: { book, known }, body: Title }, async () => {});
  await using client = new TestClient(app);
  await client.post("/books", { json: {} }).problem(422);
  assertEquals(order, ["database", "known"]);
});

Deno.test("Invalid input of a role is 422 with the issues of the route's own guards, after the 401 of the guard that it needs", async () => {
  const shop = dependency({ query: { shop: v.pipe(v.string(), v.minLength(2)) } }, async (_request, { shop }) => shop);
  const area = dependency({ headers: { "x-area": v.number() }, deps: { user } }, async (_request, { user }) => user);
  const owner = dependency({ deps: { user, shop } }, async (_request, { user, shop }) => `${user.name} of ${shop}`);
  const options = { deps: { owner, area }, query: { page: v.number() }, body: Title };
  const app = new App();
  app.post("/books", options, async (_request, { owner }) => owner);
  await using client = new TestClient(app);
  const send = (query: string, area: string, token = "bob") => {
    return client.post(`/books?page=x${query}`, { json: {}, headers: { ...as(token).headers, "x-area": area } });
  };
  const issues = async (query: string, area: string) => {
    const { errors } = await send(query, area).problem(422);
    return errors.map((issue) => [issue.in, ...issue.path].join("."));
  };
  await send("&shop=a", "north", "eve").problem(401);
  assertEquals(await issues("&shop=a", "north"), ["query.shop", "header.x-area"]);
  assertEquals(await issues("&shop=corner", "7"), ["query.page", "body.title"]);
});

Deno.test("Of a scope, too, the inputs of a role are validated after the 401 of the guard that it needs", async () => {
  const clerk = dependency({ params: { shop: v.number() }, deps: { user } }, async (_request, { shop }) => shop);
  const router = new Router({ prefix: "/shops/{shop}", deps: { clerk } });
  router.get("/stock", async (_request, { clerk }) => clerk);
  const app = new App();
  app.include(router);
  await using client = new TestClient(app);
  await client.get("/shops/corner/stock").problem(401);
  await client.get("/shops/corner/stock", as("bob")).problem(422);
  assertEquals(await client.get("/shops/7/stock", as("bob")).json(), 7);
});

Deno.test("A role inside of `optional` and `anySecurity` refuses before the body is read", async () => {
  const partner = apiKey(async (key) => key === "k", { in: "header", name: "x-key" });
  const either = anySecurity(admin, partner);
  const perhaps = dependency({ deps: { user: optional(user) } }, async (_request, { user }) => {
    if (user?.role === "reader") throw new HTTPError(403, "Not for readers");
  });
  const app = new App();
  app.post("/either", { deps: { either }, body: Title }, async () => {});
  app.post("/perhaps", { deps: { perhaps }, body: Title }, async () => {});
  assertEquals(await refusal(app, "/either", "bob"), [403, false]);
  assertEquals(await refusal(app, "/perhaps", "bob"), [403, false]);
});

Deno.test("A role has its route documented with the security and the 401 of its guard", () => {
  const app = new App();
  app.post("/books", { deps: { admin }, body: Title }, async () => {});
  const { security, responses } = app.openapi().paths["/books"]!.post!;
  assertEquals(security, [{ bearer: [] }]);
  assertEquals("401" in responses, true);
});

Deno.test("Agents: a role refuses a call whose arguments are invalid, and hides its tool from the permitted list", async () => {
  const app = new App({ mcp: { list: "permitted" } });
  app.post("/books", { deps: { admin }, body: Title, tool: true }, async function addBook() {});
  app.get("/books", { deps: { user }, tool: true }, async function listBooks() {
    return [];
  });
  const reader = new Agent(app, "http://localhost/mcp", as("bob").headers);
  assertEquals((await reader.call("addBook", { body: {} })).content, [
    { type: "text", text: "403 Forbidden: Only administrators may do this" },
  ]);
  assertEquals((await reader.list()).map(({ name }) => name), ["listBooks"]);
  const owner = new Agent(app, "http://localhost/mcp", as("ada").headers);
  assertEquals((await owner.list()).map(({ name }) => name), ["addBook", "listBooks"]);
});

Deno.test("A replacement of a role runs where the role would, and so does a role over a replaced guard", async () => {
  const app = new App();
  app.post("/books", { deps: { admin }, body: Title }, async (_request, { admin }) => admin);
  const refuse = async (): Promise<never> => {
    throw new HTTPError(403, "Not today");
  };
  await using replaced = new TestClient(app, { override: [[admin, refuse]] });
  await replaced.post("/books", { json: {} }).problem(403);
  await using below = new TestClient(app, { override: [[user, async () => ({ name: "Eve", role: "reader" })]] });
  await below.post("/books", { json: {} }).problem(403);
  await using through = new TestClient(app, { override: [[user, async () => ({ name: "Eve", role: "admin" })]] });
  await through.post("/books", { json: {} }).problem(422);
});

Deno.test("A role refuses a WebSocket before its input is validated", async () => {
  const app = new App();
  app.websocket("/shelf", { deps: { admin }, query: { page: v.number() } }, async () => {});
  await using client = new TestClient(app);
  const headers = { upgrade: "websocket", connection: "upgrade", "sec-websocket-version": "13" };
  const key = { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  const open = (token: string) =>
    client.get("/shelf?page=x", { headers: { ...headers, ...key, ...as(token).headers } });
  await open("bob").problem(403);
  await open("ada").problem(422);
});
