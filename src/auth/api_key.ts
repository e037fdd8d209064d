/** Keys in a header, in the query, or in a cookie. */
import { checkInputName, type Dependency, type RequiredState } from "../binding/dependency.ts";
import { pickQuery, queryText } from "../http/query.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { quotedString } from "../http/headers.ts";
import { type OptionNames, quote } from "../base/options.ts";
import {
  checkGuardOptions,
  checkVerify,
  type GuardOptions,
  isAccepted,
  makeVerifyingGuard,
  MAX_CREDENTIAL,
  type StatefulGuardOptions,
  unauthorized,
} from "./credentials.ts";

/**
 * The options of a guard of keys.
 *
 * @category Dependencies
 */
export interface ApiKeyOptions<State = Record<string, unknown>> extends StatefulGuardOptions<State> {
  /** Prefer a header: proxies log URLs, and browsers keep them in their history. */
  in: "header" | "query" | "cookie";
  /** The name of the header, the query parameter or the cookie. */
  name: string;
}

const OPTIONS: OptionNames<Omit<ApiKeyOptions, keyof GuardOptions>> = { in: true, name: true, state: true };

const SOURCES = { header: "headers", query: "query", cookie: "cookies" } as const;

/**
 * A guard of a key in a header, in the query, or in a cookie.
 *
 * A key has at most 16,384 characters. A request without one, or with several in the query, is
 * refused with 401. Logs and error replies have `REDACTED` in place of a key in the query.
 *
 * @param verify Returns the user; null, undefined or false refuses with 401. A thrown `HTTPError`
 * is the reply, any other error a 500.
 * @returns A dependency whose value is the user.
 * @throws {TypeError} If an option is invalid.
 *
 * @example A key in a header
 * ```ts
 * import { App } from "@webfw/core";
 * import { apiKey } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 *
 * const partners = new Map([["k-17", { company: "Lovelace & Co" }]]);
 * const partner = apiKey(async (key) => partners.get(key), { in: "header", name: "x-api-key" });
 *
 * const app = new App();
 * app.get("/orders", { deps: { partner } }, async (_request, { partner }) => partner.company);
 * const ask = (headers: HeadersInit) => app.fetch(new Request("http://localhost/orders", { headers }));
 * assertEquals(await (await ask({ "x-api-key": "k-17" })).json(), "Lovelace & Co");
 * assertEquals((await ask({})).status, 401);
 * ```
 *
 * @category Dependencies
 */
export function apiKey<Value, State = Record<string, unknown>>(
  verify: (key: string, request: HttpRequest<State>) => Promise<Value | null | undefined | false>,
  options: ApiKeyOptions<State>,
): Dependency<Value, RequiredState<State>> {
  const action = "make an apiKey guard";
  checkVerify(verify, action);
  checkGuardOptions<ApiKeyOptions<State>>(options, OPTIONS, action);
  const { scheme = "apiKey", in: source, name, description } = options;
  if (!Object.hasOwn(SOURCES, source)) {
    throw new TypeError(`Cannot ${action}: "in" must be "header", "query" or "cookie", got ${quote(source)}`);
  }
  if (typeof name !== "string" || name === "") {
    throw new TypeError(`Cannot ${action}: "name" must be the name of the ${source}, got ${quote(name)}`);
  }
  checkInputName(SOURCES[source], name, `the scheme ${scheme}`);
  const challenge = `ApiKey realm=${quotedString(scheme)}, in="${source}"`;
  const read = reader(source, name);
  const place = { header: "in the header", query: "once in the query, as", cookie: "in the cookie" }[source];
  const missing = `Send a key ${place} ${name}`;
  return makeVerifyingGuard<Value, State>({
    name: scheme,
    scheme: { type: "apiKey", in: source, name },
    description,
    isSent: (request) => read(request) !== undefined,
    resolve: async (request) => {
      const key = read(request);
      if (typeof key !== "string" || key === "") throw unauthorized(missing, challenge);
      const value = key.length <= MAX_CREDENTIAL && await verify(key, request);
      if (!isAccepted(value)) throw unauthorized("The key is not valid", challenge);
      return value;
    },
  });
}

/** An array if the query has several keys. */
function reader(source: ApiKeyOptions["in"], name: string): (request: HttpRequest) => string | string[] | undefined {
  if (source === "header") return (request) => request.raw.headers.get(name) ?? undefined;
  if (source === "cookie") return (request) => request.cookies[name];
  const slots = new Map([[name, 0]]);
  return (request) => {
    const { raw, pathEnd, matched } = contextOf(request);
    return pickQuery(queryText(raw.url, pathEnd), slots, matched.limits.query)[0];
  };
}
