// Guards, section 3: `trustProxy`. Titles quote its rules. The proxy of these tests passes bytes
// on, and adds the headers that a proxy adds.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import { memorySessions, session } from "@webfw/core/auth";
import type { TrustProxy } from "@webfw/core/types";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { exchange } from "../support/raw_connection.ts";
import { RawSocket } from "../support/raw_socket.ts";
import { Serving } from "../support/serving.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

/**
 * A proxy before a port or a Unix socket. It inserts lines after the start line of each request.
 */
class PlainProxy implements Disposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();

  constructor(target: Deno.ConnectOptions | Deno.UnixConnectOptions, readonly lines: readonly string[]) {
    this.#accept(target);
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  async #accept(target: Deno.ConnectOptions | Deno.UnixConnectOptions): Promise<void> {
    for await (const client of this.#listener) {
      const server: Deno.Conn = "path" in target ? await Deno.connect(target) : await Deno.connect(target);
      for (const end of [client, server]) this.#open.add(end);
      this.#pass(client, server, true);
      this.#pass(server, client, false);
    }
  }

  async #pass(from: Deno.Conn, to: Deno.Conn, isRequest: boolean): Promise<void> {
    const chunk = new Uint8Array(64 * 1024);
    try {
      for (let size = await from.read(chunk); size !== null; size = await from.read(chunk)) {
        const text = new TextDecoder("latin1").decode(chunk.subarray(0, size));
        const added = isRequest
          ? text.replace("\r\n", `\r\n${this.lines.map((line) => `${line}\r\n`).join("")}`)
          : text;
        await to.write(Uint8Array.from(added, (character) => character.charCodeAt(0)));
      }
    } catch {
      // One of the two has closed.
    }
    for (const end of [from, to]) if (this.#open.delete(end)) end.close();
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    for (const end of this.#open) end.close();
    this.#open.clear();
  }
}

function service(options: AppOptions): App {
  const app = new App(options);
  app.get("/who", async (request) => [request.remoteAddress, request.url.href]);
  app.post("/who", async (request) => [request.remoteAddress, request.url.href]);
  app.websocket("/chat", async () => {});
  return app;
}

/** What a route sees of a request that comes from an address, with headers. */
async function seen(
  trustProxy: TrustProxy | undefined,
  headers: Record<string, string>,
  { from = "10.0.0.1", hosts, host = "inside" }: { from?: string; hosts?: string[]; host?: string } = {},
): Promise<unknown> {
  const app = service({ ...(trustProxy !== undefined && { trustProxy }), ...(hosts && { hosts }) });
  const info = { remoteAddr: { transport: "tcp", hostname: from, port: 1 } as const };
  const response = await app.fetch(new Request(`http://${host}/who?a=1`, { headers }), info);
  return response.ok ? await response.json() : response.status;
}

const FORWARDED = {
  "x-forwarded-for": "203.0.113.7",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "shop.example",
};

Deno.test("Without it all of these are ignored", async () => {
  const headers = { ...FORWARDED, forwarded: "for=203.0.113.7;proto=https" };
  assertEquals(await seen(undefined, headers), ["10.0.0.1", "http://inside/who?a=1"]);
});

Deno.test("remoteAddress is counted from the right of X-Forwarded-For, past the trusted ones", async () => {
  const forged = { "x-forwarded-for": "1.1.1.1, 203.0.113.7, 10.0.0.2" };
  assertEquals((await seen(1, forged) as string[])[0], "10.0.0.2");
  assertEquals((await seen(2, forged) as string[])[0], "203.0.113.7");
  assertEquals((await seen(["10.0.0.0/8"], forged) as string[])[0], "203.0.113.7");
  assertEquals((await seen(["10.0.0.0/8"], forged, { from: "192.0.2.1" }) as string[])[0], "192.0.2.1");
  assertEquals((await seen(["10.0.0.0/8"], forged, { from: "::ffff:10.0.0.9" }) as string[])[0], "203.0.113.7");
});

Deno.test("The scheme is the last value of X-Forwarded-Proto, and `request.url` follows", async () => {
  assertEquals(await seen(1, { "x-forwarded-proto": "http, https" }), ["10.0.0.1", "https://inside/who?a=1"]);
  assertEquals(await seen(1, { "x-forwarded-proto": "https, nonsense" }), ["10.0.0.1", "http://inside/who?a=1"]);
});

Deno.test("X-Forwarded-Host is taken only where `hosts` is set, and checked against it", async () => {
  assertEquals(await seen(1, FORWARDED), ["203.0.113.7", "https://inside/who?a=1"]);
  const hosts = ["shop.example"];
  assertEquals(await seen(1, FORWARDED, { hosts }), ["203.0.113.7", "https://shop.example/who?a=1"]);
  assertEquals(await seen(1, { ...FORWARDED, "x-forwarded-host": "attacker.example" }, { hosts }), 421);
  assertEquals(await seen(1, { ...FORWARDED, "x-forwarded-host": "a b" }, { hosts }), 421);
  assertEquals(await seen(["192.0.2.1"], FORWARDED, { hosts }), 421);
  assertEquals(await seen(1, { "x-forwarded-for": "1.1.1.1" }, { hosts, host: "shop.example" }), [
    "1.1.1.1",
    "http://shop.example/who?a=1",
  ]);
});

Deno.test("A mounted application sees the host of a trusted proxy in the URL and in the Host header", async () => {
  const inner = new App();
  inner.get("/a/b", async (request) => [request.url.host, request.headers.get("host")]);
  const app = new App({ trustProxy: 1, hosts: ["shop.example"] });
  app.mount("/inner", inner.fetch);
  await using serving = await Serving.start(app);
  const headers = { "x-forwarded-for": "203.0.113.7", "x-forwarded-host": "shop.example" };
  const response = await fetch(`${serving.origin}/inner/a/b`, { headers });
  assertEquals(await response.json(), ["shop.example", "shop.example"]);
});

Deno.test("`header` names the one family that the proxies write; the other is ignored", async () => {
  const forwarded = 'for=1.1.1.1, for="[2001:db8::7]:4711";proto=https;host=shop.example';
  const trust = { hops: 1, header: "forwarded" } as const;
  const hosts = ["shop.example"];
  assertEquals(await seen(trust, { ...FORWARDED, forwarded }, { hosts }), [
    "2001:db8::7",
    "https://shop.example/who?a=1",
  ]);
  assertEquals(await seen(trust, FORWARDED), ["10.0.0.1", "http://inside/who?a=1"]);
  assertEquals(await seen({ from: ["10.0.0.1"] }, { forwarded }), ["10.0.0.1", "http://inside/who?a=1"]);
});

Deno.test("What cannot be read is ignored from there leftwards", async () => {
  assertEquals(await seen(2, { "x-forwarded-for": "1.1.1.1, unknown" }), ["10.0.0.1", "http://inside/who?a=1"]);
  assertEquals(await seen({ hops: 2, header: "forwarded" }, { forwarded: "for=1.1.1.1, for=_hidden;proto=https" }), [
    "10.0.0.1",
    "https://inside/who?a=1",
  ]);
});

Deno.test("The comparison of a page with the host of the request has trustProxy applied", async () => {
  const app = service({ trustProxy: 1, hosts: ["shop.example"] });
  const status = async (origin: string) => {
    const headers = { ...FORWARDED, origin };
    const { status, body } = await app.fetch(new Request("http://inside:8000/who", { method: "POST", headers }));
    await body?.cancel();
    return status;
  };
  assertEquals(await status("https://shop.example"), 200);
  assertEquals(await status("http://inside:8000"), 403);
});

Deno.test("A proxy as nginx and others set it up: address, scheme, host, WebSocket", async () => {
  const app = service({ trustProxy: ["127.0.0.1"], hosts: ["shop.example"] });
  await using serving = await Serving.start(app);
  const target = { hostname: "127.0.0.1", port: serving.port };
  using proxy = new PlainProxy(target, [
    "X-Forwarded-For: 198.51.100.1, 203.0.113.7",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Host: shop.example",
  ]);
  const { body } = await exchange(proxy.port, "GET /who HTTP/1.1\r\nHost: inside\r\n\r\n");
  assertEquals(JSON.parse(body), ["203.0.113.7", "https://shop.example/who"]);
  using chat = await RawSocket.open(proxy.port, "/chat", { host: "inside", origin: "https://shop.example" });
  assert(chat.head.startsWith("HTTP/1.1 101"));
  using refused = await RawSocket.open(proxy.port, "/chat", { host: "inside", origin: "https://attacker.example" });
  assert(refused.head.startsWith("HTTP/1.1 403"));
});

Deno.test("A proxy that writes Forwarded after what its client has sent", async () => {
  const app = service({ trustProxy: { hops: 1, header: "forwarded" } });
  await using serving = await Serving.start(app);
  using proxy = new PlainProxy({ hostname: "127.0.0.1", port: serving.port }, [
    'Forwarded: for="open, for=1.1.1.1;proto=gopher',
    'Forwarded: for="[2001:db8::7]:80";proto=https',
  ]);
  const { body } = await exchange(proxy.port, "GET /who HTTP/1.1\r\nHost: inside\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n");
  assertEquals(JSON.parse(body), ["2001:db8::7", "https://inside/who"]);
});

Deno.test({
  name: "A proxy at a Unix socket is the one trusted proxy of `trustProxy: 1`",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using folder = await TemporaryFolder.make();
    const path = `${folder.path}/app.sock`;
    const app = service({ trustProxy: 1 });
    await using _serving = await Serving.start(app, { path });
    const target: Deno.UnixConnectOptions = { transport: "unix", path };
    using proxy = new PlainProxy(target, ["X-Forwarded-For: 203.0.113.7"]);
    using silent = new PlainProxy(target, []);
    const ask = async ({ port }: PlainProxy) =>
      JSON.parse((await exchange(port, "GET /who HTTP/1.1\r\nHost: shop.example\r\n\r\n")).body);
    assertEquals(await ask(proxy), ["203.0.113.7", "http://shop.example/who"]);
    assertEquals(await ask(silent), [null, "http://shop.example/who"]);
  },
});

Deno.test("A tool sees the client of its caller", async () => {
  const app = new App({ trustProxy: 1 });
  app.get("/who", { tool: true }, async function who(request) {
    return { address: request.remoteAddress, url: request.url.href };
  });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who", arguments: {} } };
  const headers = { "content-type": "application/json", ...FORWARDED };
  const request = new Request("http://inside/mcp", { method: "POST", headers, body: JSON.stringify(call) });
  const { result } = await (await app.fetch(request)).json();
  assertEquals(result.structuredContent, { address: "203.0.113.7", url: "https://inside/who" });
});

Deno.test("The first request that carries X-Forwarded-For is told once in the log, where an address matters", async () => {
  const told = async (trustProxy: TrustProxy | undefined): Promise<string[]> => {
    using log = new CapturedLog();
    const app = new App(trustProxy === undefined ? {} : { trustProxy });
    app.get("/", { rateLimit: { limit: 10, per: "1m" } }, async () => {});
    for (const headers of [{}, FORWARDED, FORWARDED] as Record<string, string>[]) {
      await app.fetch(new Request("http://inside/", { headers }));
    }
    return log.lines;
  };
  const lines = await told(undefined);
  assertEquals(lines.length, 1);
  assert(lines[0]!.endsWith(
    "WARN Requests have X-Forwarded-For, and trustProxy of the App is not set: the proxy counts as the client",
  ));
  assertEquals(await told(1), []);
});

Deno.test("A mistake is refused where it is declared", () => {
  assertThrows(() => new App({ trustProxy: 33 }), RangeError, "Cannot set trustProxy");
  assertThrows(() => new App({ trustProxy: ["10.0.0.0/33"] }), TypeError, "Cannot set trustProxy");
});

Deno.test("Of a peer that is none of the trusted proxies all of these are ignored: address, scheme and host", async () => {
  const hosts = ["shop.example", "other.example"];
  const from = { from: "203.0.113.9", host: "other.example", hosts };
  assertEquals(await seen(["10.0.0.0/8"], FORWARDED, from), ["203.0.113.9", "http://other.example/who?a=1"]);
  assertEquals(await seen(["10.0.0.0/8"], FORWARDED, { ...from, from: "10.0.0.1" }), [
    "203.0.113.7",
    "https://shop.example/who?a=1",
  ]);
  const forwarded = { forwarded: "for=203.0.113.7;proto=https;host=shop.example" };
  const trust = { from: ["10.0.0.0/8"], header: "forwarded" } as const;
  assertEquals(await seen(trust, forwarded, from), ["203.0.113.9", "http://other.example/who?a=1"]);
});

Deno.test("A Secure cookie behind a trusted proxy that ends TLS is not told in the log", async () => {
  const told = async (trustProxy: TrustProxy | undefined): Promise<number> => {
    using log = new CapturedLog();
    const visit = session(v.string(), { store: memorySessions() });
    const app = new App({ hosts: ["shop.example"], ...(trustProxy !== undefined && { trustProxy }) });
    app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set("Ada"));
    const request = new Request("http://shop.example/login", { method: "POST", headers: FORWARDED });
    const info = { remoteAddr: { transport: "tcp", hostname: "10.0.0.1", port: 1 } as const };
    assertEquals((await app.fetch(request, info)).status, 204);
    return log.lines.filter((line) => line.includes("session cookie")).length;
  };
  assertEquals([await told(undefined), await told(1), await told(["192.0.2.1"])], [1, 0, 1]);
});
