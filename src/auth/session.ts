/** Sessions: data of a visitor that comes back with each request, by a cookie. */
import type { Dependency } from "../binding/dependency.ts";
import { makeGuard } from "../binding/guard.ts";
import { alternatives, readSecurity } from "../binding/security.ts";
import { type Duration, toMilliseconds } from "../base/duration.ts";
import type { HttpRequest } from "../http/request.ts";
import { redirect, ThrownReply } from "../http/reply.ts";
import { quotedString } from "../http/syntax.ts";
import { checkOptions, type OptionNames, quote } from "../base/options.ts";
import { type GivenSchema, isSchema, type Mistake, type Schema, schemaFault } from "../schema/schema.ts";
import { checkGuardOptions, type GuardOptions, requirementOf } from "./options.ts";
import { UNAUTHORIZED, unauthorized } from "./refusal.ts";
import { SessionCookie, type SessionCookieOptions } from "./sessions/cookie.ts";
import { checkLoginPath, loginAddress } from "./sessions/login.ts";
import { readSecrets, type Secrets } from "./sessions/secret.ts";
import { callerOfSession, type Session, SessionDefinition } from "./sessions/definition.ts";
import { RecordSessions } from "./sessions/records.ts";
import type { SessionStore } from "./sessions/store.ts";

/**
 * A session of somebody who is signed in.
 *
 * @category Dependencies
 */
export interface RequiredSession<Data, Input = Data> extends Session<Data, Input> {
  /** What the session holds. After it has ended, it is what it held before. */
  readonly data: Data;
}

/**
 * The options of a guard that needs a session.
 *
 * @category Dependencies
 */
export interface RequiredSessionOptions {
  /**
   * The path of the page to sign in at. A browser that asks for a page without a session is sent
   * there by a 303, with the path that it asked for as `next` in the query. All other requests are
   * refused with 401.
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
   * Makes the guard of those who have a session. Its `data` is not null.
   *
   * @param options Where browsers are sent to sign in.
   * @throws {TypeError} If an option is unknown, or `redirect` is no path of the application.
   */
  required(options?: RequiredSessionOptions): Dependency<RequiredSession<Data, Input>>;
}

/** The options of a session that do not say where its data is. */
export interface SessionBaseOptions<Data = never> extends GuardOptions {
  /**
   * The subject of a session, such as the id of its user; null for a visitor who has not signed in.
   *
   * With a store, the id in the cookie is a new one exactly where `set` changes the subject, so
   * that an id from before a sign-in is worth nothing after it. As long as the subject stays, other
   * requests of the page, and a repetition whose first reply was lost, keep their session. Without
   * this option each `set` makes a new id, and ends the one before at once.
   *
   * Keys of routes that are `idempotent` belong to the subject, too.
   */
  subject?(data: Data): string | number | null;
  /** The cookie. */
  cookie?: SessionCookieOptions;
  /**
   * How long a session is good after it was set. It is checked on the server, too.
   *
   * @default {"14d"}
   */
  maxAge?: Duration;
  /**
   * Whether a request in the second half of `maxAge` sets the session again, so that it stays good
   * for those who come back.
   *
   * @default {false}
   */
  renew?: boolean;
}

/** Seals the data of a session into its cookie. */
export interface SealedSessionOptions {
  /**
   * The secret that encrypts and authenticates the cookie: a text of at least 32 characters, or a
   * list of which the first seals and all open. A function is called when the application starts.
   *
   * It must be random, such as the output of `openssl rand -base64 32`. Keys are derived of it
   * without a slow hash, so whoever has a cookie could find a phrase of words by trying.
   */
  secret: Secrets | (() => Secrets | undefined | Promise<Secrets | undefined>);
  /** Where the data is kept. By default it is in the cookie. */
  store?: SessionStore | RecordSessions;
}

/** Keeps the data of a session on the server. */
export interface StoredSessionOptions {
  /** The store, such as `recordSessions()`. The cookie has only a random id. */
  store: SessionStore | RecordSessions;
  /** Not needed with a store, whose ids are random. It is checked all the same. */
  secret?: SealedSessionOptions["secret"];
}

/**
 * The options of a session: a `secret`, or a `store`. `Data` is the data of the session.
 *
 * @category Dependencies
 */
export type SessionOptions<Data = never> =
  & SessionBaseOptions<Data>
  & (SealedSessionOptions | StoredSessionOptions);

const OPTIONS: OptionNames<Omit<SessionBaseOptions & SealedSessionOptions, keyof GuardOptions>> = {
  subject: true,
  secret: true,
  store: true,
  cookie: true,
  maxAge: true,
  renew: true,
};

/**
 * A session: data of a visitor that comes back with each request.
 *
 * The data is in a cookie that is encrypted and authenticated, so only the server can read or
 * change it. Such a seal stays good until `maxAge`, also if it was copied before `clear`: use
 * `store` where sign-out must hold. With a store, the cookie has only a random id.
 *
 * The dependency refuses nobody. `visit.required()` is the guard.
 *
 * @param schema The schema of the data. It must take JSON. A cookie whose data does not fit, that
 * is too old, or that cannot be opened, is no session.
 * @param options The secret or the store, the cookie, and how long a session is good.
 * @throws {TypeError} If an option is wrong, or a secret is too short.
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
    readSecrets(secret, `the session "${scheme}"`, action);
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

const REQUIRED_OPTIONS: OptionNames<RequiredSessionOptions> = { redirect: true };

function readLogin(options: RequiredSessionOptions, scheme: string): string | undefined {
  const action = `require the session "${scheme}"`;
  checkOptions(options, REQUIRED_OPTIONS, action);
  if (options.redirect !== undefined) checkLoginPath(options.redirect, action);
  return options.redirect;
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

/** The challenge names the cookie. No scheme for cookies is registered. */
function refusalOf(
  request: HttpRequest,
  { name, cookie }: { readonly name: string; readonly cookie: SessionCookie },
  login: string | undefined,
): Error {
  const address = login === undefined ? undefined : loginAddress(request, login);
  if (address !== undefined) return new ThrownReply(redirect(address));
  const challenge = `Cookie realm=${quotedString(name)}, cookie-name=${quotedString(cookie.name)}`;
  return unauthorized("Sign in: there is no session", challenge);
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
