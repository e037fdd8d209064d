// "`webfw run --reload` serves it at `/_board` beside the application, for loopback peers, loopback
// hosts and requests that were not forwarded alone […] In production: `new App({ board: { url:
// "/board", deps: { admin }, readOnly: true } })`; `deps` are required (a `TypeError` without),
// `readOnly` is the default there. Not in the document, not counted by limits, not in the access
// log. […] Unsafe actions […] are POSTs behind the cross-origin check, and are logged with who did
// them." (board.md, sections 1 and 3)

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, type LogEntry, RouteError } from "../../../mod.ts";
import * as v from "valibot";
import { basic, memorySessions, session } from "../../../src/auth/mod.ts";
import { Serving } from "../support/serving.ts";
import { connectionFrom, showBoard } from "./board.ts";

interface Sender {
  readonly peer?: string;
  readonly host?: string;
  readonly headers?: HeadersInit;
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
}

async function statusOf(
  app: App,
  { peer, host = "localhost:8000", headers = {}, method = "GET", path = "/_board/api/info", body }: Sender,
): Promise<number> {
  const request = new Request(`http://${host}${path}`, { method, headers: { host, ...headers }, body: body ?? null });
  const response = await app.fetch(request, peer === undefined ? undefined : connectionFrom(peer));
  await response.body?.cancel();
  return response.status;
}

const admin = basic(async (name, password) => password === "secret" && name, { realm: "Board" });
const AUTHORIZED = { authorization: `Basic ${btoa("Ada:secret")}` };

Deno.test("The board of this machine is there for loopback peers and hosts alone, and not behind a proxy", async () => {
  const app = new App();
  showBoard(app);
  for (const peer of ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"]) {
    assertEquals(await statusOf(app, { peer }), 200, peer);
  }
  for (const host of ["localhost:8000", "127.0.0.1:1", "[::1]:8000", "app.localhost"]) {
    assertEquals(await statusOf(app, { peer: "127.0.0.1", host }), 200, host);
  }
  const refused: Sender[] = [
    {},
    { peer: "192.168.1.7" },
    { peer: "::ffff:10.0.0.1" },
    { peer: "127.0.0.1", host: "attacker.example" },
    { peer: "127.0.0.1", host: "localhost.attacker.example" },
    { peer: "127.0.0.1", host: "127.0.0.1.attacker.example" },
    { peer: "127.0.0.1", headers: { "x-forwarded-for": "127.0.0.1" } },
    { peer: "127.0.0.1", headers: { forwarded: "for=127.0.0.1" } },
    { peer: "127.0.0.1", headers: { "x-real-ip": "127.0.0.1" } },
    ...["via", "x-forwarded-port", "x-forwarded-server", "cf-connecting-ip", "true-client-ip", "x-client-ip"]
      .map((name) => ({ peer: "127.0.0.1", headers: { [name]: "1" } })),
  ];
  for (const sender of refused) {
    for (const path of ["/_board/", "/_board/board.js", "/_board/api/info", "/_board/api/requests/events"]) {
      assertEquals(await statusOf(app, { ...sender, path }), 404, JSON.stringify({ ...sender, path }));
    }
  }
  await app.stop();
});

Deno.test("A trusted proxy cannot make a client one of this machine", async () => {
  const app = new App({ trustProxy: 1, hosts: ["shop.example"] });
  showBoard(app);
  const headers = { "x-forwarded-for": "127.0.0.1", "x-forwarded-host": "localhost" };
  assertEquals(await statusOf(app, { peer: "127.0.0.1", headers }), 421);
  const known = { ...headers, "x-forwarded-host": "shop.example" };
  assertEquals(await statusOf(app, { peer: "127.0.0.1", headers: known }), 404);
  assertEquals(await statusOf(app, { peer: "10.0.0.1", headers: known, host: "shop.example" }), 404);
  assertEquals(await statusOf(app, { peer: "127.0.0.1" }), 200);
  await app.stop();
});

Deno.test("Pages of other origins cannot act, whatever origins the application accepts", async () => {
  const app = new App({ origins: "*", crossOrigin: true });
  app.cron("sweep", "0 3 * * *", async () => {});
  showBoard(app);
  const act = (headers: HeadersInit) =>
    statusOf(app, {
      ...{ peer: "127.0.0.1", method: "POST", path: "/_board/api/crons/run", body: '{"name":"sweep"}' },
      headers: { "content-type": "application/json", ...headers },
    });
  assertEquals(await act({ origin: "https://attacker.example" }), 403);
  assertEquals(await act({ origin: "http://localhost:9000" }), 403);
  assertEquals(await act({ origin: "null" }), 403);
  assertEquals(await act({ "sec-fetch-site": "cross-site" }), 403);
  assertEquals(await act({ "sec-fetch-site": "same-site", origin: "http://localhost:9000" }), 403);
  assertEquals(await act({ origin: "http://localhost:8000" }), 200);
  assertEquals(await act({ "sec-fetch-site": "same-origin" }), 200);
  const read = async (headers: HeadersInit) => {
    const request = new Request("http://localhost/_board/api/work/events", { headers });
    const response = await app.fetch(request, connectionFrom("127.0.0.1"));
    await response.body?.cancel();
    assertEquals(response.headers.get("access-control-allow-origin"), null);
    return [response.status, response.headers.get("cross-origin-resource-policy")];
  };
  assertEquals((await read({ origin: "https://attacker.example" }))[0], 403);
  assertEquals((await read({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }))[0], 403);
  assertEquals(await read({ "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" }), [200, "same-origin"]);
  assertEquals(await read({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }), [200, "same-origin"]);
  await app.stop();
});

Deno.test("Nor can pages that the application around a mounted one accepts read the board of that one", async () => {
  const inner = new App({ board: { deps: { admin } } });
  const app = new App({ origins: ["https://shop.example"] });
  app.mount("/inner", inner);
  const read = (headers: HeadersInit) =>
    statusOf(app, { path: "/inner/board/api/info", headers: { ...AUTHORIZED, ...headers } });
  assertEquals([await read({}), await read({ origin: "https://shop.example" })], [200, 403]);
  await app.stop();
});

Deno.test("In production the guards protect each file and endpoint of the board", async () => {
  const app = new App({ board: { deps: { admin } } });
  for (
    const path of ["/board", "/board/", "/board/board.js", "/board/board.css", "/board/api/info", "/board/nothing"]
  ) {
    assertEquals(await statusOf(app, { path }), 401, path);
  }
  const ok = async (path: string) => await statusOf(app, { path, headers: AUTHORIZED });
  assertEquals([await ok("/board/"), await ok("/board/board.js"), await ok("/board/nothing")], [200, 200, 404]);
  assertEquals(await statusOf(app, { path: "/_board/", peer: "127.0.0.1" }), 404);
  await app.stop();
});

Deno.test("Caches that users share store nothing of a board", async () => {
  const app = new App({ board: { deps: { admin }, readOnly: false } });
  showBoard(app);
  for (const url of ["http://localhost/board", "http://localhost/_board"]) {
    for (const path of ["", "/", "/board.js", "/api/info", "/api/requests/7", "/api/work/events", "/nothing"]) {
      const request = new Request(url + path, { headers: AUTHORIZED });
      const response = await app.fetch(request, connectionFrom("127.0.0.1"));
      await response.body?.cancel();
      assertMatch(response.headers.get("cache-control") ?? "", /private|no-store/, path);
    }
  }
  await app.stop();
});

Deno.test("The address without a slash leads to the page, also below a prefix", async () => {
  const app = new App({ board: { url: "/internal/board", deps: { admin } } });
  const response = await app.fetch(new Request("http://localhost/internal/board", { headers: AUTHORIZED }));
  assertEquals(response.status, 308);
  const target = new URL(response.headers.get("location")!, "https://shop.example/v1/internal/board");
  assertEquals(target.pathname, "/v1/internal/board/");
  await app.stop();
});

Deno.test("Guards get what the lifespans yield, and a refusal of their own is the reply", async () => {
  const staff = dependency(async (request) => {
    const { names } = request.state as { names: string[] };
    if (!names.includes(request.headers.get("x-user") ?? "")) throw new HTTPError(403, "Not of the staff");
    return { name: request.headers.get("x-user") };
  });
  const app = new App({ board: { deps: { staff } } });
  app.lifespan(async function* () {
    yield { names: ["Ada"] };
  });
  assertEquals(await statusOf(app, { path: "/board/" }), 403);
  assertEquals(await statusOf(app, { path: "/board/", headers: { "x-user": "Ada" } }), 200);
  await app.stop();
});

Deno.test("The streams of the board end with the sign-in of its user", async () => {
  const User = v.object({ name: v.string() });
  const staff = session(User, { store: memorySessions(), subject: ({ name }) => name, cookie: { secure: false } });
  const app = new App({ board: { deps: { user: staff.required() } }, log: () => {} });
  app.post("/login", { deps: { staff } }, async (_request, { staff }) => await staff.set({ name: "Ada" }));
  app.post("/logout", { deps: { staff } }, async (_request, { staff }) => await staff.clear());
  await using served = await Serving.start(app);
  const signedIn = await fetch(`${served.origin}/login`, { method: "POST" });
  await signedIn.body?.cancel();
  const headers = { cookie: signedIn.headers.getSetCookie()[0]!.split(";")[0]! };
  const streams = await Promise.all(
    ["requests", "routes", "work"].map((name) => fetch(`${served.origin}/board/api/${name}/events`, { headers })),
  );
  assertEquals(streams.map(({ status }) => status), [200, 200, 200]);
  const ends = Promise.all(streams.map((stream) => stream.text()));
  await (await fetch(`${served.origin}/logout`, { method: "POST", headers })).body?.cancel();
  assertEquals((await ends).map((text) => text.includes("data:")), [true, true, true]);
});

Deno.test("The board is read-only in production unless the option says otherwise", async () => {
  const run = (app: App) =>
    statusOf(app, {
      ...{ method: "POST", path: "/board/api/crons/run", body: '{"name":"sweep"}' },
      headers: { ...AUTHORIZED, "content-type": "application/json" },
    });
  const entries: LogEntry[] = [];
  let runs = 0;
  for (const readOnly of [undefined, true, false]) {
    const board = { deps: { admin }, ...(readOnly !== undefined && { readOnly }) };
    const app = new App({ board, log: (entry) => entries.push(entry) });
    app.cron("sweep", "0 3 * * *", async () => void runs++);
    assertEquals(await run(app), readOnly === false ? 200 : 403);
    await app.stop();
  }
  assertEquals(runs, 1);
  const { message, fields } = entries.find(({ message }) => message.startsWith("The board"))!;
  assertEquals([message, fields], ["The board runs a cron now", { cron: "sweep", by: "admin Ada" }]);
});

Deno.test("A secret that a guard returns is not in the log of actions", async () => {
  const entries: LogEntry[] = [];
  const token = dependency({ headers: {} }, async (request) => request.headers.get("x-token")!);
  const app = new App({ board: { deps: { token }, readOnly: false }, log: (entry) => entries.push(entry) });
  app.cron("sweep", "0 3 * * *", async () => {});
  const headers = { "x-token": "s3cr3t", "content-type": "application/json" };
  await statusOf(app, { method: "POST", path: "/board/api/crons/run", body: '{"name":"sweep"}', headers });
  await app.stop();
  assertEquals(entries.map(({ fields }) => fields.by), ["token"]);
});

Deno.test("The board is not in the document, not counted by limits, and no middleware runs for it", async () => {
  let passed = 0;
  const app = new App({ board: { deps: { admin } }, rateLimit: { limit: 1, per: "1h", by: () => "all" } });
  app.middleware(async (request, next) => {
    passed++;
    return await next(request);
  });
  app.get("/hello", async () => "Hello");
  for (let index = 0; index < 3; index++) {
    assertEquals(await statusOf(app, { path: "/board/api/info", headers: AUTHORIZED }), 200);
  }
  assertEquals(passed, 0);
  assertEquals([await statusOf(app, { path: "/hello" }), await statusOf(app, { path: "/hello" })], [200, 429]);
  assertEquals(Object.keys(app.openapi().paths), ["/hello"]);
  await app.stop();
});

Deno.test("The board is not in the access log, refused or not", async () => {
  const entries: LogEntry[] = [];
  const app = new App({ board: { deps: { admin } }, log: (entry) => entries.push(entry) });
  app.get("/hello", async () => "Hello");
  const stop = new AbortController();
  const { promise: listening, resolve } = Promise.withResolvers<number>();
  const running = app.run({ port: 0, accessLog: true, signal: stop.signal, onListen: ({ port }) => resolve(port) });
  const origin = `http://127.0.0.1:${await listening}`;
  const ask = async (path: string, headers: HeadersInit = {}) => await (await fetch(origin + path, { headers })).text();
  await ask("/board/", AUTHORIZED);
  await ask("/board/");
  await ask("/hello");
  stop.abort();
  await running;
  assertEquals(entries.map(({ message }) => message).filter((message) => message.startsWith("GET")), [
    "GET /hello 200",
  ]);
});

Deno.test("Mistakes in the option are errors where the application is made, with the cure", () => {
  const make = (board: unknown) => () => new App({ board } as never);
  assertMatch(assertThrows(make({}), TypeError).message, /"board\.deps" must have a guard.*write board: \{ deps: /);
  assertMatch(assertThrows(make({ deps: {} }), TypeError).message, /"board\.deps" must have a guard/);
  assertMatch(
    assertThrows(make({ deps: { admin }, readonly: true }), TypeError).message,
    /nearest is "board\.readOnly"/,
  );
  assertMatch(assertThrows(make({ deps: { admin }, readOnly: "no" }), TypeError).message, /true or false, got "no"/);
  for (const url of ["board", "/board/", "/", "", "/{name}", 7]) {
    assertStringIncludes(assertThrows(make({ deps: { admin }, url }), Error).message, "board.url");
  }
  assertMatch(assertThrows(make(true), TypeError).message, /"board" must be an object/);
});

Deno.test("A route at the path of the board is a conflict", () => {
  const app = new App({ board: { deps: { admin } } });
  const conflict = assertThrows(() => app.get("/board/{name...}", async () => "mine"), RouteError);
  assertMatch(conflict.message, /the App serves its board there.*board\.url/);
  const other = new App();
  other.get("/_board/", async () => "mine");
  assertThrows(() => showBoard(other), RouteError);
});
