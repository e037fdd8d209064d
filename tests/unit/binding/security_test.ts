import { assertEquals, assertThrows } from "@std/assert";
import { anySecurity, App, dependency } from "@webfw/core";
import type { SecurityRequirement } from "@webfw/core/types";
import { readSecurity } from "../../../src/binding/security.ts";
import { redactUrl } from "../../../src/log/redaction.ts";

const oauth = {
  type: "oauth2",
  flows: { password: { tokenUrl: "/token", scopes: { read: "Read all", write: "Change all" } } },
};

/** The result of a declaration of one scheme. */
function refusal(scheme: unknown, name = "it"): string {
  const { message } = assertThrows(() => readSecurity({ [name]: scheme }, "currentUser"), TypeError);
  return message.replace("Cannot declare currentUser: ", "");
}

Deno.test("Every kind of scheme of OpenAPI 3.1 can be declared", () => {
  const url = "https://example.org";
  const scopes = { read: "Read all" };
  const schemes = {
    key: { type: "apiKey", in: "cookie", name: "sid", description: "Of the session." },
    basic: { type: "http", scheme: "basic" },
    bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
    certificate: { type: "mutualTLS" },
    oauth: {
      type: "oauth2",
      flows: {
        authorizationCode: { authorizationUrl: url, tokenUrl: url, scopes, refreshUrl: url },
        clientCredentials: { tokenUrl: url, scopes: {} },
        implicit: { authorizationUrl: url, scopes },
        password: { tokenUrl: url, scopes },
      },
    },
    provider: { type: "openIdConnect", openIdConnectUrl: url },
  };
  const [way] = readSecurity(schemes, "currentUser");
  assertEquals(Object.fromEntries([...way!].map(([name, { scheme }]) => [name, scheme])), schemes as unknown);
});

Deno.test("Required scopes are next to the scheme, not in it", () => {
  const [way] = readSecurity({ oauth: { ...oauth, scopes: ["read"] } }, "currentUser");
  assertEquals(way!.get("oauth"), { scheme: oauth as never, scopes: ["read"] });
  const provider = { type: "openIdConnect", openIdConnectUrl: "/" };
  const [other] = readSecurity({ provider: { ...provider, scopes: ["any"] } }, "currentUser");
  assertEquals(other!.get("provider"), { scheme: provider as never, scopes: ["any"] });
});

Deno.test("A scheme comes out the same, however its members are ordered", () => {
  const [way] = readSecurity({ a: { scheme: "bearer", type: "http" }, b: { type: "http", scheme: "bearer" } }, "it");
  assertEquals(JSON.stringify(way!.get("a")), JSON.stringify(way!.get("b")));
});

Deno.test("There are several alternatives, one, or none", () => {
  const bearer: SecurityRequirement = { bearer: { type: "http", scheme: "bearer" } };
  const key: SecurityRequirement = { key: { type: "apiKey", in: "header", name: "x-key" } };
  const namesOf = (given: unknown) => readSecurity(given, "it").map((way) => [...way.keys()]);
  assertEquals(namesOf(anySecurity({}, bearer)), [[], ["bearer"]]);
  assertEquals(namesOf(anySecurity(anySecurity(bearer, {}), { ...key, ...bearer })), [["bearer"], [], [
    "key",
    "bearer",
  ]]);
  assertEquals([namesOf({}), namesOf(undefined)], [[[]], []]);
});

Deno.test("An invalid security scheme is refused, with its place", () => {
  const kinds = '("apiKey" | "http" | "mutualTLS" | "oauth2" | "openIdConnect")';
  assertEquals(refusal({ type: "bearer" }), `the security scheme "it" must have ${kinds} as "type"`);
  assertEquals(refusal({}), `the security scheme "it" must have ${kinds} as "type"`);
  assertEquals(refusal("bearer"), 'the security scheme "it" must be an object');
  assertEquals(refusal({ type: "http" }), 'the security scheme "it" must have "scheme"');
  assertEquals(refusal({ type: "http", scheme: 1 }), 'the security scheme "it" must have string as "scheme"');
  const inHeader = { type: "http", scheme: "bearer", in: "header" };
  assertEquals(refusal(inHeader), 'the security scheme "it" has the unknown member "in", the nearest is "type"');
  const noUrl = { type: "oauth2", flows: { password: { scopes: {} } } };
  assertEquals(refusal(noUrl), 'the security scheme "it" must have "flows.password.tokenUrl"');
  const unknownScope = { ...oauth, scopes: ["read", "admin"] };
  assertEquals(
    refusal(unknownScope),
    'the security scheme "it" asks for the scope "admin", which none of its flows has',
  );
  assertEquals(
    refusal({ type: "mutualTLS" }, "a name"),
    'the security scheme "a name" has a name that the document cannot hold, use letters, digits, ".", "-" and "_"',
  );
});

Deno.test("A value that does not contain schemes by their names is refused", () => {
  for (const given of ["bearer", null, [], anySecurity({}, null as never)]) {
    assertThrows(() => readSecurity(given, "it"), TypeError, '"security" must hold security schemes by their names');
  }
});

Deno.test("A wrong security scheme is an error where the dependency is declared, by its name", () => {
  const security = { bearer: { type: "basic" } } as never;
  assertThrows(
    () => dependency({ security }, async function currentUser() {}),
    TypeError,
    'Cannot declare currentUser: the security scheme "bearer"',
  );
});

Deno.test("A declaration hides no query parameter: an App that serves hides those of its schemes", async () => {
  const needing = (name: string, deps = {}) =>
    dependency({ deps, security: { [name]: { type: "apiKey", in: "query", name } } }, async () => name);
  needing("unused_key");
  const [inner, page] = [needing("inner_key"), needing("page_key")];
  const app = new App({ docs: { deps: { page } } });
  app.get("/", { deps: { outer: needing("outer_key", { inner }) } }, async (_request, { outer }) => outer);
  const mounted = new App();
  mounted.get("/", { deps: { user: needing("mounted_key") } }, async () => "Hello");
  app.mount("/mounted", mounted);
  const url = "/?unused_key=1&inner_key=2&page_key=3&outer_key=4&mounted_key=5";
  assertEquals(redactUrl(url), url);
  await (await app.fetch(new Request("http://localhost/unknown"))).body?.cancel();
  const hidden = ["inner_key", "page_key", "outer_key", "mounted_key"].map((name) => `${name}=REDACTED`);
  assertEquals(redactUrl(url), `/?unused_key=1&${hidden.join("&")}`);
});
