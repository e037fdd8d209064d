// A guard of one's own, which refuses with 403 in place of 401.
import { App, dependency, HTTPError } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";

const member = dependency({ security: { token: { type: "http", scheme: "bearer" } } }, async (request) => {
  const [, token] = /^Bearer (.+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (token === undefined) throw new HTTPError(403, "Not authenticated");
  return token;
});

const app = new App();
app.get("/me", { deps: { member } }, async (_request, { member }) => ({ token: member }));

Deno.test("authentication error status code: a guard refuses with 403", async () => {
  await using client = new TestClient(app);
  assertEquals((await client.get("/me").problem(403)).detail, "Not authenticated");
  assertEquals(await client.get("/me", { headers: { authorization: "Bearer t-1" } }).json(), { token: "t-1" });
  assertEquals(app.openapi().paths["/me"]!.get!.security, [{ token: [] }]);
});
