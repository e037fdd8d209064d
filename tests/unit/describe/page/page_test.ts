// The documentation page without a browser: its files, its headers, and the escaping of texts of
// the application.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";

const ORIGIN = "http://localhost";

const HOSTILE_TEXTS = [
  "</title><script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "' onload='alert(1)",
  "'; alert(1); //",
  "${alert(1)}",
  "<!-- ]]> &amp; &quot; &#60;",
  "\u2028\u2029\0",
];

async function get(app: App, path: string, init: RequestInit = {}): Promise<Response> {
  return await app.fetch(new Request(ORIGIN + path, init));
}

async function markupOf(options: AppOptions): Promise<string> {
  return await (await get(new App(options), encodeURI(options.docsUrl ?? "/docs"))).text();
}

/** The URLs in a page that it loads. */
function loadedUrls(markup: string): string[] {
  return [...markup.matchAll(/<(?:link rel="stylesheet" href|script src)="([^"]*)"/g)].map(([, url]) => url!);
}

/**
 * The tags of a page and the names of their attributes. It fails where an attribute's value is not
 * in double quotes.
 */
function structureOf(markup: string): string[] {
  return [...markup.matchAll(/<[^>]*>/g)].map(([tag]) => {
    const bare = tag.replaceAll(/="[^"<>]*"/g, "");
    assertMatch(bare, /^<[!/]?\w+( [\w-]+)*>$/, tag);
    return bare;
  });
}

Deno.test("The policy of the page forbids inline scripts and everything of other origins", async () => {
  const response = await get(new App({ title: "Books" }), "/docs");
  assertEquals(response.status, 200);
  const { etag, ...headers } = Object.fromEntries(response.headers);
  assertMatch(etag!, /^"[0-9a-f]{32}"$/);
  assertEquals(headers, {
    "cache-control": "no-cache",
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; " +
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "content-type": "text/html; charset=utf-8",
    "vary": "accept-encoding",
    "x-content-type-options": "nosniff",
  });
  const markup = await response.text();
  assertMatch(markup, /^<!doctype html>\n<html lang="en">/);
  assertMatch(markup, /<meta name="viewport" content="width=device-width, initial-scale=1">/);
  assertMatch(markup, /<title>Books<\/title>/);
  assertEquals(/<style|<script>|\son\w+=|\sstyle=/.exec(markup), null);
});

Deno.test("The files of the page are served, and cached forever under the version in their URL", async () => {
  const app = new App({ title: "Books" });
  const urls = loadedUrls(await markupOf({}));
  assertEquals(urls.map((url) => url.replace(/=.+/, "")), [
    "./docs/swagger-ui.css?v",
    "./docs/page.css?v",
    "./docs/swagger-ui.js?v",
    "./docs/page.js?v",
  ]);
  for (const url of urls.map((url) => url.slice(1))) {
    const response = await get(app, url);
    assertEquals([response.status, response.headers.get("cache-control")], [
      200,
      "public, max-age=31536000, immutable",
    ]);
    const type = url.includes(".css?") ? "text/css" : "text/javascript";
    assertEquals(response.headers.get("content-type"), `${type}; charset=utf-8`);
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
    const body = await response.text();
    assert(body.length > 100, url);
    for (const other of [url.replace(/=.+/, "=0.0.0"), url.replace(/\?.+/, "")]) {
      const response = await get(app, other);
      assertEquals([response.status, response.headers.get("cache-control")], [200, "no-cache"], other);
      assertEquals(await response.text(), body);
    }
  }
});

Deno.test("A client that has the version gets a 304, and HEAD has the headers of GET", async () => {
  const app = new App({ title: "Books" });
  for (const url of ["/docs", "/docs/swagger-ui.js", "/docs/page.css"]) {
    const full = await get(app, url);
    const etag = full.headers.get("etag")!;
    await full.body?.cancel();
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const response = await get(app, url, { headers: { "if-none-match": held } });
      assertEquals([response.status, response.headers.get("etag"), response.body], [304, etag, null], held);
      assertEquals(response.headers.get("cache-control"), full.headers.get("cache-control"));
    }
    for (const other of ['"other"', etag.slice(1, -1), ""]) {
      const response = await get(app, url, { headers: { "if-none-match": other } });
      assertEquals(response.status, 200, other);
      await response.body?.cancel();
    }
    const head = await get(app, url, { method: "HEAD" });
    assertEquals([head.status, head.body, [...head.headers]], [200, null, [...full.headers]]);
  }
});

Deno.test("Another title is another version of the page", async () => {
  const tags = new Set<string | null>();
  for (const title of ["Books", "Films", "Books"]) {
    const response = await get(new App({ title }), "/docs");
    tags.add(response.headers.get("etag"));
    await response.body?.cancel();
  }
  assertEquals(tags.size, 2);
});

Deno.test("A title is escaped, whatever it contains", async () => {
  const expected = structureOf(await markupOf({}));
  for (const title of HOSTILE_TEXTS) assertEquals(structureOf(await markupOf({ title })), expected, title);
  assertMatch(await markupOf({ title: `a<b>&"c'` }), /<title>a&#60;b&#62;&#38;&#34;c&#39;<\/title>/);
});

Deno.test("What the page gets to sign in is escaped, whatever it contains", async () => {
  const expected = structureOf(await markupOf({ docs: { clientId: "books" } }));
  for (const clientId of HOSTILE_TEXTS) {
    assertEquals(structureOf(await markupOf({ docs: { clientId } })), expected, clientId);
    // Scopes have no spaces, quotes or controls.
    const scope = `x${clientId.replaceAll(/[^\x21\x23-\x5b\x5d-\x7e]/g, "")}`;
    const page = await markupOf({ docs: { clientId: "books", scopes: [scope] } });
    assertEquals(structureOf(page), expected, scope);
  }
});

Deno.test("A path is escaped, whatever it contains", async () => {
  const expected = structureOf(await markupOf({}));
  for (const text of HOSTILE_TEXTS) {
    // The path of a route cannot have these.
    const path = `/${text.replaceAll(/[{}?#%]/g, "")}`;
    assertEquals(structureOf(await markupOf({ docsUrl: path })), expected, path);
    assertEquals(structureOf(await markupOf({ openapiUrl: path })), expected, path);
  }
});

Deno.test("All URLs of the page lead to its own files, at the root and below the prefix of a proxy", async () => {
  const paths: [docsUrl: string, openapiUrl: string][] = [
    ["/docs", "/openapi.json"],
    ["/internal/docs", "/openapi.json"],
    ["/internal/docs", "/internal/api/openapi.json"],
    ["/docs", "/docs/openapi.json"],
    ["/docs/", "/openapi.json"],
    ["/", "/openapi.json"],
    ["/a/", "/b/"],
    ["/a:b/c:d", "/javascript:alert(1)"],
    ["/a b/ü", "/日本.json"],
    ['/"quoted"', "/\\evil.example/x"],
    ["//evil.example/docs", "//evil.example/openapi.json"],
    ["/a//docs", "/a//b//openapi.json"],
  ];
  for (const [docsUrl, openapiUrl] of paths) {
    const markup = await markupOf({ docsUrl, openapiUrl });
    const folder = docsUrl.endsWith("/") ? docsUrl : `${docsUrl}/`;
    for (const prefix of ["", "/behind/a/proxy"]) {
      const page = new URL(`http://proxy.example${prefix}${encodeURI(docsUrl)}`);
      const pathOf = (url: string) => {
        const { host, pathname } = new URL(url, page);
        assertEquals(host, "proxy.example", url);
        return decodeURIComponent(pathname);
      };
      const attribute = (name: string) => pathOf(new RegExp(`${name}="([^"]*)"`).exec(markup)![1]!);
      assertEquals(attribute("data-openapi-url"), prefix + openapiUrl);
      assertEquals(attribute("data-root-url"), `${prefix}/`);
      assertEquals(attribute("data-redirect-url"), `${prefix}${folder}oauth2-redirect.html`);
      assertEquals(loadedUrls(markup).map(pathOf), [
        `${prefix}${folder}swagger-ui.css`,
        `${prefix}${folder}page.css`,
        `${prefix}${folder}swagger-ui.js`,
        `${prefix}${folder}page.js`,
      ]);
    }
  }
});
