/** A request inside the framework: its connection, its body, and the state of its reply. */
import { log, type Logger } from "../log/log.ts";
import { HTTPError, type Issue } from "../base/errors.ts";
import { AfterResponse, type Failure, type Opened, type Task } from "./after_response.ts";
import type { AppHandle } from "./app_handle.ts";
import { BodyReader } from "./body.ts";
import { type ConnectionInfo, type Forwarded, type Mounted, mountedOf } from "./connection.ts";
import { checkHostHeader, hostOf } from "./host.ts";
import type { ResolvedLimits } from "./limits.ts";
import { peerAddress, type ProxyTrust } from "./proxy.ts";
import { pathStart, resolveUnreserved } from "./query.ts";
import { ReplyState } from "./reply_state.ts";
import type { RouteInfo } from "./route_info.ts";
import type { SignIn } from "./sign_in.ts";

export interface MatchedRoute {
  readonly info: RouteInfo | null;
  readonly names: readonly string[];
  readonly limits: ResolvedLimits;
  /** Whether guards authorize the requests. */
  readonly isGuarded: boolean;
}

export interface AgentCall {
  /** The limits that counted the call. In a batch its guards run twice, but it is counted once. */
  readonly countedBy: Set<object>;
  /** The issues of its arguments, which become the reply after the guards. */
  readonly issues?: readonly Issue[];
  /** Called with what a guard of the route threw. */
  readonly refused: (thrown: unknown) => void;
}

/** Why a request fell through to the folders of files. */
export interface FallThrough {
  readonly refusal: unknown;
  /** Whether a page of a single-page application may have the path. */
  readonly isFree: boolean;
}

/** The framework's view of a request. User code gets an `HttpRequest` of it. */
export class RequestContext implements Logger {
  readonly raw: Request;
  readonly app: AppHandle;
  readonly matched: MatchedRoute;
  /** The decoded parameters of the path. */
  readonly values: readonly string[];
  /** The index in the URL where the path ends. */
  readonly pathEnd: number;
  /** Undefined if no server received the request. */
  readonly connection: ConnectionInfo | undefined;
  readonly proxies: ProxyTrust;
  afterResponse: AfterResponse | undefined = undefined;
  readonly reply: ReplyState = new ReplyState();
  id: string | undefined = undefined;
  /** Whether its parts are recorded, for a board. */
  isRecorded = false;
  /** Set where no route matches. */
  fallThrough: FallThrough | undefined = undefined;
  /** For a mounted application. */
  aroundMount: Pick<Mounted, "callerOf" | "countAgain"> | undefined = undefined;
  readonly call: AgentCall | undefined;
  #body: BodyReader | undefined;
  #aborter: AbortController | undefined;
  #signal: AbortSignal | undefined;
  #forwarded: Forwarded | null | undefined;
  #peer: string | null | undefined;
  #cache: Map<object, unknown> | undefined;
  #location: URL | undefined;
  #signIns: SignIn[] | undefined;
  #hasGoodHost = false;

  constructor(
    raw: Request,
    app: AppHandle,
    matched: MatchedRoute,
    values: readonly string[],
    pathEnd: number,
    connection: ConnectionInfo | undefined,
    proxies: ProxyTrust,
    call: AgentCall | undefined = undefined,
  ) {
    this.raw = raw;
    this.app = app;
    this.matched = matched;
    this.values = values;
    this.pathEnd = pathEnd;
    this.connection = connection;
    this.proxies = proxies;
    this.call = call;
  }

  /** Aborts when the client disconnects, and by {@linkcode RequestContext.abort}. */
  get signal(): AbortSignal {
    if (!this.#aborter) return this.raw.signal;
    const { signal } = this.#aborter;
    // The platform's signal costs a listener, and is useless after the abort.
    return this.#signal ??= signal.aborted ? signal : AbortSignal.any([this.raw.signal, signal]);
  }

  /** Without this call the signal is that of the platform, which costs nothing. */
  makeAbortable(): void {
    this.#aborter ??= new AbortController();
  }

  abort(reason: unknown): void {
    this.#aborter?.abort(reason);
  }

  /** The address of the other end of the connection, which may be a proxy. */
  get peer(): string | null {
    return this.#peer ??= peerAddress(this.connection?.remoteAddr);
  }

  /**
   * Whether a server sends the reply. A server's connection is an instance of a class; a plain
   * object comes from a program or a mount, which may do anything with the reply.
   */
  get isServed(): boolean {
    return this.connection !== undefined && Object.getPrototypeOf(this.connection) !== Object.prototype;
  }

  /** Whether it came over a connection, also through a mount. A test may only set an address. */
  get hasServer(): boolean {
    return this.isServed || (mountedOf(this.connection)?.hasServer ?? false);
  }

  /** What trusted proxies report; undefined without one. */
  get forwarded(): Forwarded | undefined {
    const mounted = mountedOf(this.connection);
    if (mounted?.forwarded) return mounted.forwarded;
    if (!this.proxies.isSet) return undefined;
    if (this.#forwarded === undefined) this.#forwarded = this.proxies.forwarded(this.raw.headers, this.peer) ?? null;
    return this.#forwarded ?? undefined;
  }

  get basePath(): string {
    const { basePath } = this.app;
    const mounted = mountedOf(this.connection);
    // The proxy of a mounted application is that of the outer application.
    return mounted ? basePath || mounted.basePath : this.forwarded?.prefix ?? basePath;
  }

  /** The request that the server received, also inside a mount. */
  get received(): Request {
    return mountedOf(this.connection)?.received ?? this.raw;
  }

  /** The path, with unreserved characters unescaped. */
  get path(): string {
    const path = this.raw.url.slice(pathStart(this.raw.url), this.pathEnd);
    return path.includes("%") ? resolveUnreserved(path) : path;
  }

  /** For user code, which may read the host from them. */
  get headers(): Headers {
    if (!this.#hasGoodHost) checkHostHeader(this.raw, this.connection);
    this.#hasGoodHost = true;
    return this.raw.headers;
  }

  get url(): string {
    const { url } = this.raw;
    // Deno writes `http+unix` for a Unix socket.
    const isClientUrl = !this.forwarded && !url.startsWith("http+");
    if (isClientUrl && !url.includes("%")) return url;
    const start = pathStart(url);
    const scheme = this.forwarded?.scheme ?? (/^https/i.test(url) ? "https" : "http");
    const origin = isClientUrl ? url.slice(0, start) : `${scheme}://${this.host}`;
    return origin + this.path + url.slice(this.pathEnd);
  }

  get location(): URL {
    const url = this.#location ??= URL.parse(this.url) ?? undefined;
    if (!url) throw new HTTPError(400, "The Host header is malformed");
    return url;
  }

  get lastEventId(): string | null {
    return this.raw.headers.get("last-event-id") ?? this.location.searchParams.get("lastEventId");
  }

  get host(): string {
    return this.forwarded?.host ?? hostOf(this.raw.url);
  }

  /** By guard. A `WeakMap` of requests costs microseconds each, mostly in the garbage collector. */
  get cache(): Map<object, unknown> {
    return this.#cache ??= new Map();
  }

  get body(): BodyReader {
    return this.#body ??= new BodyReader(this, this.matched.limits, !this.hasServer);
  }

  /** The body, if it was read as a whole. */
  get knownBody(): Promise<Uint8Array<ArrayBuffer>> | undefined {
    return this.#body?.known;
  }

  /** The client's sign-ins that can end, also those of guards around a mount. */
  get signIns(): readonly SignIn[] {
    return [...mountedOf(this.connection)?.signIns ?? [], ...this.#signIns ?? []];
  }

  addSignIn(signIn: SignIn): void {
    (this.#signIns ??= []).push(signIn);
  }

  releaseBody(): void {
    this.#body?.release();
  }

  get requestId(): string {
    return this.id ??= crypto.randomUUID();
  }

  log(level: "info" | "warn" | "error", message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    log(level, message, { ...fields, request_id: this.requestId }, this.app);
  }

  addTask(task: Task, always: boolean): void {
    this.#afterwards().addTask(task, always);
  }

  addCleanup(cleanup: Task): void {
    this.#afterwards().addCleanup(cleanup);
  }

  addOpened(opened: Opened): void {
    this.#afterwards().addOpened(opened);
  }

  /** Ends dependencies by an error before its reply is made. They can replace the error. */
  fail(thrown: unknown): Failure | Promise<Failure> {
    return this.afterResponse ? this.afterResponse.fail(thrown) : { thrown };
  }

  /** Records the error of a stream that broke off after the head of the reply. */
  streamFailed(thrown: unknown): void {
    this.afterResponse?.failLater(thrown);
  }

  /** Keeps readable what Deno (2.9) drops when it upgrades the request. */
  keepForUpgrade(): void {
    // Unlike get(), iteration makes Deno copy the headers.
    this.raw.headers.keys().next();
    void this.peer;
  }

  #afterwards(): AfterResponse {
    if (this.afterResponse) return this.afterResponse;
    // After the reply, Deno (2.9) has headers and address only if they were read before.
    void this.raw.headers;
    void this.peer;
    return this.afterResponse = new AfterResponse(this);
  }
}
