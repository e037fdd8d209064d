// Section 13 of the contract: "a Host that is not `host[:port]` | 400, over HTTP/2 in its `host`
// header, too".

import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
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

Deno.test("Any other Host is served, and so is a request without one", async () => {
  await using serving = await Serving.start(telling());
  for (const [target, route] of ROUTED) {
    for (const header of [...GOOD.map((host) => `Host: ${host}\r\n`), "Host:\r\n", ""]) {
      const { status, body } = await exchange(serving.port, `GET ${target} HTTP/1.1\r\n${header}${close}`);
      assertEquals([status, body], [200, JSON.stringify(route)], `${header}${target}`);
    }
  }
});

Deno.test("A target with an authority must have a valid one, which overrides the Host", async () => {
  await using serving = await Serving.start(telling());
  const statusOf = async (target: string, host: string) =>
    (await exchange(serving.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${close}`)).status;
  assertEquals(await statusOf("http://x:80/users/1", "y"), 200);
  assertEquals(await statusOf("http://u:p@x/users/1", "x"), 400);
  assertEquals(await statusOf("http://x/users/1", "x/users"), 400);
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
  assertEquals(await connection.status({ ...fields, ":authority": "x", host: "x/admin" }), 400);
});

Deno.test("The same applies without a socket", async () => {
  await using client = new TestClient(telling());
  assertEquals((await client.get("/users/1", { headers: { host: "x" } })).status, 200);
  assertEquals((await client.get("/users/1", { headers: { host: "x/admin" } })).status, 400);
});
