// Section 7 of the contract: middleware, dependencies and validation run before the upgrade; a
// refusal is an ordinary HTTP reply. Browsers of another origin are refused unless allowed. Section
// 13: a plain GET is 426 with `Upgrade`. Section 6: middleware may change reply headers, except
// those of a 101.

import { App, dependency, HTTPError, RouteError, Router } from "@webfw/core";
import { assert, assertEquals, assertThrows } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { RawConnection, type RawReply } from "./support/raw_connection.ts";
import { RawSocket, upgradeRequest } from "./support/raw_socket.ts";
import { Serving } from "./support/serving.ts";
import { SocketClient } from "./support/socket_client.ts";
import { ticks } from "./support/ticks.ts";

/** Greets, and waits for the end. */
async function greet(socket: { send(text: string): Promise<void> } & AsyncIterable<unknown>): Promise<void> {
  await socket.send("welcome");
  for await (const _ of socket);
}

/** The reply to an upgrade that is refused. */
async function refusal(
  serving: Serving,
  path: string,
  headers: Readonly<Record<string, string | null>> = {},
): Promise<RawReply> {
  using connection = await RawConnection.open(serving.port);
  await connection.write(upgradeRequest(path, headers));
  return await connection.reply();
}

function headerOf({ headers }: RawReply, name: string): string | undefined {
  return headers.find(([other]) => other === name)?.[1];
}

Deno.test("a plain GET of a WebSocket is 426 with Upgrade, and any other method 405 with GET as Allow", async () => {
  const app = new App();
  app.websocket("/chat", async (socket) => await greet(socket));
  await using serving = await Serving.start(app);
  const plain = await fetch(serving.origin + "/chat");
  assertEquals([plain.status, plain.headers.get("upgrade")], [426, "websocket"]);
  assertEquals((await plain.json()).title, "Upgrade Required");
  const head = await fetch(serving.origin + "/chat", { method: "HEAD" });
  assertEquals(head.status, 426);
  const post = await fetch(serving.origin + "/chat", { method: "POST" });
  assertEquals([post.status, post.headers.get("allow")], [405, "GET"]);
  await post.body?.cancel();
  for (const upgrade of ["h2c", "", "websocket-like"]) {
    assertEquals((await refusal(serving, "/chat", { upgrade })).status, 426);
  }
});

Deno.test("a plain GET of a WebSocket is refused like its upgrade: by guards, validation, dependencies and limits", async () => {
  const app = new App();
  let supplied = 0;
  const guard = dependency({
    headers: { authorization: v.optional(v.string()) },
    security: { token: { type: "http", scheme: "bearer" } },
  }, async (_request, { headers }) => {
    if (headers.authorization !== "Bearer s3cret") throw new HTTPError(401, "Sign in");
  });
  const count = dependency({ query: { bad: v.optional(v.string()) } }, async (_request, { bad }) => {
    supplied++;
    if (bad !== undefined) throw new HTTPError(409, "Not now");
  });
  app.websocket("/chat/{room}", {
    params: { room: v.number() },
    deps: { guard, count },
    rateLimit: { limit: 5, per: "1h" },
  }, async (socket) => await greet(socket));
  await using serving = await Serving.start(app);
  const ask = async (room: string, token?: string): Promise<number> => {
    const headers: HeadersInit = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const reply = await fetch(`${serving.origin}/chat/${room}`, { headers });
    assertEquals(reply.headers.get("upgrade"), reply.status === 426 ? "websocket" : null);
    await reply.body?.cancel();
    return reply.status;
  };
  assertEquals([await ask("1"), await ask("1", "wrong")], [401, 401]);
  assertEquals([await ask("x", "s3cret"), await ask("1?bad=", "s3cret")], [422, 409]);
  assertEquals([await ask("1", "s3cret"), await ask("1", "s3cret"), supplied], [426, 429, 2]);
});

Deno.test("a GET route and a WebSocket may have the same path: an upgrade goes to the one, all else to the other", async () => {
  const app = new App();
  app.websocket("/chat/{room}", async (socket, { room }) => {
    await socket.send(`socket ${room}`);
  });
  app.get("/chat/{name}", async (_request, { name }) => `page ${name}`);
  app.get("/page", async () => "page");
  await using serving = await Serving.start(app);
  assertEquals(await (await fetch(serving.origin + "/chat/a")).json(), "page a");
  const client = await SocketClient.open(serving.origin, "/chat/a");
  assertEquals(await client.next(), "socket a");
  await client.closed;
  const ignored = await refusal(serving, "/page");
  assertEquals([ignored.status, ignored.body], [200, '"page"']);
  assertEquals((await refusal(serving, "/nothing")).status, 404);
});

Deno.test("an upgrade passes over a more specific shape without a WebSocket, as a method does", async () => {
  const app = new App();
  app.get("/chat/lobby", async () => "page");
  app.websocket("/chat/{room}", async (socket, { room }) => await socket.send(room));
  app.websocket("/chat/static", async (socket) => await socket.send("literal"));
  await using serving = await Serving.start(app);
  for (const [path, said] of [["/chat/lobby", "lobby"], ["/chat/static", "literal"], ["/chat/a%2Fb", "a/b"]] as const) {
    const client = await SocketClient.open(serving.origin, path);
    assertEquals(await client.next(), said);
    await client.closed;
  }
});

Deno.test("two WebSockets of one shape are a conflict, and so is one at a path of the application's own", () => {
  const app = new App();
  app.websocket("/chat/{room}", async () => {});
  const conflict = assertThrows(() => app.websocket("/chat/{id}", async () => {}), RouteError);
  assertEquals([conflict.code, conflict.message], [
    "conflict",
    "Cannot register the route: WEBSOCKET /chat/{id} has the method and shape of WEBSOCKET /chat/{room}, change or remove one of them",
  ]);
  const router = new Router({ prefix: "/chat" });
  router.get("/page", async () => 1);
  router.websocket("/{other}", async () => {});
  assertThrows(() => app.include(router), RouteError, "Cannot include the router: WEBSOCKET /chat/{other}");
  assertEquals(app.routes.map(({ path }) => path), ["/chat/{room}"]);
  assertThrows(() => app.websocket("/docs", async () => {}), RouteError, "the App serves");
});

Deno.test("a WebSocket of a router has its prefixes, its names and its middleware", async () => {
  const router = new Router({ prefix: "/rooms/{room}" });
  const seen: string[] = [];
  router.middleware(async (request, next) => {
    seen.push(`router ${request.route?.method} ${request.route?.path}`);
    return await next(request);
  });
  router.websocket(
    "/chat",
    { params: { room: v.pipe(v.number(), v.integer()) }, query: { version: v.number() } },
    async (socket, { room, version }) => await socket.send(`${room + 1} ${version + 1}`),
  );
  const app = new App();
  app.middleware(async (request, next) => {
    seen.push("app");
    return await next(request);
  });
  app.include(router, { prefix: "/v{version}".replace("v{", "{") });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/2/rooms/7/chat");
  assertEquals(await client.next(), "8 3");
  await client.closed;
  assertEquals(seen, ["app", "router WEBSOCKET /{version}/rooms/{room}/chat"]);
  assertEquals((await refusal(serving, "/2/rooms/x/chat")).status, 422);
});

Deno.test("validation, dependencies and middleware refuse before the upgrade, by ordinary replies", async () => {
  const app = new App();
  const user = dependency({ query: { token: v.optional(v.string()) } }, async (_request, { token }) => {
    if (token === undefined) throw new HTTPError(401, "Who are you", { headers: { "www-authenticate": "Bearer" } });
    return token;
  });
  const order: string[] = [];
  const cleaned = dependency(async function* () {
    try {
      yield;
    } finally {
      order.push("cleaned up");
    }
  });
  app.middleware(async (request, next) => {
    if (request.query.has("blocked")) return new Response("blocked", { status: 418 });
    const response = await next(request);
    order.push(String(response.status));
    response.headers.set("x-seen", "yes");
    return response;
  });
  app.websocket("/{id}", {
    params: { id: v.number() },
    deps: { user, cleaned },
    headers: { "x-number": v.optional(v.number()) },
    cookies: { sid: v.optional(v.number()) },
  }, async (socket) => await greet(socket));
  await using serving = await Serving.start(app);
  using log = new CapturedLog();

  const invalid = await refusal(serving, "/x?token=1", { "x-number": "y", cookie: "sid=z" });
  assertEquals([invalid.status, headerOf(invalid, "content-type"), headerOf(invalid, "x-seen")], [
    422,
    "application/problem+json",
    "yes",
  ]);
  const errors: { in: string; path: string[] }[] = JSON.parse(invalid.body).errors;
  assertEquals(errors.map((error) => [error.in, ...error.path]), [["path", "id"], ["header", "x-number"], [
    "cookie",
    "sid",
  ]]);
  const unknown = await refusal(serving, "/1");
  assertEquals([unknown.status, headerOf(unknown, "www-authenticate")], [401, "Bearer"]);
  const blocked = await refusal(serving, "/1?blocked");
  assertEquals([blocked.status, blocked.body], [418, "blocked"]);
  await serving.stop();
  assertEquals(order, ["422", "cleaned up", "401"]);
  assertEquals(log.text, "");
});

Deno.test("middleware may set headers of its reply, and none reaches the 101", async () => {
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    assertEquals(response.status, 101);
    response.headers.set("x-frame-options", "DENY");
    response.headers.append("set-cookie", "a=b");
    return response;
  });
  app.websocket("/", async (socket) => {
    socket.request.replyHeaders.set("x-late", "1");
    await greet(socket);
  });
  await using serving = await Serving.start(app);
  using socket = await RawSocket.open(serving.port, "/");
  const names = socket.head.split("\r\n").slice(1, -2).map((line) => line.slice(0, line.indexOf(":"))).toSorted();
  assertEquals(names, ["connection", "date", "sec-websocket-accept", "upgrade"]);
});

Deno.test("middleware may refuse late, or fail: then there is no upgrade, and the server continues", async () => {
  const app = new App();
  const order: string[] = [];
  const db = dependency(async function* () {
    try {
      yield;
    } finally {
      order.push("cleaned up");
    }
  });
  app.middleware(async (request, next) => {
    const response = await next(request);
    if (request.query.has("fail")) throw new Error("late");
    return request.query.has("replace") ? new Response("replaced", { status: 409 }) : response;
  });
  app.websocket("/", { deps: { db } }, async (socket) => {
    order.push("conversed");
    await socket.send("served");
  });
  await using serving = await Serving.start(app);
  using _log = new CapturedLog();
  assertEquals((await refusal(serving, "/?replace")).status, 409);
  assertEquals((await refusal(serving, "/?fail")).status, 500);
  const client = await SocketClient.open(serving.origin, "/");
  assertEquals(await client.next(), "served");
  await client.closed;
  await serving.stop();
  assertEquals(order, ["cleaned up", "cleaned up", "conversed", "cleaned up"]);
});

Deno.test("an incomplete handshake is refused, and for another version the reply names the right one", async () => {
  const app = new App();
  app.websocket("/", async (socket) => await greet(socket));
  await using serving = await Serving.start(app);
  for (
    const [headers, status] of [
      [{ connection: "close" }, 400],
      [{ "sec-websocket-key": null }, 400],
      [{ "sec-websocket-key": "short" }, 400],
      [{ "sec-websocket-version": "8" }, 426],
      [{ "sec-websocket-version": null }, 426],
    ] as const
  ) {
    const reply = await refusal(serving, "/", headers);
    assertEquals([headers, reply.status], [headers, status]);
    if (status === 426) assertEquals(headerOf(reply, "sec-websocket-version"), "13");
  }
  using socket = await RawSocket.open(serving.port, "/", { upgrade: "WebSocket", connection: "UPGRADE" });
  assert(socket.head.startsWith("HTTP/1.1 101"));
});

Deno.test("pages of the same host may connect, and who says no origin; all others are refused with 403", async () => {
  const app = new App();
  app.websocket("/", async (socket) => await greet(socket));
  await using serving = await Serving.start(app);
  const host = "books.example:8443";
  for (const origin of [null, "https://books.example:8443", "http://books.example:8443"]) {
    using socket = await RawSocket.open(serving.port, "/", { host, origin });
    assert(socket.head.startsWith("HTTP/1.1 101"), String(origin));
  }
  const others = ["https://attacker.example", "https://books.example", "https://books.example:8443.attacker.example"];
  for (const origin of [...others, "null", "", "books.example:8443", "file://"]) {
    const reply = await refusal(serving, "/", { host, origin });
    assertEquals([origin, reply.status], [origin, 403]);
    const { detail } = JSON.parse(reply.body);
    assert(detail.includes(`and not from one of ${host}: the App can list`), detail);
  }
});

Deno.test("origins of the application allow others, and those of a route add to them", async () => {
  const app = new App({ origins: ["https://friend.example"] });
  app.websocket("/app", async (socket) => await greet(socket));
  app.websocket("/route", { origins: ["https://other.example", "chrome-extension://abc"] }, async (socket) => {
    await greet(socket);
  });
  app.websocket("/all", { origins: "*" }, async (socket) => await greet(socket));
  await using serving = await Serving.start(app);
  const isLetIn = async (path: string, origin: string): Promise<boolean> => {
    using socket = await RawSocket.open(serving.port, path, { origin });
    return socket.head.startsWith("HTTP/1.1 101");
  };
  assertEquals(await isLetIn("/app", "https://friend.example"), true);
  assertEquals(await isLetIn("/app", "https://other.example"), false);
  assertEquals(await isLetIn("/app", "https://friend"), false);
  assertEquals(await isLetIn("/route", "https://other.example"), true);
  assertEquals(await isLetIn("/route", "chrome-extension://abc"), true);
  assertEquals(await isLetIn("/route", "https://friend.example"), true);
  assertEquals(await isLetIn("/route", "https://attacker.example"), false);
  assertEquals(await isLetIn("/all", "https://anyone.example"), true);
  assertEquals(await isLetIn("/all", "null"), true);
});

Deno.test("the first subprotocol of the route that the client speaks is agreed on", async () => {
  const app = new App();
  app.websocket("/", { protocols: ["v2", "v1"] }, async (socket) => await socket.send(`agreed on ${socket.protocol}`));
  app.websocket("/none", async (socket) => await socket.send(`agreed on ${socket.protocol}`));
  await using serving = await Serving.start(app);
  for (const [offered, agreed] of [[["v1", "v2"], "v2"], [["v1"], "v1"], [[], ""]] as const) {
    const client = await SocketClient.open(serving.origin, "/", [...offered]);
    assertEquals([client.protocol, await client.next()], [agreed, `agreed on ${agreed}`]);
    await client.closed;
  }
  using without = await RawSocket.open(serving.port, "/", { "sec-websocket-protocol": "v1,v2" });
  assert(/\r\nsec-websocket-protocol: v2\r\n/.test(without.head), without.head);
  using none = await RawSocket.open(serving.port, "/none", { "sec-websocket-protocol": "v1" });
  assert(!none.head.includes("sec-websocket-protocol"));
  assertEquals((await refusal(serving, "/", { "sec-websocket-protocol": "v3" })).status, 400);
});

Deno.test("an upgrade that comes to its end while the server stops is refused with 503", async () => {
  const app = new App();
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  app.middleware(async (request, next) => {
    const response = await next(request);
    arrived.resolve();
    await gate.promise;
    return response;
  });
  app.websocket("/", async (socket) => await greet(socket));
  await using serving = await Serving.start(app);
  const refused = refusal(serving, "/");
  await arrived.promise;
  serving.tellToStop();
  await ticks(10);
  gate.resolve();
  assertEquals((await refused).status, 503);
  await serving.stopped;
});

Deno.test("a request from a server without upgrades gets 501", async () => {
  const app = new App();
  let cleanups = 0;
  const counted = dependency(async function* () {
    try {
      yield;
    } finally {
      cleanups++;
    }
  });
  app.websocket("/", { deps: { counted } }, async (socket) => await greet(socket));
  const headers = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  const response = await app.fetch(new Request("http://localhost/", { headers }));
  assertEquals(response.status, 501);
  const detail = "A WebSocket takes the Request of a server as it came, no copy and none made by hand";
  assertEquals((await response.json()).detail, detail);

  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request, info) => {
    return app.fetch(new Request(request), info);
  });
  using connection = await RawConnection.open(server.addr.port);
  await connection.write(upgradeRequest("/"));
  assertEquals((await connection.reply()).status, 501);
  await app.stop();
  assertEquals(cleanups, 2);
});

Deno.test("a custom server need not pass on information about the connection", async () => {
  const app = new App();
  app.websocket("/", async (socket) => await socket.send("welcome"));
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => app.fetch(request));
  const client = await SocketClient.open(`http://127.0.0.1:${server.addr.port}`, "/");
  assertEquals(await client.next(), "welcome");
  await client.closed;
  await app.stop();
});
