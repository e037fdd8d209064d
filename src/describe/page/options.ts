/** The option `docs` of an application: access to the documentation page, and its sign-in. */
import { type DependencyLike, type PreparedDependency, toDependencies } from "../../binding/dependency.ts";
import { isScope } from "../../binding/security.ts";
import { checkOptions, type OptionNames, quote } from "../../base/options.ts";
import { type DeclaredLimit, type RateLimitByRequest, readRateLimits } from "../../rate_limit/rate_limit.ts";

/**
 * How the documentation page signs in, and who sees it.
 *
 * The page keeps credentials in the memory of its window, unless `persistAuthorization` is set.
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
   * The id of the page as a public client of the authorization server; without it, users enter one.
   * The redirect URI is `oauth2-redirect.html` below the path of the page, such as
   * `https://api.example/docs/oauth2-redirect.html`.
   */
  clientId?: string;
  /**
   * The preselected scopes, for all schemes.
   *
   * @default {[]}
   */
  scopes?: readonly string[];
  /**
   * Whether `localStorage` stores credentials, including passwords. Each script of the origin can
   * read it.
   *
   * @default {false}
   */
  persistAuthorization?: boolean;
  /**
   * Parameters of Swagger UI, as JSON, such as `{ docExpansion: "none", tryItOutEnabled: true }`.
   * Beyond 100 operations, `docExpansion` is `"none"` by default.
   */
  parameters?: Readonly<Partial<Record<SwaggerUIParameter, unknown>>>;
  /**
   * Guards of the page and the document, whose values are not used. A browser shows their refusal:
   * a session can redirect to a sign-in page, and `basic` opens the browser's dialog. A guard of
   * tokens refuses everyone, as browsers send none with a page. The files of Swagger UI have no
   * guards.
   */
  deps?: Readonly<Record<string, DependencyLike<unknown, NoInfer<State>>>>;
  /** Limits of the page and the document, before the guards, in place of the application's. */
  rateLimit?: RateLimitByRequest<State> | readonly RateLimitByRequest<State>[];
}

/**
 * @ignore The parameters of Swagger UI that are JSON and do not change what the page loads:
 * https://swagger.io/docs/open-source-tools/swagger-ui/usage/configuration/
 */
export type SwaggerUIParameter =
  | "deepLinking"
  | "defaultModelExpandDepth"
  | "defaultModelRendering"
  | "defaultModelsExpandDepth"
  | "displayOperationId"
  | "displayRequestDuration"
  | "docExpansion"
  | "filter"
  | "maxDisplayedTags"
  | "operationsSorter"
  | "requestSnippets"
  | "requestSnippetsEnabled"
  | "showCommonExtensions"
  | "showExtensions"
  | "supportedSubmitMethods"
  | "syntaxHighlight"
  | "tagsSorter"
  | "tryItOutEnabled"
  | "withCredentials";

const PARAMETERS: Readonly<Record<SwaggerUIParameter, true>> = {
  deepLinking: true,
  defaultModelExpandDepth: true,
  defaultModelRendering: true,
  defaultModelsExpandDepth: true,
  displayOperationId: true,
  displayRequestDuration: true,
  docExpansion: true,
  filter: true,
  maxDisplayedTags: true,
  operationsSorter: true,
  requestSnippets: true,
  requestSnippetsEnabled: true,
  showCommonExtensions: true,
  showExtensions: true,
  supportedSubmitMethods: true,
  syntaxHighlight: true,
  tagsSorter: true,
  tryItOutEnabled: true,
  withCredentials: true,
};

/** Where the authorization server redirects to, below the documentation page. */
export const REDIRECT_PAGE = "oauth2-redirect.html";

export interface SignInOptions {
  readonly clientId: string | undefined;
  readonly scopes: readonly string[];
  readonly persistAuthorization: boolean;
  /** As JSON. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface DocsParts extends SignInOptions {
  readonly deps: ReadonlyMap<string, PreparedDependency>;
  readonly rateLimits: readonly DeclaredLimit[];
}

const OPTIONS: OptionNames<DocsOptions> = {
  clientId: true,
  scopes: true,
  persistAuthorization: true,
  parameters: true,
  deps: true,
  rateLimit: true,
};

/** @throws {TypeError} If an option is unknown or invalid. */
export function readDocs<State>(options: DocsOptions<State>): DocsParts {
  checkOptions(options, OPTIONS as OptionNames<DocsOptions<State>>, "make the App", "docs.");
  const { clientId, scopes = [], persistAuthorization = false, parameters = {} } = options;
  const check = (name: string, isRight: boolean, wanted: string, value: unknown) => {
    if (!isRight) throw new TypeError(`Cannot make the App: "docs.${name}" must be ${wanted}, got ${quote(value)}`);
  };
  const isFilled = typeof clientId === "string" && clientId !== "";
  check("clientId", clientId === undefined || isFilled, "a non-empty string", clientId);
  check("scopes", Array.isArray(scopes) && scopes.every(isScope), "an array of scopes without spaces", scopes);
  check("persistAuthorization", typeof persistAuthorization === "boolean", "true or false", persistAuthorization);
  const isObject = typeof parameters === "object" && parameters !== null && !Array.isArray(parameters);
  check("parameters", isObject, 'an object, such as { docExpansion: "none" }', parameters);
  checkOptions(parameters, PARAMETERS, "make the App", "docs.parameters.");
  for (const [name, value] of Object.entries(parameters)) {
    check(`parameters.${name}`, isJson(value), "JSON", value);
  }
  const rateLimits = readRateLimits(options.rateLimit, "make the App", "docs.rateLimit");
  if (rateLimits.some(({ after }) => after)) {
    throw new TypeError(
      'Cannot make the App: "docs.rateLimit" counts before the guards, write by: (request) => … without "key"',
    );
  }
  return { clientId, scopes, persistAuthorization, parameters, deps: toDependencies(options.deps), rateLimits };
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}
