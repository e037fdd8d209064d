// Section 1 of the contract of guards: "`App`, `Router` and `include` take `deps`, `responses`,
// `crossOrigin` and `rateLimit`, `Router` and `include` also `tags` and `hidden`. They hold for
// every route of the scope, WebSockets and tools included, and for routers included into it".

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { App, Problem, RouteError, Router } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { Agent } from "../../agents/agent.ts";
import { RawSocket } from "../support/raw_socket.ts";
import { Serving } from "../support/serving.ts";

const NotAllowed = v.pipe(Problem, v.description("Not allowed."));
const Closed = v.pipe(Problem, v.description("Closed."));
const Gone = v.pipe(Problem, v.description("Gone."));

Deno.test("`responses` hold for every route of the scope; those of an inner scope and of the route win", () => {
  const app = new App({ responses: { 503: Problem, 403: Problem } });
  const books = new Router({ prefix: "/books", responses: { 403: NotAllowed, 410: Gone } });
  books.get("", async () => 1);
  books.get("/own", { responses: { 410: Closed } }, async () => 1);
  app.include(books, { responses: { 403: Closed, 409: Gone } });
  app.get("/", async () => 1);
  const described = (path: string) => {
    const { responses } = app.openapi().paths[path]!.get!;
    return Object.entries(responses).flatMap(([status, reply]) =>
      "description" in reply && Number(status) > 400 ? [[status, reply.description]] : []
    );
  };
  assertEquals(described("/books"), [["403", "Not allowed."], ["409", "Gone."], ["410", "Gone."], [
    "503",
    "Service Unavailable",
  ]]);
  assertEquals(described("/books/own").at(2), ["410", "Closed."]);
  assertEquals(described("/"), [["403", "Forbidden"], ["503", "Service Unavailable"]]);
});

Deno.test("`tags` of `Router` and `include` come before those of the route, each once", () => {
  const app = new App();
  const admin = new Router({ prefix: "/admin", tags: ["Admin", "All"] });
  admin.get("/users", { tags: ["Users", "All"] }, async () => []);
  app.include(admin, { prefix: "/v1", tags: ["v1"] });
  app.include(admin, { prefix: "/v2" });
  const { paths, tags } = app.openapi();
  assertEquals(paths["/v1/admin/users"]?.get?.tags, ["v1", "Admin", "All", "Users"]);
  assertEquals(paths["/v2/admin/users"]?.get?.tags, ["Admin", "All", "Users"]);
  assertEquals(tags?.map(({ name }) => name), ["v1", "Admin", "All", "Users"]);
});

Deno.test("`hidden: true` on a route or scope: served, and neither in the document nor on the page", async () => {
  const router = new Router();
  router.get("/of-include", async function sameName() {
    return "served";
  });
  const hidden = new Router({ hidden: true });
  hidden.get("/of-router", async () => "served");
  const app = new App();
  app.include(hidden);
  app.include(router, { hidden: true });
  app.get("/of-route", { hidden: true }, async () => "served");
  app.get("/shown", async function sameName() {
    return "served";
  });
  await using client = new TestClient(app);
  for (const path of ["/of-include", "/of-router", "/of-route", "/shown"]) {
    assertEquals(await client.get(path).json(), "served", path);
  }
  const { paths } = app.openapi();
  assertEquals(Object.keys(paths), ["/shown"]);
  // A hidden route does not change the names in the document.
  assertEquals(paths["/shown"]?.get?.operationId, "sameName");
});

Deno.test("`hidden` together with `tool` is an error that names the route", () => {
  const message = "Cannot expose GET /books as a tool: it is hidden";
  const app = new App();
  const refused = (declare: () => void) => assertEquals(assertThrows(declare, RouteError, message).code, "tool");
  refused(() => app.get("/books", { hidden: true, tool: true }, async () => 1));
  refused(() => new Router({ hidden: true }).get("/books", { tool: true }, async () => 1));
  const router = new Router();
  router.get("/books", { tool: { name: "books" } }, async () => 1);
  refused(() => app.include(router, { hidden: true }));
  const middle = new Router();
  middle.include(router);
  refused(() => new Router({ hidden: true }).include(middle));
  app.include(router);
  assertEquals(app.routes.length, 1);
});

Deno.test("`crossOrigin` of the innermost scope that gives it wins, and a route's own before all", () => {
  const app = new App({ crossOrigin: true });
  const router = new Router({ crossOrigin: false });
  router.post("/forms", { crossOrigin: true }, async () => 1);
  router.post("/closed", async () => 1);
  router.websocket("/socket", { crossOrigin: true }, async () => {});
  const open = new Router();
  open.post("/open", async () => 1);
  open.websocket("/open-socket", async () => {});
  app.include(router, { crossOrigin: true });
  app.include(open);
  const effective = Object.fromEntries(app.routes.map(({ path, options }) => [path, options.crossOrigin]));
  assertEquals(effective, { "/forms": true, "/closed": false, "/socket": true, "/open": true, "/open-socket": true });
});

Deno.test("`routes` shows the options of a route as its scopes complete them", () => {
  const router = new Router({ tags: ["Admin"], hidden: true, responses: { 403: NotAllowed } });
  router.get("/users", { summary: "All users", tags: ["Users"] }, async () => []);
  const app = new App({ responses: { 503: Closed } });
  app.include(router);
  assertEquals(app.routes[0]!.options, {
    summary: "All users",
    tags: ["Admin", "Users"],
    hidden: true,
    responses: { 403: NotAllowed, 503: Closed },
  });
});

Deno.test("A wrong option of a scope throws where it is declared", () => {
  const app = new App();
  const wrong: [unknown, string][] = [
    [{ tags: "Admin" }, '"tags" must be an array of strings, write tags: ["books"]'],
    [{ hidden: "yes" }, '"hidden" must be true or false, got "yes"'],
    [{ crossOrigin: ["https://shop.example"] }, '"crossOrigin" must be true or false, got object'],
    [{ responses: { 403: "Not allowed" } }, '"403" must be a valibot schema'],
    [{ rateLimit: 100 }, '"rateLimit" must be an object, got 100'],
  ];
  for (const [options, reason] of wrong) {
    const given = options as { tags: string[] };
    assertThrows(() => new Router(given), TypeError, `Cannot make a router: ${reason}`);
    assertThrows(() => app.include(new Router(), given), TypeError, `Cannot include the router: ${reason}`);
    assertThrows(() => app.get("/", given, async () => 1), TypeError, `Cannot register GET /: ${reason}`);
  }
  assertThrows(() => new App({ crossOrigin: 1 as never }), TypeError, 'Cannot make the App: "crossOrigin" must be');
  assertThrows(() => new App({ hidden: true } as never), TypeError, 'the option "hidden" is unknown');
  assertThrows(() => new App({ tags: ["Admin"] as never }), TypeError, '"tags[0]" must be an object');
});

Deno.test("`rateLimit` of a scope holds for every route of it, WebSockets, tools and mounts included, and for routers included into it", async () => {
  const limit = { limit: 6, per: "1h", by: () => "everyone" } as const;
  const inner = new Router();
  inner.get("/inner", async () => 1);
  const router = new Router({ rateLimit: limit });
  router.get("/own", { tool: true }, async function look() {
    return 1;
  });
  router.websocket("/socket", async () => {});
  router.mount("/mount", () => new Response("mounted"));
  router.include(inner);
  const app = new App();
  app.include(router);
  const agent = new Agent(app);
  await using serving = await Serving.start(app);
  /** What the limit leaves after a request. */
  const left = async (path: string) => {
    const { headers, body } = await fetch(serving.origin + path);
    await body?.cancel();
    // Without the seconds that are left.
    return headers.get("ratelimit")?.replace(/;t=\d+$/, "");
  };
  assertEquals(await left("/own"), '"1";r=5');
  assertEquals(await left("/inner"), '"1";r=4');
  assertEquals(await left("/mount/x"), '"1";r=3');
  using socket = await RawSocket.open(serving.port, "/socket", {});
  assertStringIncludes(socket.head, "HTTP/1.1 101");
  assertEquals(await agent.result("look"), { result: 1 });
  assertEquals(await left("/own"), '"1";r=0');
  for (const path of ["/own", "/inner", "/mount"]) {
    const { status, body } = await fetch(serving.origin + path);
    await body?.cancel();
    assertEquals([path, status], [path, 429]);
  }
  using refused = await RawSocket.open(serving.port, "/socket", {});
  assertStringIncludes(refused.head, "HTTP/1.1 429");
  assertMatch(await agent.failure("look") ?? "", /try again in 3[56]\d\d s/);
});
