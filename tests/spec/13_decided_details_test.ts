// Section 13 of the contract: details that the tests of other sections do not cover.

import { assert, assertEquals } from "@std/assert";
import { App, dependency, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { ChildProgram, CORE } from "./support/child_program.ts";

Deno.test("The last segment may take the rest of the path, slashes included, at least one character", async () => {
  const app = new App();
  app.get("/files/{path...}", async (_request, { path }) => path);
  app.get("/sized/{path...}", { params: { path: v.pipe(v.string(), v.maxLength(5)) } }, async (_request, args) => args);
  await using client = new TestClient(app);
  const table: [path: string, value: string][] = [
    ["/files/a", "a"],
    ["/files/a/b.txt", "a/b.txt"],
    ["/files/a/", "a/"],
    ["/files//a", "/a"],
    ["/files/a%2Fb/%C3%A9", "a/b/é"],
    ["/files/%2541", "%41"],
  ];
  for (const [path, value] of table) assertEquals(await client.get(path).json(), value, path);
  for (const path of ["/files", "/files/"]) assertEquals((await client.get(path)).status, 404, path);
  assertEquals((await client.get("/files/a/%ff")).status, 400);
  assertEquals((await client.get("/sized/a/b/c/d").problem(422)).errors[0]!.path, ["path"]);
});

Deno.test("A rest works below prefixes, with their names", async () => {
  const router = new Router({ prefix: "/{shop}" });
  router.get("/{path...}", async (_request, args) => args);
  const app = new App();
  app.include(router, { prefix: "/v1" });
  await using client = new TestClient(app);
  assertEquals(await client.get("/v1/corner/a/b").json<unknown>(), { shop: "corner", path: "a/b" });
});

Deno.test("A literal segment is compared decoded", async () => {
  const app = new App();
  app.get("/café/a b", async () => "found");
  await using client = new TestClient(app);
  for (const path of ["/café/a%20b", "/caf%C3%A9/a%20b", "/%63af%c3%a9/a%20b"]) {
    assertEquals(await client.get(path).json(), "found", path);
  }
  assertEquals((await client.get("/CAFÉ/a%20b")).status, 404);
});

Deno.test("Options that only document a route are accepted at registration", () => {
  const app = new App();
  app.get("/", {
    summary: "Summary",
    description: "Description",
    doc: "Summary\nDescription",
    tags: ["a", "b"],
    operationId: "getIt",
    deprecated: true,
    responses: { 404: v.object({ detail: v.string() }), 409: v.any() },
    response: v.number(),
    status: 200,
    limits: { body: 5 },
  }, async () => 1);
  assertEquals(app.routes[0]!.options.tags, ["a", "b"]);
});

Deno.test("Async schemas are allowed everywhere a schema is", async () => {
  const even = v.pipeAsync(v.number(), v.checkAsync(async (n) => n % 2 === 0, "Odd"));
  const dep = dependency(
    { query: { d: even }, headers: { "x-d": even }, cookies: { d: even } },
    async (_request, { d, headers, cookies }) => d + headers["x-d"] + cookies.d,
  );
  const app = new App();
  app.post("/{p}", {
    params: { p: even },
    query: { q: even, list: v.arrayAsync(even) },
    headers: { "x-h": even },
    cookies: { c: even },
    body: v.objectAsync({ b: even }),
    deps: { dep },
    response: v.objectAsync({ sum: even }),
  }, async (_request, { p, q, list, headers, cookies, body, dep }) => ({
    sum: p + q + list.length + headers["x-h"] + cookies.c + body.b + dep,
  }));
  await using client = new TestClient(app);
  const send = (n: number) =>
    client.post(`/${n}`, {
      query: { q: n, list: [n, n], d: n },
      headers: { "x-h": String(n), "x-d": String(n) },
      cookies: { c: String(n), d: String(n) },
      json: { b: n },
    });
  assertEquals(await send(2).json<unknown>(), { sum: 18 });
  const { errors } = await send(1).problem(422);
  const places = errors.map((issue) => [issue.in, ...issue.path].join(" ")).toSorted();
  assertEquals(places, [
    "body b",
    "cookie c",
    "cookie d",
    "header x-d",
    "header x-h",
    "path p",
    "query d",
    "query list 0",
    "query list 1",
    "query q",
  ]);
});

Deno.test("OPTIONS without a route is 405 with Allow, like any method", async () => {
  const app = new App();
  app.put("/x", async () => 1);
  await using client = new TestClient(app);
  const headers = { origin: "http://elsewhere.example", "access-control-request-method": "PUT" };
  const response = await client.request("OPTIONS", "/x", { headers });
  assertEquals([response.status, response.headers.get("allow")], [405, "PUT"]);
});

for (const [env, expected] of [[{}, 10_000], [{ DENO_DEPLOYMENT_ID: "x" }, 4_000]] as const) {
  const where = "DENO_DEPLOYMENT_ID" in env ? "on Deno Deploy" : "elsewhere";
  Deno.test(`The default grace period is ${expected} ms ${where}`, async () => {
    await using child = await ChildProgram.start(
      `
import { App } from "${CORE}";
const { setTimeout } = globalThis;
const delays = new Set();
globalThis.setTimeout = (run, ms) => {
  delays.add(ms);
  return setTimeout(run, ms);
};
await new App().run({ port: 0, signal: AbortSignal.abort(), onListen: () => {} });
console.log(JSON.stringify([...delays]));
`,
      { env },
    );
    const { code, stdout, stderr } = await child.end();
    assertEquals(code, 0, stderr);
    assert(JSON.parse(stdout).includes(expected), stdout);
  });
}
