/** One declaration of a session, and the session of each request. */
import { CannotStartError } from "../../errors.ts";
import type { StartConditions } from "../../binding/dependency.ts";
import { MAX_COOKIE_BYTES } from "../../http/cookies.ts";
import { stringify } from "../../http/json.ts";
import { type AppHandle, contextOf, type HttpRequest } from "../../http/request.ts";
import { WEBSOCKET } from "../../http/websocket/handshake.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { coerceJson } from "../../schema/coerce_json.ts";
import { summarizeIssues } from "../../schema/issues.ts";
import type { Schema } from "../../schema/schema.ts";
import type { SessionCookie } from "./cookie.ts";
import { type KeptSession, type SessionKeeper, toText } from "./keeper.ts";
import { RecordSessions } from "./records.ts";
import { readSecrets, type Secrets } from "./secret.ts";
import type { SessionStore } from "./store.ts";
import { StoredSessions } from "./stored.ts";

/**
 * The session of a request.
 *
 * @category Dependencies
 */
export interface Session<Data, Input = Data> {
  /** What the session holds; null if there is none. `set` and `clear` change it. */
  readonly data: Data | null;
  /**
   * Begins a session, or replaces what it holds. Call it before the handler returns: the cookie is
   * in the head of the reply, also of an error reply.
   *
   * @param data What it holds. It must fit the schema, and JSON must be able to carry it.
   * @throws {TypeError} If the data does not fit, if the reply has begun, on a WebSocket, or in
   * the call of a tool.
   * @throws {RangeError} If the cookie has more than 4,096 bytes.
   */
  set(data: Input): Promise<void>;
  /**
   * Ends the session: it deletes the cookie, and what is in the store.
   *
   * @throws {TypeError} If the reply has begun, on a WebSocket, or in the call of a tool.
   */
  clear(): Promise<void>;
}

interface SessionParts {
  /** The name in messages. */
  readonly name: string;
  readonly schema: Schema;
  readonly secret: Secrets | undefined | (() => Secrets | undefined | Promise<Secrets | undefined>);
  readonly store: SessionStore | RecordSessions | undefined;
  readonly cookie: SessionCookie;
  /** In milliseconds. */
  readonly maxAge: number;
  readonly renew: boolean;
}

/** Gives what keeps the sessions of an application. */
type KeeperOf = (app: AppHandle) => SessionKeeper;

/** One declaration of a session. */
export class SessionDefinition<Data, Input> {
  readonly name: string;
  readonly cookie: SessionCookie;
  readonly #parts: SessionParts;
  readonly #validate: Validator["validate"];
  #keeperOf: Promise<KeeperOf> | undefined;

  /** @throws {TypeError} If no JSON value can satisfy the schema. */
  constructor(parts: SessionParts) {
    this.name = parts.name;
    this.cookie = parts.cookie;
    this.#parts = parts;
    this.#validate = toValidator(coerceJson(parts.schema, `the data of the session "${parts.name}"`)).validate;
  }

  /**
   * Prepares the keys. An application calls it at each start, so that a secret can change.
   *
   * @throws {CannotStartError} If the secret is wrong, or the workers do not share the store.
   */
  readonly start = async ({ hasWorkers }: StartConditions): Promise<void> => {
    const { store } = this.#parts;
    if (hasWorkers && store && "isLocal" in store && store.isLocal) {
      throw new CannotStartError(
        `Cannot start several workers: the session "${this.name}" is in the memory of one, use one worker, or a store that all share`,
      );
    }
    await (this.#keeperOf = this.#openKeeper());
  };

  /** The session of a request, which its dependencies share. It rejects only if the store fails. */
  open(request: HttpRequest): Promise<Session<Data, Input>> {
    const { kept } = contextOf(request);
    let session = kept.get(this) as Promise<Session<Data, Input>> | undefined;
    if (!session) kept.set(this, session = this.#find(request));
    return session;
  }

  /** What kept data holds; null if it does not fit the schema. */
  async read(data: unknown): Promise<Data | null> {
    try {
      const { issues, value } = await this.#validate(data);
      return issues ? null : (value ?? null) as Data | null;
    } catch {
      // A transformation may fail for data of an earlier release.
      return null;
    }
  }

  /**
   * The JSON of data, and what will be read of it.
   *
   * @throws {TypeError} If it does not fit the schema, or has no JSON form.
   */
  async write(given: unknown): Promise<{ readonly json: string; readonly data: Data }> {
    const action = `set the session "${this.name}"`;
    const json = stringify(given);
    const { issues, value } = await this.#validate(JSON.parse(json));
    if (issues) {
      throw new TypeError(`Cannot ${action}: the data does not fit the schema, ${summarizeIssues(issues, "it")}`);
    }
    if (value === null || value === undefined) {
      throw new TypeError(`Cannot ${action}: the data is ${value}, use clear() to end the session`);
    }
    return { json, data: value as Data };
  }

  async #find(request: HttpRequest): Promise<RequestSession<Data, Input>> {
    const value = request.cookies[this.cookie.name];
    const keeperOf = await (this.#keeperOf ??= this.#openKeeper());
    const keeper = keeperOf(request.app);
    const kept = value === undefined ? null : await keeper.open(value);
    const data = kept && await this.read(kept.data);
    const session = new RequestSession(this, keeper, request, value, data, data === null ? undefined : kept?.id);
    if (kept && data !== null && this.#isDue(kept) && canSetCookie(request)) await session.renew(kept);
    return session;
  }

  #isDue({ setAt }: KeptSession): boolean {
    const { renew, maxAge } = this.#parts;
    return renew && Date.now() - setAt > maxAge / 2;
  }

  async #openKeeper(): Promise<KeeperOf> {
    const { secret, store, maxAge } = this.#parts;
    const given = typeof secret === "function" ? await secret() : secret;
    const purpose = `webfw session ${this.cookie.name}`;
    const secrets = store && given === undefined ? [] : this.#readSecrets(given);
    if (store instanceof RecordSessions) return (app) => new StoredSessions(store.of(app), purpose, maxAge);
    if (store) return () => new StoredSessions(store, purpose, maxAge);
    const { SealedSessions } = await import("./sealed.ts");
    const sealed = await SealedSessions.make(secrets, purpose, maxAge);
    return () => sealed;
  }

  #readSecrets(given: unknown): readonly string[] {
    try {
      return readSecrets(given, `the session "${this.name}"`, "start the application");
    } catch (error) {
      throw new CannotStartError((error as Error).message);
    }
  }
}

let idOf: (session: RequestSession<unknown, unknown>) => string | undefined;

/** Identifies the sign-in of a session; undefined if there is none. */
export function signInOf(session: unknown): string | undefined {
  return session instanceof RequestSession ? idOf(session) : undefined;
}

/** The session of one request. */
class RequestSession<Data, Input> implements Session<Data, Input> {
  readonly #definition: SessionDefinition<Data, Input>;
  readonly #keeper: SessionKeeper;
  readonly #request: HttpRequest;
  /** The value that the cookie of the client has after the reply. */
  #value: string | undefined;
  #data: Data | null;
  /** Identifies the sign-in; undefined if there is none. */
  #id: string | undefined;
  /** Settles after the changes so far: each one replaces what the one before has kept. */
  #changed: Promise<unknown> = Promise.resolve();

  constructor(
    definition: SessionDefinition<Data, Input>,
    keeper: SessionKeeper,
    request: HttpRequest,
    value: string | undefined,
    data: Data | null,
    id: string | undefined,
  ) {
    this.#definition = definition;
    this.#keeper = keeper;
    this.#request = request;
    this.#value = value;
    this.#data = data;
    this.#id = id;
  }

  static {
    idOf = (session) => session.#id;
  }

  get data(): Data | null {
    return this.#data;
  }

  set(data: Input): Promise<void> {
    return this.#change("set", async () => {
      const written = await this.#definition.write(data);
      const id = this.#id ?? crypto.randomUUID();
      const value = await this.#keeper.keep(toText(written.json, id));
      try {
        this.#assertAwaited();
        this.#setCookie(value);
      } catch (error) {
        await this.#keeper.drop(value);
        throw error;
      }
      // An attacker may have planted the id that the client had before.
      const earlier = this.#value;
      this.#value = value;
      this.#data = written.data;
      this.#id = id;
      if (earlier !== undefined) await this.#keeper.drop(earlier);
    });
  }

  clear(): Promise<void> {
    return this.#change("clear", async () => {
      this.#definition.cookie.delete(this.#request);
      const earlier = this.#value;
      this.#value = undefined;
      this.#data = null;
      this.#id = undefined;
      if (earlier !== undefined) await this.#keeper.drop(earlier);
    });
  }

  /** Keeps what was found for longer. */
  async renew({ data, id }: KeptSession): Promise<void> {
    this.#setCookie(this.#value = await this.#keeper.renew(this.#value!, toText(JSON.stringify(data), id)));
  }

  async #change(what: "set" | "clear", change: () => Promise<void>): Promise<void> {
    this.#assertPossible(what);
    const changed = this.#changed.then(change);
    this.#changed = changed.catch(() => {});
    // Otherwise a forgotten await would lose the cookie.
    contextOf(this.#request).addHeadWork(this.#changed);
    await changed;
  }

  #assertPossible(what: string): void {
    const { name } = this.#definition;
    const other = withoutCookies(this.#request);
    if (other !== undefined) {
      throw new TypeError(
        `Cannot ${what} the session "${name}": ${other} has no reply with cookies, do it in a request of a browser`,
      );
    }
    contextOf(this.#request).assertHeadOpen(`${what} the session`, name);
  }

  /** The reply had not begun when the change was called for. */
  #assertAwaited(): void {
    if (!contextOf(this.#request).hasReplied) return;
    throw new TypeError(
      `Cannot set the session "${this.#definition.name}": the reply has begun before it was done`,
    );
  }

  #setCookie(value: string): void {
    try {
      this.#definition.cookie.set(this.#request, value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new RangeError(
        `Cannot set the session "${this.#definition.name}": sealed, it has more than the ${MAX_COOKIE_BYTES} bytes that a cookie can have, keep it on the server with the option store, such as memorySessions()`,
      );
    }
  }
}

function canSetCookie(request: HttpRequest): boolean {
  return withoutCookies(request) === undefined && !contextOf(request).hasReplied;
}

/** What a request is that cannot have cookies with its reply; undefined if it can. */
function withoutCookies(request: HttpRequest): string | undefined {
  if (request.route?.method === WEBSOCKET) return "a WebSocket";
  return contextOf(request).call && "the call of a tool";
}
