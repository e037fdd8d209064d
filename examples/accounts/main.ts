/**
 * Accounts, with a page to register and sign in, and an API for programs: `deno run -A serve.ts`,
 * `deno serve -A main.ts`, or `webfw run main.ts:app --reload`.
 *
 * ACCOUNTS_DATABASE is the path of the SQLite file, and ACCOUNTS_ISSUER the address of the service.
 * ACCOUNTS_KEY is the private key that signs tokens, as a JSON Web Key of ES256. Without it, each
 * start makes a new one, and the tokens of before are refused.
 */
import { generateKeyPair, importJWK, type JWK } from "jose";
import { join } from "node:path";
import { accounts } from "./accounts.ts";
import type { SigningKeys } from "./tokens.ts";

export const app = accounts({
  file: Deno.env.get("ACCOUNTS_DATABASE") ?? join(import.meta.dirname!, "accounts.sqlite"),
  issuer: Deno.env.get("ACCOUNTS_ISSUER") ?? "http://127.0.0.1:8000",
  keys: await signingKeys(Deno.env.get("ACCOUNTS_KEY")),
});

/** For `deno serve` and Deno Deploy. */
export default app;

async function signingKeys(text: string | undefined): Promise<SigningKeys> {
  if (text === undefined) return await generateKeyPair("ES256", { extractable: true });
  const { d: _, ...publicKey } = JSON.parse(text) as JWK;
  const keys = [await importJWK(JSON.parse(text), "ES256"), await importJWK(publicKey, "ES256", { extractable: true })];
  const [private_, public_] = keys as CryptoKey[];
  return { privateKey: private_!, publicKey: public_! };
}
