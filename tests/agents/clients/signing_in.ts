// A client that signs in when a server asks for it, as an application with a browser does.

import type { Call, Connection } from "./session.ts";

/** What a client saves between the steps of signing in. */
interface Saved {
  information?: unknown;
  tokens?: object;
  discovery?: unknown;
  verifier?: string;
  authorizationUrl?: URL;
}

/**
 * The memory of a client of either generation, whose types differ: `provider` has the methods that
 * both ask for.
 */
export class SignIn {
  readonly #saved: Saved = {};
  /** The number of times that the user was sent to the authorization server. */
  visits = 0;

  readonly provider = {
    redirectUrl: "http://127.0.0.1/callback",
    clientMetadata: {
      client_name: "Agent of a test",
      redirect_uris: ["http://127.0.0.1/callback"],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      application_type: "native",
    },
    clientInformation: (): unknown => this.#saved.information,
    saveClientInformation: (information: unknown): void => {
      this.#saved.information = information;
    },
    tokens: (): object | undefined => this.#saved.tokens,
    // To get further scopes, the client of the first generation would renew the token, with the same
    // scopes as before.
    saveTokens: ({ refresh_token: _, ...tokens }: { refresh_token?: unknown }): void => {
      this.#saved.tokens = tokens;
    },
    discoveryState: (): unknown => this.#saved.discovery,
    saveDiscoveryState: (discovery: unknown): void => {
      this.#saved.discovery = discovery;
    },
    codeVerifier: (): string => this.#saved.verifier!,
    saveCodeVerifier: (verifier: string): void => {
      this.#saved.verifier = verifier;
    },
    redirectToAuthorization: (url: URL): void => {
      this.#saved.authorizationUrl = url;
    },
  };

  /** Does what the browser of the user does, and gives the code for the client. */
  async visit(): Promise<URLSearchParams> {
    this.visits++;
    return (await followRedirects(this.#saved.authorizationUrl!)).searchParams;
  }
}

/** Connects, and makes all calls. Prints the results, and how often the user has signed in. */
export async function converseSignedIn(
  signIn: SignIn,
  connect: () => Promise<Connection>,
  finish: (code: URLSearchParams) => Promise<void>,
): Promise<void> {
  const retry = async <Result>(attempt: () => Promise<Result>): Promise<Result> => {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Error) || error.constructor.name !== "UnauthorizedError") throw error;
      await finish(await signIn.visit());
      return await attempt();
    }
  };
  const connection = await retry(connect);
  const afterConnect = signIn.visits;
  const { tools } = await retry(() => connection.listTools());
  const results: unknown[] = [];
  for (const call of JSON.parse(Deno.args.at(-1) ?? "[]") as Call[]) {
    results.push(await retry(() => connection.callTool(call)));
  }
  await connection.close();
  const { version } = connection;
  console.log(JSON.stringify({ version, tools, results, afterConnect, visits: signIn.visits }));
}

/** Follows the redirects within the authorization server, with its cookies. */
async function followRedirects(start: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  while (url.origin === start.origin) {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { headers: { cookie }, redirect: "manual" });
    const text = await response.text();
    const location = response.headers.get("location");
    if (location === null) throw new Error(`Cannot sign in: ${response.status} ${text}`);
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    url = new URL(location, url);
  }
  return url;
}
