// Section 1 of the contract of the client: "`App` takes `servers`, `contact`, `license`,
// `termsOfService`, `externalDocs`, `tags: [{ name, description }]`, and `document: (document) =>
// document`, a last hand that `/openapi.json`, the page, the command line and `openapi()` share."

import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { App, type AppOptions, Router } from "@webfw/core";
import type { DocumentOptions, OpenAPIDocument } from "@webfw/core/openapi";
import { TestClient } from "@webfw/core/testing";
import { CapturedLog } from "../support/captured_log.ts";

const DESCRIBED = {
  servers: [
    { url: "https://{region}.shop.example/v1", variables: { region: { default: "eu", enum: ["eu", "us"] } } },
    { url: "/v1", description: "Here" },
  ],
  contact: { name: "Ada", url: "https://shop.example/about", email: "ada@shop.example" },
  license: { name: "Apache 2.0", identifier: "Apache-2.0", "x-text": ["any", { json: true }] },
  termsOfService: "https://shop.example/terms",
  externalDocs: { url: "https://shop.example/guide", description: "The guide" },
  tags: [
    { name: "orders", description: "Buying *books*." },
    { name: "books", externalDocs: { url: "https://shop.example/books" }, "x-displayName": "Books" },
  ],
} satisfies DocumentOptions;

function shop(options: AppOptions = {}): App {
  const app = new App({ title: "Shop", version: "1.0.0", ...options });
  app.get("/books", { tags: ["books", "public"] }, async () => []);
  app.get("/health", async () => "ok");
  return app;
}

Deno.test("`App` takes `servers`, `contact`, `license`, `termsOfService`, `externalDocs`", () => {
  const { info, servers, externalDocs } = shop(DESCRIBED).openapi();
  const { contact, license, termsOfService } = DESCRIBED;
  assertEquals(info, { title: "Shop", version: "1.0.0", contact, license, termsOfService });
  assertEquals([servers, externalDocs], [DESCRIBED.servers, DESCRIBED.externalDocs]);
});

Deno.test("The document of an application without these options has none of their members", () => {
  const { info, ...others } = shop().openapi();
  assertEquals(Object.keys(info), ["title", "version"]);
  assertEquals(Object.keys(others), ["openapi", "tags", "paths", "components"]);
  assertEquals(new App({ servers: [], tags: [] }).openapi(), new App().openapi());
});

Deno.test("`tags: [{ name, description }]` describe tags in their order, and tag no route", () => {
  const { tags, paths } = shop(DESCRIBED).openapi();
  assertEquals(tags, [...DESCRIBED.tags, { name: "public" }]);
  assertEquals(paths["/books"]?.get?.tags, ["books", "public"]);
  assertEquals(paths["/health"]?.get?.tags, undefined);
});

Deno.test("The `tags` of routers and includes are still those of their routes", () => {
  const app = new App({ tags: [{ name: "v1", description: "The first version." }] });
  const books = new Router({ prefix: "/books", tags: ["books"] });
  books.get("", async () => []);
  app.include(books, { tags: ["v1"] });
  assertEquals(app.openapi().paths["/books"]?.get?.tags, ["v1", "books"]);
  assertEquals(app.openapi().tags, [{ name: "v1", description: "The first version." }, { name: "books" }]);
});

Deno.test("The options are copied: later changes of what was given do not reach the document", () => {
  const given = structuredClone(DESCRIBED);
  const app = shop(given);
  given.contact.name = "Eve";
  given.tags.pop();
  assertEquals(app.openapi().info.contact, DESCRIBED.contact);
  assertEquals(app.openapi().tags?.length, 3);
});

// deno-lint-ignore no-explicit-any -- options of the wrong type
const WRONG: Readonly<Record<string, readonly [options: any, message: string]>> = {
  "a URL of contact without scheme": [
    { contact: { url: "shop.example" } },
    '"contact.url" must be a URL with its scheme, such as "https://shop.example/about", got "shop.example"',
  ],
  "an e-mail address without host": [
    { contact: { email: "ada" } },
    '"contact.email" must be an e-mail address, got "ada"',
  ],
  "an unknown member of contact": [
    { contact: { mail: "ada@shop.example" } },
    'the option "contact.mail" is unknown, the nearest is "contact.email"; there are name, url, email',
  ],
  "a contact that is a text": [
    { contact: "Ada" },
    '"contact" must be an object, got string; there are name, url, email',
  ],
  "a license without name": [{ license: {} }, '"license.name" is missing; there are name, identifier, url'],
  "a license with identifier and url": [
    { license: { name: "MIT", identifier: "MIT", url: "https://mit.example" } },
    '"license" has an identifier and a url, leave out one of them',
  ],
  "terms that are a path": [
    { termsOfService: "/terms" },
    '"termsOfService" must be a URL with its scheme, such as "https://shop.example/about", got "/terms"',
  ],
  "terms with a space": [
    { termsOfService: "https://shop.example/our terms" },
    '"termsOfService" must be a URL with its scheme, such as "https://shop.example/about", got "https://shop.example/our terms"',
  ],
  "external docs without URL": [
    { externalDocs: { description: "The guide" } },
    '"externalDocs.url" is missing; there are url, description',
  ],
  "servers that are no list": [{ servers: { url: "/v1" } }, '"servers" must be an array of objects, got object'],
  "a server that is a text": [
    { servers: ["/v1"] },
    '"servers[0]" must be an object, got string; there are url, description, variables',
  ],
  "a server of another scheme": [
    { servers: [{ url: "/v1" }, { url: "wss://shop.example" }] },
    '"servers[1].url" must be a URL of http or https, or a path, without query and fragment, got "wss://shop.example"',
  ],
  "a server with a password": [
    { servers: [{ url: "https://ada:secret@shop.example" }] },
    '"servers[0].url" has a user or password, leave them out: the document is public',
  ],
  "a server with a slash at the end": [
    { servers: [{ url: "https://shop.example/" }] },
    '"servers[0].url" must be without a slash at the end, since paths begin with one, got "https://shop.example/"',
  ],
  "a variable that is not declared": [
    { servers: [{ url: "https://{region}.shop.example" }] },
    '"servers[0].url" has the variable "region", declare it under variables',
  ],
  "a variable that is not used": [
    { servers: [{ url: "https://shop.example", variables: { region: { default: "eu" } } }] },
    '"servers[0].url" lacks the variable "region", write {region} in it',
  ],
  "a default that is not in the enum": [
    { servers: [{ url: "/{v}", variables: { v: { default: "v3", enum: ["v1", "v2"] } } }] },
    '"servers[0].variables.v.default" must be one of its enum, got "v3"',
  ],
  "a tag that is a text": [
    { tags: ["books"] },
    '"tags[0]" must be an object, write { name: "books", description: "…" }; the tags of a router or an include are those of its routes',
  ],
  "a tag without name": [
    { tags: [{ description: "Books" }] },
    '"tags[0].name" is missing; there are name, description, externalDocs',
  ],
  "a tag twice": [{ tags: [{ name: "a" }, { name: "b" }, { name: "a" }] }, '"tags" describes "a" twice, leave out one'],
  "docs of a tag without URL": [
    { tags: [{ name: "a", externalDocs: {} }] },
    '"tags[0].externalDocs.url" is missing; there are url, description',
  ],
  "a last hand that is no function": [
    { document: {} },
    '"document" must be a function, such as (document) => document, got object',
  ],
  "a last hand that is async": [
    { document: async () => ({}) },
    '"document" must be a sync function, since app.openapi() does not wait',
  ],
  "an extension that is not JSON": [
    { contact: { "x-big": 1n } },
    "the extensions of its document must be JSON",
  ],
};

for (const [name, [options, message]] of Object.entries(WRONG)) {
  Deno.test(`A mistake throws where it is made: ${name}`, () => {
    assertEquals(assertThrows(() => new App(options), TypeError).message, `Cannot make the App: ${message}`);
  });
}

Deno.test("`document` is a last hand that `/openapi.json`, the page and `openapi()` share; it is called once", async () => {
  let calls = 0;
  const app = shop({
    document: (document) => {
      calls++;
      return {
        ...document,
        info: { ...document.info, title: "The shop", "x-logo": { url: "/logo.svg" } },
        components: {
          ...document.components,
          securitySchemes: {
            provider: {
              type: "openIdConnect",
              openIdConnectUrl: "https://id.example/.well-known/openid-configuration",
            },
          },
        },
      };
    },
  });
  await using client = new TestClient(app);
  const served = await client.get("/openapi.json").json();
  assertEquals(served, app.openapi());
  assertEquals(app.openapi().info, { title: "The shop", version: "1.0.0", "x-logo": { url: "/logo.svg" } });
  assertEquals(app.openapi(), app.openapi());
  const page = await client.get("/docs");
  assertStringIncludes(page.headers.get("content-security-policy")!, "connect-src 'self' https://id.example;");
  await page.text();
  assertEquals(calls, 1);
});

Deno.test("`document` may change what it gets and return it; no other operation or application changes with it", () => {
  const change = (document: OpenAPIDocument) => {
    const { responses } = document.paths["/books"]!.get!;
    Object.assign(responses["4XX"]!, { $ref: "#/components/responses/Other" });
    document.info.title = "Changed";
    return document;
  };
  const { paths, info } = shop({ document: change }).openapi();
  assertEquals(info.title, "Changed");
  assertEquals(paths["/books"]?.get?.responses["4XX"], { $ref: "#/components/responses/Other" });
  const unchanged = { $ref: "#/components/responses/Problem" };
  assertEquals(paths["/health"]?.get?.responses["4XX"], unchanged);
  assertEquals(shop().openapi().paths["/books"]?.get?.responses["4XX"], unchanged);
});

Deno.test("What `document` returns is kept: a change of it later is seen by nobody", () => {
  let kept: OpenAPIDocument | undefined;
  const app = shop({ document: (document) => kept = document });
  assertEquals(app.openapi().info.title, "Shop");
  kept!.info.title = "Later";
  assertEquals(app.openapi().info.title, "Shop");
});

Deno.test("`document` sees routes that are added after the document was first asked for", () => {
  const app = shop({ document: (document) => ({ ...document, "x-paths": Object.keys(document.paths) }) });
  assertEquals(app.openapi()["x-paths"], ["/books", "/health"]);
  app.get("/late", async () => 1);
  assertEquals(app.openapi()["x-paths"], ["/books", "/health", "/late"]);
});

// deno-lint-ignore no-explicit-any -- functions of the wrong type
const WRONG_HANDS: Readonly<Record<string, readonly [document: any, message: string]>> = {
  "nothing": [
    (document: OpenAPIDocument) => void (document.info.title = "x"),
    "returned nothing, return the document, also after changing it",
  ],
  "a promise": [() => Promise.resolve({}), "returned a promise, write a sync function"],
  "a text": [
    JSON.stringify,
    "returned no document: it must be an object with openapi, info, paths and components",
  ],
  "a part of the document": [
    ({ paths }: OpenAPIDocument) => paths,
    "returned no document: it must be an object with openapi, info, paths and components",
  ],
};

for (const [name, [document, message]] of Object.entries(WRONG_HANDS)) {
  Deno.test(`A last hand that returns ${name} is an error that names the option`, () => {
    const error = assertThrows(() => shop({ document }).openapi(), TypeError);
    assertEquals(error.message, `Cannot describe the App: its option "document" ${message}`);
  });
}

Deno.test("A last hand whose result is not JSON is an error that names the option", () => {
  const document = (document: OpenAPIDocument) => Object.assign(document, { "x-self": document });
  const error = assertThrows(() => shop({ document }).openapi(), TypeError);
  assertEquals(error.message, 'Cannot describe the App: what its option "document" returned is not JSON');
});

Deno.test("A last hand that throws is an error that names the option, and a 500 without its text", async () => {
  const cause = new RangeError("no such path");
  const app = shop({
    document: () => {
      throw cause;
    },
  });
  const error = assertThrows(() => app.openapi(), Error);
  assertEquals(error.message, 'Cannot describe the App: its option "document" threw: no such path');
  assertInstanceOf(error.cause, RangeError);
  using log = new CapturedLog();
  await using client = new TestClient(app);
  const reply = await client.get("/openapi.json");
  assertEquals(reply.status, 500);
  assert(!(await reply.text()).includes("no such path"));
  assertStringIncludes(log.text, String.raw`its option \"document\" threw: no such path`);
});

Deno.test("A server of another origin can be tried out on the page: its policy lets it fetch from there", async () => {
  await using client = new TestClient(shop(DESCRIBED));
  const page = await client.get("/docs");
  await page.text();
  assertStringIncludes(
    page.headers.get("content-security-policy")!,
    "connect-src 'self' https://eu.shop.example https://us.shop.example;",
  );
});
