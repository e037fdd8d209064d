// "`anySecurity` takes them, too: its value is that of the first that lets the caller in".

import { assertEquals, assertThrows } from "@std/assert";
import { anySecurity, App, dependency, HTTPError, RouteError } from "@webfw/core";
import type { SecurityRequirement } from "@webfw/core/types";
import { apiKey, basic, bearer, jwt } from "@webfw/core/auth";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { answering, AUDIENCE, ISSUER, Signer } from "./support/tokens.ts";

const calls: string[] = [];
const user = bearer(async (token) => {
  calls.push("user");
  return token.startsWith("t-") && token;
});
const staff = basic(async (name) => name !== "nobody" && { name });
const partner = apiKey(async (key) => {
  calls.push("partner");
  return key.startsWith("k-") && key;
}, { in: "header", name: "x-key" });

async function send(
  app: App,
  headers: HeadersInit,
): Promise<[status: number, body: unknown, challenge: string | null]> {
  const response = await app.fetch(new Request("http://localhost/", { headers }));
  const body = await response.json();
  return [response.status, response.ok ? body : body.detail, response.headers.get("www-authenticate")];
}

Deno.test("The value is that of the first that lets the caller in, and the others are not asked", async () => {
  const app = answering(anySecurity(user, staff, partner));
  assertEquals(await send(app, { authorization: "Bearer t-1" }), [200, "t-1", null]);
  assertEquals(await send(app, { authorization: "Basic YTpi" }), [200, { name: "a" }, null]);
  assertEquals(await send(app, { "x-key": "k-1" }), [200, "k-1", null]);
  assertEquals(await send(app, { authorization: "Bearer x", "x-key": "k-1" }), [200, "k-1", null]);
  calls.length = 0;
  assertEquals(await send(app, { authorization: "Bearer t-1", "x-key": "k-1" }), [200, "t-1", null]);
  assertEquals(calls, ["user"]);
});

Deno.test("If none lets the caller in, 401 has the challenges of all, and the detail of what was sent, or of all", async () => {
  const app = answering(anySecurity(user, partner));
  const bearerMissing = 'Bearer realm="bearer"';
  const key = 'ApiKey realm="apiKey", in="header"';
  assertEquals(await send(app, {}), [
    401,
    "Send a bearer token in the Authorization header. Or: Send a key in the header x-key",
    `${bearerMissing}, ${key}`,
  ]);
  assertEquals(await send(app, { "x-key": "x" }), [401, "The key is not valid", `${bearerMissing}, ${key}`]);
  assertEquals(await send(app, { authorization: "Bearer x" }), [
    401,
    "The token is not valid",
    `${bearerMissing}, error="invalid_token", ${key}`,
  ]);
});

Deno.test("403 and 503 say more than 401, and a fault is not hidden", async () => {
  const signer = await Signer.make();
  const writer = jwt({ keys: signer.publicKey, issuer: ISSUER, audience: AUDIENCE }).withScopes("write");
  const app = answering(anySecurity(partner, writer));
  const reading = { authorization: `Bearer ${await signer.sign({ scope: "read" })}` };
  assertEquals((await send(app, reading))[0], 403);
  assertEquals((await send(app, { ...reading, "x-key": "k-1" }))[0], 200);
  const busy = bearer(async () => {
    throw new HTTPError(503, "Later");
  }, { scheme: "busy" });
  assertEquals((await send(answering(anySecurity(writer, busy, partner)), reading))[0], 503);
  assertEquals((await send(answering(anySecurity(busy, partner)), { ...reading, "x-key": "k-1" }))[0], 200);
  const broken = bearer(async () => {
    throw new Error("a fault");
  }, { scheme: "broken" });
  using _log = new CapturedLog();
  assertEquals((await send(answering(anySecurity(broken, partner)), { ...reading, "x-key": "k-1" }))[0], 500);
});

Deno.test("A guard of dependency() is an alternative, with its inputs and dependencies", async () => {
  let opened = 0;
  let closed = 0;
  const connection = dependency(async function* connection() {
    opened++;
    try {
      yield { owner: "Ada" };
    } finally {
      closed++;
    }
  });
  const own = dependency(
    {
      headers: { "x-own": v.string() },
      deps: { connection },
      security: { own: { type: "apiKey", in: "header", name: "x-own" } },
    },
    async (_request, { headers, connection }) => {
      if (headers["x-own"] === "o-1") return connection.owner;
      throw new HTTPError(403, "Not you");
    },
  );
  const app = new App();
  app.get(
    "/",
    { deps: { caller: anySecurity(own, partner), connection } },
    async (_request, { caller, connection }) => {
      return [caller, connection.owner];
    },
  );
  assertEquals(await send(app, { "x-own": "o-1" }), [200, ["Ada", "Ada"], null]);
  assertEquals([opened, closed], [1, 1]);
  assertEquals(await send(app, { "x-key": "k-1" }), [200, ["k-1", "Ada"], null]);
  assertEquals((await send(app, { "x-own": "o-2" }))[0], 403);
  assertEquals((await send(app, {}))[0], 422);
  const { security, parameters } = app.openapi().paths["/"]!.get!;
  assertEquals([security, parameters], [[{ own: [] }, { apiKey: [] }], undefined]);
});

Deno.test("A guard that several alternatives need is made once", async () => {
  let verified = 0;
  const signer = await Signer.make();
  const keys = async () => {
    verified++;
    return signer.publicKey;
  };
  const member = jwt({ keys, issuer: ISSUER, audience: AUDIENCE });
  const app = answering(anySecurity(member.withScopes("a"), member.withScopes("b")));
  const authorization = `Bearer ${await signer.sign({ scope: "b" })}`;
  assertEquals((await send(app, { authorization }))[0], 200);
  assertEquals(verified, 1);
  assertEquals(app.openapi().paths["/"]!.get!.security, [{ jwt: ["a"] }, { jwt: ["b"] }]);
});

Deno.test("The document has each alternative, and the replies of all", () => {
  const app = answering(anySecurity(user, jwt({ issuer: ISSUER, audience: AUDIENCE }).withScopes("a"), staff));
  const { security, responses } = app.openapi().paths["/"]!.get!;
  assertEquals(security, [{ bearer: [] }, { jwt: ["a"] }, { basic: [] }]);
  assertEquals(Object.keys(responses), ["200", "401", "403", "503", "4XX", "5XX"]);
});

Deno.test("Guards and schemes do not mix, and an alternative has no inputs in the path", () => {
  const scheme: SecurityRequirement = { tls: { type: "mutualTLS" } };
  assertEquals(
    assertThrows(() => anySecurity(user, scheme), TypeError).message,
    "Cannot combine bearer: anySecurity() takes guards or security schemes, and not both, declare a guard for each scheme",
  );
  const ofPath = dependency({ params: { id: v.number() }, security: scheme }, async () => 1);
  assertThrows(() => anySecurity(user, ofPath), RouteError);
});

Deno.test("A name that an alternative binds twice is a RouteError code conflict", () => {
  const key = dependency(async () => "k-1");
  const options = { deps: { key }, query: { key: v.string() } } as object;
  const twice = dependency(options, async () => {});
  const error = assertThrows(() => anySecurity(twice, bearer(async () => null)), RouteError);
  assertEquals(error.code, "conflict");
});
