// Parameters of the documentation page.
import { App } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertStringIncludes } from "@std/assert";

const app = new App({ docs: { parameters: { syntaxHighlight: false, deepLinking: false } } });
app.get("/users/{name}", async (_request, { name }) => name);

Deno.test("configure Swagger UI: the page has the parameters", async () => {
  await using client = new TestClient(app);
  const page = await client.get("/docs").text();
  for (const name of ["syntaxHighlight", "deepLinking"]) assertStringIncludes(page, name);
});
