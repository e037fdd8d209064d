import * as v from "valibot";
import { nearest } from "../options.ts";
import { nodeOf, type SchemaNode } from "../schema/schema.ts";

/** Security schemes, as OpenAPI 3.1 has them: the ways in which clients prove who they are. */

/**
 * What a client needs to be let in: security schemes by names that hold for the whole application, all of them together. None at
 * all says that nothing is needed.
 *
 * @example A bearer token, which the documentation page then asks for
 * ```ts
 * import { App, dependency, HTTPError } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const currentUser = dependency(
 *   { headers: { authorization: v.optional(v.string()) }, security: { bearer: { type: "http", scheme: "bearer" } } },
 *   async (_request, { headers }) => {
 *     if (headers.authorization === "Bearer secret") return "Ada";
 *     throw new HTTPError(401, undefined, { headers: { "www-authenticate": "Bearer" } });
 *   },
 * );
 *
 * const app = new App();
 * app.get("/me", { deps: { user: currentUser } }, async (_request, { user }) => ({ user }));
 * const { paths, components } = app.openapi();
 * assertEquals(paths["/me"]?.get?.security, [{ bearer: [] }]);
 * assertEquals(components.securitySchemes, { bearer: { type: "http", scheme: "bearer" } });
 * ```
 *
 * @example Scopes that a token has to have, of one dependency over another
 * ```ts
 * import { App, dependency } from "@webfw/core";
 * import type { OAuth2SecurityScheme } from "@webfw/core/types";
 * import { assertEquals } from "@std/assert";
 *
 * const oauth: OAuth2SecurityScheme = {
 *   type: "oauth2",
 *   flows: { clientCredentials: { tokenUrl: "/token", scopes: { read: "Read books", write: "Change books" } } },
 * };
 * const reader = dependency({ security: { oauth: { ...oauth, scopes: ["read"] } } }, async () => "Ada");
 * const writer = dependency(
 *   { deps: { reader }, security: { oauth: { ...oauth, scopes: ["write"] } } },
 *   async (_request, { reader }) => reader,
 * );
 *
 * const app = new App();
 * app.get("/books", { deps: { writer } }, async () => []);
 * assertEquals(app.openapi().paths["/books"]?.get?.security, [{ oauth: ["read", "write"] }]);
 * ```
 */
export type SecurityRequirement = Readonly<Record<string, RequiredScheme>>;

/** A security scheme, and the scopes that are required of it where it has some. */
export type RequiredScheme =
  | ApiKeySecurityScheme
  | HttpSecurityScheme
  | MutualTlsSecurityScheme
  | OAuth2SecurityScheme & RequiredScopes
  | OpenIdConnectSecurityScheme & RequiredScopes;

/** The scopes that are required of a scheme. */
export interface RequiredScopes {
  /**
   * Those that the dependency asks for. Those of all dependencies of a route add up.
   *
   * @default {[]}
   */
  scopes?: readonly string[];
}

/** A way to prove who sends a request. */
export type SecurityScheme =
  | ApiKeySecurityScheme
  | HttpSecurityScheme
  | MutualTlsSecurityScheme
  | OAuth2SecurityScheme
  | OpenIdConnectSecurityScheme;

/** A key, in a place and under a name of its own. */
export interface ApiKeySecurityScheme {
  /** The kind of the scheme. */
  type: "apiKey";
  /** Where the key stands. */
  in: "query" | "header" | "cookie";
  /** The name of the parameter, header or cookie. */
  name: string;
  /** What the key is, and how to come by one. */
  description?: string;
}

/** Credentials in the `Authorization` header (RFC 9110, section 11). */
export interface HttpSecurityScheme {
  /** The kind of the scheme. */
  type: "http";
  /** The name of the scheme in the header, such as `bearer` or `basic`. */
  scheme: string;
  /** What a bearer token looks like, such as `JWT`; for people only. */
  bearerFormat?: string;
  /** What the credentials are, and how to come by them. */
  description?: string;
}

/** A certificate of the client. */
export interface MutualTlsSecurityScheme {
  /** The kind of the scheme. */
  type: "mutualTLS";
  /** What certificate it is, and how to come by one. */
  description?: string;
}

/** A token of OAuth 2.0. */
export interface OAuth2SecurityScheme {
  /** The kind of the scheme. */
  type: "oauth2";
  /** The ways to come by a token. */
  flows: OAuth2Flows;
  /** What the token is for. */
  description?: string;
}

/** The ways to come by a token of OAuth 2.0 (RFC 6749). */
export interface OAuth2Flows {
  /** By a code that the user's agreement gives. */
  authorizationCode?: OAuth2Flow & AuthorizationUrl & TokenUrl;
  /** By the credentials of the client itself. */
  clientCredentials?: OAuth2Flow & TokenUrl;
  /** By the user's agreement at once, which RFC 9700 advises against. */
  implicit?: OAuth2Flow & AuthorizationUrl;
  /** By the user's password, which RFC 9700 forbids. */
  password?: OAuth2Flow & TokenUrl;
}

/** What all ways to come by a token have in common. */
export interface OAuth2Flow {
  /** What there is to ask for, with what each is in words. */
  scopes: Record<string, string>;
  /** Where to renew a token. */
  refreshUrl?: string;
}

/** A place where users agree. */
export interface AuthorizationUrl {
  /** The URL. */
  authorizationUrl: string;
}

/** A place that gives tokens. */
export interface TokenUrl {
  /** The URL. */
  tokenUrl: string;
}

/** A token of a provider that OpenID Connect discovers. */
export interface OpenIdConnectSecurityScheme {
  /** The kind of the scheme. */
  type: "openIdConnect";
  /** Where the provider describes itself. */
  openIdConnectUrl: string;
  /** What the token is for. */
  description?: string;
}

/** Reads what a dependency says of the credentials that it takes. */

const WAYS = Symbol("webfw.ways");

/**
 * Several ways to be let in, of which one is enough.
 *
 * @param ways The ways. An empty one says that nobody has to prove anything.
 *
 * @example A token or the cookie of a session; a token for who has one
 * ```ts
 * import { anySecurity, App, dependency, type SecurityScheme } from "@webfw/core";
 * import { assertEquals } from "@std/assert";
 *
 * const bearer: SecurityScheme = { type: "http", scheme: "bearer" };
 * const session: SecurityScheme = { type: "apiKey", in: "cookie", name: "sid" };
 *
 * const user = dependency({ security: anySecurity({ bearer }, { session }) }, async () => "Ada");
 * const guest = dependency({ security: anySecurity({}, { bearer }) }, async () => undefined);
 *
 * const app = new App();
 * app.get("/me", { deps: { user } }, async (_request, { user }) => user);
 * app.get("/", { deps: { guest } }, async () => "Welcome");
 * const { paths } = app.openapi();
 * assertEquals(paths["/me"]?.get?.security, [{ bearer: [] }, { session: [] }]);
 * assertEquals(paths["/"]?.get?.security, [{}, { bearer: [] }]);
 * ```
 */
export function anySecurity(...ways: [SecurityRequirement, ...SecurityRequirement[]]): SecurityRequirement {
  // To the compiler they are one requirement: a union with a list would tell less of what is wrong in either.
  return { [WAYS]: ways } as unknown as SecurityRequirement;
}

/** One way to be let in: what it asks for, by the schemes' names. */
export type SecurityWay = ReadonlyMap<string, ReadScheme>;

/** A scheme that has been checked, and the scopes that are required of it. */
export interface ReadScheme {
  readonly scheme: SecurityScheme;
  readonly scopes: readonly string[];
}

const text = v.string();
const description = v.exactOptional(text);
const scopes = v.exactOptional(v.array(text));
const flow = { scopes: v.record(text, text), refreshUrl: v.exactOptional(text) };
const authorizationUrl = text;
const tokenUrl = text;

const FLOWS = v.strictObject({
  authorizationCode: v.exactOptional(v.strictObject({ authorizationUrl, tokenUrl, ...flow })),
  clientCredentials: v.exactOptional(v.strictObject({ tokenUrl, ...flow })),
  implicit: v.exactOptional(v.strictObject({ authorizationUrl, ...flow })),
  password: v.exactOptional(v.strictObject({ tokenUrl, ...flow })),
});

/** What a scheme may hold. Its members come out in this order, however they were written. */
const SCHEME: v.GenericSchema<unknown, RequiredScheme> = v.variant("type", [
  v.strictObject({ type: v.literal("apiKey"), in: v.picklist(["query", "header", "cookie"]), name: text, description }),
  v.strictObject({ type: v.literal("http"), scheme: text, bearerFormat: v.exactOptional(text), description }),
  v.strictObject({ type: v.literal("mutualTLS"), description }),
  v.strictObject({ type: v.literal("oauth2"), flows: FLOWS, description, scopes }),
  v.strictObject({ type: v.literal("openIdConnect"), openIdConnectUrl: text, description, scopes }),
]);

/** OpenAPI 3.1.0, section 4.8.7: the names of components. */
const NAME = /^[a-zA-Z0-9._-]+$/;

/**
 * Checks what a dependency says of its credentials, and reads it as the ways to be let in, of which one is enough.
 *
 * @param given What was declared; nothing gives no ways.
 * @param owner The dependency, for messages.
 * @throws {TypeError} When something is no scheme, or has a name that the document cannot hold.
 */
export function readSecurity(given: unknown, owner: string): readonly SecurityWay[] {
  if (given === undefined) return [];
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`Cannot declare ${owner}: "security" must hold security schemes by their names`);
  }
  if (WAYS in given) return (given[WAYS] as unknown[]).flatMap((way) => readSecurity(way, owner));
  return [new Map(Object.entries(given).map(([name, scheme]) => [name, readScheme(scheme, name, owner)]))];
}

function readScheme(given: unknown, name: string, owner: string): ReadScheme {
  const fail = (reason: string): never => {
    throw new TypeError(`Cannot declare ${owner}: the security scheme "${name}" ${reason}`);
  };
  if (!NAME.test(name)) fail('has a name that the document cannot hold, use letters, digits, ".", "-" and "_"');
  const { success, output, issues } = v.safeParse(SCHEME, given);
  if (!success) return fail(faultOf(issues[0], given));
  if (!("scopes" in output)) return { scheme: output, scopes: [] };
  const { scopes = [], ...scheme } = output;
  const unknown = scheme.type === "oauth2" && scopes.find((scope) => !offers(scheme.flows, scope));
  if (unknown) fail(`asks for the scope "${unknown}", which none of its flows has`);
  return { scheme, scopes };
}

function faultOf({ path, expected }: v.BaseIssue<unknown>, given: unknown): string {
  if (!path) return "must be an object";
  const place = path.map(({ key }) => String(key)).join(".");
  if (expected === "never") {
    const keys = path.map(({ key }) => String(key));
    return `has the unknown member "${place}", the nearest is "${nearest(keys.at(-1)!, membersBeside(keys, given))}"`;
  }
  // valibot names the key itself where it is missing.
  return expected === JSON.stringify(path.at(-1)?.key) ? `must have "${place}"` : `must have ${expected} as "${place}"`;
}

/** The members that may stand in the place of an unknown one. */
function membersBeside(keys: readonly string[], given: unknown): string[] {
  const { type } = given as { readonly type: unknown };
  let node = nodeOf(SCHEME).options!.map((kind) => kind as SchemaNode).find(({ entries }) =>
    entries!.type!.literal === type
  )!;
  for (const key of keys.slice(0, -1)) {
    const member = node.entries![key]!;
    node = member.wrapped ?? member;
  }
  return Object.keys(node.entries!);
}

function offers(flows: OAuth2Flows, scope: string): boolean {
  return Object.values(flows).some((flow: OAuth2Flow) => Object.hasOwn(flow.scopes, scope));
}
