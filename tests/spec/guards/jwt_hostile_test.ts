// What an attacker tries against `jwt`: "`none` is never taken; a symmetric key needs
// `algorithms`", "asymmetric algorithms only".

import { assert, assertEquals } from "@std/assert";
import { HTTPError } from "@webfw/core";
import { jwt } from "@webfw/core/auth";
import { CompactEncrypt, createLocalJWKSet, exportJWK, exportSPKI, SignJWT } from "jose";
import { CapturedLog } from "../support/captured_log.ts";
import { answering, ask, AUDIENCE, base64url, ISSUER, now, refusal, Signer } from "./support/tokens.ts";

const rsa = await Signer.make("RS256");
const signer = await Signer.make();
const stranger = await Signer.make();
const common = { issuer: ISSUER, audience: AUDIENCE };
const app = answering(jwt({ ...common, keys: signer.publicKey }));
const NOT_VALID: [number, string] = [401, "The token is not valid"];
const CLAIMS = JSON.stringify({ iss: ISSUER, aud: AUDIENCE, exp: now() + 60 });

/** A token that is signed by HMAC with any bytes. */
async function hmac(secret: Uint8Array, header: object = {}, alg = "HS256"): Promise<string> {
  const claims = { iss: ISSUER, aud: AUDIENCE, exp: now() + 60 };
  return await new SignJWT(claims).setProtectedHeader({ alg, ...header }).sign(secret);
}

Deno.test("A token without a signature is refused, however `none` is written", async () => {
  const [, payload, signature] = (await signer.sign()).split(".");
  for (const alg of ["none", "None", "NONE", "nOnE", "", null, undefined, ["none"]]) {
    const header = base64url(JSON.stringify({ alg }));
    for (const end of [".", `.${signature}`, ""]) {
      assertEquals(await refusal(app, `${header}.${payload}${end}`), NOT_VALID);
    }
  }
  const [header] = (await signer.sign()).split(".");
  assertEquals(await refusal(app, `${header}.${payload}.`), NOT_VALID);
});

Deno.test("A public key is never the secret of an HMAC", async () => {
  const spki = await exportSPKI(rsa.publicKey);
  const raw = new Uint8Array(await crypto.subtle.exportKey("spki", rsa.publicKey));
  const jwk = JSON.stringify(await exportJWK(rsa.publicKey));
  const found = async () => rsa.publicKey;
  const apps = [
    jwt({ ...common, keys: rsa.publicKey }),
    jwt({ ...common, keys: found }),
    jwt({ ...common, keys: found, algorithms: ["RS256", "HS256"] }),
  ].map(answering);
  for (const secret of [spki, spki.trim(), jwk].map((text) => new TextEncoder().encode(text)).concat([raw])) {
    for (const alg of ["HS256", "HS512"]) {
      const token = await hmac(secret, {}, alg);
      for (const app of apps) assertEquals(await refusal(app, token), NOT_VALID);
    }
  }
  for (const app of apps) assertEquals((await ask(app, await rsa.sign())).status, 200);
});

Deno.test("A secret does not verify tokens of other algorithms", async () => {
  const secret = crypto.getRandomValues(new Uint8Array(64));
  const fixed = answering(jwt({ ...common, keys: secret, algorithms: ["HS256"] }));
  const found = answering(jwt({ ...common, keys: async () => secret, algorithms: ["HS256", "ES256"] }));
  for (const app of [fixed, found]) {
    assertEquals((await ask(app, await hmac(secret))).status, 200);
    assertEquals(await refusal(app, await hmac(secret, {}, "HS384")), NOT_VALID);
    assertEquals(await refusal(app, await signer.sign()), NOT_VALID);
    assertEquals(await refusal(app, await hmac(new Uint8Array(64))), NOT_VALID);
  }
});

Deno.test("A secret from a function without algorithms is a mistake of the application: 500", async () => {
  const secret = new Uint8Array(32);
  const app = answering(jwt({ ...common, keys: async () => secret }));
  using log = new CapturedLog();
  assertEquals((await ask(app, await signer.sign())).status, 500);
  assert(log.text.includes("a secret needs"), log.text);
  // No algorithm of secrets is taken, so the function is not even asked.
  assertEquals(await refusal(app, await hmac(secret)), NOT_VALID);
});

Deno.test("Keys and addresses in the header are not looked at: jwk, jku, x5u, x5c", async () => {
  let fetches = 0;
  await using server = Deno.serve({ port: 0, onListen() {} }, async () => {
    fetches++;
    return Response.json({ keys: [await stranger.jwk()] });
  });
  const address = `http://127.0.0.1:${server.addr.port}/keys`;
  const headers = [
    { jwk: await stranger.jwk() },
    { jku: address, kid: "k1" },
    { x5u: address },
    { x5c: ["MIIB"] },
  ];
  for (const header of headers) assertEquals(await refusal(app, await stranger.sign({}, header)), NOT_VALID);
  assertEquals(fetches, 0);
});

Deno.test("A header that says what must be understood (crit) is refused, and so is one that is malformed", async () => {
  const headers = [
    '{"alg":"ES256","crit":["exp"],"exp":1}',
    '{"alg":"ES256","crit":[]}',
    '{"alg":"ES256","crit":"b64","b64":false}',
    '{"alg":"ES256","b64":false,"crit":["b64"]}',
    '{"alg":"ES256","kid":1}',
    '{"alg":"ES256","kid":{"$ne":null}}',
    '{"alg":["ES256"]}',
    '["ES256"]',
    "null",
    "ES256",
    "",
    "{",
  ];
  for (const header of headers) assertEquals(await refusal(app, await signer.signRaw(header, CLAIMS)), NOT_VALID);
  assertEquals((await ask(app, await signer.signRaw('{"alg":"ES256"}', CLAIMS))).status, 200);
});

Deno.test("The id of a key reaches the function as a text only, and null or undefined is 401", async () => {
  const seen: unknown[] = [];
  const keys = async (header: { readonly alg: string; readonly kid?: string }) => {
    seen.push(header);
    return header.kid === "k1" ? signer.publicKey : header.kid === "none" ? null : undefined;
  };
  const app = answering(jwt({ ...common, keys }));
  assertEquals((await ask(app, await signer.sign())).status, 200);
  for (const kid of ["../../etc/passwd", "' OR 1=1 --", "none", "__proto__", ""]) {
    assertEquals(await refusal(app, await signer.sign({}, { kid, jku: "x" })), NOT_VALID);
  }
  const count = seen.length;
  assertEquals(await refusal(app, await signer.signRaw('{"alg":"ES256","kid":["k1"]}', CLAIMS)), NOT_VALID);
  assertEquals(seen.length, count);
  assertEquals(seen[0], { alg: "ES256", kid: "k1" });
  assertEquals(seen[1], { alg: "ES256", kid: "../../etc/passwd" });
});

Deno.test("A set of keys by jose is such a function, and a key that it does not have is 401", async () => {
  const keys = createLocalJWKSet({ keys: [await signer.jwk(), await rsa.jwk()] });
  const app = answering(jwt({ ...common, keys }));
  assertEquals((await ask(app, await signer.sign())).status, 200);
  assertEquals(await refusal(app, await signer.sign({}, { kid: "other" })), NOT_VALID);
  const twice = createLocalJWKSet({ keys: [await signer.jwk(), await stranger.jwk()] });
  assertEquals(await refusal(answering(jwt({ ...common, keys: twice })), await signer.sign()), NOT_VALID);
});

Deno.test("A function that fails is a 500, or the HTTPError that it throws", async () => {
  const failing = (error: unknown) =>
    answering(jwt({
      ...common,
      keys: async () => {
        throw error;
      },
    }));
  using log = new CapturedLog();
  assertEquals((await ask(failing(new Error("the vault is away")), await signer.sign())).status, 500);
  assert(log.text.includes("the vault is away"));
  assertEquals((await ask(failing(new HTTPError(503)), await signer.sign())).status, 503);
  assertEquals((await ask(failing(undefined), await signer.sign())).status, 500);
});

Deno.test("Claims of odd types are refused", async () => {
  const good = { iss: ISSUER, aud: AUDIENCE, exp: now() + 60 };
  const odd = [
    { ...good, exp: String(now() + 60) },
    { ...good, exp: null },
    { ...good, exp: [now() + 60] },
    { ...good, exp: true },
    { ...good, nbf: "0" },
    { ...good, nbf: {} },
    { ...good, iat: "0" },
    { ...good, iss: { toString: ISSUER } },
    { ...good, aud: [[AUDIENCE]] },
  ];
  for (const claims of odd) {
    const token = await signer.signRaw('{"alg":"ES256"}', JSON.stringify(claims));
    assertEquals(await refusal(app, token), NOT_VALID);
  }
  const endless = `{"iss":"${ISSUER}","aud":"${AUDIENCE}","exp":1e999}`;
  for (const payload of [endless, "[]", "null", '"text"', "1", "", "{", CLAIMS.slice(0, -1)]) {
    assertEquals(await refusal(app, await signer.signRaw('{"alg":"ES256"}', payload)), NOT_VALID);
  }
});

Deno.test("Of claims that are there twice the last one counts, for the checks and for the value", async () => {
  const twice = (one: string, other: string) =>
    signer.signRaw('{"alg":"ES256"}', `{"iss":"${one}","aud":"books","exp":${now() + 60},"iss":"${other}"}`);
  assertEquals(await refusal(app, await twice(ISSUER, "https://other.example")), NOT_VALID);
  const response = await ask(app, await twice("https://other.example", ISSUER));
  assertEquals((await response.json()).iss, ISSUER);
});

Deno.test("A claim named __proto__ gives nobody rights", async () => {
  const app = answering(
    jwt({ ...common, keys: signer.publicKey, scopes: (claims) => claims.roles as string[] ?? [] })
      .withScopes("admin"),
  );
  const payload = `${CLAIMS.slice(0, -1)},"__proto__":{"roles":["admin"],"scope":"admin"}}`;
  assertEquals((await ask(app, await signer.signRaw('{"alg":"ES256"}', payload))).status, 403);
});

Deno.test("A changed token is refused: its header, its claims, its signature, its parts", async () => {
  const token = await signer.sign();
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const other = (await stranger.sign()).split(".");
  const changed = [
    `${header}.${base64url(CLAIMS.replace("books", "boots"))}.${signature}`,
    `${header}.${payload}.${other[2]}`,
    `${base64url('{"alg":"ES384"}')}.${payload}.${signature}`,
    `${header}.${payload}.${base64url(new Uint8Array(64))}`,
    `${header}.${payload}.${signature}=`,
    `${header}.${payload}.${signature}.`,
    `.${payload}.${signature}`,
    `${header}..${signature}`,
    `${token}.${signature}`,
    "..",
    ".",
    "x",
  ];
  for (const token of changed) assertEquals(await refusal(app, token), NOT_VALID);
  const encrypted = await new CompactEncrypt(new TextEncoder().encode(CLAIMS))
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(new Uint8Array(32));
  assertEquals(await refusal(app, encrypted), NOT_VALID);
});

Deno.test("A token of another algorithm than that of the key is 401, and no error of the server", async () => {
  using log = new CapturedLog();
  for (const algorithm of ["RS256", "PS512", "ES384", "ES512", "Ed25519"]) {
    const other = await Signer.make(algorithm);
    assertEquals(await refusal(app, await other.sign()), NOT_VALID);
  }
  assertEquals(log.lines, []);
});

Deno.test("algorithms narrows what is taken", async () => {
  const app = answering(jwt({ ...common, keys: async () => rsa.publicKey, algorithms: ["PS256", "RS512"] }));
  assertEquals(await refusal(app, await rsa.sign()), NOT_VALID);
});

Deno.test("A huge token is refused before it is decoded", async () => {
  const token = await signer.sign({ filler: "x".repeat(13_000) });
  assertEquals(await refusal(app, token), [401, "The token is malformed"]);
  assertEquals((await ask(app, await signer.sign({ filler: "x".repeat(11_000) }))).status, 200);
  const nested = `${CLAIMS.slice(0, -1)},"d":${"[".repeat(4000)}${"]".repeat(4000)}}`;
  assertEquals((await ask(app, await signer.signRaw('{"alg":"ES256"}', nested))).status, 200);
});
