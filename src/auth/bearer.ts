/** Bearer tokens (RFC 6750) that the application verifies. */
import { subjectText } from "../binding/guard.ts";
import type { Dependency, RequiredState } from "../binding/dependency.ts";
import { HTTPError } from "../base/errors.ts";
import type { HttpRequest } from "../http/request.ts";
import { quotedString } from "../http/headers.ts";
import { type OptionNames, quote } from "../base/options.ts";
import {
  checkGuardOptions,
  checkVerify,
  credentialsOf,
  type GuardOptions,
  hasAuthorization,
  isAccepted,
  makeVerifyingGuard,
  type PasswordFlow,
  readPasswordFlow,
  type StatefulGuardOptions,
  unauthorized,
} from "./credentials.ts";

/**
 * The options of a guard of bearer tokens.
 *
 * @category Dependencies
 */
export interface BearerOptions<Value, State = Record<string, unknown>> extends StatefulGuardOptions<State> {
  /**
   * Returns the subject of a token, a string or number, so that a renewed token belongs to the same
   * caller of `idempotent` routes. By default each token is a caller of its own.
   *
   * @param value The value of the guard.
   */
  subject?(value: Value): string | number;
  /**
   * Documents the password flow of OAuth 2.0, so that the documentation page signs in by name and
   * password. Only for clients of your own: OAuth 2.1 has no password flow.
   */
  passwordFlow?: PasswordFlow;
}

const OPTIONS: OptionNames<Omit<BearerOptions<unknown>, keyof GuardOptions>> = {
  state: true,
  subject: true,
  passwordFlow: true,
};

/**
 * A guard of the bearer token in the `Authorization` header (RFC 6750).
 *
 * A token has at most 16,384 characters of visible ASCII. A request without one is refused with
 * 401.
 *
 * @param verify Returns the user; null, undefined or false refuses with 401. A thrown `HTTPError`
 * is the reply, any other error a 500.
 * @returns A dependency whose value is the user.
 * @throws {TypeError} If an option is invalid.
 *
 * @example The users of tokens
 * ```ts
 * import { App } from "@webfw/core";
 * import { bearer } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const users = new Map([["f2a9", { name: "Ada" }]]);
 * const user = bearer(async (token) => users.get(token));
 *
 * const app = new App();
 * app.get("/me", { deps: { user } }, async (_request, { user }) => user.name);
 * const ask = (headers: HeadersInit) => app.fetch(new Request("http://localhost/me", { headers }));
 * assertEquals(await (await ask({ authorization: "Bearer f2a9" })).json(), "Ada");
 * const refused = await ask({});
 * assertEquals(refused.status, 401);
 * assertEquals(refused.headers.get("www-authenticate"), 'Bearer realm="bearer"');
 * ```
 *
 * @category Dependencies
 */
export function bearer<Value, State = Record<string, unknown>>(
  verify: (token: string, request: HttpRequest<State>) => Promise<Value | null | undefined | false>,
  options: BearerOptions<NoInfer<Value>, State> = {},
): Dependency<Value, RequiredState<State>> {
  const action = "make a bearer guard";
  checkVerify(verify, action);
  checkGuardOptions<BearerOptions<Value, State>>(options, OPTIONS, action);
  const { scheme = "bearer", description, subject, passwordFlow } = options;
  if (subject !== undefined && typeof subject !== "function") {
    throw new TypeError(`Cannot ${action}: "subject" must be a function, got ${quote(subject)}`);
  }
  const challenges = new BearerChallenges(scheme);
  return makeVerifyingGuard<Value, State>({
    name: scheme,
    scheme: passwordFlow
      ? { type: "oauth2", flows: { password: readPasswordFlow(passwordFlow, action) } }
      : { type: "http", scheme: "bearer" },
    description,
    isSent: hasAuthorization,
    ...(subject && {
      callerOf: (_request, value) => subjectText(subject(value as Value), `"subject" of the guard "${scheme}"`),
    }),
    resolve: async (request) => {
      const token = bearerToken(request, challenges);
      const value = await verify(token, request);
      if (!isAccepted(value)) throw challenges.invalid("The token is not valid");
      return value;
    },
  });
}

export class BearerChallenges {
  readonly #realm: string;

  /** @param scheme The realm: RFC 6750 requires a parameter in each challenge. */
  constructor(scheme: string) {
    this.#realm = `Bearer realm=${quotedString(scheme)}`;
  }

  missing(): HTTPError {
    return unauthorized("Send a bearer token in the Authorization header", this.#realm);
  }

  invalid(detail: string): HTTPError {
    return unauthorized(detail, `${this.#realm}, error="invalid_token"`);
  }

  /** For a valid token that lacks a scope. */
  insufficient(scopes: readonly string[]): HTTPError {
    const scope = quotedString(scopes.join(" "));
    return new HTTPError(403, "The token lacks a scope that is needed here", {
      headers: { "www-authenticate": `${this.#realm}, error="insufficient_scope", scope=${scope}` },
    });
  }
}

/** @throws {HTTPError} With 401 if the token is missing or malformed. */
export function bearerToken(request: HttpRequest, challenges: BearerChallenges): string {
  const token = credentialsOf(request, "bearer");
  if (token === null) throw challenges.missing();
  if (token === undefined) throw challenges.invalid("The token is malformed");
  return token;
}
