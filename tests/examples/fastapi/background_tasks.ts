// Work after the reply.
import { App, dependency } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import * as v from "valibot";

const log: string[] = [];
const noted = dependency({ query: { q: v.optional(v.string()) } }, async (request, { q }) => {
  if (q !== undefined) request.after(async () => void log.push(`a search for ${q}`));
});

const app = new App();
app.post("/mails/{to}", { deps: { noted }, status: 202 }, async (request, { to }) => {
  request.after(async () => void log.push(`a mail to ${to}`));
  log.push("the reply");
});

Deno.test("background tasks: of the handler and of dependencies, after the reply", async () => {
  {
    await using client = new TestClient(app);
    assertEquals((await client.post("/mails/ada?q=emma")).status, 202);
  }
  assertEquals(log, ["the reply", "a search for emma", "a mail to ada"]);
});
