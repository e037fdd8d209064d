// Section 10 of the contract, POST /mcp: the accepted hosts and origins, and what a handler knows
// about the caller.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App } from "@webfw/core";
import type { McpOptions } from "@webfw/core/types";
import { Agent } from "../agents/agent.ts";
import { ChildProgram, CORE } from "./support/child_program.ts";
import { exchange } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

/** The status of a request under a host, from an address, with an origin or other headers. */
async function statusOf(
  mcp: McpOptions,
  { host = "localhost:8000", from, ...headers }: { host?: string; from?: string; [header: string]: string | undefined },
): Promise<number> {
  const app = new App({ mcp });
  const info = from === undefined ? undefined : { remoteAddr: { transport: "tcp", hostname: from, port: 1 } as const };
  const fetch = (request: Request) => app.fetch(request, info);
  const { status } = await new Agent(fetch, `http://${host}/mcp`).post(PING, headers as Record<string, string>);
  return status;
}

const LOOPBACK = ["127.0.0.1", "::1", "::ffff:127.0.0.1"];

Deno.test("On the same machine, only host names that cannot be rebound are accepted", async () => {
  for (const from of LOOPBACK) {
    for (
      const host of ["localhost:8000", "books.localhost", "127.0.0.1:8000", "127.1.2.3", "[::1]:8000", "192.168.0.7"]
    ) {
      assertEquals([host, await statusOf({}, { from, host })], [host, 200]);
    }
    for (const host of ["attacker.example", "localhost.attacker.example", "127.0.0.1.attacker.example"]) {
      assertEquals([host, await statusOf({}, { from, host })], [host, 403]);
    }
  }
});

Deno.test("A proxy on the same machine, and a client elsewhere, may use any name", async () => {
  const host = "books.example";
  for (const header of ["forwarded", "x-forwarded-for", "x-forwarded-host"]) {
    assertEquals(await statusOf({}, { from: "127.0.0.1", host, [header]: "x" }), 200);
  }
  assertEquals(await statusOf({}, { from: "203.0.113.7", host }), 200);
  assertEquals(await statusOf({}, { host }), 200);
});

Deno.test("With a list of hosts, other names are refused everywhere", async () => {
  const mcp = { hosts: ["Books.example"] };
  for (const from of [undefined, "127.0.0.1", "203.0.113.7"]) {
    const place = from === undefined ? {} : { from };
    assertEquals(await statusOf(mcp, { ...place, host: "books.example:443" }), 200);
    assertEquals(await statusOf(mcp, { ...place, host: "localhost" }), 200);
    assertEquals(await statusOf(mcp, { ...place, host: "attacker.example", "x-forwarded-for": "x" }), 403);
  }
});

Deno.test("A page of the application itself is accepted if its host name cannot be rebound", async () => {
  const origin = "http://localhost:8000";
  assertEquals(await statusOf({}, { host: "localhost:8000", origin }), 200);
  assertEquals(await statusOf({}, { host: "localhost:8000", origin: "http://127.0.0.1:6274" }), 200);
  assertEquals(await statusOf({}, { host: "192.168.0.7:8000", origin: "http://192.168.0.7:8000" }), 200);
  assertEquals(await statusOf({}, { host: "192.168.0.7:8000", origin: "http://192.168.0.8:8000" }), 403);
  const own = { host: "books.example", origin: "https://books.example" };
  assertEquals(await statusOf({}, own), 403);
  assertEquals(await statusOf({ hosts: ["books.example"] }, own), 200);
});

Deno.test("A page of another origin is accepted if the origin is listed", async () => {
  const origin = "https://assistant.example";
  assertEquals(await statusOf({}, { origin }), 403);
  assertEquals(await statusOf({ origins: [origin] }, { origin }), 200);
  assertEquals(await statusOf({ origins: ["*"] }, { origin }), 200);
  assertEquals(await statusOf({ origins: [origin] }, { origin: "https://assistant.example.attacker.example" }), 403);
  assertEquals(await statusOf({ origins: ["vscode-webview://x"] }, { origin: "vscode-webview://x" }), 200);
  for (const origin of ["null", "", "nonsense", "file://"]) {
    assertEquals([origin, await statusOf({}, { origin })], [origin, 403]);
  }
});

Deno.test("A rebound name is refused, although Origin and Host agree", async () => {
  const attacker = { host: "attacker.example:8000", origin: "http://attacker.example:8000" };
  assertEquals(await statusOf({}, { from: "127.0.0.1", ...attacker }), 403);
  assertEquals(await statusOf({}, { from: "127.0.0.1", ...attacker, "x-forwarded-for": "10.0.0.1" }), 403);
  assertEquals(await statusOf({}, { from: "203.0.113.7", ...attacker }), 403);
});

Deno.test("A rebound name is refused, whatever headers of a proxy the page adds", async () => {
  const attacker = { host: "attacker.example:8000", origin: "http://attacker.example:8000" };
  for (
    const options of [{ trustProxy: 1 }, { trustProxy: ["127.0.0.1"] }, { trustProxy: 1, hosts: ["books.example"] }]
  ) {
    for (const added of [{}, { "x-forwarded-host": "books.example" }, { "x-forwarded-for": "10.0.0.1" }]) {
      for (const site of [{}, { "sec-fetch-site": "same-origin" }]) {
        const app = new App(options);
        const info = { remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 1 } } as const;
        const agent = new Agent((request) => app.fetch(request, info), `http://${attacker.host}/mcp`);
        const { status } = await agent.post(
          PING,
          { origin: attacker.origin, ...added, ...site } as Record<string, string>,
        );
        assertEquals([options, added, status], [
          options,
          added,
          "hosts" in options && !("x-forwarded-host" in added) ? 421 : 403,
        ]);
      }
    }
  }
});

Deno.test("Hosts and origins are checked when the application is made", () => {
  const refused = (mcp: unknown) => assertThrows(() => new App({ mcp: mcp as McpOptions }), TypeError).message;
  assertEquals(
    refused({ host: [] }),
    'Cannot set mcp: the option "host" is unknown, the nearest is "hosts"; there are hosts, origins, list',
  );
  for (const host of ["https://books.example", "books.example:443", "books.example/", "*", "*.", "a.*"]) {
    const message =
      `Cannot set mcp.hosts: "${host}" is not a host name, write it like "books.example" or "*.books.example"`;
    assertEquals(refused({ hosts: [host] }), message);
  }
  for (const origin of ["assistant.example", "https://assistant.example/", "null"]) {
    const message = `Cannot set mcp.origins: "${origin}" is not an origin, write it like "https://books.example"`;
    assertEquals(refused({ origins: [origin] }), message);
  }
});

Deno.test("Through a socket, Host and Origin are those of the wire", async () => {
  await using serving = await Serving.start(new App());
  const body = JSON.stringify(PING);
  const send = (host: string, origin?: string) =>
    exchange(
      serving.port,
      `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n${origin === undefined ? "" : `Origin: ${origin}\r\n`}` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  assertEquals((await send(`127.0.0.1:${serving.port}`)).status, 200);
  assertEquals((await send("attacker.example")).status, 403);
  assertEquals((await send("attacker.example", "http://attacker.example")).status, 403);
  assertEquals((await send("localhost", "http://attacker.example")).status, 403);
});

Deno.test("A handler sees the address of the caller of the tool", async () => {
  const app = new App();
  app.get("/address", { tool: true }, async function address(request) {
    return { address: request.remoteAddress };
  });
  assertEquals(await new Agent(app).result("address"), { address: null });
  await using serving = await Serving.start(app);
  const agent = new Agent((request) => fetch(request), `${serving.origin}/mcp`);
  assertEquals(await agent.result("address"), { address: "127.0.0.1" });
});

Deno.test("A handler sees that the agent has disconnected, and its background tasks still run", async () => {
  const started = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<boolean>();
  const left = Promise.withResolvers<void>();
  const app = new App();
  app.get("/wait", { tool: true }, async function wait(request) {
    request.after(() => left.resolve());
    request.signal.addEventListener("abort", () => gone.resolve(request.signal.aborted));
    started.resolve();
    return await gone.promise;
  });
  await using serving = await Serving.start(app);
  const leaving = new AbortController();
  const agent = new Agent((request) => fetch(request, { signal: leaving.signal }), `${serving.origin}/mcp`);
  const call = agent.call("wait").catch(() => "left");
  await started.promise;
  leaving.abort();
  assertEquals(await call, "left");
  assert(await gone.promise);
  await left.promise;
});

Deno.test("A server stops when calls in flight have ended", async () => {
  const started = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const app = new App();
  app.get("/wait", { tool: true }, async function wait() {
    started.resolve();
    await go.promise;
    return { done: true };
  });
  const serving = await Serving.start(app);
  const call = new Agent((request) => fetch(request), `${serving.origin}/mcp`).result("wait");
  await started.promise;
  serving.tellToStop();
  go.resolve();
  assertEquals(await call, { done: true });
  await serving.stopped;
});

Deno.test("An agent that asks and calls leaves nothing on stderr", async () => {
  await using program = await ChildProgram.start(`
    import { App } from ${JSON.stringify(CORE)};
    const app = new App();
    app.get("/x", { tool: true }, async function x() { return { x: 1 }; });
    const stop = new AbortController();
    app.get("/stop", async () => stop.abort());
    await app.run({ port: 0, signal: stop.signal, onListen: ({ port }) => console.log("port " + port) });
  `);
  const origin = `http://127.0.0.1:${await program.port()}`;
  const agent = new Agent((request) => fetch(request), `${origin}/mcp`);
  assertEquals(await agent.result("x"), { x: 1 });
  assertEquals((await agent.askModern("tools/call", { name: "x" })).status, 200);
  await (await fetch(`${origin}/stop`)).body?.cancel();
  const { code, stderr } = await program.end();
  assertEquals([code, stderr], [0, ""]);
});

/** A preflight, as a browser sends it before a POST. */
function preflightOf(origin: string, headers = "content-type,mcp-protocol-version"): Request {
  return new Request("http://localhost/mcp", {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": headers },
  });
}

/** The CORS headers of a reply. */
function corsOf({ headers }: Response): Record<string, string> {
  const names = ["vary", ...["origin", "methods", "headers"].map((name) => `access-control-allow-${name}`)];
  return Object.fromEntries(names.flatMap((name) => headers.has(name) ? [[name, headers.get(name)!]] : []));
}

Deno.test("A preflight of a listed origin is answered before any middleware", async () => {
  const [origin, other] = ["https://assistant.example", "https://attacker.example"];
  const app = new App({ mcp: { origins: [origin] } });
  let ran = 0;
  app.middleware(async (request, next) => {
    ran++;
    if (!request.headers.has("authorization")) return new Response("Sign in", { status: 401 });
    return await next(request);
  });
  const leave = await app.fetch(preflightOf(origin, "X-Tenant, content-type,, bad name"));
  assertEquals([leave.status, leave.body, ran], [204, null, 0]);
  assertEquals(corsOf(leave), {
    "vary": "Origin",
    "access-control-allow-origin": origin,
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "x-tenant, content-type",
  });
  assertEquals(leave.headers.get("access-control-max-age"), "7200");
  const post = (from: string | undefined, headers: Record<string, string>): Promise<Response> =>
    app.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", ...(from && { origin: from }), ...headers },
        body: JSON.stringify(PING),
      }),
    );
  const allowed = { "vary": "Origin", "access-control-allow-origin": origin };
  const signedIn = { authorization: "Bearer ada" };
  const table: [from: string | undefined, headers: Record<string, string>, status: number, cors: object][] = [
    [origin, signedIn, 200, allowed],
    [origin, {}, 401, allowed],
    [origin, { ...signedIn, "content-type": "text/plain" }, 415, allowed],
    [other, signedIn, 403, { vary: "Origin" }],
    [undefined, signedIn, 200, { vary: "Origin" }],
  ];
  for (const [from, headers, status, cors] of table) {
    const response = await post(from, headers);
    await response.body?.cancel();
    assertEquals([response.status, corsOf(response)], [status, cors]);
  }
  const refused = await app.fetch(preflightOf(other));
  assertEquals([refused.ok, corsOf(refused)], [false, { vary: "Origin" }]);
  await refused.body?.cancel();
  const elsewhere = await app.fetch(new Request("http://localhost/openapi.json", { headers: { origin, ...signedIn } }));
  assertEquals([elsewhere.status, corsOf(elsewhere)], [200, { vary: "accept-encoding" }]);
  await elsewhere.body?.cancel();
});

Deno.test('With "*" every page may post, and without a list none may', async () => {
  const open = await new App({ mcp: { origins: ["*"] } }).fetch(preflightOf("https://anyone.example"));
  assertEquals([open.status, open.headers.get("access-control-allow-origin"), open.headers.get("vary")], [
    204,
    "*",
    null,
  ]);
  for (const mcp of [{}, { origins: [] }, { hosts: ["localhost"] }]) {
    const closed = await new App({ mcp }).fetch(preflightOf("http://localhost:6274"));
    assertEquals([closed.status, corsOf(closed)], [405, {}]);
    await closed.body?.cancel();
  }
});
