// Section 6 of the contract over a real socket: requests that fetch would put in order, or could
// not send.

import { assert, assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { exchange, headerOf, RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";

const END = "Host: localhost\r\nConnection: close\r\n\r\n";

/** An app whose replies name the route and parts of the request. */
function telling(): App {
  const app = new App();
  const tell = (route: string) => async (request: { path: string; url: URL }, args: Record<string, unknown>) => ({
    route,
    path: request.path,
    pathname: request.url.pathname,
    ...args,
  });
  app.get("/", tell("root"));
  app.get("/admin", tell("admin"));
  app.get("/hello/{name}", tell("hello"));
  app.get("/files/{rest...}", tell("files"));
  app.get("/search", { query: { q: v.optional(v.string()) } }, tell("search"));
  return app;
}

async function get(port: number, target: string): Promise<{ status: number; served: Record<string, unknown> }> {
  const { status, body } = await exchange(port, `GET ${target} HTTP/1.1\r\n${END}`);
  return { status, served: status === 200 ? JSON.parse(body) : {} };
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

Deno.test("A broken percent-encoding in the path is 400", async () => {
  await using serving = await Serving.start(telling());
  using log = new CapturedLog();
  for (
    const target of [
      "/hello/%",
      "/hello/%4",
      "/hello/%zz",
      "/hello/%ff",
      "/hello/%E2%82",
      "/hello/%C0%AF",
      "/hello/%ED%A0%80",
      "/%",
      "/files/a/%/b",
      "/hello/%u0041",
    ]
  ) assertEquals((await get(serving.port, target)).status, 400, target);
  assertEquals(log.text, "");
});

Deno.test("A broken percent-encoding in a declared value of the query is 400 or read leniently, never a server error", async () => {
  await using serving = await Serving.start(telling());
  using log = new CapturedLog();
  for (const query of ["q=%", "q=%zz", "q=%ff", "%=1", "%zz=%zz", "a=%ff&q=1", "q=%E2%82", "%ff"]) {
    const { status } = await get(serving.port, `/search?${query}`);
    assert(status === 200 || status === 400, `${query} ${status}`);
  }
  assertEquals(log.text, "");
});

Deno.test("A path is matched as it was sent: doubled slashes, case and trailing slashes count", async () => {
  await using serving = await Serving.start(telling());
  for (const target of ["//", "//admin", "/admin/", "/ADMIN", "/hello/", "/hello//", "//hello/x", "/admin//", "///"]) {
    assertEquals((await get(serving.port, target)).status, 404, target);
  }
});

Deno.test("Dot segments, plain or escaped, lead to no other route", async () => {
  await using serving = await Serving.start(telling());
  for (
    const target of [
      "/hello/../admin",
      "/hello/%2e%2e/admin",
      "/hello/.%2E/admin",
      "/hello/%2e./admin",
      "/./admin",
      "/%2e/admin",
      "/../admin",
      "/files/../admin",
      "/files/x/../../admin",
      "/files/%2e%2e%2fadmin",
      "/files/..%5cadmin",
      "/hello/..\\admin",
      "/hello\\..\\admin",
      "/hello/..;/admin",
    ]
  ) {
    const { status, served } = await get(serving.port, target);
    assert(served.route !== "admin", target);
    assert(status < 500, `${target} ${status}`);
    for (const value of [served.name, served.rest]) {
      assert(typeof value !== "string" || !value.split("/").includes(".."), `${target} ${value}`);
    }
  }
});

Deno.test("A raw backslash, which the platform's URL takes for a slash, is refused", async () => {
  await using serving = await Serving.start(telling());
  for (
    const target of [
      "/files/\\..\\..\\admin",
      "/files/..\\..\\admin",
      "/files/x\\..\\admin",
      "/files/\\%2e%2E\\..\\admin",
      "/files/%41\\.%2e\\admin",
      "/files/\\.",
      "/files/a\\b",
      "/hello\\x",
      "/hello/x\\",
      "\\admin",
      "/nothing\\here",
      "/ad%6Din\\x",
    ]
  ) {
    assertEquals((await get(serving.port, target)).status, 400, target);
  }
  // Escaped, it is a character of a name.
  assertEquals((await get(serving.port, "/files/a%5C..%5Cb")).served.rest, "a\\..\\b");
  assertEquals((await get(serving.port, "/search?q=a\\b")).served.q, "a\\b");
});

Deno.test("NUL and control characters: escaped they are data, raw they are refused", async () => {
  await using serving = await Serving.start(telling());
  assertEquals((await get(serving.port, "/hello/a%00b")).served.name, "a\0b");
  assertEquals((await get(serving.port, "/hello/a%0D%0Ab")).served.name, "a\r\nb");
  for (const target of ["/hello/a\0b", "/hello/a\x01b", "/hello/a\x7fb", "/hello/a\tb"]) {
    const { status } = await get(serving.port, target);
    assertEquals(status, 400, JSON.stringify(target));
  }
});

Deno.test("Non-ASCII in a path is UTF-8, escaped or raw", async () => {
  await using serving = await Serving.start(telling());
  for (const target of ["/hello/%C3%A9%F0%9F%98%80", "/hello/é😀"]) {
    assertEquals((await get(serving.port, target)).served.name, "é😀", target);
  }
});

Deno.test("A target of 60 KB is served, one that is larger than the platform takes is refused", async () => {
  await using serving = await Serving.start(telling());
  const long = "a".repeat(60_000);
  assertEquals((await get(serving.port, `/hello/${long}`)).served.name, long);
  assertEquals((await get(serving.port, `/search?q=${long}`)).served.q, long);
  assertEquals((await get(serving.port, `/files/${"a/".repeat(30_000)}b`)).status, 200);
  assertEquals((await get(serving.port, "/%2F".repeat(15_000))).status, 404);
  const { status } = await get(serving.port, `/hello/${"a".repeat(70_000)}`);
  assert(status >= 400 && status < 500, String(status));
});

Deno.test("An absolute-form target is served by its path", async () => {
  await using serving = await Serving.start(telling());
  assertEquals((await get(serving.port, "http://localhost/admin?x=/hello/y")).served.route, "admin");
  assertEquals((await get(serving.port, "http://localhost/hello/x")).served.name, "x");
  assertEquals((await get(serving.port, "http://localhost")).served.route, "root");
});

Deno.test("The path is never taken out of another part of the target", async () => {
  await using serving = await Serving.start(telling());
  using log = new CapturedLog();
  const targets = ["http://x?a=/admin", "http://x#/admin", "/?a=/admin", "/hello/x?/admin", "/#/admin", "?/admin", "*"];
  for (const target of targets) {
    const { status, served } = await get(serving.port, target);
    assert(served.route !== "admin", target);
    assert(status < 500, target);
  }
  assertEquals(log.text, "");
});

Deno.test("Whatever the Host header says, the request's path and url agree, and nothing is a server error", async () => {
  for (const accessLog of [false, true]) {
    await using serving = await Serving.start(telling(), { accessLog });
    using log = new CapturedLog();
    for (
      const host of [
        "[",
        "[::1",
        "a b",
        "a:b:c",
        ":",
        ":99999",
        "%",
        "%zz",
        "é",
        "a,b",
        "<x>",
        "a\tb",
        "x".repeat(5_000),
      ]
    ) {
      const { body, status } = await exchange(
        serving.port,
        `GET /hello/x HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      assert(status === 400 || status === 200, `Host: ${host}: ${status}`);
      if (status === 200) {
        const { path, pathname } = JSON.parse(body);
        assertEquals([path, pathname], ["/hello/x", "/hello/x"], host);
      }
    }
    assertEquals(log.text.includes("ERROR"), false, log.text);
  }
});

Deno.test("Without a Host header, and by HTTP/1.0, a request is served", async () => {
  await using serving = await Serving.start(telling());
  for (const request of ["GET /admin HTTP/1.1\r\nConnection: close\r\n\r\n", "GET /admin HTTP/1.0\r\n\r\n"]) {
    const { status, body } = await exchange(serving.port, request);
    assertEquals([status, JSON.parse(body).route], [200, "admin"]);
  }
});

Deno.test("Methods of any kind are refused with 405 and Allow on a known path", async () => {
  await using serving = await Serving.start(telling());
  for (const method of ["TRACE", "get", "Get", "BREW", "X-Y", "OPTIONS", "A".repeat(1_000)]) {
    const reply = await exchange(serving.port, `${method} /admin HTTP/1.1\r\n${END}`);
    assertEquals([reply.status, headerOf(reply, "allow")], [405, "GET, HEAD"], method);
  }
  const asterisk = await exchange(serving.port, `OPTIONS * HTTP/1.1\r\n${END}`);
  assert(asterisk.status >= 200 && asterisk.status < 500);
  const connect = await exchange(serving.port, `CONNECT localhost:1 HTTP/1.1\r\n${END}`);
  assert(connect.status >= 400 && connect.status < 500, String(connect.status));
});

Deno.test("HEAD has the headers of GET, the length of its body included", async () => {
  const app = telling();
  app.get("/stream", async function* () {
    yield 1;
  });
  app.get("/empty", async () => {});
  await using serving = await Serving.start(app);
  for (const target of ["/admin", "/hello/x", "/nothing", "/hello/%ff", "/stream", "/empty"]) {
    const [get, head] = [
      await exchange(serving.port, `GET ${target} HTTP/1.1\r\n${END}`),
      await exchange(serving.port, `HEAD ${target} HTTP/1.1\r\n${END}`),
    ];
    assertEquals(head.status, get.status, target);
    for (const name of ["content-type", "content-length"]) {
      assertEquals(headerOf(head, name), headerOf(get, name), `${name} of ${target}`);
    }
  }
});

Deno.test("HEAD sends no byte of a body: the next reply on the connection starts at once", async () => {
  await using serving = await Serving.start(telling());
  using connection = await RawConnection.open(serving.port);
  await connection.write("HEAD /hello/first HTTP/1.1\r\nHost: x\r\n\r\nHEAD /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.write(`GET /hello/last HTTP/1.1\r\n${END}`);
  assertEquals((await connection.reply(true)).status, 200);
  assertEquals((await connection.reply(true)).status, 404);
  assertEquals(JSON.parse((await connection.reply()).body).name, "last");
});

Deno.test("Duplicate headers: framing is refused, the others are joined and never a server error", async () => {
  const app = new App();
  app.post("/", {
    headers: { "x-n": v.optional(v.number()), "x-list": v.optional(v.array(v.number())) },
    cookies: { sid: v.optional(v.string()) },
    body: v.any(),
  }, async (_request, args) => args);
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const post = (headers: string, body = "{}") =>
    exchange(serving.port, `POST / HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n${body}`);
  const json = "Content-Type: application/json\r\nContent-Length: 2\r\nHost: x";
  assertEquals((await post(`${json}\r\nHost: y`)).status, 400);
  assertEquals((await post(`${json}\r\nContent-Length: 3`)).status, 400);
  assertEquals((await post(`${json}\r\nTransfer-Encoding: chunked`)).status, 400);
  assertEquals((await post(`${json}\r\nContent-Type: application/json`)).status, 415);
  assertEquals((await post(`${json}\r\nX-N: 1\r\nX-N: 2`)).status, 422);
  assertEquals(JSON.parse((await post(`${json}\r\nX-List: 1\r\nX-List: 2,3`)).body).headers["x-list"], [1, 2, 3]);
  const { sid } = JSON.parse((await post(`${json}\r\nCookie: a=1\r\nCookie: sid=2`)).body).cookies;
  assertEquals(sid, "2");
  assertEquals((await post(`${json}\r\nCookie: sid=1\r\nCookie: sid=2`)).status < 500, true);
  assertEquals(log.text, "");
});

Deno.test("Header injection: a redirect or a header made of client input carries no line break", async () => {
  const { redirect } = await import("@webfw/core");
  const app = new App();
  app.get("/to", { query: { url: v.string() } }, async (_request, { url }) => redirect(url));
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  for (const url of ["/a\r\nSet-Cookie: x=1", "/a\nX-A: 1", "/a\r\n\r\n<html>", "/a\0b", "/é\u2028", "/a b\t", ""]) {
    const reply = await exchange(serving.port, `GET /to?url=${encodeURIComponent(url)} HTTP/1.1\r\n${END}`);
    assertEquals(reply.status, 303, JSON.stringify(url));
    assertEquals(headerOf(reply, "set-cookie"), undefined);
    assertEquals(headerOf(reply, "x-a"), undefined);
    assertEquals(reply.body, "");
  }
  assertEquals(log.text, "");
});

Deno.test("Garbage that is no HTTP is refused, and the server serves on", async () => {
  await using serving = await Serving.start(telling());
  for (
    const garbage of [
      "\r\n\r\n\r\nnonsense\r\n\r\n",
      "GET\r\n\r\n",
      "GET /admin\r\n\r\n",
      "GET /admin HTTP/9.9\r\n\r\n",
      "GET  /admin HTTP/1.1\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
      `GET /admin HTTP/1.1\r\n${"X: y\r\n".repeat(500)}\r\n`,
      `GET /admin HTTP/1.1\r\nX: ${"y".repeat(100_000)}\r\n\r\n`,
      "GET /admin HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
      "GET /admin HTTP/1.1\r\nHost: x\r\n folded: x\r\n\r\n",
    ]
  ) {
    using connection = await RawConnection.open(serving.port);
    await connection.write(latin1(garbage)).catch(() => {});
    const answer = await connection.rest();
    assert(answer === "" || /^HTTP\/1\.[01] 4\d\d /.test(answer), JSON.stringify(garbage.slice(0, 40)));
  }
  assertEquals((await get(serving.port, "/admin")).status, 200);
});
