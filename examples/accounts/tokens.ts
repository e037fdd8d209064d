/** Access tokens for programs: JSON Web Tokens that this service signs, and also verifies. */
import { Router } from "@webfw/core";
import { jwt, type JwtGuard } from "@webfw/core/auth";
import { type CryptoKey, exportJWK, type JWK, SignJWT } from "jose";
import * as v from "valibot";
import { AccessToken } from "./models.ts";
import { visit } from "./sign_in.ts";

const LIFETIME_S = 15 * 60;
const AUDIENCE = "accounts";
const ALGORITHM = "ES256";

/** The key that signs tokens, and the one that verifies them. */
export interface SigningKeys {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

/** What a token says: the number of the user. */
const Claims = v.object({ sub: v.pipe(v.string(), v.digits(), v.transform(Number)) });
export type Claims = v.InferOutput<typeof Claims>;

/** The guard of the tokens that {@linkcode tokens} hands out. */
export function tokenGuard(issuer: string, { publicKey }: SigningKeys): JwtGuard<Claims> {
  return jwt({ issuer, audience: AUDIENCE, keys: publicKey, claims: Claims, description: "From POST /tokens" });
}

/** The routes that hand out tokens, and the key that verifies them. */
export function tokens(issuer: string, { privateKey, publicKey }: SigningKeys): Router {
  const router = new Router({ tags: ["Tokens"] });

  router.post("/tokens", {
    deps: { visit: visit.required() },
    response: AccessToken,
    status: 201,
  }, async function createToken(request, { visit }) {
    "Make an access token for the signed-in user.";
    request.replyHeaders.set("cache-control", "no-store");
    const token = await new SignJWT()
      .setProtectedHeader({ alg: ALGORITHM })
      .setIssuer(issuer)
      .setAudience(AUDIENCE)
      .setSubject(`${visit.data.userId}`)
      .setIssuedAt()
      .setExpirationTime(`${LIFETIME_S}s`)
      .sign(privateKey);
    return { access_token: token, token_type: "Bearer" as const, expires_in: LIFETIME_S };
  });

  // Other services verify the tokens with it.
  router.get("/.well-known/jwks.json", { hidden: true }, async function getKeys(): Promise<{ keys: JWK[] }> {
    return { keys: [{ ...await exportJWK(publicKey), alg: ALGORITHM, use: "sig" }] };
  });
  return router;
}
