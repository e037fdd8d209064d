/** The option `docs` of an application: who sees the documentation page, and how it signs in. */
import { type DependencyLike, type PreparedDependency, toDependencies } from "../../binding/dependency.ts";
import { isScope } from "../../binding/security.ts";
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";
import { type DeclaredLimit, type RateLimitByRequest, readRateLimits } from "../../rate_limit/rate_limit.ts";

/**
 * How the documentation page signs in, and who sees it.
 *
 * The page keeps what users enter or are given in the memory of its window, unless
 * `persistAuthorization` is set.
 *
 * @example A page for the staff, which signs in with OAuth 2.0
 * ```ts
 * import { App } from "@webfw/core";
 * import { basic, equal } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const staff = basic(async (name, password) => equal(password, "secret") && name, { realm: "Staff" });
 * const app = new App({ docs: { clientId: "books-page", scopes: ["books:read"], deps: { staff } } });
 *
 * const ask = async (path: string, headers: HeadersInit) =>
 *   (await app.fetch(new Request(`http://localhost${path}`, { headers }))).status;
 * for (const path of ["/docs", "/openapi.json"]) {
 *   assertEquals(await ask(path, {}), 401);
 *   assertEquals(await ask(path, { authorization: `Basic ${btoa("Ada:secret")}` }), 200);
 * }
 * ```
 */
export interface DocsOptions<State = Record<string, unknown>> {
  /**
   * The id under which the page is registered as a public client of the authorization server. Its
   * redirect URI is `oauth2-redirect.html` below the path of the page, such as
   * `https://api.example/docs/oauth2-redirect.html`. Without it, users enter an id.
   */
  clientId?: string;
  /**
   * The scopes that are ticked when the user signs in. They apply to all schemes.
   *
   * @default {[]}
   */
  scopes?: readonly string[];
  /**
   * Whether credentials outlive the window. They are then in the `localStorage` of the browser,
   * passwords too, where each script of the same origin can read them.
   *
   * @default {false}
   */
  persistAuthorization?: boolean;
  /**
   * Guards of the page and of the document; their values are not used. A browser shows the reply of
   * a guard that refuses: a session can redirect to a sign-in page, and `basic` makes the browser
   * ask for a password. A guard of tokens would refuse everybody, because a browser sends none when
   * it opens a page. The files of Swagger UI are served without them.
   */
  deps?: Readonly<Record<string, DependencyLike<unknown, NoInfer<State>>>>;
  /**
   * How often a client may ask for the page and the document together: one limit, or a list. They
   * count before the guards, and limits of the application do not count such requests.
   */
  rateLimit?: RateLimitByRequest<State> | readonly RateLimitByRequest<State>[];
}

/** The name of the page that the authorization server redirects to, below the path of the page. */
export const REDIRECT_PAGE = "oauth2-redirect.html";

/** How the page signs in. */
export interface SignInOptions {
  readonly clientId: string | undefined;
  readonly scopes: readonly string[];
  readonly persistAuthorization: boolean;
}

/** The checked options. */
export interface DocsParts extends SignInOptions {
  /** The guards of the page and of the document. */
  readonly deps: ReadonlyMap<string, PreparedDependency>;
  /** What counts requests for the page and the document. */
  readonly rateLimits: readonly DeclaredLimit[];
}

const OPTIONS: OptionNames<DocsOptions> = {
  clientId: true,
  scopes: true,
  persistAuthorization: true,
  deps: true,
  rateLimit: true,
};

/**
 * Checks the options, and adds the defaults.
 *
 * @throws {TypeError} If an option is unknown or wrong.
 */
export function readDocs<State>(options: DocsOptions<State>): DocsParts {
  checkOptions(options, OPTIONS as OptionNames<DocsOptions<State>>, "make the App", "docs.");
  const { clientId, scopes = [], persistAuthorization = false } = options;
  const check = (name: string, isRight: boolean, wanted: string, value: unknown) => {
    if (!isRight) throw new TypeError(`Cannot make the App: "docs.${name}" must be ${wanted}, got ${quote(value)}`);
  };
  check("clientId", clientId === undefined || isText(clientId), "a text that is not empty", clientId);
  check("scopes", Array.isArray(scopes) && scopes.every(isScope), "a list of scopes without spaces", scopes);
  check("persistAuthorization", typeof persistAuthorization === "boolean", "true or false", persistAuthorization);
  const rateLimits = readRateLimits(options.rateLimit, "make the App", "docs.rateLimit");
  if (rateLimits.some(({ after }) => after)) {
    throw new TypeError(
      'Cannot make the App: "docs.rateLimit" counts before the guards, write by: (request) => … without "key"',
    );
  }
  return { clientId, scopes, persistAuthorization, deps: toDependencies(options.deps), rateLimits };
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
