// Validators of others read the documents. Which of their rules are off, and why, is in
// consumers/validate.ts.

import { assert, assertEquals } from "@std/assert";
import { App, Problem } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import * as v from "valibot";
import type { OpenAPIDocument } from "../../src/describe/openapi/document.ts";
import { consume, hasConsumers } from "./consumers.ts";
import { Documents } from "./documents.ts";
import { hostileApp } from "./hostile_app.ts";

const ignore = !await hasConsumers();
const VALIDATORS = ["redocly", "spectral", "hyperjump", "seriousme"] as const;

/** The findings of each validator, for each document. */
async function validate(names: readonly string[], folder: string): Promise<Record<string, string[]>[]> {
  return JSON.parse(await consume("validate.ts", names.map((name) => `${name}/document.json`), folder));
}

Deno.test("Redocly, Spectral, hyperjump and seriousme find nothing to complain of", { ignore }, async () => {
  await using documents = await Documents.write();
  const nothing = Object.fromEntries(VALIDATORS.map((name) => [name, []]));
  assertEquals(await validate(["bookshop", "hostile", "museum"], documents.folder), [nothing, nothing, nothing]);
});

Deno.test("They find nothing either in what the options of an application say", { ignore }, async () => {
  await using documents = await Documents.write();
  const described = {
    servers: [
      { url: "https://{region}.shop.example/v1", variables: { region: { default: "eu", enum: ["eu", "us"] } } },
      { url: "/v1", description: "Here" },
    ],
    contact: { name: "Ada", url: "https://shop.example/about", email: "ada@shop.example" },
    termsOfService: "https://shop.example/terms",
    externalDocs: { url: "https://shop.example/guide", description: "The guide", "x-language": "en" },
    tags: [{ name: "books", description: "What there is.", externalDocs: { url: "https://shop.example/books" } }],
  };
  const licenses = [
    { name: "Apache 2.0", identifier: "Apache-2.0" },
    { name: "MIT", url: "https://opensource.org/license/mit" },
  ];
  for (const [index, license] of licenses.entries()) {
    const app = new App({ title: "Shop", description: "A shop.", ...described, license });
    app.get("/books", { tags: ["books"], summary: "All books", description: "All." }, async () => []);
    await documents.add(`described${index}`, app.openapi());
  }
  const nothing = Object.fromEntries(VALIDATORS.map((name) => [name, []]));
  assertEquals(await validate(["described0", "described1"], documents.folder), [nothing, nothing]);
});

Deno.test("They find nothing either in what routes document by hand", { ignore }, async () => {
  await using documents = await Documents.write();
  const Invoice = v.pipe(v.object({ id: v.string(), paid: v.boolean() }), v.title("Invoice"));
  const Refund = v.pipe(v.object({ invoice: Invoice }), v.title("Refund"));
  const app = new App({
    title: "Payments",
    summary: "Pays invoices",
    description: "Payments.",
    servers: [{ url: "https://pay.shop.example" }],
    contact: { name: "Ada", url: "https://shop.example/about", email: "ada@shop.example" },
    license: { name: "MIT", url: "https://opensource.org/license/mit" },
    tags: [{ name: "payments", description: "Payments." }],
    document: (document, { model }) => {
      const content = { "application/json": { schema: { $ref: model(Refund) } } };
      const responses = { 204: { description: "Received" } };
      document.webhooks = {
        refunded: {
          post: { operationId: "refunded", summary: "Refunded", requestBody: { required: true, content }, responses },
        },
      };
      return document;
    },
  });
  const user = bearer(async () => "Ada", { passwordFlow: { tokenUrl: "/token", scopes: { read: "Read" } } });
  const shown = { tags: ["payments"], description: "Described." };
  app.post("/invoices", {
    ...shown,
    summary: "Pay",
    deps: { user },
    body: v.object({ callback: v.pipe(v.string(), v.url()), amount: v.number() }),
    examples: { body: { cheap: { summary: "A cheap one", value: { callback: "https://a.example", amount: 1 } } } },
    response: Invoice,
    status: 201,
    responses: {
      201: {
        examples: { paid: { summary: "Paid", value: { id: "a", paid: true } } },
        links: { invoice: { operationId: "getInvoice", parameters: { id: "$response.body#/id" } } },
      },
      202: { schema: v.string(), contentType: "text/plain", description: "Later." },
      409: [Problem, { schema: Invoice, description: "It is paid." }, { schema: v.object({ at: v.string() }) }],
      "5XX": Problem,
      default: { description: "Anything else.", contentType: "text/html" },
    },
    callbacks: {
      paid: { url: "{$request.body#/callback}", body: Invoice, summary: "Paid", description: "It is paid." },
      lost: { url: "{$request.body#/callback}/lost", method: "DELETE", summary: "Lost" },
    },
    document: (operation) => ({ ...operation, externalDocs: { url: "https://shop.example/pay" }, "x-cost": 1 }),
  }, async function pay() {
    return { id: "a", paid: true };
  });
  app.get("/invoices/{id}", { ...shown, summary: "Get", response: Invoice }, async function getInvoice() {
    return { id: "a", paid: true };
  });
  await documents.add("by_hand", app.openapi());
  const nothing = Object.fromEntries(VALIDATORS.map((name) => [name, []]));
  assertEquals(await validate(["by_hand"], documents.folder), [nothing]);
});

/** A mistake, and who is known to find it. */
interface Mistake {
  readonly finders: readonly (typeof VALIDATORS)[number][];
  readonly make: (document: OpenAPIDocument) => void;
}

// deno-lint-ignore no-explicit-any -- documents that are no documents
type Broken = any;

const MISTAKES: Readonly<Record<string, Mistake>> = {
  "a reference to nothing": {
    finders: ["redocly", "spectral", "seriousme"],
    make: ({ components }: Broken) =>
      components.schemas.Person.properties.address = { $ref: "#/components/schemas/Adress" },
  },
  "a type that JSON does not have": {
    finders: ["redocly", "spectral", "hyperjump"],
    make: ({ components }: Broken) => components.schemas.Person.properties.name.type = "text",
  },
  "a parameter without a place": {
    finders: VALIDATORS,
    make: ({ paths }: Broken) => delete paths["/parameters/query"].get.parameters[0].in,
  },
  "a parameter of the path that the path does not have": {
    finders: ["redocly", "spectral"],
    make: ({ paths }: Broken) => paths["/parameters/rest/{name}"].get.parameters[0].name = "other",
  },
  "two operations of one name": {
    finders: ["redocly", "spectral"],
    make: ({ paths }: Broken) => paths["/parameters/query"].get.operationId = "list",
  },
  "a reply without a description": {
    finders: VALIDATORS,
    make: ({ components }: Broken) => delete components.responses.Problem.description,
  },
};

Deno.test("The validators are awake: each finds the mistakes that it can find", { ignore }, async () => {
  await using documents = await Documents.write();
  for (const [name, { make }] of Object.entries(MISTAKES)) {
    const document = structuredClone(hostileApp().openapi());
    make(document);
    await documents.add(name, document);
  }
  const findings = await validate(Object.keys(MISTAKES), documents.folder);
  for (const [index, [name, { finders }]] of Object.entries(MISTAKES).entries()) {
    for (const finder of finders) assert(findings[index]![finder]!.length > 0, `${finder} does not find ${name}`);
  }
});
