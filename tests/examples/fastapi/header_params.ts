// Headers by their names, also repeated ones.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const app = new App();
app.get("/books", {
  headers: { "user-agent": v.optional(v.string()), "x-token": v.optional(v.array(v.string()), []) },
}, async (_request, { headers }) => headers);

Deno.test("header params: headers by their names, also repeated ones", async () => {
  await using client = new TestClient(app);
  const headers = new Headers({ "User-Agent": "tests" });
  for (const token of ["one", "two"]) headers.append("X-Token", token);
  assertEquals(await client.get("/books", { headers }).json(), { "user-agent": "tests", "x-token": ["one", "two"] });
});
