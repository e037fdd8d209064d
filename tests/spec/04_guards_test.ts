// Section 4 of the contract: "a dependency that declares `security`, that is declared on an
// application, include or router, or that needs such a dependency, runs, with what it needs, before
// anything else is validated and before the body is read, so that 401 and 403 come before
// 422 and no upload is taken from strangers".

import { assertEquals } from "@std/assert";
import { App, dependency, Form, HTTPError, UploadFile } from "@webfw/core";
import type { SecurityRequirement } from "@webfw/core/types";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

const bearer: SecurityRequirement = { bearer: { type: "http", scheme: "bearer" } };
const anyText = v.optional(v.string());

/** A guard that trusts a header. */
const signedIn = dependency(
  { headers: { authorization: anyText }, security: bearer },
  async (_request, { headers }) => {
    if (headers.authorization === undefined) throw new HTTPError(401, "Sign in");
    return headers.authorization;
  },
);

/** A body of which each chunk that is taken is counted. */
function countedBody(chunk: string): { body: ReadableStream<Uint8Array>; taken: () => number } {
  let taken = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      taken++;
      controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  }, { highWaterMark: 0 });
  return { body, taken: () => taken };
}

function posted(path: string, contentType: string, body: ReadableStream<Uint8Array>, headers: HeadersInit = {}) {
  const all = { "content-type": contentType, ...Object.fromEntries(new Headers(headers)) };
  return new Request(`http://localhost${path}`, { method: "POST", headers: all, body, duplex: "half" } as RequestInit);
}

Deno.test("A guard refuses before anything else is validated, and before the body is read", async () => {
  const int = v.pipe(v.number(), v.integer());
  const options = {
    params: { id: int },
    query: { page: int },
    headers: { "x-count": int },
    cookies: { sid: v.string() },
    deps: { user: signedIn },
  };
  const app = new App();
  app.post("/json/{id}", { ...options, body: v.object({ a: int, b: int }) }, async () => 1);
  app.post("/form/{id}", { ...options, form: Form(v.object({ f: UploadFile, title: v.string() })) }, async () => 1);
  app.post("/small/{id}", { ...options, body: v.string(), limits: { body: 4 } }, async () => 1);
  await using client = new TestClient(app);
  const refused = async (path: string, contentType: string, status = 401, headers: HeadersInit = {}) => {
    const { body, taken } = countedBody('{"a":"x"}');
    const reply = await app.fetch(posted(path, contentType, body, headers));
    assertEquals([reply.status, (await reply.json()).errors?.length ?? 0, taken()], [status, 0, 0], path);
  };
  await refused("/json/x?page=y", "application/json");
  await refused("/form/x?page=y", "multipart/form-data; boundary=B");
  await refused("/form/x?page=y", "multipart/form-data");
  await refused("/json/x?page=y", "text/plain");
  await refused("/small/x?page=y", "application/json", 401, { "content-length": "9" });
  const { errors } = await client.post("/json/x?page=y", { json: { a: "x" }, headers: { authorization: "me" } })
    .problem(422);
  assertEquals(errors.map((issue) => [issue.in, ...issue.path].join(".")), [
    "path.id",
    "query.page",
    "header.x-count",
    "cookie.sid",
    "body.a",
    "body.b",
  ]);
});

Deno.test("The dependencies of a guard are made with it, at any depth, and all others when all input is valid", async () => {
  const order: string[] = [];
  const noting = (name: string, value: unknown = name) => {
    order.push(name);
    return value;
  };
  const database = dependency(async function* () {
    try {
      yield noting("database opens");
    } finally {
      order.push("database closes");
    }
  });
  const guard = dependency({ deps: { database }, security: bearer }, async () => noting("guard", "Ada"));
  const inner = dependency({ deps: { guard } }, async (_request, { guard }) => noting("inner", `inner ${guard}`));
  const outer = dependency({ deps: { inner } }, async (_request, { inner }) => noting("outer", `outer ${inner}`));
  const other = dependency({ query: { page: v.number() } }, async (_request, { page }) => noting("other", page));
  const seen = v.pipe(v.number(), v.check(() => noting("validation") !== undefined));
  const app = new App();
  app.post(
    "/",
    { body: seen, deps: { other, outer, database, guard } },
    async (_request, args) => ({ ...args, handler: noting("handler") }),
  );
  await using client = new TestClient(app);
  assertEquals(await client.post("/?page=2", { json: 1 }).json<unknown>(), {
    body: 1,
    other: 2,
    outer: "outer inner Ada",
    database: "database opens",
    guard: "Ada",
    handler: "handler",
  });
  await client.close();
  assertEquals(order, [
    "database opens",
    "guard",
    "inner",
    "outer",
    "validation",
    "other",
    "handler",
    "database closes",
  ]);
});

Deno.test("Invalid input of guards is a 422 with the issues of all guards of the route, and of nothing else", async () => {
  let made = 0;
  const tenant = dependency({ query: { tenant: v.number() } }, async () => ++made);
  const one = dependency({ deps: { tenant }, security: bearer }, async () => ++made);
  const key: SecurityRequirement = { key: { type: "apiKey", in: "header", name: "x-key" } };
  const two = dependency({ headers: { "x-key": v.string() }, security: key }, async () => ++made);
  const app = new App();
  app.post("/{id}", { params: { id: v.number() }, body: v.number(), deps: { one, two } }, async () => 1);
  await using client = new TestClient(app);
  const { errors } = await client.post("/x?tenant=a", { json: "x" }).problem(422);
  assertEquals(errors.map((issue) => [issue.in, ...issue.path]), [["query", "tenant"], ["header", "x-key"]]);
  assertEquals(made, 0);
});

Deno.test("Guards of a route run in parallel; of several refusals the first declared is the reply, and all cleanups run", async () => {
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const scheme: SecurityRequirement = { key: { type: "apiKey", in: "header", name: "x-key" } };
  const first = dependency({ security: bearer }, async () => {
    await gate.promise;
    throw new HTTPError(403, "The first");
  });
  const second = dependency({ security: scheme }, async () => {
    gate.resolve();
    throw new HTTPError(401, "The second");
  });
  const opened = (name: string) =>
    dependency({ security: bearer }, async function* () {
      try {
        yield name;
      } finally {
        order.push(`${name} closes`);
      }
    });
  const app = new App();
  app.post("/", { body: v.number(), deps: { first, second, a: opened("a"), b: opened("b") } }, async () => 1);
  await using client = new TestClient(app);
  assertEquals((await client.post("/", { json: "x" }).problem(403)).detail, "The first");
  await client.close();
  assertEquals(order, ["b closes", "a closes"]);
});

Deno.test("Cleanups of guards and of other dependencies run together in reverse, after the reply or the refusal of the input", async () => {
  const order: string[] = [];
  const opened = (name: string, options: Parameters<typeof dependency>[0] & object = {}) =>
    dependency(options as Record<never, never>, async function* () {
      order.push(`${name} opens`);
      try {
        yield name;
      } finally {
        order.push(`${name} closes`);
      }
    });
  const guard = opened("guard", { security: bearer });
  const plain = opened("plain");
  const role = opened("role", { deps: { guard } });
  const app = new App();
  app.post("/", { body: v.number(), deps: { plain, role, guard } }, async () => 1);
  await using client = new TestClient(app);
  assertEquals((await client.post("/", { json: 1 })).status, 200);
  await client.close();
  assertEquals(order.splice(0).join(), "guard opens,role opens,plain opens,plain closes,role closes,guard closes");
  await using again = new TestClient(app);
  assertEquals((await again.post("/", { json: "x" })).status, 422);
  await again.close();
  assertEquals(order.join(), "guard opens,role opens,role closes,guard closes");
});

Deno.test("A dependency is made once, whether a guard needs it, the handler, or both", async () => {
  let made = 0;
  const shared = dependency(async () => ++made);
  const guard = dependency({ deps: { shared }, security: bearer }, async (_request, { shared }) => `guard ${shared}`);
  const later = dependency({ deps: { mine: shared, guard } }, async (_request, args) => ({ ...args }));
  const app = new App();
  app.get("/", { deps: { later, shared, guard } }, async (_request, args) => args);
  app.get("/only", { deps: { guard } }, async (_request, args) => args);
  app.get("/twice", { deps: { one: signedIn, other: signedIn } }, async (_request, args) => args);
  await using client = new TestClient(app);
  assertEquals(await client.get("/").json<unknown>(), {
    later: { mine: 1, guard: "guard 1" },
    shared: 1,
    guard: "guard 1",
  });
  assertEquals(await client.get("/only").json<unknown>(), { guard: "guard 2" });
  const twice = client.get("/twice", { headers: { authorization: "me" } });
  assertEquals(await twice.json<unknown>(), { one: "me", other: "me" });
});

Deno.test("A guard may have inputs that are validated asynchronously, and ones that others declare, too", async () => {
  const known = v.pipeAsync(
    v.string(),
    v.checkAsync(async (name) => await Promise.resolve(name !== "nobody"), "Unknown"),
  );
  const guard = dependency(
    { query: { name: known }, params: { id: v.number() }, security: bearer },
    async (_r, args) => args,
  );
  const app = new App();
  app.get(
    "/{id}",
    { params: { id: v.string() }, query: { name: v.string() }, deps: { guard } },
    async (_request, args) => args,
  );
  await using client = new TestClient(app);
  const expected = { id: "7", name: "ada", guard: { id: 7, name: "ada" } };
  assertEquals(await client.get("/7?name=ada").json<unknown>(), expected);
  const { errors } = await client.get("/x?name=nobody").problem(422);
  assertEquals(errors.map((issue) => issue.message), ["Invalid type: expected number", "Unknown"]);
});

Deno.test("A guard may read the body itself, and the handler gets it all the same", async () => {
  const signed = dependency({ security: bearer }, async (request) => {
    const body = await request.json() as { by?: string };
    if (body.by !== "Ada") throw new HTTPError(403, "Not signed");
    return body.by;
  });
  const app = new App();
  app.post(
    "/",
    { body: v.object({ by: v.string(), n: v.number() }), deps: { signed } },
    async (_request, args) => args,
  );
  await using client = new TestClient(app);
  const sent = { by: "Ada", n: 1 };
  assertEquals(await client.post("/", { json: sent }).json<unknown>(), { body: sent, signed: "Ada" });
  await client.post("/", { json: { by: "Ada", n: "x" } }).problem(422);
  await client.post("/", { json: { by: "Eve", n: "x" } }).problem(403);
});

Deno.test("Middleware sees the refusal of a guard as a reply, with the headers of the error", async () => {
  const guard = dependency({ security: bearer }, async () => {
    throw new HTTPError(401, undefined, { headers: { "www-authenticate": "Bearer" } });
  });
  const app = new App();
  const statuses: number[] = [];
  app.middleware(async (request, next) => {
    const response = await next(request);
    statuses.push(response.status);
    return response;
  });
  app.post("/", { body: v.number(), deps: { guard } }, async () => 1);
  await using client = new TestClient(app);
  const reply = await client.post("/", { json: "x" });
  assertEquals([reply.status, reply.headers.get("www-authenticate"), statuses], [401, "Bearer", [401]]);
});
