/** Reads what a dependency says of the credentials that it takes. */
import * as v from "valibot";
import { nearest } from "../options.ts";
import { nodeOf, type SchemaNode } from "../schema/schema.ts";
import type {
  OAuth2Flow,
  OAuth2Flows,
  RequiredScheme,
  SecurityRequirement,
  SecurityScheme,
} from "./security_scheme.ts";

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
