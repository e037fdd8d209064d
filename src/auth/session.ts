/** Sessions: data of a visitor, which a cookie carries from request to request. */
import type { Dependency } from "../binding/dependency.ts";
import { makeGuard } from "../binding/guard.ts";
import { alternatives, readSecurity } from "../binding/security.ts";
import { checkOptions, type Duration, type OptionNames, quote, toMilliseconds } from "../base/options.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { redirect, ThrownReply } from "../http/reply.ts";
import { quotedString } from "../http/headers.ts";
import { type GivenSchema, isSchema, type Mistake, type Schema, schemaFault } from "../schema/schema.ts";
import { checkGuardOptions, type GuardOptions, requirementOf, UNAUTHORIZED, unauthorized } from "./credentials.ts";
import { SessionCookie, type SessionCookieOptions } from "./sessions/cookie.ts";
import { callerOfSession, readSecrets, type Secrets, type Session, SessionDefinition } from "./sessions/definition.ts";
import { RecordSessions, type SessionStore } from "./sessions/stores.ts";

/**
 * The session of a request that `required()` has accepted.
 *
 * @category Dependencies
 */
export interface RequiredSession<Data, Input = Data> extends Session<Data, Input> {
  /** The data of the session; after its end, the last data. */
  readonly data: Data;
}

/** @ignore The options of `required()`. */
export interface RequiredSessionOptions {
  /**
   * The path of the sign-in page. Without a session, a browser that requests a page is redirected
   * there with 303, and with the requested path as `next` in the query. Other requests get 401.
   */
  redirect?: string;
}

/**
 * The dependency that {@linkcode session} makes.
 *
 * @category Dependencies
 */
export interface SessionDependency<Data, Input = Data> extends Dependency<Session<Data, Input>> {
  /**
   * Makes a guard that requires a session. Its `data` is not null.
   *
   * @throws {TypeError} If an option is unknown, or `redirect` is no path of the application.
   */
  required(options?: RequiredSessionOptions): Dependency<RequiredSession<Data, Input>>;
}

/**
 * The options of a session, with a `secret` or a `store`. `Data` is the data of the session.
 *
 * @category Dependencies
 */
export type SessionOptions<Data = never> =
  & GuardOptions
  & {
    /**
     * Encrypts and authenticates the cookie: a string of at least 32 random characters, such as the
     * output of `openssl rand -base64 32`, or an array, of which the first seals and all open. A
     * function is called at each start. Phrases of words can be guessed. Not needed with a `store`.
     */
    secret?: Secrets | (() => Secrets | undefined | Promise<Secrets | undefined>);
    /**
     * Keeps the data: `recordSessions()`, `memorySessions()` or your own. By default the cookie.
     */
    store?: SessionStore | RecordSessions;
    /**
     * Returns the subject of a session, such as the id of its user; null for a visitor who has not
     * signed in. `Idempotency-Key`s belong to the subject, too.
     *
     * With a store, `set` makes a new id only when the subject changes: an id from before a sign-in
     * becomes worthless, and concurrent requests keep their session. Without this option each `set`
     * makes a new id, and ends the previous one at once.
     */
    subject?(data: Data): string | number | null;
    /** The cookie. */
    cookie?: SessionCookieOptions;
    /**
     * How long a session is valid after `set`, also checked on the server.
     *
     * @default {"14d"}
     */
    maxAge?: Duration;
    /**
     * Whether a request in the second half of `maxAge` extends the session.
     *
     * @default {false}
     */
    renew?: boolean;
  }
  // The compiler refuses options with neither, and a secret that may be undefined.
  & ({ secret: NonNullable<unknown> } | { store: NonNullable<unknown> });

const OPTIONS: OptionNames<Omit<SessionOptions, keyof GuardOptions>> = {
  subject: true,
  secret: true,
  store: true,
  cookie: true,
  maxAge: true,
  renew: true,
};

/**
 * A session: data of a visitor, which a cookie carries from request to request. The dependency
 * refuses no request; `visit.required()` is the guard.
 *
 * The cookie contains the data, encrypted and authenticated. A copied cookie stays valid until
 * `maxAge`, also after `clear`: use a `store` if a sign-out must revoke it.
 *
 * @param schema The schema of the data, which must have a JSON form. A cookie that is too old,
 * cannot be opened, or does not fit, is ignored.
 * @param options The secret or the store, the cookie, and the maximum age.
 * @throws {TypeError} If an option is invalid, or a secret is too short.
 * @throws {RangeError} If `maxAge` is not a positive duration.
 *
 * @example Signing in and out
 * ```ts
 * import { App, HTTPError } from "@webfw/core";
 * import { session } from "@webfw/core/auth";
 * import { assertEquals } from "@std/assert";
 * import * as v from "valibot";
 *
 * const visit = session(v.object({ userId: v.number() }), {
 *   secret: "0b72d3c1".repeat(4),
 *   subject: ({ userId }) => userId,
 *   maxAge: "30d",
 * });
 * const signedIn = visit.required();
 *
 * const app = new App();
 * const Login = v.object({ password: v.string() });
 * app.post("/login", { body: Login, deps: { visit } }, async (_request, { body, visit }) => {
 *   if (body.password !== "mellon") throw new HTTPError(403, "The password is wrong");
 *   await visit.set({ userId: 7 });
 * });
 * app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
 * app.get("/me", { deps: { signedIn } }, async (_request, { signedIn }) => signedIn.data.userId);
 *
 * const login = await app.fetch(
 *   new Request("http://localhost/login", {
 *     method: "POST",
 *     headers: { "content-type": "application/json" },
 *     body: JSON.stringify({ password: "mellon" }),
 *   }),
 * );
 * const cookie = login.headers.get("set-cookie")!.split(";", 1)[0]!;
 * const me = await app.fetch(new Request("http://localhost/me", { headers: { cookie } }));
 * assertEquals(await me.json(), 7);
 * const refused = await app.fetch(new Request("http://localhost/me"));
 * assertEquals(refused.status, 401);
 * ```
 *
 * @category Dependencies
 */
export function session<Data extends NonNullable<unknown>, Input = Data>(
  schema: GivenSchema<Input, Data> | Mistake<"Give one valibot schema, such as v.object({ … })">,
  options: SessionOptions<Data> | Mistake<"Give a store, or a secret such as () => Deno.env.get('SECRET')">,
): SessionDependency<Data, Input> {
  const action = "make a session";
  const given = options as SessionOptions<Data>;
  checkGuardOptions(given, OPTIONS, action);
  const { scheme = "session", description, cookie = {}, maxAge = "14d", renew = false } = given;
  const { secret, store, subject } = given;
  if (!isSchema(schema)) throw new TypeError(`Cannot ${action}: the first argument ${schemaFault(schema)}`);
  if (typeof renew !== "boolean") {
    throw new TypeError(`Cannot ${action}: "renew" must be true or false, got ${quote(renew)}`);
  }
  if (subject !== undefined && typeof subject !== "function") {
    throw new TypeError(
      `Cannot ${action}: "subject" must be a function, write subject: (data) => data.userId, got ${quote(subject)}`,
    );
  }
  checkStore(store, action);
  if (typeof secret !== "function" && !(store && secret === undefined)) {
    readSecrets(secret, `the session "${scheme}"`, action, ", or give a store, such as recordSessions()");
  }
  const maxAgeMs = toMilliseconds(maxAge, `the maxAge of the session "${scheme}"`);
  const sessionCookie = new SessionCookie(cookie, maxAgeMs, action);
  const { name, path, domain } = sessionCookie;
  const definition = new SessionDefinition<Data, Input>({
    name: scheme,
    schema: schema as Schema,
    secret,
    store,
    cookie: sessionCookie,
    maxAge: maxAgeMs,
    renew,
    subject,
  });
  const declared = requirementOf(scheme, { type: "apiKey", in: "cookie", name }, description);
  const common = {
    name: scheme,
    isSent: (request: HttpRequest) => request.cookies[name] !== undefined,
    starts: [definition.start],
    cookie: { name, path, domain, session: definition },
    callerOf: (_request: HttpRequest, value: unknown) =>
      callerOfSession(value instanceof SignedIn ? value.session : value),
  };
  const visit = makeGuard<Session<Data, Input>, unknown>({
    ...common,
    security: readSecurity(alternatives([declared, {}]), scheme),
    replies: [],
    resolve: (request) => definition.open(request),
  });
  const required = (options: RequiredSessionOptions = {}): Dependency<RequiredSession<Data, Input>> => {
    const login = readLogin(options, scheme);
    return makeGuard<RequiredSession<Data, Input>, unknown>({
      ...common,
      security: readSecurity(declared, scheme),
      replies: [UNAUTHORIZED],
      resolve: async (request) => {
        const session = await definition.open(request);
        const { data } = session;
        if (data === null) throw refusalOf(request, definition, login);
        return new SignedIn(session, data);
      },
    });
  };
  return Object.assign(visit, { required });
}

/** After `//` or `/\` browsers read a host, and they ignore tabs and line breaks. */
const OWN_PATH = /^\/(?!\/)[!-\[\]-~]*$/;

const REQUIRED_OPTIONS: OptionNames<RequiredSessionOptions> = { redirect: true };

function readLogin(options: RequiredSessionOptions, scheme: string): string | undefined {
  const action = `require the session "${scheme}"`;
  checkOptions(options, REQUIRED_OPTIONS, action);
  const { redirect } = options;
  if (redirect === undefined) return undefined;
  if (typeof redirect === "string" && OWN_PATH.test(redirect) && !redirect.includes("#")) return redirect;
  throw new TypeError(
    `Cannot ${action}: "redirect" must be a path of the application in ASCII, such as "/login", got ${quote(redirect)}`,
  );
}

function checkStore(store: unknown, action: string): void {
  if (store === undefined || store instanceof RecordSessions) return;
  const methods = ["get", "set", "delete"] as const;
  const isStore = typeof store === "object" && store !== null &&
    methods.every((method) => typeof (store as Partial<SessionStore>)[method] === "function");
  if (isStore) return;
  throw new TypeError(
    `Cannot ${action}: "store" must have get, set and delete, use recordSessions(), memorySessions() or write one`,
  );
}

/** The challenge names the cookie: no authentication scheme for cookies is registered. */
function refusalOf(
  request: HttpRequest,
  { name, cookie }: { readonly name: string; readonly cookie: SessionCookie },
  login: string | undefined,
): Error {
  const url = login === undefined ? undefined : loginUrl(request, login);
  if (url !== undefined) return new ThrownReply(redirect(url));
  const challenge = `Cookie realm=${quotedString(name)}, cookie-name=${quotedString(cookie.name)}`;
  return unauthorized("Sign in: there is no session", challenge);
}

/** Undefined if no browser requests a page, or it requests the sign-in page. */
function loginUrl(request: HttpRequest, login: string): string | undefined {
  const { method, path, raw, basePath } = request;
  if ((method !== "GET" && method !== "HEAD") || !acceptsHtml(raw.headers)) return undefined;
  const [page] = login.split("?", 1);
  if (path === page) return undefined;
  const query = raw.url.slice(contextOf(request).pathEnd).split("#", 1)[0];
  const next = basePath + path + query;
  const url = basePath + login;
  if (!OWN_PATH.test(next)) return url;
  return `${url}${login.includes("?") ? "&" : "?"}next=${encodeURIComponent(next)}`;
}

/** Programs send only a wildcard, and need the 401. */
function acceptsHtml(headers: Headers): boolean {
  const ranges = headers.get("accept")?.toLowerCase().split(",") ?? [];
  return ranges.some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    return type === "text/html" && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

class SignedIn<Data, Input> implements RequiredSession<Data, Input> {
  readonly session: Session<Data, Input>;
  readonly #found: Data;

  constructor(session: Session<Data, Input>, found: Data) {
    this.session = session;
    this.#found = found;
  }

  get data(): Data {
    return this.session.data ?? this.#found;
  }

  set(data: Input): Promise<void> {
    return this.session.set(data);
  }

  clear(): Promise<void> {
    return this.session.clear();
  }
}
