// "dependencies replaced (typed by the dependency's value; the replaced one and what only it needs
// do not run)".

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { anySecurity, App, dependency, HTTPError, Router } from "@webfw/core";
import { apiKey, basic, bearer, jwt, optional, session } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { Agent } from "../../agents/agent.ts";

/** A dependency that fails the test if it runs. */
function forbidden<Value>(_value: Value) {
  return dependency({ query: { secret: v.string() } }, async (): Promise<Value> => {
    throw new Error("The real one runs");
  });
}

Deno.test("The replaced one and what only it needs do not run, and their inputs are not validated", async () => {
  const runs: string[] = [];
  const config = dependency({ headers: { "x-config": v.string() } }, async () => runs.push("config"));
  const clock = dependency(async () => runs.push("clock"));
  const getDb = dependency(
    { query: { shard: v.number() }, deps: { config, clock } },
    async () => ({ find: (id: string) => `real ${id}` }),
  );
  const app = new App();
  app.get("/books/{id}", { deps: { getDb, clock } }, async (_request, { id, getDb }) => getDb.find(id));
  {
    await using client = new TestClient(app, { override: [[getDb, async () => ({ find: (id) => `fake ${id}` })]] });
    assertEquals(await client.get("/books/1").json(), "fake 1");
    assertEquals(runs, ["clock"]);
  }
  await using client = new TestClient(app);
  assertEquals((await client.get("/books/1").problem(422)).errors.length, 2);
});

Deno.test("A replacement can be a plain function, one that cleans up, or a dependency with inputs", async () => {
  const name = async () => "real";
  const app = new App();
  app.get("/", { deps: { name } }, async (_request, { name }) => name);
  {
    await using client = new TestClient(app, { override: [[name, async (request) => `fake ${request.path}`]] });
    assertEquals(await client.get("/").json(), "fake /");
  }
  {
    const notes: string[] = [];
    await using client = new TestClient(app, {
      override: [[name, async function* () {
        yield "opened";
        notes.push("closed");
      }]],
    });
    assertEquals(await client.get("/").json(), "opened");
    await client.close();
    assertEquals(notes, ["closed"]);
  }
  const asked = dependency({ query: { name: v.string() } }, async (_request, { name }) => name);
  await using client = new TestClient(app, { override: [[name, asked]] });
  assertEquals(await client.get("/?name=asked").json(), "asked");
  assertEquals((await client.get("/")).status, 422);
});

Deno.test("What needs a replaced dependency gets the replacement, also another replacement", async () => {
  const db = forbidden("db");
  const users = dependency({ deps: { db } }, async (_request, { db }) => `users of ${db}`);
  const user = dependency({ deps: { users } }, async (_request, { users }) => `Ada, one of the ${users}`);
  const app = new App();
  app.get("/", { deps: { user, db } }, async (_request, { user, db }) => [user, db]);
  {
    await using client = new TestClient(app, { override: [[db, async () => "a test"]] });
    assertEquals(await client.get("/").json(), ["Ada, one of the users of a test", "a test"]);
  }
  const fake = dependency({ deps: { db } }, async (_request, { db }) => `Eve of ${db}`);
  await using client = new TestClient(app, { override: [[db, async () => "a test"], [user, fake]] });
  assertEquals(await client.get("/").json(), ["Eve of a test", "a test"]);
});

Deno.test("A replacement gets what it replaces as the original", async () => {
  let runs = 0;
  const count = dependency(async () => ++runs);
  const double = dependency({ deps: { count } }, async (_request, { count }) => count * 2);
  const app = new App();
  app.get("/", { deps: { count, double } }, async (_request, { count, double }) => [count, double]);
  const spied = dependency({ deps: { real: count } }, async (_request, { real }) => real + 100);
  await using client = new TestClient(app, { override: [[count, spied]] });
  assertEquals(await client.get("/").json(), [101, 202]);
  const around = dependency({ deps: { double } }, async (_request, { double }) => double);
  await using wrong = new TestClient(app, { override: [[count, around]] });
  await assertRejects(
    async () => await wrong.get("/"),
    TypeError,
    'Cannot override "dependency": its replacement needs it through another dependency',
  );
});

Deno.test("Guards are replaced: they stay before other input, and the real ones do not run", async () => {
  const user = bearer(async (token): Promise<{ name: string } | null> => token === "right" ? { name: "Ada" } : null);
  const order: string[] = [];
  const other = dependency(async () => order.push("other"));
  const app = new App();
  app.get("/me", { query: { page: v.number() }, deps: { other, user } }, async (_request, { user }) => user.name);
  {
    await using client = new TestClient(app, { override: [[user, async () => ({ name: "a test" })]] });
    assertEquals(await client.get("/me?page=1").json(), "a test");
  }
  await using client = new TestClient(app, {
    override: [[user, async () => {
      throw new HTTPError(403, "Not you");
    }]],
  });
  order.length = 0;
  assertEquals((await client.get("/me").problem(403)).detail, "Not you");
  assertEquals(order, []);
});

Deno.test("Scope guards are replaced, for all routes below and in included routers", async () => {
  const tenant = dependency({ params: { org: v.string() } }, async (): Promise<string> => {
    throw new HTTPError(404, "No such tenant");
  });
  const key = apiKey(async () => null, { in: "header", name: "x-key" });
  const inner = new Router({ prefix: "/books" });
  inner.get("/{id}", async (_request, { id }) => id);
  const outer = new Router({ prefix: "/{org}", deps: { tenant } });
  outer.get("", async (_request, { org, tenant }) => [org, tenant]);
  outer.include(inner);
  const app = new App({ deps: { key } });
  app.include(outer, { prefix: "/v1" });
  {
    await using client = new TestClient(app, { override: [[tenant, async () => "t-1"]] });
    assertEquals((await client.get("/v1/acme")).status, 401);
  }
  await using client = new TestClient(app, {
    override: [[tenant, async () => "t-1"], [key, async () => null as never]],
  });
  assertEquals(await client.get("/v1/acme").json(), ["acme", "t-1"]);
  assertEquals(await client.get("/v1/acme/books/7").json(), "7");
});

Deno.test("Guards inside of anySecurity and optional are replaced", async () => {
  const user = bearer(async (): Promise<string | null> => null);
  const staff = basic(async (): Promise<string | null> => null);
  const app = new App();
  app.get("/any", { deps: { caller: anySecurity(staff, user) } }, async (_request, { caller }) => caller);
  app.get("/guest", { deps: { user: optional(user) } }, async (_request, { user }) => user ?? "guest");
  app.get("/both", { deps: { who: optional(anySecurity(staff, user)) } }, async (_request, { who }) => who ?? "guest");
  const read = async (client: TestClient) =>
    [await client.get("/any"), await client.get("/guest"), await client.get("/both")].map(({ status }) => status);
  {
    await using client = new TestClient(app);
    assertEquals(await read(client), [401, 200, 200]);
    assertEquals(await client.get("/both").json(), "guest");
  }
  await using client = new TestClient(app, { override: [[user, async () => "Ada"]] });
  assertEquals(await client.get("/any").json(), "Ada");
  assertEquals(await client.get("/guest").json(), "Ada");
  assertEquals(await client.get("/both").json(), "Ada");
});

Deno.test("A replaced session needs no secret, and a replaced jwt guard no keys", async () => {
  const visit = session(v.object({ id: v.number() }), { secret: () => undefined });
  const signedIn = visit.required();
  const member = jwt({ issuer: "https://id.example", audience: "books" });
  const app = new App();
  app.get("/me", { deps: { signedIn } }, async (_request, { signedIn }) => signedIn.data.id);
  app.get("/books", { deps: { member } }, async (_request, { member }) => member.sub);
  app.post(
    "/books",
    { deps: { member: member.withScopes("books:write") } },
    async (_request, { member }) => member.sub,
  );
  const claims = { iss: "https://id.example", sub: "ada", exp: 0 };
  const fake = { data: { id: 7 }, set: async () => {}, clear: async () => {} };
  {
    await using client = new TestClient(app, {
      override: [[signedIn, async () => fake], [member, async () => ({ ...claims, scope: "books:write" })]],
    });
    assertEquals(await client.get("/me").json(), 7);
    assertEquals(await client.get("/books").json(), "ada");
    assertEquals(await client.post("/books").json(), "ada");
  }
  await using client = new TestClient(app, {
    override: [[signedIn, async () => fake], [member, async () => claims]],
  });
  assertEquals((await client.post("/books")).status, 403);
});

Deno.test("Tools run with the replacements, and their guards let agents in", async () => {
  const user = bearer(async (): Promise<string | null> => null);
  const getDb = forbidden({ title: "real" });
  const app = new App({ mcp: { list: "permitted" } });
  app.get("/books/{id}", { deps: { user, getDb }, tool: true }, async function getBook(_request, { id, user, getDb }) {
    return { id, user, title: getDb.title };
  });
  await using client = new TestClient(app, {
    override: [[user, async () => "an agent"], [getDb, async () => ({ title: "Emma" })]],
  });
  const call = (method: string, params: unknown) =>
    client.post("/mcp", { json: { jsonrpc: "2.0", id: 1, method, params } });
  const { result } = await call("tools/call", { name: "getBook", arguments: { id: "7" } })
    .json<{ result: { structuredContent: unknown } }>();
  assertEquals(result.structuredContent, { id: "7", user: "an agent", title: "Emma" });
  const listed = await call("tools/list", {}).json<{ result: { tools: unknown[] } }>();
  assertEquals(listed.result.tools.length, 1);
  assertEquals((await new Agent(app).post({ jsonrpc: "2.0", id: 1, method: "tools/list" })).body?.result, {
    tools: [],
  });
});

Deno.test("Callers of rate limits are replaced, and each such client counts by itself", async () => {
  const user = bearer(async (): Promise<{ id: string } | null> => null);
  const app = new App({ rateLimit: { limit: 1, per: "1h", by: user, key: ({ id }) => id } });
  app.get("/", async () => "in");
  for (const id of ["a", "b"]) {
    await using client = new TestClient(app, { override: [[user, async () => ({ id: "same" })]] });
    assertEquals(await client.get("/").json(), "in", id);
    assertEquals((await client.get("/")).status, 429, id);
  }
});

Deno.test("Guards of the documentation page are replaced, and the document stays as it is", async () => {
  const staff = basic(async (): Promise<string | null> => null);
  const user = dependency(
    { headers: { "x-user": v.string() }, security: { user: { type: "apiKey", in: "header", name: "x-user" } } },
    async (_request, { headers }) => headers["x-user"],
  );
  const make = () => {
    const app = new App({ docs: { deps: { staff } } });
    app.get("/", { query: { page: v.number() }, deps: { user } }, async (_request, { user }) => user);
    return app;
  };
  const app = make();
  {
    await using client = new TestClient(app);
    assertEquals((await client.get("/openapi.json")).status, 401);
  }
  await using client = new TestClient(app, { override: [[staff, async () => "a test"], [user, async () => "Ada"]] });
  assertEquals(await client.get("/?page=1").json(), "Ada");
  const shown = await client.get("/openapi.json").json();
  assertEquals(shown, JSON.parse(JSON.stringify(make().openapi())));
});

Deno.test("Clients of one application replace different dependencies at the same time", async () => {
  const name = async () => "real";
  const place = async () => "here";
  const app = new App();
  let opened = 0;
  app.lifespan(async function* () {
    opened++;
    yield;
  });
  app.get("/", { deps: { name, place } }, async (_request, { name, place }) => `${name}, ${place}`);
  await using plain = new TestClient(app);
  await using one = new TestClient(app, { override: [[name, async () => "one"]] });
  await using two = new TestClient(app, { override: [[name, async () => "two"], [place, async () => "there"]] });
  const replies = await Promise.all([plain, one, two, plain].map((client) => client.get("/").json()));
  assertEquals(replies, ["real, here", "one, here", "two, there", "real, here"]);
  assertEquals(opened, 1);
  assertEquals(await (await app.fetch(new Request("http://localhost/"))).json(), "real, here");
});

Deno.test("Routes can be declared until the first request of a client with replacements", async () => {
  const name = async () => "real";
  const app = new App();
  await using client = new TestClient(app, { override: [[name, async () => "fake"]] });
  app.get("/", { deps: { name } }, async (request, { name }) => [name, request.route?.operationId]);
  assertEquals(await client.get("/").json(), ["fake", "getRoot"]);
});

Deno.test("Mistaken replacements are refused", async () => {
  const app = new App();
  const name = async () => "real";
  app.get("/", { deps: { name } }, async (_request, { name }) => name);
  const make = (override: unknown) => () => new TestClient(app, { override: override as [] });
  const pairs = "Cannot override the dependencies: give a list of pairs, write override: [[getDb, async () => fake]]";
  for (const wrong of [{}, [name], [[name]], [name, name]]) assertThrows(make(wrong), TypeError, pairs);
  const none = 'Cannot use the dependency "override[0][1]": it must be an async function or made by dependency()';
  assertThrows(make([[name, "fake"]]), TypeError, none);
  assertThrows(
    make([[name, async () => "a"], [name, async () => "b"]]),
    TypeError,
    'Cannot override the dependencies: "name" is there twice, remove one',
  );
  const override = (Testing: { fetch: App["fetch"] }) => () => new TestClient(Testing, { override: [[name, name]] });
  assertThrows(
    override({ fetch: app.fetch }),
    TypeError,
    "Cannot override dependencies: the client must test an App, and not an object with fetch",
  );
  await using client = new TestClient(app, { override: [[async function getDb() {}, async () => {}]] });
  await assertRejects(
    async () => await client.get("/"),
    TypeError,
    'Cannot override "getDb": nothing in the application needs it, give the same dependency as in "deps"',
  );
});

Deno.test("Rate limits have the same names as without replacements, and count apart", async () => {
  const name = dependency(async () => "real");
  const app = new App({ rateLimit: { limit: 5, per: "1m", by: () => "all" } });
  app.get("/", { deps: { name } }, async (_request, { name }) => name);
  await using real = new TestClient(app);
  await using replaced = new TestClient(app, { override: [[name, async () => "fake"]] });
  for (const client of [real, replaced, real, replaced]) await client.get("/").json();
  for (const client of [real, replaced]) {
    assertEquals((await client.get("/")).headers.get("ratelimit"), '"1";r=2;t=60');
  }
});
