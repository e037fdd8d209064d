/** Security schemes of OpenAPI 3.1: how clients authenticate. */
import * as v from "valibot";
import { nearest } from "../base/options.ts";
import { nodeOf, type SchemaNode } from "../schema/schema.ts";

/**
 * How a client authenticates: security schemes by name, all of which are required. The names are
 * those of the whole application. An empty object means that nothing is required.
 */
export type SecurityRequirement = Readonly<Record<string, RequiredScheme>>;

/** @ignore A security scheme with the scopes that are required of it. */
export type RequiredScheme =
  | ApiKeySecurityScheme
  | HttpSecurityScheme
  | MutualTlsSecurityScheme
  | OAuth2SecurityScheme & RequiredScopes
  | OpenIdConnectSecurityScheme & RequiredScopes;

/** The characters of a scope (RFC 6749, section 3.3): spaces separate scopes. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Whether a value is the name of one scope that a token can carry. */
export function isScope(value: unknown): value is string {
  return typeof value === "string" && SCOPE.test(value);
}

/** @ignore The scopes that are required of a scheme. */
export interface RequiredScopes {
  /**
   * The scopes that the dependency requires. A client needs those of all dependencies of a route.
   *
   * @default {[]}
   */
  scopes?: readonly string[];
}

/** A security scheme: one method of authentication. */
export type SecurityScheme =
  | ApiKeySecurityScheme
  | HttpSecurityScheme
  | MutualTlsSecurityScheme
  | OAuth2SecurityScheme
  | OpenIdConnectSecurityScheme;

/** A key in a query parameter, header or cookie. */
export interface ApiKeySecurityScheme {
  /** The kind of the scheme. */
  type: "apiKey";
  /** The part of the request that contains the key. */
  in: "query" | "header" | "cookie";
  /** The name of the parameter, header or cookie. */
  name: string;
  /** What the key is, and how to get one. */
  description?: string;
}

/** Credentials in the `Authorization` header (RFC 9110, section 11). */
export interface HttpSecurityScheme {
  /** The kind of the scheme. */
  type: "http";
  /** The name of the scheme in the header, such as `bearer` or `basic`. */
  scheme: string;
  /** The format of a bearer token, such as `JWT`; a hint for people. */
  bearerFormat?: string;
  /** What the credentials are, and how to get them. */
  description?: string;
}

/**
 * A TLS certificate of the client.
 *
 * @ignore
 */
export interface MutualTlsSecurityScheme {
  /** The kind of the scheme. */
  type: "mutualTLS";
  /** What the certificate is, and how to get one. */
  description?: string;
}

/**
 * A token of OAuth 2.0.
 *
 * It does not name the issuer, which agents need to sign in: for tools, use `jwt` of
 * `@webfw/core/auth` with its option `oauth2`, or a scheme of the type `openIdConnect`.
 */
export interface OAuth2SecurityScheme {
  /** The kind of the scheme. */
  type: "oauth2";
  /** The flows that issue a token. */
  flows: OAuth2Flows;
  /** What the token is for. */
  description?: string;
}

/** The flows of OAuth 2.0 (RFC 6749). */
export interface OAuth2Flows {
  /** A user grants an authorization code, which the client exchanges for a token. */
  authorizationCode?: OAuth2Flow & { authorizationUrl: string; tokenUrl: string };
  /** The client uses its own credentials. */
  clientCredentials?: OAuth2Flow & { tokenUrl: string };
  /** A user grants a token directly. RFC 9700 advises against it. */
  implicit?: OAuth2Flow & { authorizationUrl: string };
  /** The client uses the password of a user. RFC 9700 forbids it. */
  password?: OAuth2Flow & { tokenUrl: string };
}

/**
 * The members that all flows have.
 *
 * @ignore
 */
export interface OAuth2Flow {
  /** The available scopes with their descriptions. */
  scopes: Record<string, string>;
  /** The URL that renews a token. */
  refreshUrl?: string;
}

/** A token of a provider that supports OpenID Connect Discovery. */
export interface OpenIdConnectSecurityScheme {
  /** The kind of the scheme. */
  type: "openIdConnect";
  /** The URL of the discovery document. */
  openIdConnectUrl: string;
  /** What the token is for. */
  description?: string;
}

const ALTERNATIVES = Symbol("webfw.alternatives");

/** Alternatives, of which a client needs one, as a value of the option `security`. */
export function alternatives(all: readonly SecurityRequirement[]): SecurityRequirement {
  // A separate type in a union would make the compiler's messages about mistakes worse.
  return { [ALTERNATIVES]: all } as unknown as SecurityRequirement;
}

/** One alternative: the required schemes by name. */
export type SecurityAlternative = ReadonlyMap<string, ReadScheme>;

/** A checked scheme and its required scopes. */
interface ReadScheme {
  readonly scheme: SecurityScheme;
  readonly scopes: readonly string[];
}

/** The alternatives of several requirements that all have to be met: each combination, merged. */
export function combineAlternatives(
  required: readonly (readonly SecurityAlternative[])[],
): readonly SecurityAlternative[] {
  return required.filter((all) => all.length > 0).reduce<readonly SecurityAlternative[]>(
    (some, others) => some.flatMap((one) => others.map((other) => mergeAlternatives(one, other))),
    [new Map()],
  );
}

function mergeAlternatives(one: SecurityAlternative, other: SecurityAlternative): SecurityAlternative {
  const merged = new Map(one);
  for (const [name, { scheme, scopes }] of other) {
    const known = one.get(name)?.scopes ?? [];
    merged.set(name, { scheme, scopes: [...new Set([...known, ...scopes])] });
  }
  return merged;
}

let schemeSchema: v.GenericSchema<unknown, RequiredScheme> | undefined;

/** The schema of a scheme. The result has the members in this order. It is made on first use. */
function schemeOf(): v.GenericSchema<unknown, RequiredScheme> {
  return schemeSchema ??= makeSchemeSchema();
}

function makeSchemeSchema(): v.GenericSchema<unknown, RequiredScheme> {
  const text = v.string();
  const description = v.exactOptional(text);
  const scopes = v.exactOptional(v.array(text));
  const flow = { scopes: v.record(text, text), refreshUrl: v.exactOptional(text) };
  const authorizationUrl = text;
  const tokenUrl = text;
  const flows = v.strictObject({
    authorizationCode: v.exactOptional(v.strictObject({ authorizationUrl, tokenUrl, ...flow })),
    clientCredentials: v.exactOptional(v.strictObject({ tokenUrl, ...flow })),
    implicit: v.exactOptional(v.strictObject({ authorizationUrl, ...flow })),
    password: v.exactOptional(v.strictObject({ tokenUrl, ...flow })),
  });
  return v.variant("type", [
    v.strictObject({
      type: v.literal("apiKey"),
      in: v.picklist(["query", "header", "cookie"]),
      name: text,
      description,
    }),
    v.strictObject({ type: v.literal("http"), scheme: text, bearerFormat: v.exactOptional(text), description }),
    v.strictObject({ type: v.literal("mutualTLS"), description }),
    v.strictObject({ type: v.literal("oauth2"), flows, description, scopes }),
    v.strictObject({ type: v.literal("openIdConnect"), openIdConnectUrl: text, description, scopes }),
  ]);
}

/** The names of components, OpenAPI 3.1.0, section 4.8.7. */
const NAME = /^[a-zA-Z0-9._-]+$/;

/**
 * Reads the option `security` of a dependency.
 *
 * @returns The alternatives; none if the option is undefined.
 * @throws {TypeError} If a scheme or its name is wrong.
 */
export function readSecurity(security: unknown, owner: string): readonly SecurityAlternative[] {
  if (security === undefined) return [];
  if (typeof security !== "object" || security === null || Array.isArray(security)) {
    throw new TypeError(`Cannot declare ${owner}: "security" must hold security schemes by their names`);
  }
  if (ALTERNATIVES in security) {
    return (security[ALTERNATIVES] as unknown[]).flatMap((each) => readSecurity(each, owner));
  }
  return [new Map(Object.entries(security).map(([name, scheme]) => [name, readScheme(scheme, name, owner)]))];
}

function readScheme(value: unknown, name: string, owner: string): ReadScheme {
  const fail = (reason: string): never => {
    throw new TypeError(`Cannot declare ${owner}: the security scheme "${name}" ${reason}`);
  };
  if (!NAME.test(name)) fail('has a name that the document cannot hold, use letters, digits, ".", "-" and "_"');
  const { success, output, issues } = v.safeParse(schemeOf(), value);
  if (!success) return fail(faultOf(issues[0], value));
  if (!("scopes" in output)) return { scheme: output, scopes: [] };
  const { scopes = [], ...scheme } = output;
  const unknown = scheme.type === "oauth2" && scopes.find((scope) => !offers(scheme.flows, scope));
  if (unknown) fail(`asks for the scope "${unknown}", which none of its flows has`);
  return { scheme, scopes };
}

function faultOf({ path, expected }: v.BaseIssue<unknown>, value: unknown): string {
  if (!path) return "must be an object";
  const place = path.map(({ key }) => String(key)).join(".");
  if (expected === "never") {
    const keys = path.map(({ key }) => String(key));
    return `has the unknown member "${place}", the nearest is "${nearest(keys.at(-1)!, membersBeside(keys, value))}"`;
  }
  // For a missing key, valibot expects its name in quotes.
  return expected === JSON.stringify(path.at(-1)?.key) ? `must have "${place}"` : `must have ${expected} as "${place}"`;
}

/** The known members of the object that has an unknown one. */
function membersBeside(keys: readonly string[], value: unknown): string[] {
  const { type } = value as { readonly type: unknown };
  let node = nodeOf(schemeOf()).options!.map((kind) => kind as SchemaNode).find(({ entries }) =>
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
