// Section 6 of the contract: the issues of a 422.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { App, Form } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";

Deno.test("Each fault says whether the value is missing or wrong", async () => {
  const app = new App();
  const Book = v.object({ title: v.string(), price: v.number(), shelf: v.nullable(v.string()), any: v.any() });
  app.post("/", { query: { page: v.number(), size: v.number() }, body: Book }, async () => 1);
  await using client = new TestClient(app);
  const { errors } = await client.post("/?size=x", { json: { price: "1" } }).problem(422);
  assertEquals(errors.map(({ path, code, message, expected }) => [path.join("."), code, message, expected]), [
    ["page", "missing", "Missing value", "number"],
    ["size", "invalid", "Invalid type: expected number", "number"],
    ["title", "missing", "Missing value", "string"],
    ["price", "invalid", "Invalid type: expected number", "number"],
    ["shelf", "missing", "Missing value", "(string | null)"],
    ["any", "missing", "Missing value", undefined],
  ]);
  const { errors: [whole] } = await client.post("/?page=1&size=1").problem(422);
  assertEquals(whole, { in: "body", path: [], code: "missing", message: "Missing value", expected: "Object" });
});

Deno.test("A schema's own message is used for a key that is missing, too", async () => {
  const Address = v.object({ city: v.string("Please give a city") }, "Please give an address");
  const Book = v.object({
    title: v.pipe(v.string("Please give a title"), v.nonEmpty("Please give a longer title")),
    pages: v.nullable(v.number(({ received }) => `Pages are a number, not ${received}`)),
    address: Address,
    price: v.number(),
    of: v.nonOptional(v.optional(v.string("Please give of")), "Please do give of"),
  });
  const messages = [
    ["title", "Please give a title"],
    ["pages", "Pages are a number, not undefined"],
    ["address", "Please give an address"],
    ["price", "Missing value"],
    ["of", "Please do give of"],
  ];
  const app = new App();
  app.post("/json", { body: v.optional(Book) }, async () => 1);
  app.post("/async", { body: v.pipeAsync(Book, v.checkAsync(async () => true)) }, async () => 1);
  app.post("/form", { form: Form(Book) }, async () => 1);
  app.get("/query", { query: { title: Book.entries.title } }, async () => 1);
  await using client = new TestClient(app);
  const body = new URLSearchParams("x=1");
  for (
    const sent of [
      client.post("/json", { json: {} }),
      client.post("/async", { json: {} }),
      client.post("/form", { body }),
    ]
  ) {
    const { errors } = await sent.problem(422);
    assertEquals(errors.map(({ path, message }) => [path.join("."), message]), messages);
    assertEquals(errors.map(({ code }) => code), messages.map(() => "missing"));
  }
  const { errors: [city] } = await client.post("/json", {
    json: { title: "a", pages: 1, price: 1, of: "a", address: {} },
  })
    .problem(422);
  assertEquals(city, {
    in: "body",
    path: ["address", "city"],
    code: "missing",
    message: "Please give a city",
    expected: "string",
  });
  const { errors: [title] } = await client.get("/query").problem(422);
  assertEquals([title?.code, title?.message], ["missing", "Please give a title"]);
});

Deno.test("A result that lacks a key, or has an empty text, is logged in plain words", async () => {
  const app = new App();
  const response = v.object({ title: v.pipe(v.string(), v.nonEmpty()), isbn: v.string() });
  app.get("/", { response }, async () => ({ title: "" }) as never);
  await using client = new TestClient(app);
  using log = new CapturedLog();
  assertEquals((await client.get("/")).status, 500);
  assertStringIncludes(log.text, '\\"title\\" should not be empty, \\"isbn\\" is missing');
});
