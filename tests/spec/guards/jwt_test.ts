// `jwt`: "`iss`, `aud`, `exp`, `nbf` are checked, 30 s tolerance; `exp` must be there", claims,
// scopes and the document.

import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import { App } from "@webfw/core";
import { jwt, type JwtOptions } from "@webfw/core/auth";
import type { JwtAlgorithm } from "@webfw/core/types";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { answering, ask, AUDIENCE, ISSUER, now, refusal, Signer } from "./support/tokens.ts";

const signer = await Signer.make();
const common = { keys: signer.publicKey, issuer: ISSUER, audience: AUDIENCE };
const app = answering(jwt(common));
const NOT_VALID: [number, string] = [401, "The token is not valid"];

Deno.test("The value: the claims of a token that is valid", async () => {
  const exp = now() + 60;
  const response = await ask(app, await signer.sign({ exp, role: "reader" }));
  assertEquals(await response.json(), { iss: ISSUER, aud: AUDIENCE, sub: "ada", exp, role: "reader" });
});

Deno.test("A request without a token is 401 without an error code, a wrong token is invalid_token", async () => {
  const missing = await ask(app);
  assertEquals([missing.status, missing.headers.get("www-authenticate")], [401, 'Bearer realm="jwt"']);
  const wrong = await ask(app, "a.b.c");
  assertEquals([wrong.status, wrong.headers.get("www-authenticate")], [
    401,
    'Bearer realm="jwt", error="invalid_token"',
  ]);
  await Promise.all([missing, wrong].map((response) => response.body?.cancel()));
});

Deno.test("iss and aud are checked: they must be those of the options, and be there", async () => {
  for (const iss of [undefined, "https://other.example", `${ISSUER}/`, [ISSUER], ""]) {
    assertEquals(await refusal(app, await signer.sign({ iss })), NOT_VALID);
  }
  for (const aud of [undefined, "other", [], ["other"], { books: 1 }, "", "book", "booksx"]) {
    assertEquals(await refusal(app, await signer.sign({ aud })), NOT_VALID);
  }
  assertEquals((await ask(app, await signer.sign({ aud: ["other", AUDIENCE] }))).status, 200);
});

Deno.test("audience may be a list, and null says that it is not looked at", async () => {
  const either = answering(jwt({ ...common, audience: ["books", "films"] }));
  assertEquals((await ask(either, await signer.sign({ aud: "films" }))).status, 200);
  assertEquals((await ask(either, await signer.sign({ aud: "music" }))).status, 401);
  const any = answering(jwt({ ...common, audience: null }));
  assertEquals((await ask(any, await signer.sign({ aud: "music" }))).status, 200);
  assertEquals((await ask(any, await signer.sign({ aud: undefined }))).status, 200);
});

Deno.test("exp must be there, and exp and nbf have a tolerance of 30 s", async () => {
  assertEquals(await refusal(app, await signer.sign({ exp: undefined })), NOT_VALID);
  assertEquals(await refusal(app, await signer.sign({ exp: now() - 40 })), [401, "The token has expired"]);
  assertEquals((await ask(app, await signer.sign({ exp: now() - 20 }))).status, 200);
  assertEquals(await refusal(app, await signer.sign({ nbf: now() + 40 })), NOT_VALID);
  assertEquals((await ask(app, await signer.sign({ nbf: now() + 20 }))).status, 200);
});

Deno.test("Claims that do not fit the schema are 401, and its result is the value", async () => {
  const claims = v.pipe(v.object({ sub: v.pipe(v.string(), v.minLength(2)) }), v.transform(({ sub }) => ({ id: sub })));
  const app = answering(jwt({ ...common, claims }));
  assertEquals(await (await ask(app, await signer.sign())).json(), { id: "ada" });
  assertEquals(await refusal(app, await signer.sign({ sub: "a" })), [401, "The claims of the token do not fit"]);
  const found = v.objectAsync({ sub: v.pipeAsync(v.string(), v.checkAsync(async (sub) => sub === "ada")) });
  const late = answering(jwt({ ...common, claims: found }));
  assertEquals((await ask(late, await signer.sign())).status, 200);
  assertEquals((await ask(late, await signer.sign({ sub: "bob" }))).status, 401);
});

Deno.test("withScopes: 403 insufficient_scope, with the scopes that are needed", async () => {
  const app = answering(jwt(common).withScopes("books:read", "books:write"));
  const response = await ask(app, await signer.sign({ scope: "books:read" }));
  assertEquals(response.status, 403);
  assertEquals(
    response.headers.get("www-authenticate"),
    'Bearer realm="jwt", error="insufficient_scope", scope="books:read books:write"',
  );
  await response.body?.cancel();
  assertEquals((await ask(app)).status, 401);
  assertEquals((await ask(app, "x")).status, 401);
});

Deno.test("Scopes are those of scope or scp, each a text or a list", async () => {
  const app = answering(jwt(common).withScopes("b", "a"));
  const enough = [
    { scope: "a b" },
    { scope: ["a", "b"] },
    { scp: "b a c" },
    { scp: ["a", "b"] },
    { scope: "a", scp: ["b"] },
  ];
  for (const claims of enough) assertEquals((await ask(app, await signer.sign(claims))).status, 200);
  const less = [{}, { scope: "ab" }, { scope: "a,b" }, { scope: "A B" }, { scope: ["a b"] }, { scp: { a: 1, b: 1 } }, {
    scope: [["a"], "b"],
  }];
  for (const claims of less) assertEquals((await ask(app, await signer.sign(claims))).status, 403);
});

Deno.test("scopes: a function reads them from the claims", async () => {
  const claims = v.object({ roles: v.array(v.string()) });
  const app = answering(jwt({ ...common, claims, scopes: ({ roles }) => roles }).withScopes("admin"));
  assertEquals((await ask(app, await signer.sign({ roles: ["admin"] }))).status, 200);
  assertEquals((await ask(app, await signer.sign({ roles: ["user"], scope: "admin" }))).status, 403);
  const wrong = answering(jwt({ ...common, scopes: () => "administrator" as never }).withScopes("admin"));
  using log = new CapturedLog();
  assertEquals((await ask(wrong, await signer.sign())).status, 500);
  assert(log.text.includes('"scopes\\" must return an array'), log.text);
});

Deno.test("A token is verified once for a route that uses the guard and one with scopes", async () => {
  let calls = 0;
  const keys = async () => {
    calls++;
    return signer.publicKey;
  };
  const member = jwt({ ...common, keys });
  const app = new App();
  app.get("/", { deps: { member, writer: member.withScopes("a") } }, async (_request, { member, writer }) => {
    return member === writer;
  });
  assertEquals(await (await ask(app, await signer.sign({ scope: "a" }))).json(), true);
  assertEquals(calls, 1);
});

Deno.test("The document: the scheme, 401, with scopes 403, and 503 where keys are fetched", () => {
  const member = jwt(common);
  const remote = jwt({ issuer: ISSUER, audience: AUDIENCE, scheme: "remote", description: "Sign in." });
  const app = new App();
  app.get("/a", { deps: { member } }, async () => 1);
  app.get("/b", { deps: { writer: member.withScopes("books:write") } }, async () => 1);
  app.get("/c", { deps: { remote: remote.withScopes("x") } }, async () => 1);
  const { paths, components } = app.openapi();
  const ofPath = (path: string) => {
    const { security, responses, parameters } = paths[path]!.get!;
    return [security, Object.keys(responses), parameters];
  };
  assertEquals(ofPath("/a"), [[{ jwt: [] }], ["200", "401", "4XX", "5XX"], undefined]);
  assertEquals(ofPath("/b"), [[{ jwt: ["books:write"] }], ["200", "401", "403", "4XX", "5XX"], undefined]);
  assertEquals(ofPath("/c"), [[{ remote: ["x"] }], ["200", "401", "403", "503", "4XX", "5XX"], undefined]);
  assertEquals(components.securitySchemes, {
    jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
    remote: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "Sign in." },
  });
  const headers = (name: string) => Object.keys(components.responses![name]!.headers!);
  assertEquals(headers("Forbidden"), ["WWW-Authenticate"]);
  assertEquals(headers("ServiceUnavailable"), ["Retry-After"]);
});

Deno.test("With oauth2 or openIdConnectUrl the scheme is of that type", () => {
  const oauth2 = { authorizationUrl: `${ISSUER}/auth`, tokenUrl: `${ISSUER}/token`, scopes: { read: "Read all." } };
  const oauth = jwt({ ...common, oauth2, scheme: "login" });
  const oidc = jwt({ ...common, openIdConnectUrl: `${ISSUER}/.well-known/openid-configuration`, scheme: "oidc" });
  const app = new App();
  app.get("/a", { deps: { user: oauth.withScopes("read") } }, async () => 1);
  app.get("/b", { deps: { user: oidc.withScopes("anything") } }, async () => 1);
  const { paths, components } = app.openapi();
  assertEquals(paths["/a"]!.get!.security, [{ login: ["read"] }]);
  assertEquals(paths["/b"]!.get!.security, [{ oidc: ["anything"] }]);
  assertEquals(components.securitySchemes, {
    login: { type: "oauth2", flows: { authorizationCode: oauth2 } },
    oidc: { type: "openIdConnect", openIdConnectUrl: `${ISSUER}/.well-known/openid-configuration` },
  });
  const { message } = assertThrows(() => oauth.withScopes("write"), TypeError);
  assertEquals(
    message,
    'Cannot declare login.withScopes: the security scheme "login" asks for the scope "write", which none of its flows has',
  );
});

Deno.test("Wrong options throw where the guard is made", async () => {
  const secret = new Uint8Array(32);
  const small = await crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    true,
    ["sign", "verify"],
  );
  const pem = new TextEncoder().encode("-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A");
  const importHmac = (bytes: number, hash: string) =>
    crypto.subtle.importKey("raw", new Uint8Array(bytes), { name: "HMAC", hash }, false, ["verify"]);
  const sha1 = await crypto.subtle.generateKey(
    { name: "RSA-PSS", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-1" },
    true,
    ["sign", "verify"],
  );
  const cases: [options: Record<string, unknown>, message: string][] = [
    [{ issuer: undefined }, '"issuer" must be the string of the claim iss, got undefined'],
    [{ issuer: "" }, '"issuer" must be the string of the claim iss, got ""'],
    [
      { audience: undefined },
      '"audience" must be the string of the claim aud, or an array of such strings, got undefined; write null to accept tokens for any audience',
    ],
    [
      { audience: [] },
      '"audience" must be the string of the claim aud, or an array of such strings, got object; write null to accept tokens for any audience',
    ],
    [{ algorithms: [] }, '"algorithms" must be an array of names, write algorithms: ["ES256"]'],
    [{ algorithms: ["none"] }, '"none" would accept tokens without a signature, leave it out'],
    [{ algorithms: ["HS256"] }, 'the key is public, and "HS256" needs a secret, leave it out of "algorithms"'],
    [{ keys: secret }, 'a secret needs "algorithms", write algorithms: ["HS256"]'],
    [
      { keys: secret, algorithms: ["HS256", "RS256"] },
      'the key is a secret, and "RS256" needs a public key, leave it out',
    ],
    [{ keys: secret, algorithms: ["HS512"] }, "the secret must have 64 bytes or more, got 32"],
    [{ keys: pem, algorithms: ["HS256"] }, "the bytes are a PEM file and no secret, import it as a CryptoKey"],
    [{ keys: signer.privateKey }, 'the key must be a public one with the usage "verify"'],
    [{ keys: small.publicKey }, "a key of RSA must have 2048 bits or more, got 1024"],
    [
      { keys: { kty: "RSA" } },
      '"keys" must be the URL of a JWKS, a CryptoKey, a Uint8Array or a function, got object',
    ],
    [
      { keys: "http://id.example/jwks" },
      '"keys" must be an https: URL, or one of a loopback host, got "http://id.example/jwks"',
    ],
    [
      { keys: "https://id.example/jwks", algorithms: ["HS256"] },
      'keys of a URL are public, and "HS256" needs a secret, leave it out of "algorithms"',
    ],
    [
      { keys: undefined, issuer: "id.example" },
      'without "keys", "issuer" must be an https: URL, or one of a loopback host, got "id.example"',
    ],
    [
      { keys: signer.publicKey, algorithms: ["RS256", "ES384"] },
      'the key is for "ES256", and "algorithms" does not have it, give another key',
    ],
    [{ keys: sha1.publicKey }, "the key is of RSA-PSS, and no algorithm fits it, give another key"],
    [{ keys: await importHmac(16, "SHA-256"), algorithms: ["HS256"] }, "the secret must have 32 bytes or more, got 16"],
    [
      { keys: await importHmac(64, "SHA-512"), algorithms: ["HS256"] },
      'the key is for "HS512", and "algorithms" does not have it, give another key',
    ],
    ...["0b72d3c10b72d3c10b72d3c10b72d3c1", "secret:0b72d3c1", "-----BEGIN PUBLIC KEY-----"].map((
      keys,
    ): [Record<string, unknown>, string] => [
      { keys, algorithms: ["HS256"] },
      'a string as "keys" is the https: URL of a JWKS, and this one is no such URL, ' +
      "give a secret as bytes, new TextEncoder().encode(secret)",
    ]),
    [{ claims: { sub: v.string() } }, '"claims" must be one valibot schema, write v.object({ … }) around the entries'],
    [{ scopes: ["a"] }, '"scopes" must be a function of the claims, got object'],
    [
      { oauth2: { authorizationUrl: "", tokenUrl: "", scopes: {} }, openIdConnectUrl: "" },
      'a scheme has one type, leave out "oauth2" or "openIdConnectUrl"',
    ],
  ];
  for (const [options, message] of cases) {
    const error = assertThrows(() => jwt({ ...common, ...options } as unknown as JwtOptions<unknown>), TypeError);
    assertEquals(error.message, `Cannot make a jwt guard: ${message}`);
  }
  const { message } = assertThrows(() => jwt({ ...common, algorithms: ["ES265"] as never }), TypeError);
  assert(message.startsWith('Cannot make a jwt guard: the algorithm "ES265" is unknown, the nearest is "ES256"'));
  for (const scopes of [[], ["a b"], ['"'], [1]] as never[]) {
    assertThrows(
      () => jwt(common).withScopes(...scopes as [string]),
      TypeError,
      "Cannot require scopes: each must be a word",
    );
  }
});

Deno.test("A key of each algorithm is taken for that algorithm", async () => {
  const names = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"];
  for (const algorithm of names as JwtAlgorithm[]) {
    const signer = await Signer.make(algorithm);
    for (const algorithms of [undefined, [algorithm]]) {
      const app = answering(jwt({ ...common, keys: signer.publicKey, ...(algorithms && { algorithms }) }));
      assertEquals((await ask(app, await signer.sign())).status, 200, algorithm);
    }
  }
  for (const [algorithm, bytes] of [["HS256", 32], ["HS384", 48], ["HS512", 64]] as const) {
    const format = { name: "HMAC", hash: `SHA-${algorithm.slice(2)}` };
    const key = await crypto.subtle.importKey("raw", new Uint8Array(bytes), format, false, ["verify"]);
    for (const algorithms of [[algorithm], ["HS256", "HS384", "HS512"]] as JwtAlgorithm[][]) {
      jwt({ ...common, keys: key, algorithms });
    }
  }
});

Deno.test("Nothing of a token is in a reply or in the log", async () => {
  using log = new CapturedLog();
  const token = await signer.sign({ exp: now() - 100, sub: "somebody" });
  const body = await (await ask(app, token)).text();
  assertFalse(token.split(".").some((part) => body.includes(part)));
  assertEquals(log.lines, []);
});

Deno.test("The log names an `iss` that is not the option's, with both values, before keys are looked for", async () => {
  using log = new CapturedLog();
  let lookedFor = 0;
  const keys = async () => {
    lookedFor++;
    return null;
  };
  const app = answering(jwt({ issuer: ISSUER, audience: AUDIENCE, keys }));
  const issuers = [`${ISSUER}/`, undefined, 7, "x".repeat(5_000), `${ISSUER}/`, "a\nb"];
  for (const iss of issuers) {
    // The keys of another issuer are others, and its tokens may have expired, too.
    const token = await signer.sign({ iss, exp: now() - 100 }, { kid: "unknown" });
    assertEquals(await refusal(app, token), [401, "The token is not valid"]);
  }
  const option = `and the option issuer is "${ISSUER}"`;
  const reasons = log.lines.map((line) => JSON.parse(line.match(/reason=(.*)$/)![1]!));
  assertEquals(reasons, [
    `the claim iss is "${ISSUER}/", ${option}`,
    `the claim iss is missing, ${option}`,
    `the claim iss is 7, ${option}`,
    `the claim iss is "${"x".repeat(200)}", ${option}`,
    `the claim iss is "a\\nb", ${option}`,
  ]);
  assertEquals(lookedFor, 0);
  // A client cannot fill the log with its issuers.
  for (let number = 0; number < 50; number++) await refusal(app, await signer.sign({ iss: `https://${number}` }));
  assertEquals(log.lines.length, 20);
});

Deno.test("The log has each reason of a refusal once, without a part of the token", async () => {
  const app = answering(jwt({ issuer: ISSUER, audience: AUDIENCE, keys: signer.publicKey }));
  using log = new CapturedLog();
  for (let time = 0; time < 3; time++) {
    assertEquals(await refusal(app, await signer.sign({ aud: "films" })), [401, "The token is not valid"]);
    assertEquals(await refusal(app, await signer.sign({ exp: now() - 60 })), [401, "The token has expired"]);
    assertEquals(await refusal(app, `${await signer.sign()}${"A".repeat(4)}`), [401, "The token is not valid"]);
  }
  assertEquals(log.lines.map((line) => line.match(/reason=(.*)$/)?.[1]), [
    '"ERR_JWT_CLAIM_VALIDATION_FAILED of aud"',
    "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
  ]);
});
