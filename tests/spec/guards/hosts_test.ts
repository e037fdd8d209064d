// Guards, section 3: `hosts`. Titles quote its rules.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import { exchange } from "../support/raw_connection.ts";
import { RawSocket } from "../support/raw_socket.ts";
import { Serving } from "../support/serving.ts";

const HOSTS = ["shop.example", "*.shop.example", "bücher.example"];

function service(options: AppOptions = {}): { app: App; ran: string[] } {
  const ran: string[] = [];
  const app = new App({ hosts: HOSTS, ...options });
  app.middleware(async (request, next) => {
    ran.push(request.path);
    return await next(request);
  });
  app.get("/", async () => "served");
  app.websocket("/chat", async () => {});
  return { app, ran };
}

interface Sent {
  readonly path?: string;
  readonly from?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

async function statusOf(app: App, host: string, { path = "/", from, method = "GET", headers = {} }: Sent = {}) {
  const info = from === undefined ? undefined : { remoteAddr: { transport: "tcp", hostname: from, port: 1 } as const };
  const response = await app.fetch(new Request(`http://${host}${path}`, { method, headers }), info);
  await response.body?.cancel();
  return response.status;
}

Deno.test("Names the application answers to, `*.example.com` too (any depth, not the apex); another is 421", async () => {
  const { app, ran } = service();
  for (
    const host of [
      "shop.example",
      "SHOP.example:8000",
      "shop.example.",
      "eu.shop.example",
      "a.b.shop.example:1",
      "xn--bcher-kva.example",
    ]
  ) assertEquals([host, await statusOf(app, host)], [host, 200]);
  const before = ran.length;
  for (
    const host of [
      "attacker.example",
      "shop.example.attacker.example",
      "xshop.example",
      "10.0.0.1",
      "[::1]",
      "localhost",
    ]
  ) {
    for (
      const [path, method] of [["/", "GET"], ["/nothing", "GET"], ["/", "POST"], ["/openapi.json", "GET"]] as const
    ) {
      assertEquals([host, path, await statusOf(app, host, { path, method })], [host, path, 421]);
    }
  }
  assertEquals(ran.length, before);
  const apex = new App({ hosts: ["*.shop.example"] });
  assertEquals(await statusOf(apex, "shop.example"), 421);
  assertEquals(await statusOf(apex, "eu.shop.example"), 404);
});

Deno.test("421 says what to do, is shaped by onError, and can be read by a listed page", async () => {
  const app = new App({ hosts: HOSTS, origins: ["https://partner.example"] });
  const headers = { origin: "https://partner.example" };
  const response = await app.fetch(new Request("http://attacker.example/", { headers }));
  assertEquals(response.headers.get("access-control-allow-origin"), "https://partner.example");
  assertEquals(
    (await response.json()).detail,
    'This host is not served here: the option "hosts" of the App names those that are',
  );
});

Deno.test("`/mcp` goes by it, too, also where the name is no loopback", async () => {
  const { app } = service();
  const body = { path: "/mcp", method: "POST" };
  assertEquals(await statusOf(app, "attacker.example", body), 421);
  // 415: it has passed, and the request has no JSON.
  assertEquals(await statusOf(app, "shop.example", body), 415);
  assertEquals(await statusOf(app, "shop.example", { ...body, headers: { origin: "https://shop.example" } }), 415);
  assertEquals(await statusOf(app, "shop.example", { ...body, headers: { origin: "https://x.example" } }), 403);
  const own = new App({ hosts: HOSTS, mcp: { hosts: ["eu.shop.example"] } });
  assertEquals(await statusOf(own, "shop.example", body), 403);
  assertEquals(await statusOf(own, "eu.shop.example", body), 415);
});

Deno.test("Not for loopback names where the peer is loopback and nothing was forwarded", async () => {
  const { app } = service();
  for (const host of ["localhost:8000", "a.localhost", "127.0.0.1", "[::1]:8000"]) {
    for (const from of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
      assertEquals([host, from, await statusOf(app, host, { from })], [host, from, 200]);
      for (const header of ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "forwarded"]) {
        assertEquals(await statusOf(app, host, { from, headers: { [header]: "x" } }), 421);
      }
    }
    for (const from of [undefined, "10.0.0.1", "203.0.113.7"]) {
      assertEquals([host, from, await statusOf(app, host, from === undefined ? {} : { from })], [host, from, 421]);
    }
  }
  assertEquals(await statusOf(app, "attacker.example", { from: "127.0.0.1" }), 421);
});

Deno.test("A `Host` that is not `host[:port]` is always 400", async () => {
  const { app } = service();
  await using serving = await Serving.start(app);
  for (const host of ["shop.example/x", "u@shop.example", "shop.example:80a", "a b"]) {
    const { status } = await exchange(serving.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    assertEquals([host, status], [host, 400]);
  }
});

Deno.test("Through a socket: the Host of the wire, and of WebSockets", async () => {
  const { app } = service();
  await using serving = await Serving.start(app);
  const send = async (host: string) =>
    (await exchange(serving.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status;
  assertEquals(await send("shop.example"), 200);
  assertEquals(await send("attacker.example"), 421);
  assertEquals(await send(`localhost:${serving.port}`), 200);
  for (const [host, start] of [["shop.example", "HTTP/1.1 101"], ["attacker.example", "HTTP/1.1 421"]] as const) {
    using socket = await RawSocket.open(serving.port, "/chat", { host });
    assert(socket.head.startsWith(start), socket.head);
  }
});

Deno.test("Any host is answered without the option, and what is no name is refused where it is declared", async () => {
  const app = new App();
  app.get("/", async () => "served");
  assertEquals(await statusOf(app, "anything.example"), 200);
  for (const host of ["https://x", "x:80", "*", ""]) {
    assertThrows(() => new App({ hosts: [host] }), TypeError, `Cannot set hosts: "${host}" is not a host name`);
  }
});
