// Section 3 of the contract of guards: "`request.setCookie({ name, value, … })`,
// `request.deleteCookie(name, …)` […]; defaults `HttpOnly`, `Secure`, `SameSite=Lax`, `Path=/`.
// `replyHeaders` and cookies are on error replies, too."

import { App, type Cookie, dependency, HTTPError, type HttpRequest, Router } from "@webfw/core";
import { memorySessions, session, type SessionOptions } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { RawConnection, type RawReply } from "../support/raw_connection.ts";
import { RawSocket, upgradeRequest } from "../support/raw_socket.ts";
import { Serving } from "../support/serving.ts";

/** The cookies of the reply of a handler. */
async function cookiesOf(handle: (request: HttpRequest) => unknown): Promise<string[]> {
  const app = new App();
  app.get("/", async (request) => void handle(request));
  await using client = new TestClient(app);
  const reply = await client.get("/");
  assertEquals(reply.status, 204);
  return reply.headers.getSetCookie();
}

/** What a handler's call throws. */
async function faultOf<E extends Error>(
  type: new (...args: never[]) => E,
  call: (request: HttpRequest) => unknown,
): Promise<string> {
  let message = "";
  await cookiesOf((request) => {
    message = assertThrows(() => call(request), type as new (...args: unknown[]) => E).message;
  });
  return message;
}

function valuesOf(reply: RawReply, name: string): string[] {
  return reply.headers.filter(([other]) => other === name).map(([, value]) => value);
}

Deno.test("setCookie: defaults HttpOnly, Secure, SameSite=Lax, Path=/", async () => {
  assertEquals(await cookiesOf((request) => request.setCookie({ name: "a", value: "1" })), [
    "a=1; Secure; HttpOnly; SameSite=Lax; Path=/",
  ]);
});

Deno.test("setCookie: what is given replaces the defaults, and undefined is as good as absent", async () => {
  const cookie: Cookie = {
    name: "a",
    value: "",
    maxAge: 60,
    expires: new Date(0),
    domain: "books.example",
    path: "/books",
    secure: false,
    httpOnly: false,
    sameSite: "Strict",
  };
  assertEquals(await cookiesOf((request) => request.setCookie(cookie)), [
    "a=; Max-Age=60; Domain=books.example; SameSite=Strict; Path=/books; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
  ]);
  const open = { name: "b", value: "2", path: undefined, secure: undefined } as unknown as Cookie;
  assertEquals(await cookiesOf((request) => request.setCookie(open)), ["b=2; Secure; HttpOnly; SameSite=Lax; Path=/"]);
  assertEquals(await cookiesOf((request) => request.setCookie({ ...open, sameSite: "None", partitioned: true })), [
    "b=2; Secure; HttpOnly; Partitioned; SameSite=None; Path=/",
  ]);
});

Deno.test("setCookie with a name and a value, and session options with the name of a cookie, name the cure", async () => {
  const app = new App();
  app.get("/", async (request) => {
    const set = request.setCookie.bind(request) as unknown as (name: string, value: string) => void;
    assertThrows(() => set("a", "b"), TypeError, 'Cannot set the cookie "a": give one object, write setCookie({');
  });
  assertEquals((await app.fetch(new Request("http://localhost/"))).status, 204);
  const options = { store: memorySessions(), cookie: "sid" } as unknown as SessionOptions;
  assertThrows(() => session(v.object({}), options), TypeError, '"cookie" must be an object, got string');
});

Deno.test("A cookie can expire in 1970, by a date or by milliseconds", async () => {
  for (const expires of [0, new Date(0)]) {
    const [line] = await cookiesOf((request) => request.setCookie({ name: "seen", value: "1", expires }));
    assertStringIncludes(line!, "Expires=Thu, 01 Jan 1970 00:00:00 GMT");
  }
});

Deno.test("deleteCookie expires the cookie of the same name, domain and path", async () => {
  assertEquals(await cookiesOf((request) => request.deleteCookie("__Host-a")), [
    "__Host-a=; Secure; HttpOnly; SameSite=Lax; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
  ]);
  const attributes = { path: "/books", domain: "books.example", secure: false };
  assertEquals(await cookiesOf((request) => request.deleteCookie("a", attributes)), [
    "a=; HttpOnly; Domain=books.example; SameSite=Lax; Path=/books; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
  ]);
});

Deno.test("a cookie replaces an earlier one of its name, domain and path, and no other", async () => {
  const lines = await cookiesOf((request) => {
    request.replyHeaders.append("set-cookie", "plain=1; path=/");
    request.setCookie({ name: "a", value: "1" });
    request.setCookie({ name: "a", value: "1", path: "/x" });
    request.setCookie({ name: "a", value: "1", domain: "books.example" });
    request.setCookie({ name: "ab", value: "1" });
    request.setCookie({ name: "a", value: "2" });
    request.setCookie({ name: "plain", value: "2" });
    request.deleteCookie("ab");
  });
  assertEquals(lines.map((line) => line.split(";", 1)[0]), ["a=1", "a=1", "a=2", "plain=2", "ab="]);
});

Deno.test("setCookie: bad names and values throw a TypeError that names the cookie", async () => {
  for (const name of ["", "a b", "a=b", "a;b", "a,b", "é", "a\r\nx: y", "a\0", 'a"']) {
    const message = await faultOf(TypeError, (request) => request.setCookie({ name, value: "1" }));
    assertStringIncludes(message, `Cannot set the cookie ${JSON.stringify(name)}: its name must be a token`);
    assertStringIncludes(
      await faultOf(TypeError, (request) => request.deleteCookie(name)),
      `Cannot delete the cookie ${JSON.stringify(name)}: `,
    );
  }
  for (const value of [" ", "a b", "a;b", "a,b", 'a"', "a\\", "é", "\x80", "\x7f", "a\r\nset-cookie: b=c"]) {
    const message = await faultOf(TypeError, (request) => request.setCookie({ name: "sid", value }));
    assertStringIncludes(message, 'Cannot set the cookie "sid": its value must be ASCII');
    assert(!message.includes(JSON.stringify(value).slice(1, -1)) || value === " ", message);
  }
});

Deno.test("setCookie: attributes cannot carry others, and what browsers refuse throws", async () => {
  const mistakes: [Partial<Record<keyof Cookie | "samesite", unknown>>, string][] = [
    [{ path: "/; Domain=evil.example" }, "its path"],
    [{ path: "books" }, "its path"],
    [{ path: "/\r\n" }, "its path"],
    [{ domain: "a.example; Path=/" }, "its domain"],
    [{ domain: "-a.example" }, "its domain"],
    [{ domain: "" }, "its domain"],
    [{ maxAge: 1.5 }, "its maxAge must be whole seconds, got 1.5"],
    [{ maxAge: -1 }, "its maxAge"],
    [{ maxAge: "14d" }, "its maxAge"],
    [{ expires: new Date(NaN) }, "its expires"],
    [{ secure: "no" }, "its secure must be true or false"],
    [{ sameSite: "lax" }, 'its sameSite must be "Strict", "Lax" or "None", got "lax"'],
    [{ sameSite: "None", secure: false }, 'browsers refuse sameSite "None" without secure'],
    [{ partitioned: true, secure: false }, "browsers refuse partitioned without secure"],
    [{ name: "__Host-sid", path: "/x" }, 'needs the path "/" and no domain'],
    [{ name: "__host-sid", domain: "a.example" }, 'needs the path "/" and no domain'],
    [{ name: "__Host-sid", secure: false }, "browsers refuse a name with this prefix without secure"],
    [{ name: "__Secure-sid", secure: false }, "browsers refuse a name with this prefix without secure"],
    [{ samesite: "Lax" }, 'the option "samesite" is unknown, the nearest is "sameSite"'],
  ];
  for (const [mistake, words] of mistakes) {
    const cookie = { name: "sid", value: "1", ...mistake } as Cookie;
    const message = await faultOf(TypeError, (request) => request.setCookie(cookie));
    assertStringIncludes(message, `Cannot set the cookie "${cookie.name}": `);
    assertStringIncludes(message, words);
  }
  const large = { name: "sid", value: "x".repeat(4_100) };
  assertStringIncludes(
    await faultOf(RangeError, (request) => request.setCookie(large)),
    'Cannot set the cookie "sid": it has 4144 bytes',
  );
});

Deno.test("replyHeaders and cookies are on error replies, too, whoever throws", async () => {
  const app = new App();
  app.middleware(async (request, next) => {
    request.setCookie({ name: "m", value: "1" });
    const response = await next(request);
    if (request.query.has("late")) throw new HTTPError(418);
    return response;
  });
  const guard = dependency(
    { security: { key: { type: "apiKey", in: "header", name: "x-key" } } },
    async (request) => {
      request.setCookie({ name: "g", value: "1" });
      request.replyHeaders.set("x-guard", "1");
      if (request.query.has("refuse")) throw new HTTPError(401, undefined, { headers: { "x-guard": "own" } });
    },
  );
  app.get("/{id}", { params: { id: v.number() }, deps: { guard } }, async (request) => {
    request.setCookie({ name: "h", value: "1" });
    if (request.query.has("fail")) throw new Error("a mistake");
    return 1;
  });
  await using client = new TestClient(app);
  using _log = new CapturedLog();
  const seen = async (path: string) => {
    const { status, headers } = await client.get(path);
    return [status, headers.getSetCookie().map((line) => line.split("=", 1)[0]), headers.get("x-guard")];
  };
  assertEquals(await seen("/1"), [200, ["m", "g", "h"], "1"]);
  assertEquals(await seen("/1?fail"), [500, ["m", "g", "h"], "1"]);
  assertEquals(await seen("/1?refuse"), [401, ["m", "g"], "own"]);
  assertEquals(await seen("/x"), [422, ["m", "g"], "1"]);
  assertEquals(await seen("/1?late"), [418, ["m", "g", "h"], "1"]);
  assertEquals(await seen("/"), [404, ["m"], null]);
  assertEquals(await seen("/openapi.json"), [200, ["m"], null]);
});

Deno.test("an error handler's reply gets them, keeps its own headers, and may set cookies", async () => {
  const app = new App();
  app.onError((error, request) => {
    request.setCookie({ name: "e", value: "1" });
    return request.query.has("own")
      ? new Response("no", { status: error.status, headers: { "x-a": "own", location: "/own" } })
      : undefined;
  });
  app.get("/", async (request) => {
    request.replyHeaders.set("x-a", "1");
    request.replyHeaders.set("location", "/made");
    throw new HTTPError(404);
  });
  await using client = new TestClient(app);
  for (const [path, own, location] of [["/", "1", null], ["/?own", "own", "/own"]] as const) {
    const { headers } = await client.get(path);
    assertEquals([headers.get("x-a"), headers.get("location"), headers.getSetCookie().length], [own, location, 1]);
  }
});

Deno.test("what describes the success is not on an error reply, what protects or traces is", async () => {
  const dropped = {
    "content-type": "text/csv",
    "content-length": "3",
    "content-encoding": "gzip",
    "content-language": "de",
    "content-location": "/a",
    "content-disposition": "attachment",
    "content-range": "bytes 0-1/2",
    "repr-digest": "sha-256=:AA==:",
    etag: '"1"',
    "last-modified": "Thu, 01 Jan 1970 00:00:00 GMT",
    "accept-ranges": "bytes",
    location: "/books/1",
    refresh: "0; url=/x",
    expires: "Thu, 01 Jan 2099 00:00:00 GMT",
    age: "3",
    "cache-control": "public, max-age=3600",
    "cdn-cache-control": "max-age=3600",
  };
  const kept = {
    "content-security-policy": "default-src 'none'",
    "strict-transport-security": "max-age=1",
    "x-request-id": "r1",
    vary: "cookie",
    "retry-after": "1",
    "clear-site-data": '"cookies"',
    "server-timing": "db;dur=1",
  };
  const app = new App();
  app.get("/", async (request) => {
    for (const [name, value] of Object.entries({ ...dropped, ...kept })) request.replyHeaders.set(name, value);
    if (request.query.has("private")) request.replyHeaders.set("cache-control", "private, no-store");
    throw new HTTPError(409, "Taken");
  });
  await using client = new TestClient(app);
  const reply = client.get("/");
  assertEquals((await reply.problem(409)).detail, "Taken");
  const { headers } = await reply;
  assertEquals(headers.get("content-type"), "application/problem+json");
  for (const name of Object.keys(dropped)) if (name !== "content-type") assertEquals(headers.get(name), null, name);
  for (const [name, value] of Object.entries(kept)) assertEquals(headers.get(name), value, name);
  assertEquals((await client.get("/?private")).headers.get("cache-control"), "private, no-store");
});

Deno.test("a cookie of a middleware is on the reply, before and after next(), and where it does not call next()", async () => {
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    request.setCookie({ name: "outer", value: "1" });
    return response;
  });
  const router = new Router();
  router.middleware(async (request, next) => {
    request.setCookie({ name: "inner", value: "1" });
    return request.query.has("own") ? new Response("own") : await next(request);
  });
  router.get("/a", async () => "a");
  router.get("/fixed", async () => Response.redirect("http://localhost/a"));
  app.include(router);
  await using client = new TestClient(app);
  for (const path of ["/a", "/a?own", "/fixed"]) {
    const { headers } = await client.get(path);
    assertEquals(headers.getSetCookie().map((line) => line.split("=", 1)[0]), ["inner", "outer"], path);
  }
  assertEquals((await client.get("/none")).headers.getSetCookie().length, 1);
});

Deno.test("a middleware sees the headers, and what it changes is not changed back", async () => {
  const app = new App();
  app.middleware(async (request, next) => {
    const response = await next(request);
    response.headers.set("x-seen", response.headers.get("x-a") ?? "");
    response.headers.delete("x-a");
    request.replyHeaders.set("x-b", "1");
    return response;
  });
  app.get("/", async (request) => {
    request.replyHeaders.set("x-a", "1");
  });
  await using client = new TestClient(app);
  const { headers } = await client.get("/");
  assertEquals([headers.get("x-seen"), headers.get("x-a"), headers.get("x-b")], ["1", null, "1"]);
});

Deno.test("after the reply has begun, setCookie and deleteCookie throw", async () => {
  const app = new App();
  const faults: string[] = [];
  const tries = (request: HttpRequest) => {
    for (const call of [() => request.setCookie({ name: "a", value: "1" }), () => request.deleteCookie("a")]) {
      faults.push(assertThrows(call, TypeError).message);
    }
  };
  app.get("/after", async (request) => request.after(() => tries(request)));
  app.get("/stream", async function* (request) {
    yield 1;
    tries(request);
  });
  {
    await using client = new TestClient(app);
    await client.get("/after");
    await client.get("/stream").text();
  }
  assertEquals(faults.length, 4);
  assert(faults.every((fault) => /^Cannot (set|delete) the cookie "a": the reply has begun, /.test(fault)), faults[0]);
});

Deno.test("the refusal of a WebSocket has them, the 101 has not, and on the open socket setCookie throws", async () => {
  const app = new App();
  const guard = dependency(
    { security: { key: { type: "apiKey", in: "cookie", name: "sid" } } },
    async (request) => {
      request.deleteCookie("sid");
      request.replyHeaders.set("x-guard", "1");
      if (!request.query.has("ok")) throw new HTTPError(401);
    },
  );
  app.websocket("/", { deps: { guard } }, async (socket) => {
    await socket.send(assertThrows(() => socket.request.setCookie({ name: "a", value: "1" }), TypeError).message);
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write(upgradeRequest("/"));
  const refused = await connection.reply();
  assertEquals(refused.status, 401);
  assertEquals([valuesOf(refused, "x-guard"), valuesOf(refused, "set-cookie").length], [["1"], 1]);
  using socket = await RawSocket.open(serving.port, "/?ok");
  assert(socket.head.startsWith("HTTP/1.1 101") && !/set-cookie|x-guard/i.test(socket.head), socket.head);
  assertStringIncludes(new TextDecoder().decode((await socket.frame())!.payload), "the reply has begun");
});
