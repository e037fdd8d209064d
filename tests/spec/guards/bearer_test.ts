// "bearer(async (token, request) => …); null or undefined: 401", and what all guards of
// @webfw/core/auth have in common: "declares its scheme, so that the route's document has
// `security` and the replies `401`", "a refusal is 401 with `WWW-Authenticate`".

import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import crypto from "node:crypto";
import { App, HTTPError, type HttpRequest, Problem } from "@webfw/core";
import { bearer, equal } from "@webfw/core/auth";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { operationAt } from "../../describe/look_up.ts";

const answer = async () => null;

/** An application with one guarded route. */
function guarded(user: ReturnType<typeof bearer<unknown>>): App {
  const app = new App();
  app.get("/me", { deps: { user } }, async (_request, { user }) => user);
  return app;
}

async function ask(app: App, authorization?: string): Promise<Response> {
  const headers = authorization === undefined ? {} : { authorization };
  return await app.fetch(new Request("http://localhost/me", { headers }));
}

const ADA = { name: "Ada" };
const app = guarded(bearer(async (token) => token === "secret" ? ADA : null));

Deno.test("The value is what the function returned for the token", async () => {
  for (const header of ["Bearer secret", "bearer secret", "BEARER  secret"]) {
    const response = await ask(app, header);
    assertEquals([response.status, await response.json()], [200, ADA]);
  }
});

Deno.test("A request without a bearer token is 401 with a challenge and no error code", async () => {
  for (const header of [undefined, "Basic YTpi", "Bearers secret", "secret"]) {
    const response = await ask(app, header);
    assertEquals(response.status, 401);
    assertEquals(response.headers.get("www-authenticate"), 'Bearer realm="bearer"');
    assertEquals((await response.json()).detail, "Send a bearer token in the Authorization header");
  }
});

Deno.test("A token that cannot be one is 401 invalid_token, and the function is not called", async () => {
  let calls = 0;
  const app = guarded(bearer(async () => ++calls));
  for (const header of ["Bearer", "Bearer a b", "Bearer secret, Bearer secret", `Bearer ${"x".repeat(16_385)}`]) {
    const response = await ask(app, header);
    assertEquals(response.status, 401);
    assertEquals(response.headers.get("www-authenticate"), 'Bearer realm="bearer", error="invalid_token"');
    await response.body?.cancel();
  }
  assertEquals(calls, 0);
  assertEquals((await ask(app, `Bearer ${"x".repeat(16_384)}`)).status, 200);
});

Deno.test("null or undefined: 401, and so is false, which a comparison returns", async () => {
  for (const nobody of [null, undefined, false] as const) {
    const response = await ask(guarded(bearer(async () => nobody)), "Bearer x");
    assertEquals(response.status, 401);
    assertEquals(response.headers.get("www-authenticate"), 'Bearer realm="bearer", error="invalid_token"');
    assertFalse((await response.text()).includes("Bearer x"));
  }
  for (const somebody of [0, "", true]) {
    assertEquals((await ask(guarded(bearer(async () => somebody)), "Bearer x")).status, 200);
  }
});

Deno.test("What the function throws is a 500, unless it is an HTTPError", async () => {
  const teapot = bearer(async () => {
    throw new HTTPError(418);
  });
  assertEquals((await ask(guarded(teapot), "Bearer x")).status, 418);
  const broken = bearer(async () => {
    throw new Error("the database is away");
  });
  using log = new CapturedLog();
  assertEquals((await ask(guarded(broken), "Bearer s3cret")).status, 500);
  assertEquals(log.lines.length, 1);
  assertFalse(log.lines[0]!.includes("s3cret"));
});

Deno.test("The function gets the request, with its state", async () => {
  const app = new App<{ names: Map<string, string> }>();
  app.lifespan(async function* () {
    yield { names: new Map([["t1", "Ada"]]) };
  });
  const user = bearer(async (token, request: HttpRequest<{ names: Map<string, string> }>) =>
    request.state.names.get(token)
  );
  app.get("/me", { deps: { user } }, async (_request, { user }) => user);
  const response = await app.fetch(new Request("http://localhost/me", { headers: { authorization: "Bearer t1" } }));
  assertEquals(await response.json(), "Ada");
});

Deno.test("The route's document has security and the reply 401, with its header and the shape of errors", () => {
  const document = app.openapi();
  const { security, responses, parameters } = operationAt(document, "get", "/me");
  assertEquals(security, [{ bearer: [] }]);
  assertEquals(parameters, undefined);
  assertEquals(document.components.securitySchemes, { bearer: { type: "http", scheme: "bearer" } });
  assertEquals(responses["401"], { $ref: "#/components/responses/Unauthorized" });
  assertEquals(document.components.responses!.Unauthorized, {
    description: "The credentials are missing or not valid.",
    headers: { "WWW-Authenticate": { description: "How to authenticate (RFC 9110).", schema: { type: "string" } } },
    content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
  });
});

Deno.test("A 401 has the application's own shape of errors, and only routes with a guard have it", () => {
  const app = new App();
  app.onError(async () => Response.json({ fault: "no" }), { schema: v.object({ fault: v.string() }) });
  app.get("/me", { deps: { user: bearer(async () => ADA) } }, answer);
  app.get("/open", answer);
  const document = app.openapi();
  assertEquals(operationAt(document, "get", "/open").responses["401"], undefined);
  assertEquals(Object.keys(document.components.responses!.Unauthorized!.content!), ["application/json"]);
});

Deno.test("A reply that the route declares replaces the guard's, and keeps its header", () => {
  const app = new App();
  const user = bearer(async () => ADA);
  app.get("/me", { deps: { user }, responses: { 401: v.pipe(Problem, v.description("Sign in.")) } }, answer);
  const { responses } = operationAt(app.openapi(), "get", "/me");
  const { description, headers } = responses["401"] as { description: string; headers: object };
  assertEquals([description, Object.keys(headers)], ["Sign in.", ["WWW-Authenticate"]]);
});

Deno.test("Options: scheme is the name in the document, description its text", async () => {
  const named = guarded(bearer(async () => null, { scheme: "staff", description: "Ask the operator." }));
  assertEquals(named.openapi().components.securitySchemes, {
    staff: { type: "http", scheme: "bearer", description: "Ask the operator." },
  });
  assertEquals((await ask(named)).headers.get("www-authenticate"), 'Bearer realm="staff"');
});

Deno.test("Wrong options throw where the guard is made", () => {
  const cases: [make: () => unknown, message: string][] = [
    [() => bearer(null as never), "Cannot make a bearer guard: the first argument must be an async function, got null"],
    [
      () => bearer(async () => 1, { schema: "x" } as never),
      'Cannot make a bearer guard: the option "schema" is unknown, the nearest is "scheme"; there are state, subject, passwordFlow, scheme, description',
    ],
    [
      () => bearer(async () => 1, { description: 1 as never }),
      'Cannot make a bearer guard: "description" must be a string, got 1',
    ],
    [
      () => bearer(async () => 1, { scheme: "my scheme" }),
      'Cannot declare my scheme: the security scheme "my scheme" has a name that the document cannot hold, ' +
      'use letters, digits, ".", "-" and "_"',
    ],
  ];
  for (const [make, message] of cases) assertEquals(assertThrows(make, TypeError).message, message);
});

Deno.test("equal(a, b) compares texts and bytes of any length", () => {
  assert(equal("ä secret", "ä secret"));
  assert(equal(new TextEncoder().encode("ä"), "ä"));
  assertFalse(equal("secret", "secret "));
  assertFalse(equal("", "secret"));
  const { message } = assertThrows(() => equal("secret", undefined as never), TypeError);
  assertEquals(message, "Cannot compare the secrets: both must be a string or bytes, got undefined");
});

Deno.test("equal(a, b) compares in constant time: hashes, whose length tells nothing", () => {
  const { timingSafeEqual } = crypto;
  const lengths: number[][] = [];
  crypto.timingSafeEqual = (given, expected) => {
    lengths.push([given.byteLength, expected.byteLength]);
    return timingSafeEqual(given, expected);
  };
  try {
    for (const given of ["", "secre", "secret", "x".repeat(100_000)]) {
      assertEquals(equal(given, "secret"), given === "secret");
    }
  } finally {
    crypto.timingSafeEqual = timingSafeEqual;
  }
  assertEquals(lengths, Array(4).fill([32, 32]));
});
