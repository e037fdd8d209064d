/** A declared session, its secrets, and the session of each request. */
import { Lazy, load } from "../../base/async_context.ts";
import { subjectText } from "../../binding/guard.ts";
import type { StartConditions } from "../../binding/dependency.ts";
import { CannotStartError } from "../../base/errors.ts";
import { MAX_COOKIE_BYTES } from "../../http/cookies.ts";
import { stringify } from "../../http/json.ts";
import type { AppHandle } from "../../http/app_handle.ts";
import { contextOf, type HttpRequest } from "../../http/request.ts";
import { WEBSOCKET } from "../../http/websocket/handshake.ts";
import { log } from "../../log/log.ts";
import { toValidator, type Validator } from "../../schema/check.ts";
import { coerceJson } from "../../schema/coerce_json.ts";
import { summarizeIssues } from "../../schema/issues.ts";
import type { Schema } from "../../schema/schema.ts";
import type { SessionCookie } from "./cookie.ts";
import { type KeptSession, type SessionKeeper, StoredSessions, toText } from "./kept.ts";
import { RecordSessions, type SessionStore } from "./stores.ts";

/** The first seals, all open. */
export type Secrets = string | readonly string[];

type SessionSecret = Secrets | (() => Secrets | undefined | Promise<Secrets | undefined>);

const MIN_LENGTH = 32;

const CURE = `set it to at least ${MIN_LENGTH} random characters, such as the output of "openssl rand -base64 32"`;

/**
 * Messages do not contain the secrets.
 *
 * @param owner For messages: `the session "session"`.
 * @param alternative The cure besides a secret, for the message.
 */
export function readSecrets(given: unknown, owner: string, action: string, alternative = ""): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (secrets.length === 0 || secrets.some((secret) => secret === undefined || secret === null || secret === "")) {
    throw new TypeError(`Cannot ${action}: the secret of ${owner} is missing, ${CURE}${alternative}`);
  }
  for (const secret of secrets) {
    if (typeof secret !== "string") {
      throw new TypeError(
        `Cannot ${action}: the secret of ${owner} must be a string or an array of strings, got ${typeof secret}`,
      );
    }
    if (secret.length < MIN_LENGTH) {
      throw new TypeError(
        `Cannot ${action}: the secret of ${owner} has ${secret.length} characters, ${CURE}`,
      );
    }
  }
  return secrets as readonly string[];
}

/**
 * The session of a request.
 *
 * @category Dependencies
 */
export interface Session<Data, Input = Data> {
  /** The data, which `set` and `clear` change; null without a session. */
  readonly data: Data | null;
  /**
   * Begins a session, or replaces its data, before the handler returns: the cookie is in the head
   * of the reply, also of an error reply.
   *
   * If another request has cleared the session meanwhile, nothing is stored, and `data` is null. A
   * visitor whose `subject` was null can still sign in.
   *
   * @param data Must fit the schema, and have a JSON form.
   * @throws {TypeError} If the data does not fit, the reply has begun, or the request is a
   * WebSocket or a call of a tool.
   * @throws {RangeError} If the cookie has more than 4,096 bytes.
   */
  set(data: Input): Promise<void>;
  /**
   * Ends the session: deletes the cookie, and the data in the store. Streams and WebSockets behind
   * a stored session end within 5 s, on all nodes.
   *
   * @throws {TypeError} If the reply has begun, or the request is a WebSocket or a call of a tool.
   */
  clear(): Promise<void>;
}

interface SessionParts {
  readonly name: string;
  readonly schema: Schema;
  readonly secret: SessionSecret | undefined;
  readonly store: SessionStore | RecordSessions | undefined;
  readonly cookie: SessionCookie;
  /** In milliseconds. */
  readonly maxAge: number;
  readonly renew: boolean;
  /** Without it, each `set` counts as a new subject. */
  readonly subject: ((data: never) => unknown) | undefined;
}

type KeeperOf = (app: AppHandle) => SessionKeeper;

export class SessionDefinition<Data, Input> {
  readonly name: string;
  readonly cookie: SessionCookie;
  readonly #parts: SessionParts;
  readonly #validate: Validator["validate"];
  #keeperOf = new Lazy(() => this.#openKeeper());
  #hasWarned = false;

  /** @throws {TypeError} If no JSON value can satisfy the schema. */
  constructor(parts: SessionParts) {
    this.name = parts.name;
    this.cookie = parts.cookie;
    this.#parts = parts;
    this.#validate = toValidator(coerceJson(parts.schema, `the data of the session "${parts.name}"`)).validate;
  }

  /**
   * Derives the keys at each start, so that a secret can change.
   *
   * @throws {CannotStartError} If the secret is invalid, or the workers do not share the store.
   */
  readonly start = async ({ hasWorkers, isFirst }: StartConditions): Promise<void> => {
    const { store } = this.#parts;
    if (hasWorkers && store && "isLocal" in store && store.isLocal) {
      throw new CannotStartError(
        `Cannot start several workers: the session "${this.name}" is in the memory of one, use one worker, or a store that all share`,
      );
    }
    const keeperOf = new Lazy(() => this.#openKeeper());
    await keeperOf.use();
    // After a failure, other applications with this session keep theirs.
    this.#keeperOf = keeperOf;
    if (isFirst) this.#warnOnce();
  };

  /** One session for all dependencies of a request. Rejects only if the store fails. */
  open(request: HttpRequest): Promise<Session<Data, Input>> {
    return contextOf(request).cache.getOrInsertComputed(this, () => this.#find(request)) as Promise<
      Session<Data, Input>
    >;
  }

  /** Null for a visitor who has not signed in, undefined without the option `subject`. */
  subjectOf(data: Data): string | null | undefined {
    const { subject } = this.#parts;
    if (!subject) return undefined;
    const found = subject(data as never);
    if (found === null) return null;
    return subjectText(found, `"subject" of the session "${this.name}"`, "a string, a number or null");
  }

  /** Null if the kept data does not fit the schema. */
  async read(data: unknown): Promise<Data | null> {
    try {
      const { issues, value } = await this.#validate(data);
      return issues ? null : (value ?? null) as Data | null;
    } catch {
      // A transformation can throw for data of an earlier release.
      return null;
    }
  }

  /** The JSON of data, and the data as later requests read it. */
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
    const keeperOf = await this.#keeperOf.use();
    const keeper = keeperOf(request.app);
    const kept = value === undefined ? null : await keeper.open(value);
    const data = kept && await this.read(kept.data);
    const found = kept && data !== null ? { data, id: kept.id } : undefined;
    const session = new RequestSession(this, keeper, request, value, found);
    if (kept && found) contextOf(request).addSignIn({ watch: (onEnd) => session.watch(kept, onEnd) });
    const { renew, maxAge } = this.#parts;
    const isDue = kept && found && renew && Date.now() - kept.setAt > maxAge / 2;
    const canSetCookie = withoutCookies(request) === undefined && !contextOf(request).reply.hasBegun;
    if (isDue && canSetCookie) await session.renew(kept);
    return session;
  }

  #warnOnce(): void {
    const { store, subject } = this.#parts;
    if (!store || subject || this.#hasWarned) return;
    this.#hasWarned = true;
    log("warn", "Each set of a session signs out the requests that run beside it: the session has no subject", {
      session: this.name,
      cure:
        "add an option such as subject: (data) => data.userId, which returns null for a visitor who has not signed in",
    });
  }

  async #openKeeper(): Promise<KeeperOf> {
    const { secret, store, maxAge } = this.#parts;
    const given = typeof secret === "function" ? await secret() : secret;
    const purpose = `webfw session ${this.cookie.name}`;
    const secrets = store && given === undefined ? [] : this.#readSecrets(given);
    if (store instanceof RecordSessions) {
      const keepers = new WeakMap<AppHandle, StoredSessions>();
      const make = (app: AppHandle) => {
        const records = store.of(app);
        return new StoredSessions(records, purpose, maxAge, records.hint.bind(records));
      };
      return (app) => keepers.getOrInsertComputed(app, make);
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

/** Undefined without a session. */
export function callerOfSession(session: unknown): string | undefined {
  return session instanceof RequestSession ? session.caller : undefined;
}

interface Present<Data> {
  readonly data: Data;
  /** The id of {@linkcode KeptSession}. */
  readonly id: string;
}

class RequestSession<Data, Input> implements Session<Data, Input> {
  readonly #definition: SessionDefinition<Data, Input>;
  readonly #keeper: SessionKeeper;
  readonly #request: HttpRequest;
  /** At the beginning of the request. */
  readonly #found: Present<Data> | undefined;
  #present: Present<Data> | undefined;
  /** The cookie after the reply. */
  #value: string | undefined;
  /** The data of a session that another request has ended. */
  #ended: Data | undefined;
  /** Runs changes one after another. */
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

  get data(): Data | null {
    return this.#present ? this.#present.data : null;
  }

  watch(kept: KeptSession, onEnd: () => void): () => void {
    // If the handler itself has ended the session, its stream continues.
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

  async renew(kept: KeptSession): Promise<void> {
    const value = await this.#keeper.renew(this.#value!, kept);
    // Undefined: another request has changed the session, and its cookie stays.
    if (value !== undefined) this.#setCookie(this.#value = value);
  }

  /** The subject, or else the id of the request: a client that lost the reply sends it again. */
  get caller(): string | undefined {
    const subject = this.#present && this.#definition.subjectOf(this.#present.data);
    if (typeof subject === "string") return JSON.stringify(["subject", subject]);
    const id = this.#found?.id ?? this.#present?.id;
    return id === undefined ? undefined : JSON.stringify(["id", id]);
  }

  /** A `set` must not restore a session that another request has ended. */
  #mayNotReturn(subject: string | null | undefined): boolean {
    if (this.#ended === undefined) return false;
    const isSignIn = typeof subject === "string" && this.#definition.subjectOf(this.#ended) === null;
    if (isSignIn) this.#ended = undefined;
    return !isSignIn;
  }

  /** Keeps the id for concurrent requests. */
  async #replace(next: Present<Data>, json: string): Promise<void> {
    this.#assertAwaited();
    const value = await this.#keeper.replace(this.#value!, toText(json, next.id));
    if (value === undefined) return this.#end(next);
    this.#assertAwaited();
    this.#setCookie(value);
    this.#value = value;
    this.#present = next;
  }

  /** Makes a new id: an attacker may have planted the previous one. */
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
      // No client has received the id.
      if (!isSent) await this.#keeper.drop(value);
    }
    this.#value = value;
    this.#present = next;
  }

  /** False if another request has ended the session. */
  async #drop(value: string | undefined, present: Present<Data> | undefined): Promise<boolean> {
    const wasThere = value === undefined || await this.#keeper.drop(value);
    return wasThere || present === undefined;
  }

  #end({ data }: Present<Data>): void {
    this.#ended = data;
    this.#value = this.#present = undefined;
  }

  async #change(what: "set" | "clear", change: () => Promise<void>): Promise<void> {
    const { name } = this.#definition;
    const other = withoutCookies(this.#request);
    if (other !== undefined) {
      throw new TypeError(
        `Cannot ${what} the session "${name}": ${other} has no reply with cookies, do it in a request of a browser`,
      );
    }
    const { reply } = contextOf(this.#request);
    reply.assertOpen(`${what} the session`, name);
    const changed = this.#changed.then(change);
    this.#changed = changed.catch(() => {});
    // Waits for changes that the handler does not await: their cookie would be lost.
    reply.addHeadWork(this.#changed);
    await changed;
  }

  /** The handler must have awaited the change. */
  #assertAwaited(): void {
    if (!contextOf(this.#request).reply.hasBegun) return;
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

/** Undefined if the reply can carry cookies. */
function withoutCookies(request: HttpRequest): string | undefined {
  if (request.route?.method === WEBSOCKET) return "a WebSocket";
  return contextOf(request).call && "the call of a tool";
}
