// Sections 10 and 13 of the contract: what client generators need from the document.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { App, Form, Stream, UploadFile } from "@webfw/core";
import type { OpenAPIDocument } from "@webfw/core/openapi";
import { join } from "node:path";
import * as v from "valibot";
import { bookshop } from "../../examples/bookshop/bookshop.ts";
import type { JsonSchema } from "@webfw/core/openapi";
import { hostileApp } from "../describe/hostile_app.ts";
import { operationAt } from "../describe/look_up.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";
import { INT64 } from "../unit/describe/json_schema/support/integer_bounds.ts";

const int = v.pipe(v.number(), v.integer());
const answer = async () => null as never;

/** Keywords whose values are schemas by arbitrary names, and those whose values are data. */
const NAMED = new Set(["properties", "patternProperties", "schemas"]);
const DATA = new Set(["const", "default", "enum", "examples"]);

/** All objects of a document that may be schemas, each with its place. */
function* partsOf(part: unknown, place = "#", isNamed = false): Generator<[place: string, schema: JsonSchema]> {
  if (typeof part !== "object" || part === null) return;
  if (!isNamed && !Array.isArray(part)) yield [place, part as JsonSchema];
  for (const [key, value] of Object.entries(part)) {
    if (isNamed || !DATA.has(key)) yield* partsOf(value, `${place}/${key}`, !isNamed && NAMED.has(key));
  }
}

/** The documents of applications of which one is an example, and one is hard to describe. */
async function documents(): Promise<OpenAPIDocument[]> {
  await using folder = await TemporaryFolder.make();
  return [bookshop(join(folder.path, "shop.sqlite")).openapi(), hostileApp().openapi()];
}

function schemasOf(add: (app: App) => void): Record<string, JsonSchema> {
  const app = new App();
  add(app);
  return app.openapi().components.schemas!;
}

/** The names of the application's own models. */
function namesOf(add: (app: App) => void): string[] {
  const own = new Set(["Problem", "ValidationIssue", "ValidationProblem"]);
  return Object.keys(schemasOf(add)).filter((name) => !own.has(name));
}

Deno.test("The title of a component is its name", async () => {
  for (const { components } of await documents()) {
    for (const [name, { title }] of Object.entries(components.schemas!)) assertEquals(title, name);
  }
  const page = (entry: v.GenericSchema) => v.pipe(v.object({ entry }), v.title("A page"));
  const Page = page(v.optional(int, 1));
  const schemas = schemasOf((app) => {
    app.post("/a", { body: Page, response: Page }, answer);
    app.post("/b", { body: page(v.string()) }, answer);
  });
  const titles = Object.entries(schemas).filter(([name]) => name.startsWith("A")).map((
    [name, { title }],
  ) => [name, title]);
  assertEquals(titles, ["A_page", "A_page2", "A_pageInput"].map((name) => [name, name]));
});

Deno.test("Models without a title are PascalCase of operationId and Result, Body or Form, never Response", async () => {
  const model = (key: string) => v.object({ [key]: v.string() });
  const names = namesOf((app) => {
    app.get("/", { response: model("a"), responses: { 404: model("b") } }, async function getIndex() {
      return { a: "" };
    });
    app.post("/", { body: model("c"), operationId: "add_old-book" }, answer);
    app.put("/", { form: Form(model("d")) }, answer);
    app.get("/lines", { response: model("e") }, async function* lines() {
      yield { e: "" };
    });
  });
  assertEquals(names, ["AddOldBookBody", "AnswerForm", "GetIndexResult", "GetIndexResult404", "LinesItem"]);
  for (const { components } of await documents()) {
    for (const name of Object.keys(components.schemas!)) assert(!/(?:Response|Request)\d*$/.test(name), name);
  }
});

Deno.test("Names that are one where code is generated get numbers: those that differ in case or separators alone", () => {
  const add = (app: App) => {
    app.get("/a", { response: v.object({ a: int }), operationId: "list_books" }, answer);
    app.get("/b", { response: v.object({ b: int }), operationId: "listBooks" }, answer);
    app.get("/c", { response: v.pipe(v.object({ c: int }), v.title("LISTBOOKSRESULT")) }, answer);
  };
  assertEquals(namesOf(add), ["LISTBOOKSRESULT", "ListBooksResult2", "ListBooksResult3"]);
});

Deno.test("A nested model without a title is named by its way, in PascalCase", () => {
  interface Tree {
    branches?: Tree[] | undefined;
  }
  const Tree: v.GenericSchema<Tree> = v.object({ branches: v.optional(v.array(v.lazy(() => Tree))) });
  const Shape = v.variant("kind", [
    v.object({ kind: v.literal("dark-blue"), side: int }),
    v.object({ kind: v.literal("red"), radius: int }),
  ]);
  assertEquals(namesOf((app) => app.post("/", { body: v.object({ tree: Tree, shape: Shape }) }, answer)), [
    "AnswerBody",
    "AnswerBodyShapeDarkBlue",
    "AnswerBodyShapeRed",
    "AnswerBodyTree",
  ]);
});

Deno.test("The name of a model with a title does not depend on which route came first", () => {
  const book = () => v.pipe(v.object({ copies: v.optional(int, 1) }), v.title("Book"));
  const [Book, Again] = [book(), book()];
  const Titled = v.pipe(v.object({ a: int }), v.title("GetBookResult"));
  const routes: ((app: App) => void)[] = [
    (app) => app.post("/a", { body: Again }, answer),
    (app) => app.post("/b", { body: Book, response: Book }, answer),
    (app) => app.get("/c", { response: v.object({ b: int }), operationId: "getBook" }, answer),
    (app) => app.get("/d", { response: Titled }, answer),
  ];
  for (const order of [routes, routes.toReversed()]) {
    const schemas = schemasOf((app) => order.forEach((add) => add(app)));
    assertEquals(Object.keys(schemas.GetBookResult!.properties!), ["a"]);
    const names = Object.keys(schemas).filter((name) => /Book/.test(name));
    assertEquals(names, ["Book", "BookInput", "GetBookResult", "GetBookResult2"]);
  }
});

Deno.test("Extensions of the document have names of our own, never x-oai-", async () => {
  for (const document of await documents()) {
    const extensions = JSON.stringify(document).match(/"x-[a-zA-Z-]+":[{[]/g) ?? [];
    assert(extensions.length > 0);
    for (const extension of extensions) assertMatch(extension, /^"x-(?:itemSchema|additionalOperations)"/);
  }
});

Deno.test("Every member of allOf has a type", async () => {
  const A = v.object({ a: v.string() });
  const app = new App();
  app.post("/", {
    body: v.object({
      code: v.pipe(v.string(), v.regex(/^a/), v.regex(/z$/), v.notValue("ab"), v.notValue("az")),
      both: v.intersect([v.union([A, v.object({ b: int })]), v.object({ c: int }), v.variant("kind", [])]),
      chosen: v.pipe(v.string(), v.union([v.literal("a"), v.pipe(v.string(), v.minLength(3))])),
      even: v.pipe(v.number(), v.multipleOf(2), v.multipleOf(3)),
    }),
  }, answer);
  let seen = 0;
  for (const document of [...await documents(), app.openapi()]) {
    for (const [place, { allOf }] of partsOf(document)) {
      for (const member of allOf ?? []) {
        assert(member.type !== undefined || member.$ref !== undefined, `${place} ${JSON.stringify(member)}`);
        seen++;
      }
    }
  }
  assert(seen > 20, `${seen} members`);
});

Deno.test("Integers and numbers have int32, int64 or double as their format, integers int32 where their bounds fit", async () => {
  const { properties } = schemasOf((app) => {
    const body = v.object({
      id: int,
      share: v.number(),
      none: v.nullable(int),
      year: v.pipe(int, v.minValue(1), v.maxValue(9999)),
      below: v.pipe(int, v.gtValue(-1), v.ltValue(2 ** 31)),
      safe: v.pipe(v.number(), v.safeInteger()),
      own: v.pipe(int, v.minValue(0), v.maxValue(5), v.metadata({ format: "int64" })),
      level: v.picklist([1, 2, 3]),
      far: v.literal(2 ** 40),
      half: v.picklist([0.5, 1]),
      word: v.picklist(["a", 1]),
    });
    app.post("/", { body }, async function add() {
      return null;
    });
  }).AddBody!;
  const formats = Object.entries(properties!).map(([name, { type, format }]) => [name, String(type), format]);
  assertEquals(formats, [
    ["id", "integer", "int64"],
    ["share", "number", "double"],
    ["none", "integer,null", "int64"],
    ["year", "integer", "int32"],
    ["below", "integer", "int64"],
    ["safe", "integer", "int64"],
    ["own", "integer", "int64"],
    ["level", "integer", "int32"],
    ["far", "integer", "int64"],
    ["half", "number", "double"],
    ["word", "string,integer", undefined],
  ]);
  for (const document of await documents()) {
    for (const [place, { type, format }] of partsOf(document)) {
      if (type === "integer") assertMatch(format ?? "", /^int(?:32|64)$/, place);
      if (type === "number") assertEquals(format, "double", place);
    }
  }
});

Deno.test("Files have format: binary and contentMediaType, streams of bytes a schema", async () => {
  const file = UploadFile as unknown as v.GenericSchema<File>;
  const app = new App();
  app.put("/", { body: Stream() }, answer);
  app.get("/", { response: v.instance(ReadableStream) }, answer);
  app.get("/picture", { response: v.pipe(v.blob(), v.mimeType(["image/png"])) }, answer);
  app.post("/", { form: Form(v.object({ one: file, all: v.array(file) })), operationId: "send" }, answer);
  const document = app.openapi();
  const bytes = { schema: { type: "string", format: "binary" } } as const;
  assertEquals(operationAt(document, "put", "/").requestBody?.content, { "application/octet-stream": bytes });
  const contentOf = (path: string) => {
    const reply = operationAt(document, "get", path).responses["200"]!;
    return "content" in reply ? reply.content : undefined;
  };
  assertEquals([contentOf("/"), contentOf("/picture")], [{ "*/*": bytes }, { "image/png": bytes }]);
  const field = { ...bytes.schema, contentMediaType: "application/octet-stream" };
  assertEquals(document.components.schemas!.SendForm!.properties, { one: field, all: { type: "array", items: field } });
});

Deno.test("A format has no pattern that says the same, and patterns are plain ASCII", async () => {
  const { properties } = schemasOf((app) => {
    const text = v.string();
    const body = v.object({
      mail: v.pipe(text, v.email()),
      rfcMail: v.pipe(text, v.rfcEmail()),
      id: v.pipe(text, v.uuid()),
      day: v.pipe(text, v.isoDate()),
      at: v.pipe(text, v.isoTimestamp()),
      address: v.pipe(text, v.ipv4()),
      host: v.pipe(text, v.domain()),
      bytes: v.pipe(text, v.base64()),
      word: v.pipe(text, v.regex(/^[a-z]+$/i)),
      mask: v.pipe(text, v.regex(/^mask$/iu)),
      company: v.pipe(text, v.email(), v.endsWith("@example.org")),
    });
    app.post("/", { body }, async function add() {});
  }).AddBody!;
  assertEquals(properties, {
    mail: { type: "string", format: "email" },
    rfcMail: { type: "string", format: "email" },
    id: { type: "string", format: "uuid" },
    day: { type: "string", format: "date" },
    at: { type: "string", format: "date-time" },
    address: { type: "string", format: "ipv4" },
    host: { type: "string", format: "hostname" },
    bytes: { type: "string", contentEncoding: "base64" },
    // JSON Schema has no flags.
    word: { type: "string" },
    mask: { type: "string" },
    // A pattern next to the format stays.
    company: { type: "string", format: "email", pattern: "@example\\.org$" },
  });
  for (const document of await documents()) {
    for (const [place, { pattern, format }] of partsOf(document)) {
      assert(pattern === undefined || format === undefined, place);
      assertMatch(pattern ?? "", /^[\x20-\x7e]*$/, place);
    }
  }
});

Deno.test("A model is not split in two for a bound that only trimming, or rewriting, breaks", async () => {
  const Name = v.pipe(v.string(), v.trim(), v.minLength(1));
  const Person = v.pipe(
    v.object({
      name: v.pipe(Name, v.maxLength(200)),
      mail: v.pipe(v.string(), v.trim(), v.toLowerCase(), v.email(), v.maxLength(100)),
      currency: v.pipe(v.string(), v.toUpperCase(), v.regex(/^[A-Z]{3}$/)),
      born: v.pipe(v.string(), v.isoTimestamp(), v.toDate()),
    }),
    v.title("Person"),
  );
  const Sent = v.pipe(v.object({ ...Person.entries, born: v.date() }), v.title("Person"));
  const app = new App();
  app.post("/", { body: Person, response: Sent }, async (_request, { body }) => body);
  const { Person: model, ...others } = app.openapi().components.schemas!;
  assertEquals(Object.keys(others), ["Problem", "ValidationIssue", "ValidationProblem"]);
  assertEquals(model!.properties, {
    name: { type: "string", minLength: 1, maxLength: 200 },
    mail: { type: "string", format: "email", maxLength: 100 },
    currency: { type: "string" },
    born: { type: "string", format: "date-time" },
  });
  // Text without blanks is accepted, and text with blanks is trimmed first.
  const body = {
    name: `  ${"x".repeat(200)} `,
    mail: " ADA@example.org",
    currency: "eur",
    born: "1815-12-10T00:00:00Z",
  };
  const response = await app.fetch(
    new Request("http://localhost/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  assertEquals(response.status, 200);
  assertEquals((await response.json()).name, "x".repeat(200));
});

Deno.test("A model is split if a default makes its input and its output differ", () => {
  const Book = v.pipe(v.object({ copies: v.optional(int, 1) }), v.title("Book"));
  const schemas = schemasOf((app) => app.post("/", { body: Book, response: Book }, answer));
  assertEquals([schemas.Book!.required, schemas.BookInput!.required], [["copies"], undefined]);
});

Deno.test("A property of a response that ends in a transformation is required, and typed where valibot knows its output", () => {
  const text = v.string();
  const { Stock } = schemasOf((app) => {
    const Stock = v.pipe(
      v.object({
        own: v.pipe(text, v.transform((given) => given.length)),
        known: v.pipe(text, v.transform((given) => given.length), int),
        number: v.pipe(text, v.toNumber()),
        flag: v.pipe(text, v.parseBoolean()),
        day: v.pipe(text, v.toDate()),
        first: v.pipe(v.array(int), v.findItem(() => true)),
        maybe: v.pipe(text, v.transform((given) => given || undefined), v.optional(v.string())),
      }),
      v.title("Stock"),
    );
    app.get("/", { response: Stock }, answer);
  });
  assertEquals(Stock!.required, ["own", "known", "number", "flag", "day"]);
  assertEquals(Stock!.properties, {
    own: {},
    known: INT64,
    number: { type: "number", format: "double" },
    flag: { type: "boolean" },
    day: { type: "string", format: "date-time" },
    first: INT64,
    maybe: { type: "string" },
  });
});

Deno.test("The length of a closed tuple is documented as a length", () => {
  const { AnswerBody } = schemasOf((app) =>
    app.post("/", { body: v.object({ at: v.strictTuple([int, int]) }) }, answer)
  );
  const item = INT64;
  assertEquals(
    AnswerBody!.properties!.at,
    { type: "array", prefixItems: [item, item], minItems: 2, maxItems: 2 } as never,
  );
});
