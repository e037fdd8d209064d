// An authorization server for tests: OAuth 2.1 and OpenID Connect by oidc-provider.

// @ts-types="npm:@types/oidc-provider@^9.12.1"
import type * as oidc from "npm:oidc-provider@^9.13.3";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** What the server does, where tests differ. */
export interface AuthorizationServerOptions {
  /**
   * `aud` of the access tokens that were asked for without a resource (RFC 8707). With one, `aud`
   * is the resource.
   *
   * @default {"https://books.example"}
   */
  audience?: string;
  /**
   * Whether every user is signed in as `ada` without being asked, or by a form with one field,
   * `login`.
   *
   * @default {"automatic"}
   */
  signIn?: "automatic" | "form";
  /**
   * The life of an access token in seconds.
   *
   * @default {3_600}
   */
  tokenLife?: number;
}

/** The scopes of the API. */
const SCOPES = "books:read books:write";

const RS256 = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };

/**
 * A server on a free port of this machine. Clients register themselves (RFC 7591), must use PKCE,
 * and get access tokens that are JWTs (RS256) of the scopes `books:read` and `books:write`. All
 * endpoints that clients call answer pages of all origins. Disposing of it stops it.
 *
 * @example
 * ```ts ignore
 * await using server = await AuthorizationServer.start();
 * const clientId = await server.register({ redirect_uris: ["http://127.0.0.1:8000/callback"] });
 * ```
 */
export class AuthorizationServer implements AsyncDisposable {
  /** The issuer, which is the origin of the server. */
  readonly issuer: string;
  /** Each request as its method and path, such as `POST /token`. */
  readonly requests: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("Cannot start the server: it has no port");
    this.issuer = `http://127.0.0.1:${address.port}`;
    this.#server = server;
  }

  /** Starts a server. */
  static async start(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
    const server = createServer();
    const { promise: isListening, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
    await isListening;
    const self = new AuthorizationServer(server);
    const provider = await makeProvider(self.issuer, options);
    const answer = provider.callback();
    const isForm = options.signIn === "form";
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const { pathname } = new URL(request.url!, self.issuer);
      self.requests.push(`${request.method} ${pathname}`);
      if (!pathname.startsWith("/interaction/")) return answer(request, response);
      if (isForm && request.method === "GET") return showForm(response);
      signIn(provider, request, response).catch((error) => {
        response.writeHead(500).end(String(error));
      });
    });
    return self;
  }

  /** The URL of the authorization endpoint. */
  get authorizationUrl(): string {
    return `${this.issuer}/auth`;
  }

  /** The URL of the token endpoint. */
  get tokenUrl(): string {
    return `${this.issuer}/token`;
  }

  /** The URL of the discovery document of OpenID Connect. */
  get openIdConnectUrl(): string {
    return `${this.issuer}/.well-known/openid-configuration`;
  }

  /** The URL of the key set. */
  get jwksUrl(): string {
    return `${this.issuer}/jwks`;
  }

  /** Registers a client (RFC 7591), and gives its id. Without other metadata it has no secret. */
  async register(metadata: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return (await this.#register(metadata)).client_id;
  }

  /** Registers a client that sends a secret with its requests. */
  async registerWithSecret(metadata: Readonly<Record<string, unknown>> = {}): Promise<{ id: string; secret: string }> {
    const reply = await this.#register({ token_endpoint_auth_method: "client_secret_post", ...metadata });
    return { id: reply.client_id, secret: reply.client_secret! };
  }

  async #register(metadata: Readonly<Record<string, unknown>>): Promise<{ client_id: string; client_secret?: string }> {
    const response = await fetch(`${this.issuer}/reg`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        redirect_uris: ["http://127.0.0.1/callback"],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        ...metadata,
      }),
    });
    const reply = await response.json();
    if (!response.ok) throw new Error(`Cannot register the client: ${JSON.stringify(reply)}`);
    return reply;
  }

  /**
   * Does what a browser does with an authorization URL: follows the redirects of this server, with
   * its cookies.
   *
   * @returns The URL of the client that the server redirects to, with `code` and `state`.
   */
  async authorize(authorizationUrl: string | URL): Promise<URL> {
    const cookies = new Map<string, string>();
    let url = new URL(authorizationUrl);
    for (let hops = 0; url.origin === this.issuer; hops++) {
      if (hops === 10) throw new Error("Cannot authorize: the server redirects in a circle");
      const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(url, { headers: { cookie }, redirect: "manual" });
      const text = await response.text();
      const location = response.headers.get("location");
      if (location === null) throw new Error(`Cannot authorize: ${response.status} ${text}`);
      for (const line of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
        cookies.set(name!, value!);
      }
      url = new URL(location, url);
    }
    return url;
  }

  /**
   * Gets an access token as a client does: it registers, is authorized, and exchanges its code.
   *
   * @param options The scopes of the token, and the API that it is for: the audience of the server
   * unless given.
   */
  async token({ scope = SCOPES, resource }: { scope?: string; resource?: string } = {}): Promise<string> {
    const redirectUri = "http://127.0.0.1/callback";
    const clientId = await this.register({ redirect_uris: [redirectUri] });
    const verifier = crypto.randomUUID() + crypto.randomUUID();
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
    const asked = new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      scope,
      code_challenge: hash.toBase64({ alphabet: "base64url", omitPadding: true }),
      code_challenge_method: "S256",
      ...(resource !== undefined && { resource }),
    });
    const { searchParams } = await this.authorize(`${this.authorizationUrl}?${asked}`);
    const response = await fetch(this.tokenUrl, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: clientId,
        redirect_uri: redirectUri,
        code: searchParams.get("code") ?? "",
        code_verifier: verifier,
        ...(resource !== undefined && { resource }),
      }),
    });
    const reply = await response.json();
    if (!response.ok) throw new Error(`Cannot get a token: ${JSON.stringify(reply)}`);
    return reply.access_token;
  }

  /**
   * The claims of a token of this server.
   *
   * @throws {Error} If the server did not sign it.
   */
  async claimsOf(token: string): Promise<Record<string, unknown>> {
    const [head = "", body = "", signature = ""] = token.split(".");
    const decode = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
    const parse = (text: string) => JSON.parse(new TextDecoder().decode(decode(text)));
    const { kid } = parse(head);
    const { keys } = await (await fetch(this.jwksUrl)).json() as { keys: (JsonWebKey & { kid: string })[] };
    const jwk = keys.find((key) => key.kid === kid);
    if (!jwk) throw new Error("Cannot check the token: its key is not of this server");
    const key = await crypto.subtle.importKey("jwk", jwk, RS256, false, ["verify"]);
    const signed = new TextEncoder().encode(`${head}.${body}`);
    if (!await crypto.subtle.verify(RS256, key, decode(signature), signed)) {
      throw new Error("Cannot take the token: its signature is wrong");
    }
    return parse(body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise: isClosed, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await isClosed;
  }
}

async function makeProvider(issuer: string, options: AuthorizationServerOptions): Promise<oidc.Provider> {
  const { audience = "https://books.example", tokenLife = 3_600 } = options;
  const { privateKey } = await crypto.subtle.generateKey(
    { ...RS256, modulusLength: 2_048, publicExponent: new Uint8Array([1, 0, 1]) },
    true,
    ["sign", "verify"],
  );
  // The published key must not say that it signs.
  const { key_ops: _use, ...key } = await crypto.subtle.exportKey("jwk", privateKey);
  return await withoutWarnings(async () => {
    // @ts-types="npm:@types/oidc-provider@^9.12.1"
    const { interactionPolicy, Provider } = await import("npm:oidc-provider@^9.13.3");
    const policy = interactionPolicy.base();
    // Nobody is asked, and clients may still ask for it by `prompt=consent`.
    policy.get("consent")!.checks.clear();
    return new Provider(issuer, {
      jwks: { keys: [{ ...key, kid: crypto.randomUUID(), use: "sig", alg: "RS256" } as oidc.JWK] },
      cookies: { keys: [crypto.randomUUID()] },
      scopes: ["openid", "offline_access", ...SCOPES.split(" ")],
      pkce: { required: () => true },
      clientBasedCORS: () => true,
      extraClientMetadata: {
        properties: ["any_scope"],
        // A client may ask for more scopes later than when it registered.
        validator: (_context, _name, _value, metadata) => {
          delete metadata.scope;
        },
      },
      issueRefreshToken: async () => true,
      ttl: {
        AccessToken: tokenLife,
        AuthorizationCode: 60,
        Grant: 3_600,
        IdToken: 3_600,
        Interaction: 600,
        RefreshToken: 3_600,
        Session: 3_600,
      },
      features: {
        devInteractions: { enabled: false },
        registration: { enabled: true },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => audience,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: SCOPES,
            accessTokenFormat: "jwt",
            accessTokenTTL: tokenLife,
            jwt: { sign: { alg: "RS256" } },
          }),
        },
      },
      interactions: { policy, url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
      loadExistingGrant: grantAll,
      renderError: (context, error) => {
        context.type = "json";
        context.body = error;
      },
    });
  });
}

/** Grants what a client asks for, so that nobody is asked for consent. */
async function grantAll({ oidc: context }: oidc.KoaContextWithOIDC): Promise<oidc.Grant | undefined> {
  const { client, session, params, provider, resourceServers } = context;
  if (!client || !session?.accountId) return undefined;
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  const scope = String(params?.scope ?? "");
  grant.addOIDCScope(scope);
  for (const resource of Object.keys(resourceServers ?? {})) grant.addResourceScope(resource, scope);
  await grant.save();
  return grant;
}

/** Ends the interaction of the request: the user is signed in under the name in the form. */
async function signIn(provider: oidc.Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Uint8Array[] = [];
  // Deno never ends the body of a request that has none.
  if (request.method === "POST") { for await (const chunk of request) chunks.push(chunk); }
  const form = new URLSearchParams(await new Blob(chunks as BlobPart[]).text());
  const accountId = form.get("login") || "ada";
  await provider.interactionFinished(request, response, { login: { accountId }, consent: {} });
}

function showForm(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  response.end(`<!doctype html><html lang="en"><title>Sign in</title><link rel="icon" href="data:,">
    <form method="post"><label>Login <input name="login"></label><button>Sign in</button></form></html>`);
}

/** It warns of its storage in memory, and of Deno, for which it is not made. */
async function withoutWarnings<Result>(run: () => Promise<Result>): Promise<Result> {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await run();
  } finally {
    console.warn = warn;
  }
}
