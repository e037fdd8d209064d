// Section 3 of the contract of guards: secureHeaders().

import { assertEquals, assertThrows } from "@std/assert";
import { App, html, Router } from "@webfw/core";
import { secureHeaders, type SecureHeadersOptions } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";
import { CapturedLog } from "../support/captured_log.ts";

// deno-lint-ignore no-explicit-any -- options whose mistakes TypeScript would find
type Untyped = any;

async function headersOf(options?: SecureHeadersOptions, url = "http://localhost/"): Promise<Record<string, string>> {
  const app = new App();
  app.middleware(secureHeaders(options));
  app.get("/", async () => "Hello");
  const response = await app.fetch(new Request(url));
  const { "content-type": _, ...headers } = Object.fromEntries(response.headers);
  await response.body?.cancel();
  return headers;
}

Deno.test("secureHeaders: safe defaults, referrerPolicy strict-origin-when-cross-origin", async () => {
  assertEquals(await headersOf(), {
    "content-security-policy":
      "default-src 'self'; base-uri 'self'; form-action 'self'; object-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "strict-origin-when-cross-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  });
});

Deno.test("secureHeaders: hsts over https only", async () => {
  const name = "strict-transport-security";
  assertEquals((await headersOf({}, "https://localhost/"))[name], "max-age=31536000; includeSubDomains");
  const hsts = { maxAge: "1h", includeSubDomains: false, preload: true } as const;
  assertEquals((await headersOf({ hsts }, "https://localhost/"))[name], "max-age=3600; preload");
  assertEquals((await headersOf({ hsts: null }, "https://localhost/"))[name], undefined);
});

Deno.test("secureHeaders: hsts behind a trusted proxy that ends TLS", async () => {
  const app = new App({ trustProxy: 1 });
  app.middleware(secureHeaders());
  await using client = new TestClient(app);
  const through = async (scheme: string) => {
    const headers = { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": scheme };
    return (await client.get("/", { headers })).headers.has("strict-transport-security");
  };
  assertEquals([await through("https"), await through("http")], [true, false]);
});

Deno.test("secureHeaders: frameAncestors is in the policy and in X-Frame-Options", async () => {
  const frames = async (options: SecureHeadersOptions) => {
    const headers = await headersOf({ contentSecurityPolicy: null, ...options });
    return [headers["content-security-policy"], headers["x-frame-options"]];
  };
  assertEquals(await frames({}), ["frame-ancestors 'none'", "DENY"]);
  assertEquals(await frames({ frameAncestors: "self" }), ["frame-ancestors 'self'", "SAMEORIGIN"]);
  const partners = ["https://a.example", "https://b.example"];
  assertEquals(await frames({ frameAncestors: partners }), [`frame-ancestors ${partners.join(" ")}`, undefined]);
  assertEquals(await frames({ frameAncestors: null }), [undefined, undefined]);
  const contentSecurityPolicy = "default-src 'none'; frame-ancestors 'self';";
  assertEquals(await frames({ contentSecurityPolicy }), [contentSecurityPolicy.slice(0, -1), "SAMEORIGIN"]);
});

Deno.test("secureHeaders: null leaves a header out, and others can be added", async () => {
  const headers = await headersOf({
    contentSecurityPolicy: null,
    frameAncestors: null,
    referrerPolicy: ["no-referrer", "strict-origin"],
    noSniff: false,
    crossOriginOpenerPolicy: null,
    crossOriginResourcePolicy: "cross-origin",
    crossOriginEmbedderPolicy: "require-corp",
    permissionsPolicy: "camera=()",
  });
  assertEquals(headers, {
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "cross-origin",
    "permissions-policy": "camera=()",
    "referrer-policy": "no-referrer, strict-origin",
  });
});

Deno.test("secureHeaders keeps what a reply already has", async () => {
  const app = new App();
  app.middleware(secureHeaders());
  app.get("/", async () => {
    const headers = {
      "content-security-policy": "frame-ancestors https://partner.example",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "mine",
    };
    return html("<p>", { headers });
  });
  await using client = new TestClient(app);
  const { headers } = await client.get("/");
  assertEquals(headers.get("content-security-policy"), "frame-ancestors https://partner.example");
  assertEquals(headers.get("referrer-policy"), "no-referrer");
  assertEquals(headers.get("x-content-type-options"), "mine");
  // Together with a policy for frames, it could only harm.
  assertEquals(headers.get("x-frame-options"), null);
});

Deno.test("secureHeaders keeps the page's own policy", async () => {
  const policyOf = async (app: App) => (await app.fetch(new Request("http://localhost/docs"))).headers;
  const app = new App();
  app.middleware(secureHeaders());
  const headers = await policyOf(app);
  assertEquals(headers.get("content-security-policy"), (await policyOf(new App())).get("content-security-policy"));
  assertEquals(headers.get("cross-origin-opener-policy"), "same-origin");
});

Deno.test("secureHeaders: error replies, 404 and streams have them, and a router's own hold first", async () => {
  using _log = new CapturedLog();
  const app = new App();
  app.middleware(secureHeaders());
  const router = new Router({ prefix: "/frames" });
  router.middleware(secureHeaders({ contentSecurityPolicy: null, frameAncestors: "self" }));
  router.get("", async () => "Hello");
  app.include(router);
  app.get("/fails", async () => {
    throw new Error("on purpose");
  });
  app.get("/stream", async function* () {
    yield 1;
  });
  await using client = new TestClient(app);
  for (const path of ["/fails", "/missing", "/stream"]) {
    assertEquals((await client.get(path)).headers.get("x-content-type-options"), "nosniff", path);
  }
  assertEquals((await client.get("/frames")).headers.get("content-security-policy"), "frame-ancestors 'self'");
});

Deno.test("secureHeaders: what cannot be sent is refused where it is declared", () => {
  const refused = (options: Untyped, message: string) =>
    assertThrows(() => secureHeaders(options), TypeError, `Cannot make secureHeaders(): ${message}`);
  refused(
    { contentSecurityPolicy: "default-src 'self'\r\nx: y" },
    "contentSecurityPolicy must be a string of printable",
  );
  refused({ contentSecurityPolicy: { "img-src": ["'self'; script-src *"] } }, 'contentSecurityPolicy "img-src"');
  refused({ contentSecurityPolicy: { imgSrc: ["'self'"] } }, 'contentSecurityPolicy "imgSrc"');
  refused({ contentSecurityPolicy: { "img-src": "'self'" } }, 'contentSecurityPolicy "img-src"');
  refused({ contentSecurityPolicy: 5 }, "contentSecurityPolicy must be a string or an object");
  refused({ frameAncestors: "https://a.example" }, "frameAncestors must be");
  refused({ frameAncestors: [] }, "frameAncestors must be");
  refused({ contentSecurityPolicy: "frame-ancestors 'none'", frameAncestors: "self" }, "the contentSecurityPolicy has");
  refused({ permissionsPolicy: "ü" }, "permissionsPolicy must be a string of printable");
  refused({ referrerPolicy: "" }, "referrerPolicy must be");
  refused({ csp: "x" }, 'the option "csp" is unknown');
  refused({ hsts: { max: 1 } }, 'the option "hsts.max" is unknown');
  assertThrows(() => secureHeaders({ hsts: { maxAge: 0 } }), RangeError);
});
