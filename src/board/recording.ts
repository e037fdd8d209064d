/** What is recorded of one request. */
import { isHTTPError, type Issue, ValidationError } from "../base/errors.ts";
import type { RequestContext } from "../http/context.ts";
import type { RouteInfo } from "../http/route_info.ts";
import { isThrownReply } from "../http/reply.ts";
import { describeError, type LogEntry } from "../log/log.ts";
import { ownFrames } from "../log/log_text.ts";
import { redactText } from "../log/redaction.ts";
import { MountRoute } from "../routing/mount.ts";
import type { PartKind } from "../routing/recorder.ts";
import { pathStart } from "../http/query.ts";
import { type Pairs, redactHeaders, redactTarget } from "./redact.ts";

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
const MAX_ISSUES = 100;
/** Of an error with its issues, in characters. */
const MAX_LENGTH = 64 * 1024;
const MAX_BODY = 64 * 1024;
/** Of all log entries of a request, in bytes. */
const MAX_ENTRY_BYTES = 256 * 1024;
/** The memory of a recording besides its strings, and of each entry in its lists. */
const OVERHEAD = 600;
const ENTRY_OVERHEAD = 120;

/** A request as a client sent it, with its secrets. */
export interface Sent {
  readonly url: string;
  readonly headers: Pairs;
  readonly body: string | null | undefined;
  /** The address of the other end of the connection. */
  readonly peer: string | null;
}

type OnGrowth = (recording: Recording, bytes: number) => void;

/** The parts of the platform's objects. */
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
  #bytes = OVERHEAD;
  #entryBytes = 0;
  /** The guards that have accepted it. */
  readonly #guards = new Set<string>();
  readonly #onGrowth: OnGrowth;
  /** Undefined when it has ended. */
  #context: RequestContext | undefined;
  #head: Head | undefined;
  readonly #keeps: boolean;
  #sent: Omit<Sent, "body"> | undefined;
  /** Null if there was one that is not kept; undefined without one. */
  #body: string | null | undefined;
  #failure: KeptFailure | undefined;

  /** @param keeps Whether it can be sent again. */
  constructor(
    number: number,
    context: RequestContext,
    route: RouteInfo | null,
    begin: number,
    keeps: boolean,
    onGrowth: OnGrowth,
  ) {
    this.#keeps = keeps;
    this.#onGrowth = onGrowth;
    this.number = number;
    this.version = number;
    this.#route = route;
    this.begin = begin;
    this.time = Date.now();
    this.#context = context;
  }

  /** An estimate of its memory. */
  get bytes(): number {
    return this.#bytes;
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    this.#onGrowth(this, bytes);
  }

  get method(): string {
    return this.#head?.method ?? this.#context!.raw.method;
  }

  /** The path with the query, without secrets. */
  get url(): string {
    if (this.#head) return this.#head.url;
    const { url } = this.#context!.raw;
    return redactTarget(url.slice(pathStart(url)));
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
    this.#grow(ENTRY_OVERHEAD);
    return part;
  }

  endPart(part: Part | undefined, failed: boolean): void {
    if (!part) return;
    part.end = performance.now() - this.begin;
    part.failed = failed;
  }

  addGuard(name: string): void {
    this.#guards.add(name);
  }

  addEntry(entry: LogEntry): void {
    const bytes = ENTRY_OVERHEAD + 2 * (entry.message.length + JSON.stringify(entry.fields).length);
    if (this.entries.length === MAX_ENTRIES || this.#entryBytes + bytes > MAX_ENTRY_BYTES) {
      this.dropped++;
      return;
    }
    this.entries.push(entry);
    this.#entryBytes += bytes;
    this.#grow(bytes);
  }

  addPublished(topic: string, bytes: number, result: Promise<{ readonly id: string }>): void {
    if (this.published.length === MAX_PUBLISHED) {
      this.dropped++;
      return;
    }
    const published: Published = { topic, bytes, at: performance.now() - this.begin, id: undefined, failed: false };
    this.published.push(published);
    this.#grow(ENTRY_OVERHEAD + topic.length);
    result.then(({ id }) => published.id = id, () => published.failed = true);
  }

  /** Reads what it shows of the request and the reply, and lets go of both. */
  finish(response: Response, duration: number | undefined): void {
    const context = this.#context!;
    const { method, url } = this;
    this.duration = duration;
    this.status = response.status;
    const sent = [...context.raw.headers];
    const headers = redactHeaders(sent);
    const replyHeaders = redactHeaders(response.headers);
    const failure = this.#failure = failureOf(this.thrown);
    this.dropped += failure.dropped;
    if (this.#keeps) {
      this.#sent = { url: context.raw.url, headers: sent, peer: context.peer };
      this.#keepBody(context);
    }
    this.#head = { method, url, headers, replyHeaders };
    // They may hold on to anything.
    this.#context = this.thrown = undefined;
    const length = [...headers, ...replyHeaders].reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    this.#grow(2 * ((url.length + length) * (this.#keeps ? 2 : 1) + failure.length));
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
      this.#grow(2 * bytes.length);
    }, () => {});
  }

  /** What a list shows. */
  get summary(): RequestSummary {
    const { number, version, time, method, url, route, status = null, duration = null } = this;
    return { number, version, time, method, url, route, status, duration, who: [...this.#guards].join(", ") };
  }

  get details(): RequestDetails {
    const { parts, published, dropped } = this;
    const { headers, replyHeaders } = this.#head ??
      { headers: redactHeaders(this.#context!.raw.headers), replyHeaders: [] };
    return {
      ...this.summary,
      ...{ parts, published, dropped, headers, replyHeaders },
      entries: this.entries.map(({ time, level, message, fields }) => ({
        ...{ time: time.getTime(), level, message, fields: JSON.stringify(fields) },
      })),
      ...{ issues: this.#failure?.issues ?? [], error: this.#failure?.error ?? null },
    };
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

interface KeptFailure extends Failure {
  /** In characters. */
  readonly length: number;
  /** How many issues are not kept. */
  readonly dropped: number;
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

/** Never throws: a thrown value may be anything, also a proxy. */
function failureOf(thrown: unknown): KeptFailure {
  try {
    const all = isHTTPError(thrown) && thrown instanceof ValidationError ? thrown.issues : [];
    const error = errorOf(thrown);
    let length = error?.length ?? 0;
    const issues: Issue[] = [];
    for (const issue of all) {
      length += issue.message.length + issue.path.reduce<number>((sum, key) => sum + String(key).length, 0);
      if (issues.length === MAX_ISSUES || length > MAX_LENGTH) break;
      issues.push(issue);
    }
    return { issues, error, length: Math.min(length, MAX_LENGTH), dropped: all.length - issues.length };
  } catch {
    const error = describeError(thrown);
    return { issues: [], error, length: error.length, dropped: 0 };
  }
}

function errorOf(thrown: unknown): string | null {
  if (thrown === undefined || isThrownReply(thrown)) return null;
  if (isHTTPError(thrown) && thrown.status < 500) return redactText(`${thrown.status} ${thrown.detail}`);
  return redactText(ownFrames(describeError(thrown)).join("\n"));
}
