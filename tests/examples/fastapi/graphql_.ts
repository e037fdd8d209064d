// A GraphQL endpoint. The recipe has one with a server for GraphQL.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import { buildSchema, graphql } from "npm:graphql@^17";

const schema = buildSchema("type Book { title: String! } type Query { book: Book! }");

const app = new App();
app.mount("/graphql", async (request) => {
  const { query } = await request.json();
  return Response.json(await graphql({ schema, source: query, rootValue: { book: { title: "Emma" } } }));
});

Deno.test("GraphQL: a mounted function answers queries", async () => {
  await using client = new TestClient(app);
  assertEquals(await client.post("/graphql", { json: { query: "{ book { title } }" } }).json(), {
    data: { book: { title: "Emma" } },
  });
});
