// Keys, tokens, and requests that carry them.

import { App, type Dependency } from "@webfw/core";
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

export const ISSUER = "https://id.example";
export const AUDIENCE = "books";

/** The seconds since 1970. */
export const now = (): number => Math.floor(Date.now() / 1000);

/** A pair of keys of one algorithm, and its id. */
export class Signer {
  readonly algorithm: string;
  readonly kid: string;
  readonly publicKey: CryptoKey;
  readonly privateKey: CryptoKey;

  private constructor(algorithm: string, kid: string, publicKey: CryptoKey, privateKey: CryptoKey) {
    this.algorithm = algorithm;
    this.kid = kid;
    this.publicKey = publicKey;
    this.privateKey = privateKey;
  }

  static async make(algorithm = "ES256", kid = "k1"): Promise<Signer> {
    const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
    return new Signer(algorithm, kid, publicKey as CryptoKey, privateKey as CryptoKey);
  }

  /** The public key, as a JWKS has it. */
  async jwk(): Promise<JWK> {
    return { ...await exportJWK(this.publicKey), kid: this.kid, alg: this.algorithm, use: "sig" };
  }

  /** A valid token, but for what is given. A claim that is undefined is left out. */
  async sign(claims: Readonly<Record<string, unknown>> = {}, header: Record<string, unknown> = {}): Promise<string> {
    const all = { iss: ISSUER, aud: AUDIENCE, sub: "ada", exp: now() + 60, ...claims };
    return await new SignJWT(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)))
      .setProtectedHeader({ alg: this.algorithm, kid: this.kid, ...header })
      .sign(this.privateKey);
  }

  /** A signature over any header and payload, also those that no library writes. */
  async signRaw(header: string, payload: string): Promise<string> {
    const signed = `${base64url(header)}.${base64url(payload)}`;
    const algorithm = { name: "ECDSA", hash: "SHA-256" };
    const signature = await crypto.subtle.sign(algorithm, this.privateKey, new TextEncoder().encode(signed));
    return `${signed}.${base64url(new Uint8Array(signature))}`;
  }
}

/** Encodes a text by its UTF-8, or bytes. */
export function base64url(data: string | Uint8Array): string {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** An application that answers with the value of a guard. */
export function answering(guard: Dependency<unknown>): App {
  const app = new App();
  app.get("/", { deps: { guard } }, async (_request, { guard }) => guard);
  return app;
}

/** Sends a token. */
export async function ask(app: App, token?: string): Promise<Response> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return await app.fetch(new Request("http://localhost/", { headers }));
}

/** The status of the reply to a token, and its detail. */
export async function refusal(app: App, token: string): Promise<[status: number, detail: unknown]> {
  const response = await ask(app, token);
  const { detail } = await response.json();
  return [response.status, detail];
}
