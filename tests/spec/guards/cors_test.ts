// Guards, section 3: CORS. Titles quote its rules.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, type AppOptions, html, HTTPError, Router, SSE } from "@webfw/core";
import { CapturedLog } from "../support/captured_log.ts";
import { exchange, headerOf, type RawReply } from "../support/raw_connection.ts";
import { Serving } from "../support/serving.ts";

const SHOP = "https://shop.example";
const OTHER = "https://attacker.example";

/**
 * The CORS headers of a reply, without the start that they share. The document and its page also
 * vary by `Accept-Encoding`, which is another matter.
 */
function corsOf(reply: Headers): Record<string, string> {
  const headers = new Headers(reply);
  const vary = headers.get("vary")?.replace(/^accept-encoding(?:, |$)/, "");
  if (vary) headers.set("vary", vary);
  else headers.delete("vary");
  const names = ["origin", "credentials", "methods", "headers"].map((name) => `access-control-allow-${name}`);
  const all = ["vary", ...names, "access-control-expose-headers", "access-control-max-age"];
  return Object.fromEntries(
    all.flatMap((name) => headers.has(name) ? [[name.replace("access-control-", ""), headers.get(name)!]] : []),
  );
}

/** An application that has something of everything, and counts what runs. */
function service(options: AppOptions): { app: App; ran: string[] } {
  const ran: string[] = [];
  const app = new App(options);
  app.middleware(async (request, next) => {
    ran.push(`${request.method} ${request.path}`);
    return await next(request);
  });
  app.get("/books", async () => []);
  app.post("/books", { status: 201 }, async (request) => {
    request.replyHeaders.set("location", "/books/1");
    return {};
  });
  app.delete("/books/{id}", async () => {});
  app.get("/{page}", async () => html("page"));
  app.get("/books/new", async (request) => {
    request.replyHeaders.set("etag", '"1"');
    request.replyHeaders.set("vary", "Accept-Language");
    return {};
  });
  app.get("/fail", async () => {
    throw new Error("broken");
  });
  app.get("/busy", async () => {
    throw new HTTPError(429, "Later", { headers: { "retry-after": "1" } });
  });
  app.get("/lines", async function* () {
    yield new Uint8Array([1]);
  });
  app.get("/events", async () => SSE((async function* () {})()));
  app.get("/blob", async () => new Blob(["text"], { type: "text/plain" }));
  app.get("/elsewhere", async () => Response.redirect("https://shop.example/"));
  app.get("/vary", async () => new Response("", { headers: { vary: "origin" } }));
  app.route("/asks", { methods: ["OPTIONS"] }, async () => "asked");
  app.websocket("/chat", async () => {});
  return { app, ran };
}

async function ask(app: App, method: string, path: string, headers: Record<string, string> = {}) {
  const response = await app.fetch(new Request(`http://api.example${path}`, { method, headers }));
  await response.body?.cancel();
  return response;
}

/** A preflight for a method and perhaps some headers. */
function preflight(app: App, path: string, origin: string, method: string, names?: string): Promise<Response> {
  return ask(app, "OPTIONS", path, {
    origin,
    "access-control-request-method": method,
    ...(names !== undefined && { "access-control-request-headers": names }),
  });
}

Deno.test("A preflight of a listed origin is answered 204 out of the route table, before middleware", async () => {
  const { app, ran } = service({ origins: [SHOP] });
  for (
    const [path, asked, methods] of [
      ["/books", "POST", "GET, HEAD, POST"],
      ["/books", "PUT", "GET, HEAD, POST, PUT"],
      ["/books/1", "DELETE", "DELETE"],
      ["/chat", "GET", "GET, HEAD"],
      ["/nothing/here", "PATCH", "PATCH"],
      ["/bad%", "POST", "POST"],
      ["/openapi.json", "GET", "GET, HEAD"],
      ["/mcp", "POST", "GET, HEAD, POST"],
    ] as const
  ) {
    const response = await preflight(app, path, SHOP, asked);
    assertEquals([path, response.status], [path, 204]);
    assertEquals(corsOf(response.headers), {
      "vary": "Origin",
      "allow-origin": SHOP,
      "allow-methods": methods,
      "max-age": "7200",
    }, path);
  }
  assertEquals(ran, []);
});

Deno.test("A preflight allows the headers it asks for, which are names and not too many", async () => {
  const { app } = service({ origins: [SHOP], cors: { maxAge: "10m" } });
  const allowed = async (names: string) => {
    const { headers } = await preflight(app, "/books", SHOP, "POST", names);
    assertEquals(headers.get("access-control-max-age"), "600");
    return headers.get("access-control-allow-headers");
  };
  assertEquals(await allowed('Authorization,content-type , x-a,,bad name,b"d,x-a'), "authorization, content-type, x-a");
  assertEquals(await allowed(""), null);
  assertEquals(
    (await allowed(Array.from({ length: 5000 }, (_, index) => `x-${index}`).join()))!.split(",").length,
    100,
  );
  assertEquals(await allowed("x".repeat(101)), null);
});

Deno.test("A method that is no method is not allowed by a preflight", async () => {
  const { app } = service({ origins: [SHOP] });
  for (const method of ["a b", "", "x".repeat(101), "a,b"]) {
    const { status, headers } = await preflight(app, "/books/1", SHOP, method);
    assertEquals([status, headers.get("access-control-allow-methods")], [204, "DELETE"]);
  }
});

Deno.test("A preflight of another origin is 403 without such headers, before middleware", async () => {
  const { app, ran } = service({ origins: [SHOP] });
  for (const path of ["/books", "/nothing", "/mcp"]) {
    for (const origin of [OTHER, "null", `${SHOP}.attacker.example`]) {
      const response = await preflight(app, path, origin, "POST");
      assertEquals([response.status, corsOf(response.headers)], [403, { vary: "Origin" }]);
      assertEquals(response.headers.get("content-type"), "application/problem+json");
    }
  }
  assertEquals(ran, []);
});

Deno.test("On a route for OPTIONS of the user's own, the handler answers", async () => {
  const { app, ran } = service({ origins: [SHOP] });
  const response = await preflight(app, "/asks", SHOP, "POST");
  assertEquals([response.status, corsOf(response.headers)], [200, { "vary": "Origin", "allow-origin": SHOP }]);
  assertEquals(ran, ["OPTIONS /asks"]);
});

Deno.test("Below a mount the handler answers, and its replies carry the headers", async () => {
  const app = new App({ origins: [SHOP] });
  const asked: string[] = [];
  app.mount("/other", ({ method, headers }) => {
    asked.push(`${method} ${headers.get("origin")}`);
    return new Response(null, { status: 202, headers: { "access-control-allow-methods": "PURGE" } });
  });
  for (const origin of [SHOP, OTHER]) {
    const { status, headers } = await preflight(app, "/other/x", origin, "PURGE");
    const allowed = origin === SHOP ? { "allow-origin": SHOP } : {};
    assertEquals([status, corsOf(headers)], [202, { "vary": "Origin", ...allowed, "allow-methods": "PURGE" }]);
  }
  assertEquals(asked, [`OPTIONS ${SHOP}`, `OPTIONS ${OTHER}`]);
});

Deno.test("A preflight below a mount behind guards is answered before guards, which it could not pass", async () => {
  const ran: string[] = [];
  const guard = async (): Promise<void> => {
    ran.push("guard");
    throw new HTTPError(401);
  };
  const router = new Router({ prefix: "/staff", deps: { guard } });
  router.mount("/other", ({ method }) => new Response(method));
  router.route("/asks", { methods: ["OPTIONS"] }, async () => "asked");
  const app = new App({ origins: [SHOP] });
  app.include(router);
  for (const path of ["/staff/other/x", "/staff/asks"]) {
    assertEquals((await preflight(app, path, SHOP, "DELETE")).status, 204, path);
    const refused = await preflight(app, path, OTHER, "DELETE");
    assertEquals([refused.status, refused.headers.get("access-control-allow-origin")], [403, null], path);
  }
  assertEquals(ran, []);
  assertEquals((await ask(app, "OPTIONS", "/staff/other/x", { origin: SHOP })).status, 401);
  assertEquals(ran, ["guard"]);
});

Deno.test("A handler with CORS headers of its own does not allow credentials to a listed origin", async () => {
  for (const origins of [[SHOP], "*"] as const) {
    const app = new App({ origins });
    // As the middleware of other frameworks sends it, whatever the origin of the request is.
    app.mount("/other", () => new Response("", { headers: { "access-control-allow-credentials": "true" } }));
    const { headers } = await ask(app, "GET", "/other", { origin: SHOP });
    const allowed = origins === "*" ? { "allow-origin": "*" } : { "vary": "Origin", "allow-origin": SHOP };
    assertEquals(corsOf(headers), allowed);
  }
});

Deno.test("Without origins an OPTIONS is a request like any other", async () => {
  const { app, ran } = service({});
  const response = await preflight(app, "/books", SHOP, "POST");
  assertEquals([response.status, corsOf(response.headers)], [405, {}]);
  assertEquals(ran, ["OPTIONS /books"]);
  const listed = service({ origins: [SHOP] });
  for (const headers of [{ origin: SHOP }, { "access-control-request-method": "POST" }] as Record<string, string>[]) {
    assertEquals((await ask(listed.app, "OPTIONS", "/books", headers)).status, 405);
  }
});

const PATHS: readonly (readonly [method: string, path: string, status: number, exposed?: string])[] = [
  ["GET", "/books", 200],
  ["HEAD", "/books", 200],
  ["POST", "/books", 201, "location"],
  ["DELETE", "/books/1", 204],
  ["PUT", "/books", 405],
  ["GET", "/nothing/here", 404],
  ["GET", "/bad%", 400],
  ["GET", "/fail", 500],
  ["GET", "/busy", 429, "retry-after"],
  ["GET", "/lines", 200],
  ["GET", "/events", 200],
  ["GET", "/blob", 200, "etag"],
  ["GET", "/elsewhere", 302, "location"],

  ["GET", "/openapi.json", 200, "etag"],
  ["GET", "/docs", 200, "etag"],
  ["GET", "/mcp", 405],
];

Deno.test("One to a listed origin (errors, 404, streams too) Access-Control-Allow-Origin", async () => {
  using _log = new CapturedLog();
  const { app } = service({ origins: [SHOP] });
  for (const [method, path, status, exposed] of PATHS) {
    const response = await ask(app, method, path, { origin: SHOP });
    assertEquals([path, response.status], [path, status]);
    const expected = { "vary": "Origin", "allow-origin": SHOP, ...(exposed && { "expose-headers": exposed }) };
    assertEquals(corsOf(response.headers), expected, path);
  }
});

Deno.test("Every reply carries Vary: Origin, also where the origin is missing or not listed", async () => {
  using _log = new CapturedLog();
  const { app } = service({ origins: [SHOP] });
  for (const [method, path, status] of PATHS) {
    const missing = await ask(app, method, path);
    assertEquals([path, missing.status, corsOf(missing.headers)], [path, status, { vary: "Origin" }]);
    const foreign = await ask(app, method, path, { origin: OTHER });
    assertEquals([path, corsOf(foreign.headers)], [path, { vary: "Origin" }]);
  }
});

Deno.test("Vary is appended, and not repeated", async () => {
  const { app } = service({ origins: [SHOP] });
  assertEquals((await ask(app, "GET", "/books/new")).headers.get("vary"), "Accept-Language, Origin");
  assertEquals((await ask(app, "GET", "/vary")).headers.get("vary"), "origin");
});

Deno.test("A 304 carries Vary: Origin and what the page may read", async () => {
  const { app } = service({ origins: [SHOP] });
  const etag = (await ask(app, "GET", "/openapi.json")).headers.get("etag")!;
  const { status, headers } = await ask(app, "GET", "/openapi.json", { "origin": SHOP, "if-none-match": etag });
  assertEquals([status, corsOf(headers)], [304, { "vary": "Origin", "allow-origin": SHOP, "expose-headers": "etag" }]);
});

Deno.test("The reply of a middleware, and one that cannot start, carry the headers", async () => {
  const app = new App({ origins: [SHOP] });
  app.middleware(async () => new Response("Sign in", { status: 401 }));
  const { status, headers } = await ask(app, "GET", "/x", { origin: SHOP });
  assertEquals([status, corsOf(headers)], [401, { "vary": "Origin", "allow-origin": SHOP }]);
  using _log = new CapturedLog();
  const broken = new App({ origins: [SHOP] });
  broken.lifespan(async function* () {
    yield await Promise.reject(new Error("no database"));
  });
  const failed = await ask(broken, "GET", "/x", { origin: SHOP });
  assertEquals([failed.status, corsOf(failed.headers)], [500, { "vary": "Origin", "allow-origin": SHOP }]);
});

Deno.test('With "*" it is `*`, without Vary', async () => {
  const { app } = service({ origins: "*" });
  for (const headers of [{}, { origin: OTHER }, { origin: "null" }] as Record<string, string>[]) {
    const response = await ask(app, "GET", "/books", headers);
    assertEquals(corsOf(response.headers), { "allow-origin": "*" });
  }
  const allowed = await preflight(app, "/books", OTHER, "POST", "content-type");
  assertEquals([allowed.status, corsOf(allowed.headers)], [204, {
    "allow-origin": "*",
    "allow-methods": "GET, HEAD, POST",
    "allow-headers": "content-type",
    "max-age": "7200",
  }]);
});

Deno.test("`credentials` are for listed origins only, and with them preflights say so", async () => {
  const { app } = service({ origins: [SHOP], cors: { credentials: true } });
  const shown = async (origin: string) => corsOf((await ask(app, "GET", "/books", { origin })).headers);
  assertEquals(await shown(SHOP), { "vary": "Origin", "allow-origin": SHOP, "allow-credentials": "true" });
  assertEquals(await shown(OTHER), { "vary": "Origin" });
  const { headers } = await preflight(app, "/books", SHOP, "POST");
  assertEquals(headers.get("access-control-allow-credentials"), "true");
});

Deno.test('`credentials` with "*" is a TypeError, and so is what is no option', () => {
  for (const origins of ["*", ["*", SHOP]] as const) {
    assertThrows(() => new App({ origins, cors: { credentials: true } }), TypeError, "browsers accept no credentials");
  }
  const wrong: [cors: unknown, message: string][] = [
    [{ credential: true }, 'Cannot set cors: the option "credential" is unknown, the nearest is "credentials"'],
    [{ credentials: "yes" }, 'Cannot set cors: "credentials" must be true or false, got "yes"'],
    [{ exposeHeaders: "x-total" }, '"exposeHeaders" must be an array of header names'],
    [{ exposeHeaders: ["x total"] }, '"exposeHeaders" must be an array of header names'],
    [{ maxAge: "soon" }, "Cannot set maxAge of cors"],
  ];
  for (const [cors, message] of wrong) {
    assertThrows(() => new App({ cors: cors as NonNullable<AppOptions["cors"]> }), Error, message);
  }
});

Deno.test("Exposed, where the reply has them: what is given adds to them", async () => {
  const app = new App({ origins: [SHOP], cors: { exposeHeaders: ["X-Total", "ETag"] } });
  app.get("/", async (request) => {
    const { replyHeaders } = request;
    for (
      const name of [
        "x-total",
        "x-secret",
        "retry-after",
        "location",
        "etag",
        "ratelimit",
        "ratelimit-policy",
        "idempotency-replayed",
        "x-request-id",
      ]
    ) replyHeaders.set(name, "1");
    replyHeaders.set("access-control-expose-headers", "x-own");
  });
  const { headers } = await ask(app, "GET", "/", { origin: SHOP });
  assertEquals(
    headers.get("access-control-expose-headers"),
    "x-own, etag, idempotency-replayed, location, ratelimit, ratelimit-policy, retry-after, x-request-id, x-total",
  );
});

Deno.test("An entry is any serialised origin, and a star stands for hosts below a name", async () => {
  const { app } = service({ origins: ["capacitor://localhost", "https://*.preview.example"] });
  for (const origin of ["capacitor://localhost", "https://a.b.preview.example"]) {
    const { headers } = await ask(app, "GET", "/books", { origin });
    assertEquals(headers.get("access-control-allow-origin"), origin);
  }
  assertEquals(corsOf((await ask(app, "GET", "/books", { origin: "https://preview.example" })).headers), {
    vary: "Origin",
  });
});

Deno.test("Through a socket: preflight, error, stream and 404 as browsers get them", async () => {
  const { app } = service({ origins: [SHOP] });
  using _log = new CapturedLog();
  await using serving = await Serving.start(app);
  const send = (method: string, path: string, more = ""): Promise<RawReply> =>
    exchange(serving.port, `${method} ${path} HTTP/1.1\r\nHost: api.example\r\nOrigin: ${SHOP}\r\n${more}\r\n`);
  const asked = await send("OPTIONS", "/nothing", "Access-Control-Request-Method: PUT\r\n");
  assertEquals([asked.status, headerOf(asked, "access-control-allow-methods")], [204, "GET, HEAD, PUT"]);
  for (const path of ["/books", "/nothing/here", "/fail", "/lines", "/blob"]) {
    const reply = await send("GET", path);
    assertEquals(headerOf(reply, "access-control-allow-origin"), SHOP, path);
    assert(reply.headers.some(([name, value]) => name === "vary" && value === "Origin"), path);
  }
  assertEquals(headerOf(await send("OPTIONS", "/books"), "access-control-allow-private-network"), undefined);
});

Deno.test("Every reply carries Vary: Origin: refusals before the middleware, and those of guards and limits, too", async () => {
  const app = new App({ origins: [SHOP], hosts: ["api.example"] });
  const guard = async (): Promise<void> => {
    throw new HTTPError(401);
  };
  app.get("/guarded", { deps: { guard } }, async () => {});
  app.get("/limited", { rateLimit: { limit: 1, per: "1h", by: () => "all" } }, async () => {});
  app.websocket("/chat", async () => {});
  const send = async (url: string, init: RequestInit) => {
    const response = await app.fetch(new Request(url, init));
    await response.body?.cancel();
    const { vary, "allow-origin": allowed } = corsOf(response.headers);
    return [response.status, vary, allowed];
  };
  const listed = { headers: { origin: SHOP } };
  const upgrade = { connection: "upgrade", upgrade: "websocket", origin: OTHER };
  assertEquals(await send("http://api.example/", { method: "POST", headers: { origin: OTHER } }), [
    403,
    "Origin",
    undefined,
  ]);
  assertEquals(await send("http://api.example/chat", { headers: upgrade }), [403, "Origin", undefined]);
  assertEquals(await send("http://other.example/", listed), [421, "Origin", SHOP]);
  assertEquals(await send("http://api.example/guarded", listed), [401, "Origin", SHOP]);
  assertEquals((await send("http://api.example/limited", listed))[0], 204);
  assertEquals(await send("http://api.example/limited", listed), [429, "Origin", SHOP]);
  await using serving = await Serving.start(app);
  const bad = await exchange(
    serving.port,
    `GET / HTTP/1.1\r\nHost: a b\r\nOrigin: ${SHOP}\r\nConnection: close\r\n\r\n`,
  );
  assertEquals([bad.status, headerOf(bad, "vary"), headerOf(bad, "access-control-allow-origin")], [
    400,
    "Origin",
    SHOP,
  ]);
});

Deno.test('With "*" errors, 404 and streams, too, carry `*`, without Vary', async () => {
  using _log = new CapturedLog();
  const { app } = service({ origins: "*" });
  for (const [method, path, status, exposed] of PATHS) {
    const response = await ask(app, method, path, { origin: OTHER });
    // `/mcp` takes "*" of its own.
    const expected = { "allow-origin": "*", ...(exposed && { "expose-headers": exposed }) };
    if (path !== "/mcp") assertEquals([path, response.status, corsOf(response.headers)], [path, status, expected]);
  }
});
