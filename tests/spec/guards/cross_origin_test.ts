// Guards, section 3: cross-origin requests, and what `origins` opens. Titles quote its rules.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, type AppOptions, Router } from "@webfw/core";
import type { Origins } from "@webfw/core/types";
import { exchange } from "../support/raw_connection.ts";
import { RawSocket, upgradeRequest } from "../support/raw_socket.ts";
import { Serving } from "../support/serving.ts";

const HOST = "shop.example";
const OWN = "https://shop.example";
const PARTNER = "https://partner.example";
const OTHER = "https://attacker.example";

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly host?: string;
  readonly headers?: Record<string, string>;
}

/** The status of a request, which is a POST unless it says otherwise. */
async function statusOf(
  app: App,
  { method = "POST", path = "/", host = HOST, headers = {} }: Sent,
): Promise<number> {
  const response = await app.fetch(new Request(`http://${host}${path}`, { method, headers }));
  await response.body?.cancel();
  return response.status;
}

function service(options: AppOptions = {}): App {
  const app = new App(options);
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "PURGE", "OPTIONS"]) {
    app.route("/", { methods: [method] }, async () => "served");
  }
  return app;
}

Deno.test("An unsafe method (not GET, HEAD, OPTIONS) is 403", async () => {
  const app = service();
  for (const headers of [{ origin: OTHER }, { "sec-fetch-site": "cross-site" }] as Record<string, string>[]) {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "PURGE"]) {
      assertEquals([method, await statusOf(app, { method, headers })], [method, 403]);
    }
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      assertEquals([method, await statusOf(app, { method, headers })], [method, 200]);
    }
  }
});

Deno.test("Unless Sec-Fetch-Site is `same-origin` or `none`; any other value is refused", async () => {
  const app = service({ origins: [PARTNER] });
  for (const site of ["same-origin", "none"]) {
    for (const origin of [OWN, OTHER, "null"]) {
      assertEquals(await statusOf(app, { headers: { "sec-fetch-site": site, origin } }), 200);
    }
    assertEquals(await statusOf(app, { headers: { "sec-fetch-site": site } }), 200);
  }
  for (const site of ["same-site", "cross-site", "", "Same-Origin", "same-origin, cross-site", "future"]) {
    for (const origin of [OWN, OTHER, "null"]) {
      const headers = { "sec-fetch-site": site, origin };
      assertEquals([site, origin, await statusOf(app, { headers })], [site, origin, 403]);
    }
    assertEquals(await statusOf(app, { headers: { "sec-fetch-site": site } }), 403);
    assertEquals(await statusOf(app, { headers: { "sec-fetch-site": site, origin: PARTNER } }), 200);
  }
});

Deno.test("Unless there is no Sec-Fetch-Site, and Origin is missing or its host and port are the request's", async () => {
  const app = service();
  assertEquals(await statusOf(app, {}), 200);
  for (
    const [origin, host, status] of [
      [OWN, HOST, 200],
      ["http://shop.example", HOST, 200],
      ["https://shop.example:8443", `${HOST}:8443`, 200],
      ["https://shop.example", `${HOST}:443`, 200],
      ["http://[::1]:8000", "[::1]:8000", 200],
      ["https://shop.example", `${HOST}:8443`, 403],
      ["https://shop.example:8443", HOST, 403],
      ["https://eu.shop.example", HOST, 403],
      ["https://shop.example.attacker.example", HOST, 403],
      [`https://${HOST}@attacker.example`, HOST, 403],
      ["null", HOST, 403],
      ["", HOST, 403],
      ["shop.example", HOST, 403],
      [`${OWN}, ${OTHER}`, HOST, 403],
    ] as const
  ) assertEquals([origin, host, await statusOf(app, { host, headers: { origin } })], [origin, host, status]);
});

Deno.test("Unless Origin is listed", async () => {
  const app = service({ origins: [PARTNER, "https://*.preview.example", "capacitor://localhost"] });
  for (const origin of [PARTNER, "https://a.b.preview.example", "capacitor://localhost"]) {
    assertEquals(await statusOf(app, { headers: { origin, "sec-fetch-site": "cross-site" } }), 200);
    assertEquals(await statusOf(app, { headers: { origin } }), 200);
  }
  assertEquals(await statusOf(app, { headers: { origin: `${PARTNER}:8443` } }), 403);
});

Deno.test('"*" lets unsafe requests in that carry neither Cookie nor Authorization: Basic', async () => {
  const app = service({ origins: ["*", PARTNER] });
  const from = (origin: string, more: Record<string, string>) =>
    statusOf(app, { headers: { origin, "sec-fetch-site": "cross-site", ...more } });
  for (const more of [{}, { authorization: "Bearer x" }, { authorization: "Basics x" }] as Record<string, string>[]) {
    assertEquals(await from(OTHER, more), 200);
    assertEquals(await from("null", more), 200);
  }
  const credentials = [{ cookie: "a=1" }, { authorization: "Basic eDp5" }, { authorization: "basic eDp5" }, {
    authorization: "Negotiate x",
  }];
  for (const more of credentials as Record<string, string>[]) {
    assertEquals(await from(OTHER, more), 403);
    assertEquals(await from(PARTNER, more), 200);
  }
  const headers: Record<string, string> = { "sec-fetch-site": "cross-site" };
  assertEquals(await statusOf(app, { headers }), 200);
});

Deno.test("The 403 says which origin was compared with which host, and names origins, trustProxy and crossOrigin", async () => {
  const detailOf = async (origin: string | undefined, host = HOST): Promise<string> => {
    const headers: Record<string, string> = origin === undefined ? { "sec-fetch-site": "cross-site" } : { origin };
    const response = await service().fetch(new Request(`http://${host}/`, { method: "POST", headers }));
    assertEquals(response.headers.get("content-type"), "application/problem+json");
    return (await response.json()).detail;
  };
  assertEquals(
    await detailOf(OTHER, "shop.example:8000"),
    "This request comes from a page of https://attacker.example, and not from one of shop.example:8000: the App can " +
      'list the origin in "origins", learn its own host by "trustProxy", or allow all pages by "crossOrigin"',
  );
  for (const origin of ["null", undefined, "https://<b>.example", `https://${"a".repeat(500)}`]) {
    assert((await detailOf(origin)).startsWith("This request comes from a page of an unknown origin, and not"), origin);
  }
});

Deno.test("403, before anything is read: no middleware runs, and onError shapes the reply", async () => {
  const ran: string[] = [];
  const app = new App();
  app.middleware(async (request, next) => {
    ran.push(request.path);
    return await next(request);
  });
  app.onError(async (error) => new Response(`shaped ${error.status}`, { status: error.status }));
  app.post("/", async (request) => await request.text());
  await using serving = await Serving.start(app);
  const head = `Host: ${HOST}\r\nOrigin: ${OTHER}\r\nContent-Length: 5\r\n\r\n`;
  for (const path of ["/", "/nothing"]) {
    // The body never comes.
    const { status, body } = await exchange(serving.port, `POST ${path} HTTP/1.1\r\n${head}`);
    assertEquals([status, body], [403, "shaped 403"]);
  }
  assertEquals(ran, []);
});

Deno.test("`crossOrigin: true` on a scope or route lets them in, `false` within takes it back", async () => {
  const app = new App();
  const callbacks = new Router({ prefix: "/callbacks", crossOrigin: true });
  callbacks.post("/saml", async () => "served");
  callbacks.post("/own", { crossOrigin: false }, async () => "served");
  app.include(callbacks);
  app.include(callbacks, { prefix: "/closed", crossOrigin: true });
  app.post("/form", { crossOrigin: true }, async () => "served");
  app.post("/plain", async () => "served");
  const status = (path: string) =>
    statusOf(app, { path, headers: { "origin": OTHER, "sec-fetch-site": "cross-site" } });
  assertEquals(await Promise.all(["/callbacks/saml", "/form", "/callbacks/own", "/plain"].map(status)), [
    200,
    200,
    403,
    403,
  ]);
  // A scope of an application is not that of paths without a route.
  const open = new App({ crossOrigin: true });
  open.post("/", async () => "served");
  assertEquals(await statusOf(open, { headers: { origin: OTHER } }), 200);
  assertEquals(await statusOf(open, { path: "/nothing", headers: { origin: OTHER } }), 403);
});

Deno.test("A mounted handler is protected, too: unsafe methods and handshakes", async () => {
  const app = new App();
  const seen: string[] = [];
  const mounted = ({ method }: Request) => {
    seen.push(method);
    return new Response("served");
  };
  app.mount("/closed", mounted);
  const open = new Router({ crossOrigin: true });
  open.mount("/open", mounted);
  app.include(open);
  const upgrade = { connection: "upgrade", upgrade: "websocket", origin: OTHER };
  assertEquals(await statusOf(app, { path: "/closed/x", headers: { origin: OTHER } }), 403);
  assertEquals(await statusOf(app, { path: "/closed/x", method: "GET", headers: upgrade }), 403);
  assertEquals(seen, []);
  assertEquals(await statusOf(app, { path: "/closed/x", headers: { origin: OWN } }), 200);
  assertEquals(await statusOf(app, { path: "/closed/x", method: "GET", headers: { origin: OTHER } }), 200);
  assertEquals(await statusOf(app, { path: "/open/x", headers: { origin: OTHER } }), 200);
  assertEquals(seen, ["POST", "GET", "POST"]);
});

Deno.test("Not needed for clients that send neither header, on any path", async () => {
  const app = service();
  for (const path of ["/", "/nothing", "/mcp"]) assert(await statusOf(app, { path }) !== 403, path);
});

async function handshake(serving: Serving, path: string, headers: Record<string, string | null>): Promise<number> {
  using socket = await RawSocket.open(serving.port, path, { host: HOST, ...headers });
  return Number(socket.head.split(" ")[1]);
}

Deno.test("A WebSocket handshake is 403, before anything is read, unless its page is the host's or listed", async () => {
  const ran: string[] = [];
  const app = new App({ origins: [PARTNER] });
  app.middleware(async (request, next) => {
    ran.push(request.path);
    return await next(request);
  });
  app.websocket("/", async () => {});
  app.websocket("/more", { origins: ["https://more.example"] }, async () => {});
  app.websocket("/all", { origins: "*" }, async () => {});
  app.websocket("/cross", { crossOrigin: true }, async () => {});
  await using serving = await Serving.start(app);
  for (
    const [path, headers, status] of [
      ["/", { origin: OTHER }, 403],
      ["/", { origin: "null" }, 403],
      ["/", { "origin": OWN, "sec-fetch-site": "cross-site" }, 403],
      ["/", { origin: OTHER, "sec-websocket-version": "8" }, 403],
      ["/nothing", { origin: OTHER }, 403],
      ["/more", { origin: OTHER }, 403],
    ] as const
  ) assertEquals([path, await handshake(serving, path, headers)], [path, status]);
  assertEquals(ran, []);
  for (
    const [path, headers] of [
      ["/", {}],
      ["/", { origin: OWN }],
      ["/", { origin: PARTNER }],
      ["/", { "origin": OTHER, "sec-fetch-site": "same-origin" }],
      ["/more", { origin: PARTNER }],
      ["/more", { origin: "https://more.example" }],
      ["/all", { origin: OTHER, cookie: "a=1" }],
      ["/all", { origin: "null" }],
      ["/cross", { origin: OTHER }],
    ] as const
  ) assertEquals([path, await handshake(serving, path, headers)], [path, 101]);
});

Deno.test('"*" opens neither WebSockets nor /mcp, which take "*" of their own', async () => {
  const app = new App({ origins: "*" });
  app.websocket("/", async () => {});
  app.websocket("/all", { origins: "*" }, async () => {});
  await using serving = await Serving.start(app);
  assertEquals(await handshake(serving, "/", { origin: OTHER }), 403);
  assertEquals(await handshake(serving, "/all", { origin: OTHER }), 101);
  const toMcp = (options: AppOptions, headers: Record<string, string>) =>
    statusOf(new App(options), { path: "/mcp", host: "localhost", headers });
  assertEquals(await toMcp({ origins: "*" }, { origin: OTHER }), 403);
  assertEquals(await toMcp({ origins: "*", mcp: { origins: "*" } }, { origin: OTHER }), 415);
});

Deno.test("One list for /mcp, too, and `mcp.origins` adds to it", async () => {
  const app = new App({ origins: [PARTNER], mcp: { origins: ["https://agent.example"] }, cors: { credentials: true } });
  const ask = async (origin: string, method = "POST") => {
    const response = await app.fetch(
      new Request("http://localhost/mcp", {
        method,
        headers: {
          origin,
          "content-type": "application/json",
          ...(method === "OPTIONS" && { "access-control-request-method": "POST" }),
        },
        ...(method === "POST" && { body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) }),
      }),
    );
    await response.body?.cancel();
    const { headers } = response;
    return [
      response.status,
      headers.get("access-control-allow-origin"),
      headers.get("access-control-allow-credentials"),
      headers.get("vary"),
    ];
  };
  assertEquals(await ask(PARTNER), [200, PARTNER, "true", "Origin"]);
  // What only `mcp` names gets no cookies.
  assertEquals(await ask("https://agent.example"), [200, "https://agent.example", null, "Origin"]);
  assertEquals(await ask(OTHER), [403, null, null, "Origin"]);
  assertEquals(await ask("https://agent.example", "OPTIONS"), [204, "https://agent.example", null, "Origin"]);
  assertEquals(await ask(OTHER, "OPTIONS"), [403, null, null, "Origin"]);
});

Deno.test("The call of a tool goes to its route, whatever page the endpoint has let in", async () => {
  const app = new App({ mcp: { origins: ["https://agent.example"] } });
  app.post("/books", { tool: true }, async function addBook() {
    return { added: true };
  });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "addBook", arguments: {} } };
  const headers = { "content-type": "application/json", "origin": "https://agent.example" };
  const request = new Request("http://localhost/mcp", { method: "POST", headers, body: JSON.stringify(call) });
  const { result } = await (await app.fetch(request)).json();
  assertEquals(result.structuredContent, { added: true });
  assertEquals(await statusOf(app, { path: "/books", headers: { origin: "https://agent.example" } }), 403);
});

Deno.test('An entry is any serialised origin, never "null"', () => {
  for (
    const origins of [["null"], ["shop.example"], [`${OWN}/`], "https://shop.example", [1]] as unknown as Origins[]
  ) {
    assertThrows(() => new App({ origins }), TypeError, "Cannot set the origins of the App");
    assertThrows(() => new App({ mcp: { origins } }), TypeError, "Cannot set mcp.origins");
    assertThrows(() => new App().websocket("/", { origins }, async () => {}), TypeError, "of WEBSOCKET /");
  }
});

Deno.test("A GET that asks for an upgrade on a path without WebSocket is a GET", async () => {
  const app = service();
  app.websocket("/chat", async () => {});
  await using serving = await Serving.start(app);
  const { status } = await exchange(serving.port, upgradeRequest("/", { origin: OTHER, connection: "close, upgrade" }));
  assertEquals(status, 200);
});

Deno.test("On by default, and a GET pays nothing for it: no header is read", async () => {
  let reads: string[] = [];
  /** A request that notes which headers are read. */
  class NotingRequest extends Request {
    override get headers(): Headers {
      return new Proxy(super.headers, {
        get(target, name) {
          const member = Reflect.get(target, name);
          if (typeof member !== "function") return member;
          return (...args: unknown[]) => {
            reads.push(String(args[0]));
            return member.apply(target, args);
          };
        },
      });
    }
  }
  const app = service();
  const read = async (method: string, headers: Record<string, string> = {}): Promise<string[]> => {
    reads = [];
    const response = await app.fetch(new NotingRequest(`http://${HOST}/`, { method, headers }));
    await response.body?.cancel();
    return reads;
  };
  assertEquals(await read("GET", { origin: OTHER }), []);
  assertEquals(await read("HEAD", { origin: OTHER }), []);
  assertEquals(await read("OPTIONS", { origin: OTHER }), []);
  assertEquals(await read("POST", { "sec-fetch-site": "same-origin", "origin": OWN }), ["sec-fetch-site"]);
  assertEquals(await read("POST"), ["sec-fetch-site", "origin"]);
});

Deno.test("`crossOrigin` of a scope holds for its WebSockets, too, and `false` within takes it back", async () => {
  const app = new App({ crossOrigin: true });
  app.websocket("/open", async () => {});
  const closed = new Router({ crossOrigin: false });
  closed.websocket("/closed", async () => {});
  closed.websocket("/own", { crossOrigin: true }, async () => {});
  app.include(closed);
  await using serving = await Serving.start(app);
  for (const [path, status] of [["/open", 101], ["/closed", 403], ["/own", 101]] as const) {
    assertEquals([path, await handshake(serving, path, { origin: OTHER })], [path, status]);
  }
});
