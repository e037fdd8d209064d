// Pages from a function that escapes its values.
import { App, Html } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals, assertStringIncludes } from "@std/assert";

/** A template: values are escaped. In an application, use a library for pages. */
function page(parts: TemplateStringsArray, ...values: string[]): string {
  const escaped = values.map((value) => value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`));
  return String.raw({ raw: parts }, ...escaped);
}

const app = new App();
// A handler that links to its own route writes the type of its result.
const book = app.get("/books/{id}", { response: Html() }, async (request, { id }): Promise<string> => {
  const self = request.link(book, { id });
  return page`<!doctype html><title>${id}</title><link rel="stylesheet" href="/style.css"><a href="${self}">${id}</a>`;
});

Deno.test("templates: a page has escaped values", async () => {
  await using client = new TestClient(app);
  const reply = await client.get("/books/a&b");
  assertEquals(reply.headers.get("content-type")?.split(";")[0], "text/html");
  assertStringIncludes(await reply.text(), '<a href="/books/a%26b">a&#38;b</a>');
});
