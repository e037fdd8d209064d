// Section 4 of the contract: a Response that a program keeps is never changed, and one whose body is
// used is an error like any other.

import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { App, type Middleware, Router, text } from "@webfw/core";
import { apiKey, session } from "@webfw/core/auth";
import { etag, requestId, secureHeaders, timeout } from "@webfw/core/middleware";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { Serving } from "./support/serving.ts";

const ORIGIN = "https://page.example";

function ask(app: App, path: string, method = "GET"): Promise<Response> {
  return app.fetch(new Request(`http://localhost${path}`, { method }));
}

function headersOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries(headers);
}

/** An application that returns a kept Response from a handler, a mount, a middleware or onError. */
function appThatKeeps(kept: Response): App {
  const app = new App({ origins: [ORIGIN], cors: { credentials: true }, rateLimit: { limit: 100, per: "1m" } });
  app.onError(({ status }) => status === 404 ? kept : undefined);
  app.middleware(async (request, next) => {
    if (request.path === "/middleware") return kept;
    return await next(request);
  });
  app.get("/handler", async () => kept);
  app.mount("/mount", () => kept);
  return app;
}

const PLACES = ["/handler", "/mount", "/middleware", "/missing"];

Deno.test("A kept Response carries no session to the next client", async () => {
  const visit = session(v.object({ user: v.string() }), { secret: "a secret of at least 32 characters" });
  const done = new Response(null, { status: 204 });
  const app = new App();
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => {
    await visit.set({ user: "ada" });
    return done;
  });
  app.post("/ping", async () => done);
  await using serving = await Serving.start(app);
  const login = await fetch(`${serving.origin}/login`, { method: "POST" });
  assertEquals(login.headers.getSetCookie().length, 1);
  const ping = await fetch(`${serving.origin}/ping`, { method: "POST" });
  assertEquals([ping.status, ping.headers.getSetCookie()], [204, []]);
  assertEquals(headersOf(done), {});
});

Deno.test("Cookies, headers, limits and CORS go on a copy, wherever the Response comes from", async () => {
  const kept = new Response(null, { headers: { "x-own": "1" } });
  const app = appThatKeeps(kept);
  app.middleware(async (request, next) => {
    const response = await next(request);
    request.setCookie({ name: "seen", value: "1" });
    request.replyHeaders.set("x-set", "1");
    return response;
  });
  await using serving = await Serving.start(app);
  for (const path of PLACES) {
    const { headers, body } = await fetch(serving.origin + path, { headers: { origin: ORIGIN } });
    await body?.cancel();
    assertEquals([headers.get("x-own"), headers.get("access-control-allow-origin")], ["1", ORIGIN], path);
    assertEquals(headersOf(kept), { "x-own": "1" }, path);
  }
  const { headers, body } = await fetch(`${serving.origin}/handler`, { headers: { origin: ORIGIN } });
  await body?.cancel();
  assertEquals([headers.get("x-set"), headers.getSetCookie().length], ["1", 1]);
  assert(headers.has("ratelimit"));
});

Deno.test("What middleware sets goes on a copy, too", async () => {
  const kept = new Response(null, { status: 204 });
  const own: Middleware = async (request, next) => {
    const response = await next(request);
    response.headers.set("x-own", "1");
    return response;
  };
  for (const middleware of [own, requestId(), secureHeaders(), etag(), timeout("1m")]) {
    const app = new App();
    app.middleware(middleware as Middleware);
    app.middleware(async (request, next) => request.path === "/middleware" ? kept : await next(request));
    app.get("/handler", async () => kept);
    for (const path of ["/handler", "/middleware"]) {
      assertEquals((await ask(app, path)).status, 204);
      assertEquals(headersOf(kept), {});
    }
  }
});

Deno.test("A server that stops sends Connection: close on a copy", async () => {
  const kept = new Response(null, { status: 204 });
  const app = new App();
  const [arrived, stopping] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  app.get("/", async () => {
    arrived.resolve();
    await stopping.promise;
    return kept;
  });
  await using serving = await Serving.start(app);
  const reply = fetch(serving.origin);
  await arrived.promise;
  serving.tellToStop();
  // The server begins to stop some turns after the signal.
  setTimeout(stopping.resolve);
  assertEquals((await reply).status, 204);
  await serving.stopped;
  assertEquals(headersOf(kept), {});
});

Deno.test("Immutable headers and those of an upstream reply get what is added, and keep what they have", async () => {
  await using upstream = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    const body = new Blob(["packed"]).stream().pipeThrough(new CompressionStream("gzip"));
    return new Response(body, { headers: { "content-encoding": "gzip", "x-from": "upstream" } });
  });
  const moved = Response.redirect("http://localhost/new", 308);
  const app = new App();
  app.middleware(secureHeaders());
  app.get("/moved", async (request) => {
    request.setCookie({ name: "seen", value: "1" });
    return moved;
  });
  app.get("/proxy", async () => await fetch(`http://127.0.0.1:${upstream.addr.port}`));
  await using serving = await Serving.start(app);
  for (let times = 0; times < 2; times++) {
    const reply = await fetch(`${serving.origin}/moved`, { redirect: "manual" });
    await reply.body?.cancel();
    assertEquals([reply.status, reply.headers.get("location")], [308, "http://localhost/new"]);
    assertEquals(reply.headers.getSetCookie().length, 1);
  }
  const proxied = await fetch(`${serving.origin}/proxy`);
  assertEquals([await proxied.text(), proxied.headers.get("x-from")], ["packed", "upstream"]);
  assert(proxied.headers.has("content-security-policy"));
});

/** Bodies that cannot be sent, and why. */
const UNUSABLE: [reason: string, make: () => Promise<Response>][] = [
  ["was read already", async () => {
    const response = new Response("read");
    await response.text();
    return response;
  }],
  ["was read already", async () => {
    const response = text("read");
    await response.text();
    return response;
  }],
  ["is locked by a reader", async () => {
    const response = new Response("locked");
    await Promise.resolve(response.body!.getReader());
    return response;
  }],
  ["is locked by a reader", async () => {
    const stream = new Blob(["locked"]).stream();
    const response = new Response(stream);
    await Promise.resolve(stream.getReader());
    return response;
  }],
  ["has no status", async () => Response.error()],
];

Deno.test("A Response that cannot be sent is a 500 that is logged, that onError and middleware see, from any place", async () => {
  for (const [reason, make] of UNUSABLE) {
    const seen: [what: string, status: number][] = [];
    const app = new App();
    app.onError(({ status }) => {
      seen.push(["onError", status]);
    });
    app.middleware(async (request, next) => {
      const response = await next(request);
      seen.push(["middleware", response.status]);
      return response;
    });
    app.middleware(async (request, next) => request.path === "/middleware" ? await make() : await next(request));
    app.get("/handler", make);
    app.mount("/mount", make);
    app.post("/once", { idempotent: "1h" }, make);
    await using serving = await Serving.start(app);
    for (const [method, path] of [["GET", "/handler"], ["GET", "/mount"], ["GET", "/middleware"], ["POST", "/once"]]) {
      seen.length = 0;
      using log = new CapturedLog();
      const reply = await fetch(serving.origin + path, { method: method! });
      assertEquals([reply.status, reply.headers.get("content-type")], [500, "application/problem+json"], path);
      assertFalse((await reply.text()).includes("body"));
      assertEquals(seen, [["onError", 500], ["middleware", 500]], path);
      assertStringIncludes(log.text, reason);
    }
  }
});

/** A stream that a reader has locked. */
async function locked(): Promise<Response> {
  const stream = new Blob(["locked"]).stream();
  const response = new Response(stream);
  await Promise.resolve(stream.getReader());
  return response;
}

Deno.test("A locked Response is a 500 through onError wherever headers go on a copy: CORS, cookies, guards", async () => {
  const key = apiKey(async () => "ada", { in: "header", name: "x-key" });
  const routes = new Router();
  routes.get("/", locked);
  const withCookies = new Router();
  withCookies.get("/", async (request) => {
    request.setCookie({ name: "seen", value: "1" });
    return await locked();
  });
  const [cors, cookies, guarded] = [new App({ cors: { credentials: true }, origins: [ORIGIN] }), new App(), new App()];
  cors.include(routes);
  cookies.include(withCookies);
  guarded.include(routes, { deps: { key } });
  for (const app of [cors, cookies, guarded]) {
    const seen: number[] = [];
    app.onError(({ status }) => {
      seen.push(status);
    });
    await using serving = await Serving.start(app);
    using log = new CapturedLog();
    const reply = await fetch(serving.origin, { headers: { origin: ORIGIN, "x-key": "k" } });
    assertEquals([reply.status, (await reply.json()).status, seen], [500, 500, [500]]);
    assertStringIncludes(log.text, "is locked by a reader");
  }
});

Deno.test("A locked Response that is not copied: a stream is a 500 that is logged once, a string is sent whole", async () => {
  const app = new App();
  app.get("/stream", locked);
  app.get("/string", async () => {
    const response = new Response("whole");
    await Promise.resolve(response.body!.getReader());
    return response;
  });
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const reply = await fetch(`${serving.origin}/stream`);
  assertEquals([reply.status, reply.headers.get("content-type")], [500, "application/problem+json"]);
  assertEquals((await reply.json()).status, 500);
  assertEquals(log.lines.length, 1);
  assertStringIncludes(log.text, "ReadableStream is locked");
  assertEquals(await (await fetch(`${serving.origin}/string`)).text(), "whole");
});

Deno.test("A Response of onError that cannot be sent is logged, and the client gets the default 500", async () => {
  for (const [reason, make] of UNUSABLE) {
    const app = new App();
    app.onError(make);
    using log = new CapturedLog();
    const reply = await ask(app, "/missing");
    assertEquals([reply.status, (await reply.json()).status], [500, 500]);
    assertStringIncludes(log.text, reason);
  }
});

Deno.test("A Response with a body is sent once, one without as often as the program likes", async () => {
  const bodies: (() => Response)[] = [
    () => new Response("once"),
    () => text("once"),
    () => new Response(new Blob(["once"]).stream()),
  ];
  for (const make of bodies) {
    for (const middlewares of [[], [secureHeaders()]]) {
      const [once, often] = [make(), new Response(null, { status: 204 })];
      const app = new App();
      for (const middleware of middlewares) app.middleware(middleware as Middleware);
      app.get("/once", async () => once);
      app.get("/often", async () => often);
      app.get("/clone", async () => copied.clone());
      const copied = make();
      await using serving = await Serving.start(app);
      using log = new CapturedLog();
      const first = await fetch(`${serving.origin}/once`);
      assertEquals([first.status, await first.text()], [200, "once"]);
      const second = await fetch(`${serving.origin}/once`);
      assertEquals([second.status, (await second.json()).status], [500, 500]);
      assertStringIncludes(log.text, "was sent already");
      for (let times = 0; times < 3; times++) {
        assertEquals((await fetch(`${serving.origin}/often`)).status, 204);
        assertEquals(await (await fetch(`${serving.origin}/clone`)).text(), "once");
      }
    }
  }
});

Deno.test("Of two requests that get one Response at the same moment, one gets it and the other a 500", async () => {
  for (const kept of [new Response("one"), text("one")]) {
    const app = new App();
    const both = Promise.withResolvers<void>();
    let arrived = 0;
    app.get("/", async () => {
      if (++arrived === 2) both.resolve();
      await both.promise;
      return kept;
    });
    await using serving = await Serving.start(app);
    using _log = new CapturedLog();
    const replies = await Promise.all([fetch(serving.origin), fetch(serving.origin)]);
    const seen = await Promise.all(replies.map(async (reply) => [reply.status, reply.headers.get("content-type")]));
    await Promise.all(replies.map((reply) => reply.body?.cancel()));
    assertEquals(seen.sort(), [[200, "text/plain;charset=UTF-8"], [500, "application/problem+json"]]);
  }
});

Deno.test("HEAD uses up a kept body as GET does, and its reply has the headers", async () => {
  const app = new App();
  const kept = new Response("head", { headers: { "x-own": "1" } });
  app.get("/", async () => kept);
  using _log = new CapturedLog();
  const first = await ask(app, "/", "HEAD");
  assertEquals([first.status, first.headers.get("x-own"), await first.text()], [200, "1", ""]);
  assertEquals((await ask(app, "/")).status, 500);
});

Deno.test("A Response may pass through several applications: mounts, and calls of fetch", async () => {
  const inner = new App();
  inner.get("/made", async () => new Response("made"));
  inner.get("/text", async () => text("made"));
  inner.get("/json", async () => "made");
  const app = new App();
  app.mount("/given", inner.fetch);
  app.mount("/copied", (request, { remoteAddr, completed }) => inner.fetch(request, { remoteAddr, completed }));
  app.get("/asked/{path}", async (_request, { path }) => await inner.fetch(new Request(`http://localhost/${path}`)));
  app.get("/made", async () => new Response("made"));
  app.get("/again", async () => await app.fetch(new Request("http://localhost/made")));
  await using serving = await Serving.start(app);
  const paths = ["given", "copied", "asked"].flatMap((way) => ["made", "text", "json"].map((path) => `${way}/${path}`));
  for (const path of [...paths, "again"]) {
    const reply = await fetch(`${serving.origin}/${path}`);
    assertEquals([reply.status, (await reply.text()).replaceAll('"', "")], [200, "made"], path);
  }
});

Deno.test("Requests that run once for their key get a kept Response unchanged, with and without a key", async () => {
  const app = new App();
  const kept = new Response(null, { status: 202, headers: { "x-own": "1" } });
  app.post("/", { idempotent: "1h" }, async (request) => {
    request.setCookie({ name: "seen", value: "1" });
    return kept;
  });
  app.post("/made", { idempotent: "1h" }, async () => new Response("made"));
  for (const key of [undefined, "k1", "k1", "k2"]) {
    const headers = key === undefined ? undefined : { "idempotency-key": key };
    const reply = await app.fetch(new Request("http://localhost/", { method: "POST", headers: headers ?? {} }));
    assertEquals([reply.status, reply.headers.get("x-own")], [202, "1"]);
    assertEquals(headersOf(kept), { "x-own": "1" });
    const made = await app.fetch(new Request("http://localhost/made", { method: "POST", headers: headers ?? {} }));
    assertEquals([made.status, await made.text()], [200, "made"]);
  }
  await app.stop();
});

Deno.test("A middleware that reads a reply and returns it gets a 500 that is logged and that outer middleware sees", async () => {
  const seen: number[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    seen.push(response.status);
    return response;
  });
  app.middleware(async (request, next) => {
    const response = await next(request);
    if (request.path === "/locked") await Promise.resolve(response.body!.getReader());
    else await response.text();
    return response;
  });
  app.get("/json", async () => ({ a: 1 }));
  app.get("/text", async () => text("read"));
  app.get("/response", async () => new Response("read"));
  app.get("/missing", async () => undefined);
  app.get("/locked", async () => new Blob(["read"]).stream());
  await using serving = await Serving.start(app);
  for (const path of ["/json", "/text", "/response", "/locked"]) {
    seen.length = 0;
    using log = new CapturedLog();
    const reply = await fetch(serving.origin + path);
    assertEquals([reply.status, (await reply.json()).status, seen], [500, 500, [500]], path);
    assertStringIncludes(log.text, "Cannot reply with the Response: its body ");
  }
  assertEquals((await fetch(`${serving.origin}/missing`)).status, 204);
});
