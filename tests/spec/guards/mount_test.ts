// Section 1 of the contract of guards: "`app.mount(path, handler)` (also on routers):
// `handler(request: Request, info) => Response | Promise<Response>` gets everything below `path`,
// `path` itself included, with any method, behind the scope's middleware and guards; hidden; the
// handler sees the path without the mount (`{ strip: false }` keeps it)."

import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, RouteError, Router, stateType } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import type { MountInfo } from "@webfw/core/types";
import { CapturedLog } from "../support/captured_log.ts";
import { exchange } from "../support/raw_connection.ts";
import { Serving } from "../support/serving.ts";

/** A handler that answers with what it sees. */
const seen = (request: Request) => new Response(`${request.method} ${request.url}`);

async function textOf(app: App, path: string, init: RequestInit = {}): Promise<string> {
  const reply = await app.fetch(new Request(`http://localhost${path}`, init));
  return `${reply.status} ${await reply.text()}`;
}

Deno.test("A mounted handler gets everything below `path`, `path` itself included, with any method, and sees the path without the mount", async () => {
  const app = new App();
  app.mount("/other", seen);
  assertEquals(await textOf(app, "/other"), "200 GET http://localhost/");
  assertEquals(await textOf(app, "/other?a=1"), "200 GET http://localhost/?a=1");
  assertEquals(await textOf(app, "/other/"), "200 GET http://localhost/");
  assertEquals(await textOf(app, "/other/a/b%2Fc/?d=%20"), "200 GET http://localhost/a/b%2Fc/?d=%20");
  assertEquals(await textOf(app, "/other//a"), "200 GET http://localhost//a");
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"]) {
    assertEquals(await textOf(app, "/other/x", { method }), `200 ${method} http://localhost/x`);
  }
  const head = await app.fetch(new Request("http://localhost/other/x", { method: "HEAD" }));
  assertEquals([head.status, await head.text()], [200, ""]);
  assertEquals((await app.fetch(new Request("http://localhost/others"))).status, 404);
});

Deno.test("`{ strip: false }` keeps the path of the mount", async () => {
  const app = new App();
  app.mount("/other", seen, { strip: false });
  assertEquals(await textOf(app, "/other/a?b=1"), "200 GET http://localhost/other/a?b=1");
  assertEquals(await textOf(app, "/other"), "200 GET http://localhost/other");
});

Deno.test("A mount on a router is below the prefixes of the router and of its includes", async () => {
  const router = new Router({ prefix: "/shops/{shop}" });
  const params: unknown[] = [];
  router.mount("/web/{version}", (request, { request: { params: given } }) => {
    params.push({ ...given });
    return seen(request);
  });
  const whole = new Router();
  whole.mount("/", seen);
  const app = new App();
  app.include(router, { prefix: "/v1" });
  app.include(whole, { prefix: "/whole" });
  assertEquals(await textOf(app, "/v1/shops/top%20shop/web/2/a/b"), "200 GET http://localhost/a/b");
  assertEquals(params, [{ shop: "top shop", version: "2" }]);
  for (const path of ["/whole", "/whole/"]) assertEquals(await textOf(app, path), "200 GET http://localhost/");
  assertEquals(await textOf(app, "/whole/a"), "200 GET http://localhost/a");
});

Deno.test("A mount at the root takes what no route and no built-in endpoint serves", async () => {
  const app = new App();
  app.get("/books/{id}", async () => "the book");
  app.mount("/", seen);
  assertEquals(await textOf(app, "/books/1"), '200 "the book"');
  assertEquals(await textOf(app, "/books"), "200 GET http://localhost/books");
  assertEquals(await textOf(app, "/books/1", { method: "POST" }), "200 POST http://localhost/books/1");
  assertEquals(await textOf(app, "/"), "200 GET http://localhost/");
  assertEquals(
    (await app.fetch(new Request("http://localhost/openapi.json"))).headers.get("content-type"),
    "application/json",
  );
});

Deno.test("A mount is behind the scope's middleware and guards", async () => {
  const log: string[] = [];
  const guard = (name: string) =>
    dependency(async (request) => {
      log.push(name);
      if (request.headers.has(`x-refused-by-${name}`)) throw new HTTPError(403, `Refused by ${name}`);
    });
  const app = new App({ deps: { app: guard("app") } });
  const router = new Router({ deps: { router: guard("router") } });
  for (const scope of [app, router]) {
    scope.middleware(async (request, next) => {
      log.push("middleware");
      const reply = await next(request);
      reply.headers.set("x-seen", "yes");
      return reply;
    });
  }
  router.mount("/other", () => {
    log.push("handler");
    return Response.redirect("http://localhost/elsewhere");
  });
  app.include(router, { deps: { include: guard("include") } });
  const reply = await app.fetch(new Request("http://localhost/other/x"));
  assertEquals([reply.status, reply.headers.get("x-seen")], [302, "yes"]);
  assertEquals(log.splice(0), ["middleware", "middleware", "app", "include", "router", "handler"]);
  const refused = await app.fetch(new Request("http://localhost/other/x", { headers: { "x-refused-by-router": "1" } }));
  assertEquals([refused.status, (await refused.json()).detail], [403, "Refused by router"]);
  assertEquals(log.includes("handler"), false);
});

Deno.test("A mount is hidden: in the routes, and neither in the document nor among the tools", () => {
  const app = new App();
  app.mount("/other", seen);
  app.get("/shown", async () => 1);
  assertEquals(Object.keys(app.openapi().paths), ["/shown"]);
  assertEquals(app.routes.map(({ method, path, options }) => [method, path, options]), [
    ["*", "/other", { hidden: true }],
    ["GET", "/shown", {}],
  ]);
});

Deno.test("The body of a request reaches a mounted handler unread, as a stream", async () => {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (++pulled > 3) return controller.close();
      controller.enqueue(new TextEncoder().encode(`${pulled};`));
    },
  }, { highWaterMark: 0 });
  const app = new App({ limits: { body: 2 } });
  app.mount("/other", async (request) => {
    const before = pulled;
    return new Response(`${before} ${request.headers.get("content-type")} ${await request.text()}`);
  });
  const headers = { "content-type": "text/x" };
  assertEquals(await textOf(app, "/other", { method: "POST", headers, body }), "200 0 text/x 1;2;3;");
});

Deno.test("A mounted handler gets the connection, and the application's request", async () => {
  const state = stateType<{ name: string }>();
  const app = new App({ state });
  app.lifespan(async function* () {
    yield { name: "Ada" };
  });
  const infos: MountInfo<{ name: string }>[] = [];
  app.mount("/other", (_request, info) => {
    infos.push(info);
    return new Response();
  });
  const remoteAddr: Deno.NetAddr = { transport: "tcp", hostname: "192.0.2.1", port: 1 };
  await app.fetch(new Request("http://localhost/other"), { remoteAddr });
  await app.stop();
  assertEquals(infos.map(({ remoteAddr }) => remoteAddr), [remoteAddr]);
  assertEquals(infos[0]?.request.state, { name: "Ada" });
  assertEquals(infos[0]?.request.route?.path, "/other");
});

Deno.test("A mounted handler gets the address of the connection from a server, too", async () => {
  const app = new App();
  app.mount("/other", (_request, { remoteAddr, completed }) => {
    const isPromise = completed instanceof Promise;
    return Response.json([remoteAddr?.transport === "tcp" && remoteAddr.hostname, isPromise]);
  });
  await using serving = await Serving.start(app);
  const reply = await fetch(`${serving.origin}/other`);
  assertEquals(await reply.json(), ["127.0.0.1", true]);
});

Deno.test("No path leads a mounted handler out of its mount", async () => {
  const app = new App();
  app.mount("/open", seen, { strip: false });
  await using serving = await Serving.start(app);
  for (const path of ["/open/\\..\\..\\admin", "/open/..\\admin", "/open/\\%2e%2e\\admin", "/open/../admin"]) {
    const request = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`;
    assertEquals((await exchange(serving.port, request)).status, 400, path);
  }
});

Deno.test("Routes, middleware and mounts see one path, however it is escaped", async () => {
  const app = new App({ log: () => {} });
  const paths: string[] = [];
  app.middleware(async (request, next) => {
    paths.push(request.path);
    if (request.path.startsWith("/admin/") || request.url.pathname.startsWith("/admin/")) throw new HTTPError(403);
    return await next(request);
  });
  app.mount("/", seen);
  await using serving = await Serving.start(app);
  const get = async (target: string) => {
    const { status, body } = await exchange(
      serving.port,
      `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    return status === 200 ? body : status;
  };
  for (const target of ["/admin/a", "/%61dmin/a", "/adm%69n/%61", "/%61%64%6D%69%6e/a"]) {
    assertEquals(await get(target), 403, target);
  }
  for (const target of ["/admin\\a", "\\admin\\a", "/a/..\\admin\\a", "/a\\..\\admin/a", "/a/%2e%2e/admin/a"]) {
    // A middleware that answers the refusal sees it as any other.
    assert([400, 403].includes(Number(await get(target))), target);
  }
  paths.length = 0;
  assertEquals(await get("/%7Euser/a%2Fb%5Cc%20%2B?q=%61"), "GET http://x/~user/a%2Fb%5Cc%20%2B?q=%61");
  assertEquals(paths, ["/~user/a%2Fb%5Cc%20%2B"]);
});

Deno.test("What a mounted handler throws is an error reply of the application, and so is a result that is no Response", async () => {
  const app = new App();
  app.mount("/refused", () => Promise.reject(new HTTPError(418, "No coffee")));
  app.mount("/nothing", (() => undefined) as never);
  app.onError((error) => new Response(`shaped ${error.status}`, { status: error.status }));
  using log = new CapturedLog();
  assertEquals(await textOf(app, "/refused"), "418 shaped 418");
  assertEquals(await textOf(app, "/nothing"), "500 shaped 500");
  assertStringIncludes(log.text, "Cannot reply to /nothing: the mounted handler returned undefined");
});

Deno.test("A method that no `Request` can have is 501, and does not fill the log", async () => {
  const app = new App();
  app.mount("/other", seen);
  using log = new CapturedLog();
  const server = Deno.serve({ port: 0, onListen: () => {} }, app.fetch);
  for (const method of ["TRACE", "TRACK", "get", "patch"]) {
    const connection = await Deno.connect({ port: server.addr.port });
    const head = `${method} /other HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`;
    await connection.write(new TextEncoder().encode(head));
    assertStringIncludes(await new Response(connection.readable).text(), "HTTP/1.1 501 Not Implemented", method);
  }
  await server.shutdown();
  assertEquals(log.text, "");
});

Deno.test("Conflicts of mounts with routes are `RouteError`s as for routes", () => {
  const conflict = (declare: (app: App) => void, message: string) => {
    const app = new App();
    app.mount("/other", seen);
    app.get("/another/{id}", async () => 1);
    app.get("/rest/{path...}", async () => 1);
    assertEquals(assertThrows(() => declare(app), RouteError, message).code, "conflict");
  };
  const same = "has the method and shape of";
  conflict((app) => app.get("/other", async () => 1), `GET /other ${same} the mount /other`);
  conflict((app) => app.post("/other/", async () => 1), `POST /other/ ${same} the mount /other`);
  conflict((app) => app.put("/other/{all...}", async () => 1), `PUT /other/{all...} ${same} the mount /other`);
  conflict((app) => app.mount("/other", seen), `the mount /other ${same} the mount /other`);
  conflict((app) => app.mount("/another/{name}", seen), `the mount /another/{name} ${same} GET /another/{id}`);
  conflict((app) => app.mount("/rest", seen), `the mount /rest ${same} GET /rest/{path...}`);
  conflict((app) => app.mount("/docs", seen), "the App serves its documentation page there");
  const router = new Router();
  router.get("/other", async () => 1);
  conflict((app) => app.include(router), "GET /other");
  const guarded = new App({ deps: { name: async () => 1 } }) as unknown as App;
  assertThrows(() => guarded.mount("/{name}", seen), RouteError, 'Cannot bind "name"');
});

Deno.test("A mount that is declared wrongly throws", () => {
  const app = new App();
  assertThrows(
    () => app.mount("/a", { fetch: seen } as never),
    TypeError,
    "the handler must be a function or an App, got object; give its fetch, as in other.fetch",
  );
  assertThrows(() => app.mount("/a", "dist" as never), TypeError, 'got "dist"; for a folder, use app.files');
  assertThrows(() => app.mount("/a", seen, { strip: 1 as never }), TypeError, '"strip" must be true or false, got 1');
  assertThrows(() => app.mount("/a", seen, { stripped: true } as never), TypeError, 'the option "stripped" is unknown');
  assertThrows(() => app.mount("a" as "/a", seen), RouteError, 'the path must start with "/"');
  assertThrows(() => app.mount("/a/", seen), RouteError, 'must not end with "/"');
  assertThrows(() => app.mount("/a/{rest...}", seen), RouteError, "cannot stand in a prefix");
  app.openapi();
  const router = new Router();
  app.include(router);
  assertThrows(() => router.mount("/a", seen), RouteError, "the router has been included");
});

Deno.test("A WebSocket route can have the path of a mount; elsewhere below the mount, an upgrade is a GET", async () => {
  const app = new App();
  app.mount("/other", seen);
  app.websocket("/other", async (socket) => socket.send("hello"));
  await using client = new TestClient(app);
  const socket = await client.websocket("/other");
  assertEquals(await socket.receive(), "hello");
  const upgrade = { connection: "upgrade", upgrade: "websocket" };
  const reply = await client.get("/other/x", { headers: upgrade });
  assertEquals(await reply.text(), "GET http://localhost/x");
});

Deno.test("A mounted handler that accepts WebSockets does not get as far as a 101", async () => {
  const app = new App();
  app.mount("/other", (request) => {
    if (request.headers.get("upgrade") !== "websocket") return new Response("a GET", { status: 404 });
    return Deno.upgradeWebSocket(request).response;
  });
  await using serving = await Serving.start(app);
  const key = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";
  const upgrade = `connection: upgrade, close\r\nupgrade: websocket\r\n${key}`;
  const reply = await exchange(serving.port, `GET /other HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\n\r\n`);
  assertEquals([reply.status, reply.body], [404, "a GET"]);
});

Deno.test("The application of another framework is mounted by its `fetch`", async () => {
  /** As Hono exports it: with variables of the environment, and a context that is optional. */
  class Other<Variables extends object> {
    fetch = (
      request: Request,
      _env?: Variables | Record<never, never>,
      _context?: { waitUntil(promise: Promise<unknown>): void },
    ): Response | Promise<Response> => request.method === "GET" ? seen(request) : Promise.resolve(seen(request));
  }
  const app = new App();
  app.mount("/hono", new Other<{ secret: string }>().fetch);
  const router = new Router({ prefix: "/v1", deps: { user: async () => 1 } });
  router.mount("/deno", (request: Request, _info: Pick<Deno.ServeHandlerInfo, never>) => seen(request));
  app.include(router);
  assertEquals(await textOf(app, "/hono/a"), "200 GET http://localhost/a");
  assertEquals(await textOf(app, "/v1/deno", { method: "POST" }), "200 POST http://localhost/");
});

Deno.test("A name of the router's `deps` in the path of a mount is a compile error", () => {
  const router = new Router({ deps: { user: async () => 1 } });
  // @ts-expect-error The deps of the scope bind 'user' already
  assertThrows(() => router.mount("/{user}", seen), RouteError);
  // @ts-expect-error the handler answers with a Response
  router.mount("/a", () => 1);
});
