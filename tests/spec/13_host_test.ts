// Section 13 of the contract: "a Host that is not `host[:port]` | 400, over HTTP/2 in its `host`
// header, too"; "a target whose scheme is neither http nor https, a target whose host is not that of
// `Host`, and HTTP/1.1 without `Host` (where the platform lets it be told from HTTP/2) are 400".

import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { Http2Connection } from "./support/http2_connection.ts";
import { exchange } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";

/** Each route replies with its name, to see which one served. */
function telling(): App {
  const app = new App();
  for (const path of ["/", "/public", "/admin", "/users/{id}", "/files/{path...}"]) app.get(path, async () => path);
  return app;
}

const ROUTED: readonly (readonly [target: string, route: string])[] = [
  ["/", "/"],
  ["/public", "/public"],
  ["/public?next=/admin", "/public"],
  ["/users/1", "/users/{id}"],
  ["/files/a/b", "/files/{path...}"],
];

const MALFORMED: readonly string[] = [
  "x/admin?",
  "x/admin",
  "x/admin#",
  "x/users",
  "x/files/",
  "x/",
  "/",
  "x?",
  "x?/admin",
  "x#",
  "?",
  "u@x",
  "u:p@x",
  "@",
  "x\\admin",
  "x\\",
  "a b",
  "a b:80",
  "a:b:c",
  ":",
  ":80",
  "x:80a",
  "x:999999",
  "x:65536",
  "x%zz",
  "999.1.1.1",
  "[1:2]",
  "x:80/admin",
  "[",
  "[::1",
  "::1",
  "[::1]x",
  "[x]",
  "[::1]/admin",
  "<x>",
  "http://x",
];

const GOOD: readonly string[] = [
  "x",
  "x:8000",
  "x:",
  "books.example",
  "a_b-c",
  "127.0.0.1:1",
  "[::1]",
  "[::1]:8000",
  "[::]",
];

const close = "Connection: close\r\n\r\n";

Deno.test("A Host that is not host[:port] is answered 400, whatever is asked for", async () => {
  await using serving = await Serving.start(telling());
  for (const [target] of ROUTED) {
    for (const host of MALFORMED) {
      const { status } = await exchange(serving.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${close}`);
      assertEquals(status, 400, `Host: ${host}, ${target}`);
    }
  }
});

Deno.test("Any other Host is served, and so is an empty one", async () => {
  await using serving = await Serving.start(telling());
  for (const [target, route] of ROUTED) {
    for (const header of [...GOOD.map((host) => `Host: ${host}\r\n`), "Host:\r\n"]) {
      const { status, body } = await exchange(serving.port, `GET ${target} HTTP/1.1\r\n${header}${close}`);
      assertEquals([status, body], [200, JSON.stringify(route)], `${header}${target}`);
    }
  }
});

Deno.test("A target with an authority must have a valid one", async () => {
  await using serving = await Serving.start(telling());
  const statusOf = async (target: string, host: string) =>
    (await exchange(serving.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${close}`)).status;
  assertEquals(await statusOf("http://x:80/users/1", "x"), 200);
  assertEquals(await statusOf("http://u:p@x/users/1", "x"), 400);
  assertEquals(await statusOf("http://x/users/1", "x/users"), 400);
});

Deno.test("A target is http or https, in any case", async () => {
  const app = telling();
  const mounted: string[] = [];
  app.mount("/mounted", (request) => {
    mounted.push(request.url);
    return new Response();
  });
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const statusOf = async (target: string) =>
    (await exchange(serving.port, `GET ${target} HTTP/1.1\r\nHost: x\r\n${close}`)).status;
  for (const scheme of ["http", "https", "HTTP", "Https"]) {
    for (const path of ["", "/public", "/users/1", "/mounted/a"]) {
      assertEquals(await statusOf(`${scheme}://x${path}`), 200, scheme + path);
    }
  }
  const served = mounted.length;
  for (const scheme of ["javascript", "JavaScript", "ftp", "ws", "httpx", "xhttp", "s3"]) {
    for (const path of ["", "/public", "/users/1", "/mounted/a"]) {
      assertEquals(await statusOf(`${scheme}://x${path}`), 400, scheme + path);
    }
  }
  assertEquals([mounted.length, log.text], [served, ""]);
});

Deno.test("A target with the host of its Host header is served, another is refused", async () => {
  const app = telling();
  app.mount("/mounted", () => new Response());
  await using serving = await Serving.start(app);
  const statusOf = async (target: string, host: string) =>
    (await exchange(serving.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${close}`)).status;
  for (const path of ["/users/1", "/files/a/b", "/mounted/a"]) {
    for (const [authority, host] of [["x", "x"], ["X", "x"], ["x:80", "x"], ["x", "x:80"], ["x.", "x"]]) {
      assertEquals(await statusOf(`http://${authority}${path}`, host!), 200, `${authority} ${host} ${path}`);
    }
    for (const [authority, host] of [["x", "y"], ["x:80", "x:81"], ["x", "x.y"], ["x", "x:8000"]]) {
      assertEquals(await statusOf(`http://${authority}${path}`, host!), 400, `${authority} ${host} ${path}`);
    }
  }
  assertEquals(await statusOf("https://x/users/1", "x:443"), 200);
  assertEquals(await statusOf("https://x/users/1", "x:80"), 400);
});

Deno.test("A handler never sees a Host header that is not the host of the URL", async () => {
  const app = new App({ log: () => {} });
  app.get("/one", async (request) => request.headers.get("host"));
  app.get("/declared", { headers: { host: v.string() } }, async (_request, { headers }) => headers.host);
  app.get("/url", async (request) => request.url.host);
  const listed = new App({ hosts: ["x"] });
  listed.get("/url", async (request) => request.url.host);
  for (const [served, paths] of [[app, ["/one", "/declared"]], [listed, ["/url"]]] as const) {
    await using serving = await Serving.start(served);
    for (const path of paths) {
      const { status } = await exchange(serving.port, `GET http://x${path} HTTP/1.1\r\nHost: y\r\n${close}`);
      assertEquals(status, 400, path);
      const { body } = await exchange(serving.port, `GET http://x${path} HTTP/1.1\r\nHost: x\r\n${close}`);
      assertEquals(body, '"x"', path);
    }
  }
});

Deno.test("HTTP/1.1 without a Host header is 400 where its other headers tell it from HTTP/2", async () => {
  await using serving = await Serving.start(telling());
  for (const target of ["/users/1", "/files/a/b"]) {
    assertEquals((await exchange(serving.port, `GET ${target} HTTP/1.1\r\n${close}`)).status, 400, target);
  }
});

Deno.test("A Host that a program gives need not be that of the URL", async () => {
  const app = telling();
  app.get("/host", async (request) => request.headers.get("host"));
  const response = await app.fetch(new Request("http://inner/host", { headers: { host: "outer" } }));
  assertEquals(await response.json(), "outer");
});

Deno.test("Over HTTP/2 it is 400 in the host header, too", async () => {
  await using serving = await Serving.start(telling());
  using connection = await Http2Connection.open(serving.port);
  for (const host of ["x/admin?", "x/admin", "u@x", "a b"]) {
    for (const [target] of ROUTED) {
      const fields = { ":method": "GET", ":scheme": "http", ":path": target, host };
      assertEquals(await connection.status(fields), 400, `${host}, ${target}`);
    }
  }
  const fields = { ":method": "GET", ":scheme": "http", ":path": "/users/1" };
  assertEquals(await connection.status({ ...fields, host: "x:8000" }), 200);
  assertEquals(await connection.status({ ...fields, ":authority": "x" }), 200);
  assertEquals(await connection.status({ ...fields, ":authority": "x", host: "x" }), 200);
  assertEquals(await connection.status({ ...fields, ":authority": "x", host: "y" }), 400);
  assertEquals(await connection.status({ ...fields, ":authority": "x", host: "x/admin" }), 400);
});

Deno.test("The same applies without a socket", async () => {
  await using client = new TestClient(telling());
  assertEquals((await client.get("/users/1", { headers: { host: "x" } })).status, 200);
  assertEquals((await client.get("/users/1", { headers: { host: "x/admin" } })).status, 400);
});
