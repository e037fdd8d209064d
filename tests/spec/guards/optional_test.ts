// "optional(member): null where nothing was sent; what is wrong is still 401".

import { assertEquals, assertThrows } from "@std/assert";
import { anySecurity, App, type Dependency, dependency } from "@webfw/core";
import { apiKey, basic, bearer, jwt, optional } from "@webfw/core/auth";
import { answering, ask, AUDIENCE, ISSUER, Signer } from "./support/tokens.ts";

const user = bearer(async (token) => token === "t-1" && "Ada");

async function answer(app: App, headers: HeadersInit = {}): Promise<unknown[]> {
  const response = await app.fetch(new Request("http://localhost/", { headers }));
  const body = await response.json();
  return [response.status, response.ok ? body : response.headers.get("www-authenticate")];
}

Deno.test("null where nothing was sent; what is wrong is still 401", async () => {
  const app = answering(optional(user));
  assertEquals(await answer(app), [200, null]);
  assertEquals(await answer(app, { authorization: "Bearer t-1" }), [200, "Ada"]);
  assertEquals(await answer(app, { authorization: "Bearer t-2" }), [
    401,
    'Bearer realm="bearer", error="invalid_token"',
  ]);
  // Something was sent, although it is for nobody here.
  for (const authorization of ["Basic YTpi", "Bearer", "t-1", ""]) {
    assertEquals((await answer(app, { authorization }))[0], 401);
  }
});

Deno.test("It holds for each kind of guard", async () => {
  const signer = await Signer.make();
  const member = jwt({ keys: signer.publicKey, issuer: ISSUER, audience: AUDIENCE });
  const guards: [guard: Dependency<unknown>, wrong: HeadersInit][] = [
    [basic(async () => null), { authorization: "Basic YTpi" }],
    [apiKey(async () => null, { in: "header", name: "x-key" }), { "x-key": "" }],
    [apiKey(async () => null, { in: "cookie", name: "key" }), { cookie: "key=1" }],
    [member, { authorization: "Bearer x" }],
    [member.withScopes("a"), { authorization: "Bearer x" }],
    [anySecurity(user, member), { authorization: "Bearer x" }],
  ];
  for (const [guard, wrong] of guards) {
    const app = answering(optional(guard));
    assertEquals(await answer(app), [200, null]);
    assertEquals((await answer(app, wrong))[0], 401);
  }
  const query = answering(optional(apiKey(async () => null, { in: "query", name: "key" })));
  assertEquals((await query.fetch(new Request("http://localhost/?other=1"))).status, 200);
  assertEquals((await query.fetch(new Request("http://localhost/?key="))).status, 401);
  const writer = answering(optional(member.withScopes("a")));
  assertEquals((await ask(writer, await signer.sign({ scope: "a" }))).status, 200);
  assertEquals((await ask(writer, await signer.sign())).status, 403);
});

Deno.test("The document has an empty requirement, and the replies of the guard", () => {
  const member = jwt({ issuer: ISSUER, audience: AUDIENCE });
  const app = new App();
  app.get("/a", { deps: { user: optional(user) } }, async () => 1);
  app.get("/b", { deps: { user: optional(member.withScopes("a")) } }, async () => 1);
  const { paths } = app.openapi();
  assertEquals(paths["/a"]!.get!.security, [{ bearer: [] }, {}]);
  assertEquals(Object.keys(paths["/a"]!.get!.responses), ["200", "401", "4XX", "5XX"]);
  assertEquals(paths["/b"]!.get!.security, [{ jwt: ["a"] }, {}]);
  assertEquals(Object.keys(paths["/b"]!.get!.responses), ["200", "401", "403", "503", "4XX", "5XX"]);
});

Deno.test("A dependency that cannot tell what is missing from what is wrong is a TypeError", () => {
  const own = dependency({ security: { own: { type: "mutualTLS" } } }, async function own() {
    return 1;
  });
  const message =
    "only guards of @webfw/core/auth know whether credentials were sent, return null from its function instead";
  assertEquals(assertThrows(() => optional(own), TypeError).message, `Cannot make own optional: ${message}`);
  assertEquals(
    assertThrows(() => optional(anySecurity(user, own)), TypeError).message,
    `Cannot make bearer or own optional: ${message}`,
  );
  assertThrows(() => optional(async function () {} as never), TypeError);
});
