// An application that is hard to describe, and whose routes all answer.

import { anySecurity, App, dependency, Form, HTTPError, Problem, Router, Stream, text, UploadFile } from "@webfw/core";
import type { OAuth2SecurityScheme, OpenIdConnectSecurityScheme } from "@webfw/core/types";
import * as v from "valibot";
import { hostileModels } from "./hostile_models.ts";

const int = v.pipe(v.number(), v.integer());

const reader = dependency(
  {
    headers: { "x-reader": v.optional(v.picklist(["Ada", "Grace"]), "Ada") },
    cookies: { sid: v.optional(v.string()) },
  },
  async (_request, { headers }) => headers["x-reader"],
);
/** Needs another dependency, a name of the path, and a name that handlers declare as well. */
const page = dependency(
  {
    deps: { reader },
    query: { limit: v.optional(v.pipe(int, v.minValue(1)), 20), shop: v.pipe(v.string(), v.slug()) },
  },
  async (_request, { reader, limit, shop }) => ({ reader, limit, shop }),
);
const signedIn = dependency({ headers: { authorization: v.optional(v.string()) } }, async (_request, { headers }) => {
  if (!headers.authorization) throw new HTTPError(401, "Sign in", { headers: { "www-authenticate": "Bearer" } });
  return headers.authorization;
});

const oauth: OAuth2SecurityScheme = {
  type: "oauth2",
  description: "Nobody asks for it here.",
  flows: {
    authorizationCode: {
      authorizationUrl: "https://example.org/authorize",
      tokenUrl: "https://example.org/token",
      refreshUrl: "https://example.org/refresh",
      scopes: { "books:read": "Read books", "books:write": "Change books" },
    },
    clientCredentials: { tokenUrl: "https://example.org/token", scopes: {} },
    implicit: { authorizationUrl: "https://example.org/authorize", scopes: {} },
    password: { tokenUrl: "https://example.org/token", scopes: {} },
  },
};
const provider: OpenIdConnectSecurityScheme = {
  type: "openIdConnect",
  openIdConnectUrl: "https://example.org/.well-known/openid-configuration",
};
/** Every kind of credentials; none is required. */
const guest = dependency(
  {
    headers: { "x-key": v.optional(v.string()) },
    cookies: { session: v.optional(v.string()) },
    security: anySecurity(
      {},
      { oauth: { ...oauth, scopes: ["books:read"] } },
      // Without scopes: Spectral looks for those of a provider in the document, which cannot list
      // them.
      { provider },
      { "x.key": { type: "apiKey", in: "header", name: "X-Key" }, certificate: { type: "mutualTLS" } },
      { session: { type: "apiKey", in: "cookie", name: "session" } },
      { jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
    ),
  },
  async () => "guest",
);
const basic = dependency(
  { security: anySecurity({ basic: { type: "http", scheme: "basic" } }, {}) },
  async () => "anyone",
);

/** Makes the application. */
export function hostileApp(): App {
  const app = new App({ title: "Hostile", version: "0.0.1", description: "All that is **hard** to describe." });
  app.include(models());
  app.include(parameters());
  app.include(shops(), { prefix: "/regions/{region}" });
  app.include(replies());
  app.include(forms());
  return app;
}

/** Gives each model back. */
function models(): Router {
  const router = new Router({ prefix: "/models" });
  for (const [name, { takes, gives = takes }] of Object.entries(hostileModels)) {
    router.post(
      `/${name}`,
      { body: takes, response: gives, tags: ["models"] },
      async (_request, { body }) => body as never,
    );
  }
  return router;
}

/** Returns its input as text. */
function parameters(): Router {
  const router = new Router({ prefix: "/parameters" });
  const Args = v.record(v.string(), v.unknown());
  router.get("/path/{text}/{number}/{big}/{flag}/{kind}", {
    params: { number: v.number(), big: v.bigint(), flag: v.boolean(), kind: v.picklist(["a", "b", "1"]) },
    response: Args,
  }, async (_request, args) => args);
  router.get("/query", {
    query: {
      at: v.optional(v.pipe(v.string(), v.isoTimestamp(), v.toDate())),
      tags: v.optional(v.pipe(v.array(v.string()), v.maxLength(3)), []),
      numbers: v.array(v.pipe(int, v.description("One of them"))),
      pair: v.optional(v.tuple([int, v.boolean()])),
      nothing: v.optional(v.nullable(int)),
      either: v.optional(v.union([int, v.literal("all")]), "all"),
      exact: v.optional(v.literal(7)),
      trimmed: v.optional(v.pipe(v.string(), v.trim(), v.nonEmpty())),
      "filter[name]": v.optional(v.string()),
    },
    response: Args,
    summary: "Everything that a query can hold",
  }, async (_request, args) => args);
  router.get("/headers", {
    headers: { "X-Count": int, "x-list": v.optional(v.array(int)), accept: v.optional(v.string()) },
    cookies: { theme: v.optional(v.picklist(["dark", "light"])) },
    deps: { reader },
    response: Args,
    deprecated: true,
  }, async (_request, args) => args);
  router.get("/rest/{path...}", { response: Args }, async (_request, args) => args);
  router.get("/rest/{name}", { response: Args }, async (_request, args) => args);
  router.post("/rest/{other}", { response: Args }, async (_request, args) => args);
  router.get("/credentials", { deps: { guest, basic }, response: Args }, async (_request, args) => args);
  router.get("/trailing", async () => null);
  router.get("/trailing/", async () => null);
  return router;
}

/** Below prefixes with parameters. */
function shops(): Router {
  const books = new Router({ prefix: "/{shop}/books" });
  books.get("", { query: { limit: v.optional(int, 10) }, deps: { page } }, async function list(_request, { page }) {
    `
      Lists books.

      The page is the *dependency's*:

        - its query
        - its header
    `;
    return page;
  });
  books.get("/{id}", {
    query: { region: v.picklist(["north", "south"]) },
    params: { id: int },
    deps: { page, signedIn },
    responses: { 401: v.pipe(Problem, v.title("Unauthorized")) },
    tags: ["books"],
  }, async function list(_request, { id, region }) {
    return { id, region };
  });
  const shops = new Router({ prefix: "/shops" });
  shops.include(books);
  return shops;
}

/** Everything that is no JSON of a model. */
function replies(): Router {
  const router = new Router({ prefix: "/replies" });
  router.get("/nothing", async () => {});
  router.delete("/nothing", { status: 204 }, async () => {});
  router.get(
    "/maybe",
    { query: { there: v.boolean() }, response: v.optional(v.string()) },
    async (_request, { there }) => there ? "here" : undefined,
  );
  router.get("/void", { response: v.void() }, async () => {});
  router.get("/text", async () => text("plain"));
  router.get("/lines", { response: v.object({ n: int }) }, async function* () {
    yield { n: 1 };
  });
  router.get("/bytes", async function* () {
    yield new Uint8Array([1]);
  });
  router.put("/created", {
    body: v.object({ taken: v.boolean() }),
    response: v.object({ id: int }),
    status: 201,
    responses: {
      409: v.pipe(v.intersect([Problem, v.looseObject({ by: v.string() })]), v.description("Someone has it")),
    },
  }, async (_request, { body }) => {
    if (body.taken) throw new HTTPError(409, "Taken", { extensions: { by: "Ada" } });
    return { id: 1 };
  });
  router.route("/methods", { methods: ["HEAD", "OPTIONS", "PURGE"] }, async () => {});
  router.get("/failure", { response: v.string() }, async () => {
    throw new Error("Broken");
  });
  return router;
}

/** Takes forms, which it gives back, and bytes. */
function forms(): Router {
  const router = new Router({ prefix: "/forms" });
  const Line = v.object({ isbn: v.pipe(v.string(), v.minLength(1)), copies: v.optional(int, 1) });
  const Order = v.pipe(
    v.object({
      title: v.pipe(v.string(), v.minLength(1), v.maxLength(20)),
      copies: v.optional(v.pipe(int, v.minValue(1)), 1),
      price: v.pipe(v.number(), v.minValue(0), v.maxValue(1000)),
      gift: v.optional(v.boolean(), false),
      serial: v.nullable(v.bigint()),
      kind: v.picklist(["new", "used", 7]),
      since: v.optional(v.pipe(v.string(), v.isoTimestamp(), v.toDate())),
      tags: v.optional(v.pipe(v.array(v.pipe(v.string(), v.slug())), v.maxLength(3)), ["none"]),
      numbers: v.array(int),
      address: v.object({ street: v.string(), "zip code": v.optional(v.pipe(v.string(), v.digits())) }),
      lines: v.optional(v.array(Line), []),
      scores: v.optional(v.record(v.pipe(v.string(), v.regex(/^[a-z]$/)), v.number())),
    }),
    v.title("Order"),
  );
  router.post("/order", { form: Form(Order), tags: ["forms"] }, async (_request, { form }) => form);
  router.put("/optional", { form: Form(v.optional(v.object({ word: v.optional(v.string()) }))) }, async () => null);
  const Pictures = v.object({
    title: v.pipe(v.string(), v.maxLength(10)),
    cover: v.pipe(UploadFile, v.mimeType(["image/png"]), v.maxSize(1000)),
    back: v.optional(v.pipe(UploadFile, v.mimeType(["image/png", "image/jpeg"]))),
    others: v.optional(v.array(UploadFile), []),
    count: v.optional(int),
  });
  router.post("/pictures", { form: Form(Pictures), tags: ["forms"] }, async (_request, { form }) => {
    return { title: form.title, sizes: [form.cover, ...form.others].map(({ size }) => size), count: form.count };
  });
  router.put("/bytes/{key}", { body: Stream() }, async (_request, { key, body }) => {
    let size = 0;
    for await (const chunk of body) size += chunk.length;
    return { key, size };
  });
  return router;
}
