/** What is recorded of one request. */
import { isHTTPError, type Issue, ValidationError } from "../base/errors.ts";
import type { RequestContext } from "../http/context.ts";
import type { RouteInfo } from "../http/route_info.ts";
import { isThrownReply } from "../http/reply.ts";
import { describeError, type LogEntry } from "../log/log.ts";
import { ownFrames } from "../log/log_text.ts";
import { redactText, redactUrl } from "../log/redaction.ts";
import { MountRoute } from "../routing/mount.ts";
import type { PartKind } from "../routing/recorder.ts";
import { pathStart } from "../http/query.ts";
import { type Pairs, redactHeaders } from "./redact.ts";

/** A part of a request. Times are milliseconds since its begin. */
export interface Part {
  readonly kind: PartKind;
  readonly name: string;
  readonly begin: number;
  /** Undefined while it runs. */
  end: number | undefined;
  failed: boolean;
}

/** A message that a request published. */
export interface Published {
  readonly topic: string;
  readonly bytes: number;
  /** Milliseconds since the begin of the request. */
  readonly at: number;
  /** Undefined until it is stored. */
  id: string | undefined;
  failed: boolean;
}

const MAX_PARTS = 200;
const MAX_ENTRIES = 100;
const MAX_PUBLISHED = 50;
const MAX_BODY = 64 * 1024;
/** The memory of a recording besides its strings, and of each entry in its lists. */
const OVERHEAD = 600;
const ENTRY_OVERHEAD = 120;

/** A request as a client sent it, with its secrets. */
export interface Sent {
  readonly url: string;
  readonly headers: Pairs;
  readonly body: string | null | undefined;
}

/** The parts of the platform's objects, read when they are needed: most requests are never shown. */
interface Head {
  readonly method: string;
  readonly url: string;
  readonly headers: Pairs;
  readonly replyHeaders: Pairs;
}

export class Recording {
  readonly number: number;
  #route: RouteInfo | null;
  /** Of the path, for the mounted applications around the route. */
  #prefix = "";
  /** As `performance.now()`, and in milliseconds since 1970. */
  readonly begin: number;
  readonly time: number;
  readonly parts: Part[] = [];
  readonly entries: LogEntry[] = [];
  readonly published: Published[] = [];
  /** How many entries of the lists were dropped. */
  dropped = 0;
  /** Grows with each change, over all recordings. */
  version: number;
  duration: number | undefined = undefined;
  status: number | undefined = undefined;
  /** What became an error reply, until it is described. */
  thrown: unknown = undefined;
  /** An estimate of its memory. */
  bytes: number = OVERHEAD;
  #context: RequestContext | undefined;
  #response: Response | undefined;
  #head: Head | undefined;
  readonly #keeps: boolean;
  #sent: Pick<Sent, "url" | "headers"> | undefined;
  /** Null if there was one that is not kept; undefined without one. */
  #body: string | null | undefined;
  #failure: Failure | undefined;

  /** @param keeps Whether it can be sent again. */
  constructor(number: number, context: RequestContext, route: RouteInfo | null, begin: number, keeps: boolean) {
    this.#keeps = keeps;
    this.number = number;
    this.version = number;
    this.#route = route;
    this.begin = begin;
    this.time = Date.now();
    this.#context = context;
  }

  get method(): string {
    return this.#head?.method ?? this.#context!.raw.method;
  }

  /** The path with the query, without secrets. */
  get url(): string {
    if (this.#head) return this.#head.url;
    const { url } = this.#context!.raw;
    return redactUrl(url.slice(pathStart(url)));
  }

  /** Called when a mounted application has found the route. */
  enter(route: RouteInfo): void {
    if (!(this.#route instanceof MountRoute)) return;
    this.#prefix += this.#route.prefix;
    this.#route = route;
  }

  get route(): string | null {
    return this.#route && `${this.#route.method} ${this.#prefix}${this.#route.path}`;
  }

  beginPart(kind: PartKind, name: string): Part | undefined {
    if (this.parts.length === MAX_PARTS) {
      this.dropped++;
      return undefined;
    }
    const part: Part = { kind, name, begin: performance.now() - this.begin, end: undefined, failed: false };
    this.parts.push(part);
    this.bytes += ENTRY_OVERHEAD;
    return part;
  }

  endPart(part: Part | undefined, failed: boolean): void {
    if (!part) return;
    part.end = performance.now() - this.begin;
    part.failed = failed;
  }

  addEntry(entry: LogEntry): void {
    if (this.entries.length === MAX_ENTRIES) {
      this.dropped++;
      return;
    }
    this.entries.push(entry);
    this.bytes += ENTRY_OVERHEAD + 2 * (entry.message.length + JSON.stringify(entry.fields).length);
  }

  addPublished(topic: string, bytes: number, result: Promise<{ readonly id: string }>): void {
    if (this.published.length === MAX_PUBLISHED) {
      this.dropped++;
      return;
    }
    const published: Published = { topic, bytes, at: performance.now() - this.begin, id: undefined, failed: false };
    this.published.push(published);
    this.bytes += ENTRY_OVERHEAD + topic.length;
    result.then(({ id }) => published.id = id, () => published.failed = true);
  }

  finish(response: Response, duration: number | undefined): void {
    this.duration = duration;
    this.status = response.status;
    this.#response = response;
    if (this.#keeps) this.#keepBody(this.#context!);
  }

  /** The body, if it is text and not long. */
  get body(): string | null | undefined {
    return this.#body;
  }

  /** As the client sent it; undefined if that is not kept. */
  get sent(): Sent | undefined {
    return this.#sent && { ...this.#sent, body: this.#body };
  }

  #keepBody({ raw, knownBody }: RequestContext): void {
    const length = raw.headers.get("content-length");
    if (length === "0" || (length === null && !raw.headers.has("transfer-encoding"))) return;
    this.#body = null;
    const isText = /json|text|urlencoded|xml/.test(raw.headers.get("content-type") ?? "");
    if (!knownBody || !isText || Number(length ?? Infinity) > MAX_BODY) return;
    knownBody.then((bytes) => {
      if (bytes.length > MAX_BODY) return;
      this.#body = new TextDecoder().decode(bytes);
      this.bytes += 2 * bytes.length;
    }, () => {});
  }

  get isFinished(): boolean {
    return this.status !== undefined;
  }

  /** Whether the platform's objects are no longer needed. */
  get isSettled(): boolean {
    return this.#head !== undefined;
  }

  /**
   * Reads what it shows of the request and the reply, and lets go of both.
   *
   * @param keys The headers of API keys.
   */
  settle(keys: ReadonlySet<string>): void {
    if (!this.#context || !this.#response) return;
    const { method, url } = this;
    const sent = [...this.#context.raw.headers];
    const headers = redactHeaders(sent, keys);
    const replyHeaders = redactHeaders(this.#response.headers, keys);
    const length = [...headers, ...replyHeaders].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    this.bytes += 2 * (url.length + length) * (this.#keeps ? 2 : 1);
    if (this.#keeps) this.#sent = { url: this.#context.raw.url, headers: sent };
    this.#head = { method, url, headers, replyHeaders };
    // It may hold on to anything.
    this.#failure = failureOf(this.thrown);
    this.bytes += 2 * (this.#failure.error?.length ?? 0);
    this.thrown = undefined;
    this.#context = this.#response = undefined;
  }

  /** What a list shows. */
  get summary(): RequestSummary {
    const { number, version, time, method, url, route, status = null, duration = null } = this;
    return { number, version, time, method, url, route, status, duration, who: this.#who };
  }

  details(keys: ReadonlySet<string>): RequestDetails {
    const { parts, published, dropped } = this;
    const { headers, replyHeaders } = this.#head ?? {
      headers: redactHeaders(this.#context!.raw.headers, keys),
      replyHeaders: this.#response ? redactHeaders(this.#response.headers, keys) : [],
    };
    return {
      ...this.summary,
      ...{ parts, published, dropped, headers, replyHeaders },
      entries: this.entries.map(({ time, level, message, fields }) => ({
        ...{ time: time.getTime(), level, message, fields: JSON.stringify(fields) },
      })),
      ...this.#failure ?? failureOf(this.thrown),
    };
  }

  /** The names of the guards that have accepted it. */
  get #who(): string {
    const guards = this.parts.filter(({ kind, end, failed }) => kind === "guard" && end !== undefined && !failed);
    return [...new Set(guards.map(({ name }) => name))].join(", ");
  }
}

export interface RequestSummary {
  readonly number: number;
  readonly version: number;
  readonly time: number;
  readonly method: string;
  readonly url: string;
  /** Null if no route matched. */
  readonly route: string | null;
  /** Null while it runs. */
  readonly status: number | null;
  /** In milliseconds, until the reply was made. */
  readonly duration: number | null;
  readonly who: string;
}

interface Failure {
  readonly issues: readonly Issue[];
  /** With the frames of the application. */
  readonly error: string | null;
}

export interface RequestDetails extends RequestSummary, Failure {
  readonly parts: readonly Part[];
  readonly published: readonly Published[];
  readonly dropped: number;
  readonly headers: Pairs;
  readonly replyHeaders: Pairs;
  readonly entries: readonly {
    readonly time: number;
    readonly level: string;
    readonly message: string;
    /** As JSON. */
    readonly fields: string;
  }[];
}

function failureOf(thrown: unknown): Failure {
  return { issues: thrown instanceof ValidationError ? thrown.issues : [], error: errorOf(thrown) };
}

function errorOf(thrown: unknown): string | null {
  if (thrown === undefined || isThrownReply(thrown)) return null;
  if (isHTTPError(thrown) && thrown.status < 500) return redactText(`${thrown.status} ${thrown.detail}`);
  return redactText(ownFrames(describeError(thrown)).join("\n"));
}
