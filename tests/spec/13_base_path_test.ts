// Section 13 of the contract: "`basePath` is `X-Forwarded-Prefix` of a trusted proxy, then
// `new App({ basePath })`, then what a mount took off. Whatever the framework makes that leads back
// uses it: `next` and `redirect` of sessions, `resource_metadata`, the folder's 301, the page, the
// document's `servers` where none is given."

import { App, type AppOptions, html } from "@webfw/core";
import { jwt, session } from "@webfw/core/auth";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import * as v from "valibot";

const visit = session(v.object({ id: v.number() }), { secret: () => "a secret of at least 32 characters" });
const member = jwt({
  audience: "a",
  issuer: "https://id.example",
  keys: new Uint8Array(32),
  algorithms: ["HS256"],
  oauth2: { authorizationUrl: "/authorize", tokenUrl: "/token", scopes: {} },
});

/** An application that says where it is. */
function placed(options: AppOptions = {}): App {
  const app = new App(options);
  app.get("/base", async (request) => [request.basePath, request.path, request.url.pathname]);
  app.get("/me", { deps: { visit: visit.required({ redirect: "/login" }) } }, async () => "me");
  app.get("/claims", { deps: { member } }, async () => "claims");
  return app;
}

async function ask(app: App, path: string, headers: HeadersInit = {}): Promise<Response> {
  return await app.fetch(new Request(`http://localhost${path}`, { headers }));
}

async function baseOf(app: App, path: string, prefix?: string): Promise<string> {
  const [basePath] = await (await ask(app, path, prefix === undefined ? {} : { "x-forwarded-prefix": prefix })).json();
  return basePath;
}

Deno.test("The base path is the header of a trusted proxy, then the option, then what a mount took off", async () => {
  assertEquals(await baseOf(placed(), "/base"), "");
  assertEquals(await baseOf(placed(), "/base", "/api"), "");
  assertEquals(await baseOf(placed({ basePath: "/option" }), "/base"), "/option");
  assertEquals(await baseOf(placed({ basePath: "/option" }), "/base", "/api"), "/option");
  assertEquals(await baseOf(placed({ trustProxy: 1 }), "/base", "/api/v1"), "/api/v1");
  assertEquals(await baseOf(placed({ trustProxy: 1 }), "/base", "/api/v1/"), "/api/v1");
  assertEquals(await baseOf(placed({ trustProxy: 1 }), "/base", "/a, /b"), "/b");
  assertEquals(await baseOf(placed({ trustProxy: 1, basePath: "/option" }), "/base", "/api"), "/api");
  assertEquals(await baseOf(placed({ trustProxy: 1, basePath: "/option" }), "/base", "/"), "");
  assertEquals(await baseOf(placed({ trustProxy: 1, basePath: "/option" }), "/base"), "/option");
  const forwarded = placed({ trustProxy: { hops: 1, header: "forwarded" } });
  assertEquals(await baseOf(forwarded, "/base", "/api"), "");
  const outer = new App({ trustProxy: 1, basePath: "/option" });
  outer.mount("/inner/{tenant}", placed());
  outer.mount("/kept", placed(), { strip: false });
  outer.mount("/fetch", placed().fetch);
  outer.mount("/own", placed({ basePath: "/elsewhere" }));
  assertEquals(await baseOf(outer, "/inner/acme/base"), "/option/inner/acme");
  assertEquals(await baseOf(outer, "/inner/%61cme/base", "/api"), "/api/inner/acme");
  assertEquals(await baseOf(outer, "/fetch/base"), "/option/fetch");
  assertEquals(await baseOf(outer, "/own/base"), "/elsewhere");
  assertEquals((await ask(outer, "/kept/base")).status, 404);
  assertEquals(await (await ask(outer, "/inner/acme/base")).json(), ["/option/inner/acme", "/base", "/base"]);
  const twice = new App();
  twice.mount("/outer", outer);
  assertEquals(await baseOf(twice, "/outer/fetch/base"), "/option/fetch");
  const plain = new App();
  plain.mount("/b", placed());
  const nested = new App();
  nested.mount("/a", plain);
  assertEquals(await baseOf(nested, "/a/b/base"), "/a/b");
});

Deno.test("What a client can make a proxy name is a path, or nothing", async () => {
  const app = placed({ trustProxy: 1 });
  for (
    const prefix of [
      "//evil.example",
      "/\\evil.example",
      "\\\\evil.example",
      "https://evil.example",
      "evil",
      "/a//b",
      "/a/../b",
      "/a/%2e%2E/b",
      "/.",
      "/a?b",
      "/a#b",
      "/a b",
      "/a\tb",
      "/a%",
      "/<script>",
      '/"',
      `/${"a".repeat(2_000)}`,
    ]
  ) {
    assertEquals(await baseOf(app, "/base", prefix), "", prefix);
    const reply = await ask(app, "/me", { "x-forwarded-prefix": prefix, accept: "text/html" });
    assertEquals(reply.headers.get("location"), "/login?next=%2Fme", prefix);
  }
});

Deno.test("Sign-in, its way back and the metadata of tokens are below the base path", async () => {
  const outer = new App();
  outer.mount("/shop", placed());
  const cases: readonly (readonly [App, string, string, HeadersInit])[] = [
    [placed({ basePath: "/shop" }), "", "/shop", {}],
    [placed({ trustProxy: 1 }), "", "/shop", { "x-forwarded-prefix": "/shop" }],
    [outer, "/shop", "/shop", {}],
  ];
  for (const [app, at, base, headers] of cases) {
    const page = await ask(app, `${at}/me?x=1`, { ...headers, accept: "text/html" });
    assertEquals([page.status, page.headers.get("location")], [303, `${base}/login?next=%2Fshop%2Fme%3Fx%3D1`]);
    const metadata = `http://localhost${base}/.well-known/oauth-protected-resource`;
    const refused = await ask(app, `${at}/claims`, headers);
    assertStringIncludes(refused.headers.get("www-authenticate")!, `resource_metadata="${metadata}"`);
    const known = await (await ask(app, `${at}/.well-known/oauth-protected-resource`, headers)).json();
    assertEquals([known.resource, known.resource_documentation], [
      `http://localhost${base}`,
      `http://localhost${base}/docs`,
    ]);
    const agents = await (await ask(app, `${at}/.well-known/oauth-protected-resource/mcp`, headers)).json();
    assertEquals(agents.resource, `http://localhost${base}/mcp`);
  }
});

Deno.test("The document names the base path as its server, and puts it before the URLs of sign-in", async () => {
  const below = async (app: App, path: string, headers: HeadersInit = {}) => {
    const { servers, components } = await (await ask(app, path, headers)).json();
    const { flows: { authorizationCode } } = components.securitySchemes.jwt;
    return [servers, authorizationCode.authorizationUrl, authorizationCode.tokenUrl];
  };
  const expected = [[{ url: "/shop" }], "/shop/authorize", "/shop/token"];
  const plain = [undefined, "/authorize", "/token"];
  const trusting = placed({ trustProxy: 1 });
  assertEquals(await below(trusting, "/openapi.json"), plain);
  assertEquals(await below(trusting, "/openapi.json", { "x-forwarded-prefix": "/shop" }), expected);
  assertEquals(await below(trusting, "/openapi.json"), plain);
  const option = placed({ basePath: "/shop" });
  assertEquals(await below(option, "/openapi.json"), expected);
  assertEquals(option.openapi().servers, [{ url: "/shop" }]);
  const outer = new App();
  outer.mount("/shop", placed());
  assertEquals(await below(outer, "/shop/openapi.json"), expected);
  const named = placed({ basePath: "/shop", servers: [{ url: "https://api.example/v1" }] });
  assertEquals(await below(named, "/openapi.json"), [
    [{ url: "https://api.example/v1" }],
    "/shop/authorize",
    "/shop/token",
  ]);
  assertEquals(placed().openapi().servers, undefined);
});

Deno.test("A mount without a slash is redirected where the mounted application has a page with relative links", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/index.html`, "<script src='./app.js'></script>");
    const site = new App({ docsUrl: "/docs" });
    site.files("/", folder);
    const documented = new App({ docsUrl: "/" });
    const service = new App();
    service.get("/", async () => html("<p>"));
    const app = new App();
    app.mount("/site", site);
    app.mount("/t/{tenant}", site);
    app.mount("/api", documented);
    app.mount("/service", service);
    app.mount("/other", (request) => new Response(new URL(request.url).pathname));
    app.mount("/", site.fetch);
    const seen = async (path: string) => {
      const response = await ask(app, path);
      await response.body?.cancel();
      return [response.status, response.headers.get("location")];
    };
    assertEquals(await seen("/site"), [301, "./site/"]);
    assertEquals(await seen("/site?a=1"), [301, "./site/?a=1"]);
    assertEquals(await seen("/t/a%20b"), [301, "./a%20b/"]);
    assertEquals(await seen("/api"), [301, "./api/"]);
    for (const path of ["/site/", "/api/", "/service", "/service/", "/other", "/other/", "/"]) {
      assertEquals(await seen(path), [200, null], path);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("The option is a path without a slash at its end", () => {
  for (const basePath of ["/", "api", "/api/", "//api", "/a/../b", "https://x.example", "/a b", "/ü", 1 as never]) {
    assertThrows(() => new App({ basePath }), TypeError, '"basePath" must be a path as URLs have it');
  }
  assertEquals(new App({ basePath: "/api/v1" }).basePath, "/api/v1");
  assertEquals(new App().basePath, "");
});
