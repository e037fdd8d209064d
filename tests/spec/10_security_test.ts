// Section 10 of the contract: the document lists the credentials that dependencies declare.

import { assertEquals, assertThrows } from "@std/assert";
import { anySecurity, App, dependency, RouteError, Router } from "@webfw/core";
import type { HttpSecurityScheme, OAuth2SecurityScheme, SecurityRequirement } from "@webfw/core/types";
import * as v from "valibot";
import { operationAt } from "../describe/look_up.ts";

const text = v.string();
const answer = async () => null;
const scheme: HttpSecurityScheme = { type: "http", scheme: "bearer" };
const bearer: SecurityRequirement = { bearer: scheme };
const key: SecurityRequirement = { key: { type: "apiKey", in: "header", name: "X-Key" } };
const session: SecurityRequirement = { session: { type: "apiKey", in: "cookie", name: "sid" } };

/** The security of a route whose dependencies declare these. */
function securityOf(...declared: SecurityRequirement[]): unknown {
  const app = new App();
  const deps = declared.map((security, index) => [`d${index}`, dependency({ security }, async () => index)] as const);
  app.get("/", { deps: Object.fromEntries(deps) }, answer);
  return operationAt(app.openapi(), "get", "/").security;
}

Deno.test("An operation requires the security schemes of its dependencies, which are in components", () => {
  const user = dependency({ headers: { authorization: text }, security: bearer }, async () => "user");
  const app = new App();
  app.get("/open", answer);
  app.get("/me", { deps: { user } }, answer);
  const document = app.openapi();
  assertEquals(operationAt(document, "get", "/open").security, undefined);
  assertEquals(operationAt(document, "get", "/me").security, [{ bearer: [] }]);
  assertEquals(operationAt(document, "get", "/me").parameters, undefined);
  assertEquals(document.components.securitySchemes, { bearer: scheme });
});

Deno.test("Nested dependencies count, and each scheme once", () => {
  const user = dependency({ security: bearer }, async () => "user");
  const admin = dependency({ deps: { user }, security: key }, async () => "admin");
  const app = new App();
  app.get("/", { deps: { admin, user, again: dependency({ security: bearer }, async () => 1) } }, answer);
  assertEquals(operationAt(app.openapi(), "get", "/").security, [{ bearer: [], key: [] }]);
});

Deno.test("All schemes of a dependency are needed, of several ways one is enough, and an empty one says that nothing is", () => {
  assertEquals(securityOf(anySecurity(bearer, session)), [{ bearer: [] }, { session: [] }]);
  assertEquals(securityOf({ ...bearer, ...key }), [{ bearer: [], key: [] }]);
  assertEquals(securityOf(anySecurity({}, bearer)), [{}, { bearer: [] }]);
  assertEquals([securityOf({}), securityOf(anySecurity({}, {}))], [undefined, undefined]);
});

Deno.test("Dependencies all have to be satisfied, so their ways are combined", () => {
  assertEquals(securityOf(anySecurity({}, bearer), bearer), [{ bearer: [] }]);
  assertEquals(securityOf(anySecurity(bearer, session), key), [{ bearer: [], key: [] }, { session: [], key: [] }]);
  assertEquals(securityOf(anySecurity(bearer, key), anySecurity(key, bearer)), [
    { bearer: [], key: [] },
    { bearer: [] },
    { key: [] },
  ]);
});

Deno.test("Scopes of a scheme add up, and stay out of the scheme itself", () => {
  const oauth: OAuth2SecurityScheme = {
    type: "oauth2",
    flows: { clientCredentials: { tokenUrl: "/token", scopes: { read: "Read all", write: "Change all" } } },
  };
  const reader = dependency({ security: { oauth: { ...oauth, scopes: ["read"] } } }, async () => 1);
  const writer = dependency({ deps: { reader }, security: { oauth: { ...oauth, scopes: ["write", "read"] } } }, answer);
  const app = new App();
  app.get("/read", { deps: { reader } }, answer);
  app.get("/write", { deps: { writer } }, answer);
  const document = app.openapi();
  assertEquals(operationAt(document, "get", "/read").security, [{ oauth: ["read"] }]);
  assertEquals(operationAt(document, "get", "/write").security, [{ oauth: ["read", "write"] }]);
  assertEquals(document.components.securitySchemes, { oauth });
});

Deno.test("Credentials of a scheme are not parameters as well: clients send them by themselves", () => {
  const declared = { headers: { "x-key": text, "x-other": text }, cookies: { sid: text, other: text } };
  const both = dependency({ ...declared, security: anySecurity(key, session) }, async () => 1);
  const app = new App();
  app.get("/both", { deps: { both } }, answer);
  app.get("/none", { headers: { "x-key": text } }, answer);
  const document = app.openapi();
  const names = (path: string) => operationAt(document, "get", path).parameters?.map(({ name }) => name);
  assertEquals(names("/both"), ["x-other", "other"]);
  assertEquals(names("/none"), ["x-key"]);
});

Deno.test("An Authorization header without a scheme gets one in the document", () => {
  const inQuery: SecurityRequirement = { query: { type: "apiKey", in: "query", name: "key" } };
  const whole: SecurityRequirement = { whole: { type: "apiKey", in: "header", name: "authorization" } };
  const headers = { authorization: v.optional(text) };
  const app = new App();
  app.get("/other", { deps: { a: dependency({ headers, security: inQuery }, async () => 1) } }, answer);
  app.get("/whole", { deps: { a: dependency({ headers, security: whole }, async () => 1) } }, answer);
  app.get("/elsewhere", { headers, deps: { a: dependency({ security: bearer }, async () => 1) } }, answer);
  const document = app.openapi();
  const security = ["/other", "/whole", "/elsewhere"].map((path) => operationAt(document, "get", path).security);
  assertEquals(security, [[{ query: [] }, { query: [], authorization: [] }], [{ whole: [] }], [{ bearer: [] }]]);
});

Deno.test("Two schemes of one name are a RouteError with code conflict, which names both routes", () => {
  const basic = dependency({ security: { bearer: { type: "http", scheme: "basic" } } }, async () => 1);
  const token = dependency({ security: { bearer: { scheme: "bearer", type: "http" } } }, async () => 1);
  const router = new Router({ prefix: "/v1" });
  router.get("/same", { deps: { token } }, answer);
  const app = new App();
  app.get("/me", { deps: { user: dependency({ security: bearer }, async () => 1) } }, answer);
  app.include(router);
  assertEquals(Object.keys(app.openapi().components.securitySchemes!), ["bearer"]);
  app.get("/other", { deps: { basic } }, answer);
  const error = assertThrows(() => app.openapi(), RouteError);
  assertEquals(error.code, "conflict");
  assertEquals(
    error.message,
    'Cannot describe GET /other: its security scheme "bearer" is another one than that of GET /me, give one of the two another name',
  );
  const twice = new App();
  twice.get("/me", { deps: { basic, token } }, answer);
  assertThrows(
    () => twice.openapi(),
    RouteError,
    'its security scheme "bearer" is another one than that of another guard of it',
  );
});
