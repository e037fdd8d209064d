// The authorization server of the tests.

import { assert, assertEquals } from "@std/assert";
import { AuthorizationServer } from "../support/authorization_server.ts";

Deno.test("The authorization server of the tests gives signed tokens of the API that was asked for", async () => {
  await using server = await AuthorizationServer.start({ audience: "https://shop.example" });
  const usual = await server.claimsOf(await server.token({ scope: "books:read" }));
  assertEquals([usual.iss, usual.aud, usual.sub], [server.issuer, "https://shop.example", "ada"]);
  assertEquals(usual.scope, "books:read");
  const other = await server.claimsOf(await server.token({ resource: "https://other.example/mcp" }));
  assertEquals([other.aud, other.scope], ["https://other.example/mcp", "books:read books:write"]);
});

Deno.test("The authorization server of the tests is found by both kinds of discovery, also by pages", async () => {
  await using server = await AuthorizationServer.start();
  for (const name of ["openid-configuration", "oauth-authorization-server"]) {
    const headers = { origin: "https://books.example" };
    const response = await fetch(`${server.issuer}/.well-known/${name}`, { headers });
    const found = await response.json();
    assertEquals(response.headers.get("access-control-allow-origin"), "https://books.example");
    assertEquals(found.issuer, server.issuer);
    assertEquals(found.authorization_endpoint, server.authorizationUrl);
    assertEquals(found.token_endpoint, server.tokenUrl);
    assertEquals(found.jwks_uri, server.jwksUrl);
    assertEquals(found.registration_endpoint, `${server.issuer}/reg`);
    assertEquals(found.code_challenge_methods_supported, ["S256"]);
  }
});

Deno.test("The authorization server of the tests renews tokens, and demands PKCE", async () => {
  await using server = await AuthorizationServer.start();
  const redirectUri = "http://127.0.0.1:9/callback";
  const clientId = await server.register({ redirect_uris: [redirectUri] });
  const asked = { response_type: "code", client_id: clientId, redirect_uri: redirectUri, scope: "books:read" };
  const refused = await server.authorize(`${server.authorizationUrl}?${new URLSearchParams(asked)}`);
  assertEquals(refused.searchParams.get("error"), "invalid_request");

  const verifier = crypto.randomUUID() + crypto.randomUUID();
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
  const challenge = hash.toBase64({ alphabet: "base64url", omitPadding: true });
  const withChallenge = new URLSearchParams({ ...asked, code_challenge: challenge, code_challenge_method: "S256" });
  const { searchParams } = await server.authorize(`${server.authorizationUrl}?${withChallenge}`);
  const ask = async (body: Record<string, string>) => {
    const headers = { origin: "https://books.example" };
    const response = await fetch(server.tokenUrl, { method: "POST", headers, body: new URLSearchParams(body) });
    assertEquals(response.headers.get("access-control-allow-origin"), "https://books.example");
    return await response.json();
  };
  const first = await ask({
    grant_type: "authorization_code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code: searchParams.get("code")!,
    code_verifier: verifier,
  });
  const grant = { grant_type: "refresh_token", client_id: clientId, refresh_token: first.refresh_token };
  const renewed = await ask(grant);
  assert(renewed.access_token !== first.access_token);
  assertEquals((await server.claimsOf(renewed.access_token)).scope, "books:read");
});
