import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import * as v from "valibot";

const answer = async () => null;

/** The operations by path and method. */
function operationsOf(app: App): Record<string, string> {
  const operations: Record<string, string> = {};
  for (const [path, item] of Object.entries(app.openapi().paths)) {
    for (const [method, operation] of Object.entries(item)) operations[`${method} ${path}`] = operation.operationId;
  }
  return operations;
}

Deno.test("Paths are URIs, whatever their segments are made of", () => {
  const app = new App();
  for (const path of ["/", "/über uns", "/a;b=1,2@c:d!$&'()*+", '/x[]^|"<>`\\', "/\ud800", "//"]) app.get(path, answer);
  assertEquals(Object.keys(app.openapi().paths), [
    "/",
    "/%C3%BCber%20uns",
    "/a;b=1,2@c:d!$&'()*+",
    "/x%5B%5D%5E%7C%22%3C%3E%60%5C",
    "/%EF%BF%BD",
    "//",
  ]);
});

Deno.test("Where {name...} and {name} are the same path to OpenAPI, {name} is described, whichever came first", () => {
  const rest = async function rest() {};
  const single = async function single() {};
  const [one, other] = [new App(), new App()];
  one.get("/files/{path...}", rest);
  one.get("/files/{name}", single);
  other.get("/files/{name}", single);
  other.get("/files/{path...}", rest);
  assertEquals(operationsOf(one), { "get /files/{name}": "single" });
  assertEquals(operationsOf(other), { "get /files/{name}": "single" });
});

Deno.test("Where {name...} and {name} have different methods, both are described", () => {
  const app = new App();
  app.get("/files/{name}", async function single() {});
  app.put("/files/{path...}", async function rest() {});
  assertEquals(operationsOf(app), { "get /files/{name}": "single", "put /files/{name}": "rest" });
  const { put } = app.openapi().paths["/files/{name}"]!;
  assertEquals(put?.parameters?.map(({ name }) => name), ["name"]);
});

Deno.test("Paths and tags come in the order of the routes, methods too", () => {
  const app = new App();
  app.post("/b", { tags: ["z", "a"] }, async function first() {});
  app.get("/a", { tags: ["a", "b"] }, async function second() {});
  app.get("/b", async function third() {});
  assertEquals(Object.entries(operationsOf(app)), [["post /b", "first"], ["get /b", "third"], ["get /a", "second"]]);
  assertEquals(app.openapi().tags, [{ name: "z" }, { name: "a" }, { name: "b" }]);
});

Deno.test("Components contain only referenced parts", () => {
  const app = new App();
  app.get("/", answer);
  const { responses = {}, schemas = {}, securitySchemes } = app.openapi().components;
  assertEquals([Object.keys(responses), Object.keys(schemas), securitySchemes], [["Problem"], ["Problem"], undefined]);
});

Deno.test("A model of the application keeps its name, whatever the error replies are called", () => {
  const app = new App();
  const Problem = v.pipe(v.object({ mine: v.string() }), v.title("Problem"));
  app.get("/", { response: Problem }, async () => ({ mine: "" }));
  const { schemas = {}, responses = {} } = app.openapi().components;
  assertEquals(Object.keys(schemas.Problem?.properties ?? {}), ["mine"]);
  assertEquals(responses.Problem?.content, {
    "application/problem+json": { schema: { $ref: "#/components/schemas/Problem2" } },
  });
});

Deno.test("A document is plain JSON: nothing is lost by writing it", () => {
  const app = new App();
  app.get("/{id}", { query: { q: v.optional(v.bigint(), 1n) }, deprecated: false, tags: [] }, answer);
  const document = app.openapi();
  assertEquals(JSON.parse(JSON.stringify(document)), document);
});
