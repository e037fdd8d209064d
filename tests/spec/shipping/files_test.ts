// shipping.md, section 2: "app.files("/", "dist", { spa: "index.html", immutable: "assets/" }): a
// folder by file(), with index pages, ETag, ranges, precompressed neighbours".

import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { App, HTTPError, RouteError, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { CapturedLog } from "../support/captured_log.ts";
import { exchange, headerOf, RawConnection } from "../support/raw_connection.ts";
import { Serving } from "../support/serving.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const IMMUTABLE = "public, max-age=31536000, immutable";
const YEAR_2000 = new Date("2000-01-01T00:00:00Z");
const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

/** A folder as a build leaves it. */
async function build(files: Readonly<Record<string, string>> = {}): Promise<TemporaryFolder> {
  const folder = await TemporaryFolder.make();
  const all = {
    "index.html": "<h1>Start</h1>",
    "robots.txt": "User-agent: *",
    "assets/app-1.js": "0123456789",
    "docs/index.html": "<h1>Docs</h1>",
    "empty/a.txt": "a",
    ...files,
  };
  for (const [name, content] of Object.entries(all)) {
    await Deno.mkdir(folder.within(`${name}/..`), { recursive: true });
    const path = await folder.write(name, content);
    await Deno.utime(path, YEAR_2000, YEAR_2000);
  }
  return folder;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

async function ask(app: App, path: string, headers: HeadersInit = {}, method = "GET"): Promise<Reply> {
  const response = await app.fetch(new Request(`http://localhost${path}`, { method, headers }));
  return { status: response.status, headers: response.headers, body: await response.text() };
}

Deno.test("a folder by file(), with index pages, ETag, ranges", async () => {
  await using folder = await build();
  const app = new App();
  app.files("/", folder.path);
  for (const path of ["/", "/index.html"]) {
    const { status, headers, body } = await ask(app, path);
    assertEquals([status, body], [200, "<h1>Start</h1>"]);
    assertEquals(headers.get("content-type"), "text/html; charset=utf-8");
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    assertEquals(headers.get("content-length"), "14");
    assertEquals([headers.get("cache-control"), headers.get("vary")], ["no-cache", null]);
    const etag = headers.get("etag")!;
    assertMatch(etag, /^"[^"]+"$/);
    const known = await ask(app, path, { "if-none-match": etag });
    assertEquals([known.status, known.body, known.headers.get("etag")], [304, "", etag]);
    assertEquals([known.headers.get("cache-control"), known.headers.get("content-type")], ["no-cache", null]);
    const head = await ask(app, path, {}, "HEAD");
    assertEquals([head.status, head.headers.get("content-length"), head.body], [200, "14", ""]);
    const part = await ask(app, path, { range: "bytes=4-8" });
    assertEquals([part.status, part.body, part.headers.get("content-range")], [206, "Start", "bytes 4-8/14"]);
    assertEquals((await ask(app, path, { range: "bytes=99-" })).status, 416);
    assertEquals((await ask(app, path, { "if-match": '"other"' })).status, 412);
  }
  assertEquals((await ask(app, "/docs/")).body, "<h1>Docs</h1>");
});

Deno.test("A folder without a slash is redirected to its page, also behind a proxy and with a query", async () => {
  await using folder = await build({ "a b/index.html": "x", "c:d/index.html": "x" });
  const app = new App();
  app.files("/site", folder.path);
  const table = [
    ["/site", "./site/"],
    ["/site?x=1", "./site/?x=1"],
    ["/site/docs?x=//evil.example", "./docs/?x=//evil.example"],
    ["/site/a%20b", "./a%20b/"],
    ["/site/c:d", "./c:d/"],
  ];
  for (const [path = "", location] of table) {
    const { status, headers } = await ask(app, path);
    assertEquals([status, headers.get("location"), headers.get("cache-control")], [301, location, "no-cache"], path);
  }
  assertEquals((await ask(app, "/site/")).body, "<h1>Start</h1>");
  for (const path of ["/site/empty", "/site/empty/", "/site/robots.txt/", "/site//robots.txt", "/site//", "/sit"]) {
    assertEquals((await ask(app, path)).status, 404, path);
  }
});

Deno.test("immutable: folders below the root, or a function of the path", async () => {
  await using folder = await build();
  const cached = async (options: Parameters<App["files"]>[2], path: string) => {
    const app = new App();
    app.files("/", folder.path, options);
    const { headers } = await ask(app, path);
    return [headers.get("cache-control"), headers.has("etag")];
  };
  const table: [options: Parameters<App["files"]>[2], path: string, expected: string][] = [
    [{ immutable: "assets/" }, "/assets/app-1.js", IMMUTABLE],
    [{ immutable: "assets" }, "/assets/app-1.js", IMMUTABLE],
    [{ immutable: ["fonts/", "assets/"] }, "/assets/app-1.js", IMMUTABLE],
    [{ immutable: "asset/" }, "/assets/app-1.js", "no-cache"],
    [{ immutable: (path) => path === "assets/app-1.js" }, "/assets/app-1.js", IMMUTABLE],
    [{ immutable: (path) => path === "assets/app-1.js" }, "/robots.txt", "no-cache"],
    [{ spa: "index.html" }, "/assets/app-1.js", IMMUTABLE],
    [{ spa: "index.html" }, "/index.html", "no-cache"],
    [{ spa: "index.html", immutable: [] }, "/assets/app-1.js", "no-cache"],
    [{}, "/assets/app-1.js", "no-cache"],
  ];
  for (const [options, path, expected] of table) assertEquals(await cached(options, path), [expected, true], path);
});

Deno.test("precompressed neighbours are negotiated, with the type of the file and a tag of their own", async () => {
  // All of the same size and time: their tags differ all the same.
  await using folder = await build({ "assets/app-1.js.br": "BROTLI-BRO", "assets/app-1.js.gz": "GZIP-GZIP-" });
  const app = new App();
  app.files("/", folder.path, { immutable: "assets/" });
  const table: [accepted: string | undefined, encoding: string | null][] = [
    [undefined, null],
    ["", null],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["GZIP", "gzip"],
    ["br;q=0.5, gzip", "gzip"],
    ["br;q=0.5, gzip;q=0.5", "br"],
    ["br;q=0, gzip;q=0", null],
    ["*", "br"],
    ["*;q=0.1", "br"],
    ["br;q=0, *", "gzip"],
    ["identity, gzip;q=0.5", null],
    ["identity;q=0.2, gzip;q=0.5", "gzip"],
    ["identity;q=0", null],
    ["br;q=x", null],
    ["deflate", null],
    [`${"x, ".repeat(10_000)}br`, "br"],
    [`br;${" ".repeat(60_000)}q=1`, "br"],
  ];
  const tags = new Map<string | null, string>();
  const bodies: Readonly<Record<string, string>> = { br: "BROTLI-BRO", gzip: "GZIP-GZIP-" };
  for (const [accepted, encoding] of table) {
    const given: HeadersInit = accepted === undefined ? {} : { "accept-encoding": accepted };
    const { status, headers, body } = await ask(app, "/assets/app-1.js", given);
    const name = accepted?.slice(0, 30) ?? "no header";
    assertEquals([status, headers.get("content-encoding")], [200, encoding], name);
    assertEquals(body, bodies[encoding ?? ""] ?? "0123456789", name);
    assertEquals([headers.get("content-type"), headers.get("vary")], [
      "text/javascript; charset=utf-8",
      "accept-encoding",
    ]);
    assertEquals([headers.get("content-length"), headers.get("cache-control")], ["10", IMMUTABLE]);
    tags.set(encoding, headers.get("etag")!);
  }
  assertEquals(new Set(tags.values()).size, 3);
  for (const [encoding, tag] of tags) {
    const accepted = { "accept-encoding": encoding ?? "identity" };
    for (const [other, known] of tags) {
      const { status, headers } = await ask(app, "/assets/app-1.js", { ...accepted, "if-none-match": known });
      assertEquals(status, other === encoding ? 304 : 200, `${encoding} ${other}`);
      assertEquals([headers.get("vary"), headers.get("content-encoding")], [
        "accept-encoding",
        status === 304 ? null : encoding,
      ]);
    }
    const part = await ask(app, "/assets/app-1.js", { ...accepted, range: "bytes=0-3", "if-range": tag });
    assertEquals([part.status, part.headers.get("content-encoding")], [206, encoding]);
    assertEquals(part.body, (bodies[encoding ?? ""] ?? "0123456789").slice(0, 4));
  }
  // A neighbour is a file of its own, too.
  assertEquals((await ask(app, "/assets/app-1.js.gz")).headers.get("content-encoding"), null);
});

Deno.test("The index page and the page for unknown paths have compressed neighbours, too", async () => {
  await using folder = await build({ "index.html.gz": "GZIP", "lone.js.br": "x" });
  const app = new App();
  app.files("/", folder.path, { spa: "index.html" });
  for (const path of ["/", "/unknown"]) {
    const { headers, body } = await ask(app, path, { ...HTML, "accept-encoding": "gzip" });
    assertEquals([body, headers.get("content-encoding")], ["GZIP", "gzip"], path);
    assertEquals(headers.get("content-type"), "text/html; charset=utf-8");
  }
  assertEquals((await ask(app, "/lone.js", { "accept-encoding": "br" })).status, 404);
});

Deno.test("unknown paths that ask for HTML get the SPA's page", async () => {
  await using folder = await build();
  const app = new App();
  app.files("/", folder.path, { spa: "index.html" });
  for (const path of ["/books/7", "/unknown", "/docs/none", "/empty/", "/assets/none.js"]) {
    for (const method of ["GET", "HEAD"]) {
      const { status, headers, body } = await ask(app, path, HTML, method);
      assertEquals([status, body], [200, method === "GET" ? "<h1>Start</h1>" : ""], path);
      assertEquals([headers.get("cache-control"), headers.get("vary")], ["no-cache", "accept"]);
    }
    const { status, headers } = await ask(app, path, {
      ...HTML,
      "if-none-match": (await ask(app, "/")).headers.get("etag")!,
    });
    assertEquals([status, headers.get("vary")], [304, "accept"]);
  }
  for (
    const accept of ["*/*", "", "application/json", "text/html;q=0", "text/html;q=0.0", "text/htmlx", "text/plain"]
  ) {
    const { status, headers } = await ask(app, "/unknown", { accept });
    assertEquals([status, headers.get("content-type")], [404, "application/problem+json"], accept);
    assertEquals(headers.get("vary"), "accept");
  }
  for (const accept of ["text/html", "TEXT/HTML;level=1", "application/json, text/html;q=0.1"]) {
    assertEquals((await ask(app, "/unknown", { accept })).status, 200, accept);
  }
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    assertEquals((await ask(app, "/unknown", HTML, method)).status, 404, method);
  }
  // Tomorrow, an unknown path can be another one's.
  const fixed = new App();
  fixed.files("/", folder.path, { spa: "index.html", immutable: () => true });
  assertEquals((await ask(fixed, "/unknown", HTML)).headers.get("cache-control"), "no-cache");
  // Without a page, nothing depends on what the client accepts.
  const plain = new App();
  plain.files("/", folder.path);
  const { status, headers } = await ask(plain, "/unknown", HTML);
  assertEquals([status, headers.get("vary")], [404, null]);
});

Deno.test("A page of the SPA may have any path, also one that no file can have", async () => {
  await using folder = await build({ ".env": "secret", ".git/config": "secret" });
  const app = new App();
  app.files("/", folder.path, { spa: "index.html" });
  for (
    const path of [
      "/branches/feature%2Flogin",
      "/open/http%3A%2F%2Fx.example",
      "/files/a%5Cb",
      "/files/.gitignore",
      "/.env",
      "/.git/config",
      "/a%00b",
    ]
  ) {
    const { status, headers, body } = await ask(app, path, HTML);
    assertEquals([status, body, headers.get("vary")], [200, "<h1>Start</h1>", "accept"], path);
    assertEquals((await ask(app, path, { accept: "*/*" })).status, 404, path);
  }
  const plain = new App();
  plain.files("/", folder.path);
  assertEquals((await ask(plain, "/.env", HTML)).status, 404);
});

Deno.test("other routes' 404 and 405 stay", async () => {
  await using folder = await build({ "both": "of the folder", "new": "of the folder" });
  const app = new App();
  app.files("/", folder.path, { spa: "index.html" });
  app.get("/both", async () => "of the route");
  app.post("/new", async () => "created");
  app.post("/only-post", async () => "created");
  app.get("/books/{id}", async () => {
    throw new HTTPError(404, "No such book");
  });
  const api = new Router({ prefix: "/v1" });
  api.get("/shops", async () => []);
  const outer = new Router({ prefix: "/api" });
  outer.include(api);
  app.include(outer);
  const tenants = new Router({ prefix: "/tenants/{tenant}/x" });
  tenants.get("/", async () => []);
  app.include(tenants);
  app.mount("/other", () => new Response("nothing", { status: 404 }));
  app.websocket("/socket", async () => {});

  assertEquals((await ask(app, "/both", HTML)).body, '"of the route"');
  // No route gets it, so that the file does.
  assertEquals((await ask(app, "/new", HTML)).body, "of the folder");
  const refused = await ask(app, "/only-post", HTML);
  assertEquals([refused.status, refused.headers.get("allow")], [405, "POST"]);
  const missing = await ask(app, "/books/7", HTML);
  assertEquals([missing.status, JSON.parse(missing.body).detail], [404, "No such book"]);
  for (const path of ["/api", "/api/", "/api/none", "/api/v1/none", "/api/v1", "/tenants/1/none"]) {
    assertEquals((await ask(app, path, HTML)).status, 404, path);
  }
  assertEquals((await ask(app, "/apis", HTML)).status, 200);
  assertEquals((await ask(app, "/other/x", HTML)).body, "nothing");
  assertEquals((await ask(app, "/socket", HTML)).status, 426);
  assertEquals((await ask(app, "/docs/none", HTML)).status, 200);
  assertEquals((await ask(app, "/robots.txt", {}, "POST")).status, 404);
  assertEquals((await ask(app, "/openapi.json", {}, "POST")).status, 405);
});

Deno.test("hidden in the document", async () => {
  await using folder = await build();
  const app = new App();
  app.files("/", folder.path);
  app.get("/books", async function getBooks() {
    return [];
  });
  assertEquals(Object.keys(app.openapi().paths), ["/books"]);
  assertEquals(app.routes.map(({ method, path }) => `${method} ${path}`), ["GET /{path...}", "GET /books"]);
});

Deno.test(
  "dot files, and links that lead out or to dot files, are 404",
  { ignore: Deno.build.os === "windows" },
  async () => {
    await using outside = await TemporaryFolder.make();
    await outside.write("secret.txt", "secret");
    await using folder = await build({
      ".env": "secret",
      ".git/config": "secret",
      "a/.hidden/x.txt": "secret",
      "back\\slash.txt": "secret",
      "sub/x.txt": "inside",
    });
    await Deno.symlink(outside.within("secret.txt"), folder.within("out.txt"));
    await Deno.symlink(outside.path, folder.within("out"));
    await Deno.symlink(outside.within("secret.txt"), folder.within("robots.txt.gz"));
    await Deno.symlink(".env", folder.within("env.txt"));
    await Deno.symlink(".git", folder.within("git"));
    await Deno.symlink("a/.hidden/x.txt", folder.within("deep.txt"));
    await Deno.symlink("loop", folder.within("loop"));
    await Deno.symlink("none", folder.within("dangling"));
    await Deno.symlink("sub/x.txt", folder.within("inside.txt"));
    const app = new App();
    app.files("/", folder.path);
    app.files("/deep", folder.path);
    await using serving = await Serving.start(app);
    const get = (path: string, more = "") => exchange(serving.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
    assertEquals((await get("/inside.txt")).body, "inside");
    const plain = await get("/robots.txt", "Accept-Encoding: gzip\r\n");
    assertEquals([plain.body, headerOf(plain, "vary")], ["User-agent: *", undefined]);
    using log = new CapturedLog();
    const hostile = [
      "/.env",
      "/%2eenv",
      "/.git/config",
      "/a/.hidden/x.txt",
      "/a%2f.hidden%2fx.txt",
      "/out.txt",
      "/out/secret.txt",
      "/env.txt",
      "/git/config",
      "/deep.txt",
      "/loop",
      "/dangling",
      "/..%2fsecret.txt",
      "/%2e%2e%2fsecret.txt",
      "/../secret.txt",
      "/sub/..%2f.env",
      "/sub%2fx.txt",
      "/sub%5cx.txt",
      "/sub\\x.txt",
      "/back%5cslash.txt",
      "/..%5csecret.txt",
      "/%252e%252e/secret.txt",
      "/robots.txt%00",
      "/%00",
      "/%c0%ae%c0%ae/secret.txt",
      "//etc/passwd",
      "/%2fetc%2fpasswd",
      "/C:%5csecret.txt",
      "/robots.txt::$DATA",
      "/CON",
      "/NUL.txt",
      "/ROBOTS.TXT",
      "/robots.txt.",
      "/robots.txt%20",
      `/${"x".repeat(1_000)}`,
      `/${"x/".repeat(5_000)}`,
      "/%",
      "/%zz",
      "/*",
    ];
    for (const prefix of ["", "/deep"]) {
      for (const path of hostile) {
        const { status, body } = await get(prefix + path);
        assert(status === 404 || status === 400, `${prefix}${path.slice(0, 40)} ${status}`);
        assert(!body.includes("secret"), path);
      }
    }
    assertEquals(log.text, "");
    // To a single-page application they are unknown paths, which its page answers.
    const page = new App();
    page.files("/", folder.path, { spa: "index.html" });
    const paths = [
      "/.env",
      "/.none",
      "/a/.hidden/x.txt",
      "/out.txt",
      "/out/secret.txt",
      "/env.txt",
      "/git",
      "/dangling",
    ];
    for (const path of paths) {
      const { status, body } = await ask(page, path, HTML);
      assertEquals([status, body.includes("secret")], [200, false], path);
      assertEquals((await ask(page, path)).status, 404, path);
    }
  },
);

Deno.test("Files behind guards are kept by the client alone, and refused to others", async () => {
  await using folder = await build();
  const user = bearer(async (token) => token === "good" && { name: "Ada" });
  const router = new Router({ prefix: "/staff", deps: { user } });
  const order: string[] = [];
  router.middleware(async (request, next) => {
    order.push(request.path);
    return await next(request);
  });
  router.files("/", folder.path, { immutable: "assets/" });
  const app = new App();
  app.include(router);
  assertEquals((await ask(app, "/staff/robots.txt")).status, 401);
  const good = { authorization: "Bearer good" };
  assertEquals((await ask(app, "/staff/robots.txt", good)).headers.get("cache-control"), "private, no-cache");
  const { headers } = await ask(app, "/staff/assets/app-1.js", good);
  assertEquals(headers.get("cache-control"), "private, max-age=31536000, immutable");
  assertEquals(order.length, 3);
  assertEquals((await ask(app, "/none", good)).status, 404);
});

Deno.test("The folder with the longest path answers, and a route with all paths leaves no room", async () => {
  await using one = await build({ "x.txt": "one" });
  await using two = await build({ "x.txt": "two" });
  const app = new App();
  app.files("/", one.path);
  app.files("/two", two.path);
  assertEquals([(await ask(app, "/x.txt")).body, (await ask(app, "/two/x.txt")).body], ["one", "two"]);
  const declare = (more: (app: App) => void) => {
    const app = new App();
    app.files("/x", one.path);
    more(app);
  };
  assertThrows(() => declare((app) => app.files("/x", one.path)), RouteError, 'the files at "/x"');
  assertThrows(() => declare((app) => app.get("/x/{rest...}", async () => 1)), RouteError);
  assertThrows(() => declare((app) => app.mount("/x", () => new Response())), RouteError);
  declare((app) => app.get("/x", async () => 1));
  declare((app) => app.get("/x/{id}", async () => 1));
  declare((app) => app.post("/x/{rest...}", async () => 1));
});

Deno.test("a missing folder, or page, is an error at the start that names it", async () => {
  await using folder = await build();
  const none = folder.within("none");
  const table: [root: string | URL, options: { spa?: string }, message: string][] = [
    [none, {}, `Cannot serve the files at "/": "${none}" does not exist, build it first or correct its path`],
    [folder.within("robots.txt"), {}, "is no folder"],
    [folder.path, { spa: "app.html" }, `"${folder.path}" has no file "app.html", build it first`],
  ];
  for (const [root, options, message] of table) {
    const app = new App();
    app.files("/", root, options);
    const error = await assertRejects(() => app.run({ port: 0, onListen: () => {} }), Error, message);
    assertEquals(error.name, "CannotStartError");
  }
  const app = new App();
  app.files("/", none);
  await using client = new TestClient(app);
  await assertRejects(async () => await client.get("/"), Error, none);
});

Deno.test({
  name: "a folder that the program may not read is an error at the start that names the flag",
  permissions: { read: false },
  async fn() {
    const app = new App();
    app.files("/", "dist");
    await assertRejects(
      () => app.run({ port: 0, onListen: () => {} }),
      Error,
      'Cannot serve the files at "/": "dist" may not be read, allow it by --allow-read=dist',
    );
  },
});

Deno.test("Options that cannot be right are refused where they are made", () => {
  const files = (...given: unknown[]) => () => (new App().files as (...given: unknown[]) => void)(...given);
  assertThrows(files("/", "dist", { spaa: "index.html" }), TypeError, 'the nearest is "spa"');
  assertThrows(files("/", "dist", { spa: "/index.html" }), TypeError, '"spa" must be');
  assertThrows(files("/", "dist", { spa: "" }), TypeError, '"spa" must be');
  assertThrows(files("/", "dist", { immutable: 1 }), TypeError, '"immutable" must be');
  assertThrows(files("/", "dist", { immutable: ["/assets"] }), TypeError, '"immutable" must be');
  assertThrows(files("/", 1), TypeError, "must be a path or a URL");
  assertThrows(files("/", ""), TypeError, "must be a path or a URL");
  assertThrows(files("/x/", "dist"), RouteError, 'must not end with "/"');
  assertThrows(files("x", "dist"), RouteError);
});

Deno.test("A file that changes while it is sent breaks the reply off; a folder that vanishes is 404", async () => {
  await using folder = await build();
  const large = folder.within("large.bin");
  await Deno.writeFile(large, new Uint8Array(0));
  await Deno.truncate(large, 2 ** 28);
  const app = new App();
  app.files("/", folder.path);
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write("GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n");
  await connection.until("\r\n\r\n");
  using log = new CapturedLog();
  await Deno.truncate(large, 10);
  await connection.drain();
  assertStringIncludes(log.text, "was changed");
  await Deno.remove(folder.within("docs"), { recursive: true });
  assertEquals((await ask(app, "/docs/")).status, 404);
  await Deno.rename(folder.path, `${folder.path}-away`);
  assertEquals((await ask(app, "/")).status, 404);
  await Deno.rename(`${folder.path}-away`, folder.path);
});

Deno.test("A link that takes the place of a file meanwhile is not followed", {
  ignore: Deno.build.os === "windows",
}, async () => {
  await using outside = await TemporaryFolder.make();
  await using folder = await build();
  const secret = await outside.write("secret.txt", "secretsecret!");
  await Deno.utime(secret, YEAR_2000, YEAR_2000);
  const path = folder.within("robots.txt");
  const app = new App();
  app.files("/", folder.path);
  const swap = async () => {
    await Deno.remove(path);
    await Deno.symlink(secret, path);
  };
  const calls = ["open", "lstat"] as const;
  for (const name of calls) {
    await Deno.remove(path);
    await folder.write("robots.txt", "User-agent: *");
    await Deno.utime(path, YEAR_2000, YEAR_2000);
    const original = Deno[name];
    const swapping = async (given: string, ...rest: []) => {
      if (given === path) await swap();
      return await (original as (given: string, ...rest: []) => Promise<never>)(given, ...rest);
    };
    Object.assign(Deno, { [name]: swapping });
    try {
      const response = await app.fetch(new Request("http://localhost/robots.txt"));
      const body = await response.text().catch(() => "broken off");
      assert(!body.includes("secret"), `${name}: ${response.status} ${body}`);
    } finally {
      Object.assign(Deno, { [name]: original });
    }
  }
});

Deno.test("A folder of 10,000 files is not read at the start", async () => {
  await using folder = await build();
  for (let first = 0; first < 10_000; first += 500) {
    const batch = Array.from({ length: 500 }, (_, index) => folder.write(`assets/${first + index}.js`, "x"));
    await Promise.all(batch);
  }
  const { readDir, readDirSync } = Deno;
  let reads = 0;
  const counted = () => {
    reads++;
    throw new Error("A folder is read");
  };
  Object.assign(Deno, { readDir: counted, readDirSync: counted });
  try {
    const app = new App();
    app.files("/", folder.path);
    assertEquals((await ask(app, "/assets/9999.js")).body, "x");
  } finally {
    Object.assign(Deno, { readDir, readDirSync });
  }
  assertEquals(reads, 0);
});

Deno.test("Several applications and versions of an app serve one folder by URL, and an include moves it", async () => {
  await using folder = await build();
  const site = new Router({ prefix: "/site" });
  site.files("/", new URL(`file://${folder.path}/`), { spa: "index.html" });
  const app = new App();
  app.include(site, { prefix: "/v1" });
  app.include(site, { prefix: "/v2" });
  for (const version of ["/v1", "/v2"]) {
    assertEquals((await ask(app, `${version}/site/robots.txt`)).body, "User-agent: *");
    assertEquals((await ask(app, `${version}/site/any/page`, HTML)).status, 200);
    assertEquals((await ask(app, `${version}/other`, HTML)).status, 404);
  }
});
