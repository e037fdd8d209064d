/** One declaration of a session, and the session of each request. */
import { load } from "../../base/async_context.ts";
import { subjectText } from "../../binding/caller.ts";
import type { StartConditions } from "../../binding/dependency.ts";
import { CannotStartError } from "../../base/errors.ts";
import { MAX_COOKIE_BYTES } from "../../http/cookies.ts";
import { stringify } from "../../http/json.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import { addSignIn } from "../../http/signed_in.ts";
import { WEBSOCKET } from "../../http/websocket/handshake.ts";
import { log } from "../../log/log.ts";
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
   * If another request has cleared the session since this one began, nothing is stored, and `data`
   * is null then. A sign-in from a session whose `subject` was null begins a new session all the
   * same.
   *
   * @param data What it holds. It must fit the schema, and JSON must be able to carry it.
   * @throws {TypeError} If the data does not fit, if the reply has begun, on a WebSocket, or in
   * the call of a tool.
   * @throws {RangeError} If the cookie has more than 4,096 bytes.
   */
  set(data: Input): Promise<void>;
  /**
   * Ends the session: it deletes the cookie, and what is in the store. Event streams, lines of JSON
   * and WebSockets behind a session in a store end within 5 s, on all nodes.
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
  /** The subject of the data. Without it, each `set` counts as that of another one. */
  readonly subject: ((data: never) => unknown) | undefined;
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
  #hasWarned = false;

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
  readonly start = async ({ hasWorkers, isFirst }: StartConditions): Promise<void> => {
    const { store } = this.#parts;
    if (hasWorkers && store && "isLocal" in store && store.isLocal) {
      throw new CannotStartError(
        `Cannot start several workers: the session "${this.name}" is in the memory of one, use one worker, or a store that all share`,
      );
    }
    await (this.#keeperOf = this.#openKeeper());
    if (isFirst) this.#warnOnce();
  };

  /** The session of a request, which its dependencies share. It rejects only if the store fails. */
  open(request: HttpRequest): Promise<Session<Data, Input>> {
    const { kept } = contextOf(request);
    let session = kept.get(this) as Promise<Session<Data, Input>> | undefined;
    if (!session) kept.set(this, session = this.#find(request));
    return session;
  }

  /**
   * Identifies the subject of data; null for a visitor who has not signed in, undefined if the
   * session does not know its subjects.
   *
   * @throws {TypeError} If the program's function gives something else.
   */
  subjectOf(data: Data): string | null | undefined {
    const { subject } = this.#parts;
    if (!subject) return undefined;
    const found = subject(data as never);
    if (found === null) return null;
    return subjectText(found, `"subject" of the session "${this.name}"`, "a string, a number or null");
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
    const found = kept && data !== null ? { data, id: kept.id } : undefined;
    const session = new RequestSession(this, keeper, request, value, found);
    if (kept && found) addSignIn(request, { watch: (onEnd) => session.watch(kept, onEnd) });
    if (kept && found && this.#isDue(kept) && canSetCookie(request)) await session.renew(kept);
    return session;
  }

  #isDue({ setAt }: KeptSession): boolean {
    const { renew, maxAge } = this.#parts;
    return renew && Date.now() - setAt > maxAge / 2;
  }

  #warnOnce(): void {
    const { store, subject } = this.#parts;
    if (!store || subject || this.#hasWarned) return;
    this.#hasWarned = true;
    log("warn", "Each set of a session signs out the requests that run beside it: the session has no subject", {
      session: this.name,
      cure:
        "add an option such as subject: (data) => data.userId, which gives null for a visitor who has not signed in",
    });
  }

  async #openKeeper(): Promise<KeeperOf> {
    const { secret, store, maxAge } = this.#parts;
    const given = typeof secret === "function" ? await secret() : secret;
    const purpose = `webfw session ${this.cookie.name}`;
    const secrets = store && given === undefined ? [] : this.#readSecrets(given);
    if (store instanceof RecordSessions) {
      const keepers = new WeakMap<AppHandle, StoredSessions>();
      return (app) => {
        let keeper = keepers.get(app);
        if (!keeper) {
          const records = store.of(app);
          const hint = records.hint.bind(records);
          keepers.set(app, keeper = new StoredSessions(records, purpose, maxAge, hint));
        }
        return keeper;
      };
    }
    const stored = store && new StoredSessions(store, purpose, maxAge);
    if (stored) return () => stored;
    const { SealedSessions } = await load(() => import("./sealed.ts"));
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

let callerIn: (session: RequestSession<unknown, unknown>) => string | undefined;

/** Identifies whose session it is, for keys that belong to callers; undefined if there is none. */
export function callerOfSession(session: unknown): string | undefined {
  return session instanceof RequestSession ? callerIn(session) : undefined;
}

/** A session that there is. */
interface Present<Data> {
  readonly data: Data;
  /** Random. It stays over `set` for the same subject. */
  readonly id: string;
}

/** The session of one request. */
class RequestSession<Data, Input> implements Session<Data, Input> {
  readonly #definition: SessionDefinition<Data, Input>;
  readonly #keeper: SessionKeeper;
  readonly #request: HttpRequest;
  /** What the request came with. */
  readonly #found: Present<Data> | undefined;
  #present: Present<Data> | undefined;
  /** The value that the cookie of the client has after the reply. */
  #value: string | undefined;
  /** What the session held that another request has ended. */
  #ended: Data | undefined;
  /** Settles after the changes so far: each one replaces what the one before has kept. */
  #changed: Promise<unknown> = Promise.resolve();

  constructor(
    definition: SessionDefinition<Data, Input>,
    keeper: SessionKeeper,
    request: HttpRequest,
    value: string | undefined,
    found: Present<Data> | undefined,
  ) {
    this.#definition = definition;
    this.#keeper = keeper;
    this.#request = request;
    this.#value = value;
    this.#found = this.#present = found;
  }

  static {
    callerIn = (session) => session.#caller();
  }

  get data(): Data | null {
    return this.#present ? this.#present.data : null;
  }

  /** Calls back once when the session ends. It returns what ends the watch. */
  watch(kept: KeptSession, onEnd: () => void): () => void {
    // What the request itself has ended was the decision of its handler.
    return this.#value === undefined ? () => {} : this.#keeper.watch(this.#value, kept, onEnd);
  }

  set(data: Input): Promise<void> {
    return this.#change("set", async () => {
      const written = await this.#definition.write(data);
      const subject = this.#definition.subjectOf(written.data);
      if (this.#mayNotReturn(subject)) return;
      const present = this.#present;
      const isSame = present && subject !== undefined && this.#definition.subjectOf(present.data) === subject;
      if (isSame) await this.#replace({ data: written.data, id: present.id }, written.json);
      else await this.#begin({ data: written.data, id: crypto.randomUUID() }, written.json, subject);
    });
  }

  clear(): Promise<void> {
    return this.#change("clear", async () => {
      this.#definition.cookie.delete(this.#request);
      const [value, present] = [this.#value, this.#present];
      this.#value = this.#present = undefined;
      if (!await this.#drop(value, present)) this.#end(present!);
    });
  }

  /** Keeps what was found for longer. */
  async renew(kept: KeptSession): Promise<void> {
    const value = await this.#keeper.renew(this.#value!, kept);
    // The browser may have another cookie by now.
    if (value !== undefined) this.#setCookie(this.#value = value);
  }

  /**
   * The subject, or else the id that the request came with: a repetition, whose first reply was
   * lost, comes with it again.
   */
  #caller(): string | undefined {
    const subject = this.#present && this.#definition.subjectOf(this.#present.data);
    if (typeof subject === "string") return JSON.stringify(["subject", subject]);
    const id = this.#found?.id ?? this.#present?.id;
    return id === undefined ? undefined : JSON.stringify(["id", id]);
  }

  /**
   * Whether a `set` would bring back a session that another request has ended. A visitor without a
   * subject had no rights that could come back, and may sign in.
   */
  #mayNotReturn(subject: string | null | undefined): boolean {
    if (this.#ended === undefined) return false;
    const isSignIn = typeof subject === "string" && this.#definition.subjectOf(this.#ended) === null;
    if (isSignIn) this.#ended = undefined;
    return !isSignIn;
  }

  /** Keeps the session under the same id, so that other requests of the client keep theirs. */
  async #replace(next: Present<Data>, json: string): Promise<void> {
    this.#assertAwaited();
    const value = await this.#keeper.replace(this.#value!, toText(json, next.id));
    if (value === undefined) return this.#end(next);
    this.#assertAwaited();
    this.#setCookie(value);
    this.#value = value;
    this.#present = next;
  }

  /** Keeps a session under a new id. The one before ends: an attacker may have planted it. */
  async #begin(next: Present<Data>, json: string, subject: string | null | undefined): Promise<void> {
    const earlier = this.#present;
    const value = await this.#keeper.keep(toText(json, next.id));
    let isSent = false;
    try {
      this.#assertAwaited();
      if (!await this.#drop(this.#value, earlier)) {
        this.#end(earlier!);
        if (this.#mayNotReturn(subject)) return;
      }
      this.#assertAwaited();
      this.#setCookie(value);
      isSent = true;
    } finally {
      // No client has received its id.
      if (!isSent) await this.#keeper.drop(value);
    }
    this.#value = value;
    this.#present = next;
  }

  /** Forgets what is behind a cookie. False if another request has ended the session there. */
  async #drop(value: string | undefined, present: Present<Data> | undefined): Promise<boolean> {
    const wasThere = value === undefined || await this.#keeper.drop(value);
    return wasThere || present === undefined;
  }

  #end({ data }: Present<Data>): void {
    this.#ended = data;
    this.#value = this.#present = undefined;
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
