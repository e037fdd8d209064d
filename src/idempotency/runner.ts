/** Runs a request once for its key, and sends the same reply to repetitions. */
import { HTTPError } from "../base/errors.ts";
import { idempotencyKeyOf } from "../http/headers.ts";
import type { AppHandle } from "../http/app_handle.ts";
import { pathEnd, pathStart, resolveUnreserved } from "../http/query.ts";
import { contextOf, type HttpRequest } from "../http/request.ts";
import { describeError, type Logger } from "../log/log.ts";
import { Lease } from "../store/lease.ts";
import { hasProcessEnded, processNameOf, type Records, recordsOf } from "../store/records.ts";
import type { StoredRecord } from "../store/record_store.ts";
import { fingerprintOf, hashOf } from "./fingerprint.ts";
import { type CapturedReply, captureReply, keepBody, type KeptReply, repeatReply } from "./kept_reply.ts";
import type { Idempotency } from "./options.ts";

/** The lease of a node whose end the store cannot detect, in milliseconds. */
const LEASE = 30_000;
/** The lease of a process whose end the store detects: its thread can be blocked for long. */
const HELD = 3_600_000;
/** The parts of a body expire so much later than their reply. */
const MARGIN = 60_000;
const MAX_TRIES = 5;

interface KeptRequest {
  readonly fingerprint: string;
  readonly claim: string;
  /** The name of the process, if the store can detect its end. */
  readonly process?: string | undefined;
  /** Undefined while the request runs. */
  readonly reply?: KeptReply;
}

/** A request that may be a repetition. */
export interface IdempotentRequest {
  readonly request: HttpRequest;
  readonly input: Readonly<Record<string, unknown>>;
  /** Whether the input includes the body. If not, the handler can read it. */
  readonly isBodyDeclared: boolean;
  readonly caller: () => string | Promise<string>;
  /** Runs the handler. It rejects with the error of the handler. */
  readonly answer: () => Promise<Response>;
  readonly toErrorReply: (thrown: unknown, request: HttpRequest) => Response | Promise<Response>;
}

/**
 * @throws {HTTPError} With 400 if the key is malformed, or missing and required; with 409 if the
 * first request is in progress, or its reply was not kept; with 422 if the key was used for another
 * request; with 503 if the records cannot be used.
 */
export async function runOnce(idempotency: Idempotency, asked: IdempotentRequest): Promise<Response> {
  const { request, input, isBodyDeclared, caller } = asked;
  const key = idempotencyKeyOf(request.raw.headers);
  if (key === undefined) throw new HTTPError(400, "The Idempotency-Key is malformed: send 1 to 255 visible characters");
  if (key === null) {
    if (idempotency.isRequired) throw new HTTPError(400, "Send an Idempotency-Key, a new one for each new request");
    return await asked.answer();
  }
  const records = recordsOf(request.app.records, "idempotency");
  const name = [hashOf(request.method, ...hostsOf(request), ...pathsOf(request), await caller(), key)];
  const fingerprint = await fingerprintOf(request, input, isBodyDeclared);
  const kept: KeptRequest = { fingerprint, claim: crypto.randomUUID(), process: await processNameOf(records) };
  const context = contextOf(request);
  const here = runningIn(request.app);
  const running = here.get(name[0]!);
  if (running) return await repeat(running, fingerprint, records, name);
  liveClaims.add(kept.claim);
  try {
    const claim = new Claim(records, name, kept, idempotency.windowMs, context);
    const other = await claim.acquire();
    if (other) return await repeat(other, fingerprint, records, name);
    here.set(name[0]!, kept);
    try {
      return await runFirst(idempotency, asked, claim);
    } finally {
      here.delete(name[0]!);
      await claim.stop();
    }
  } finally {
    liveClaims.delete(kept.claim);
  }
}

/**
 * Without the port: a client may repeat a request at another node of the same machine. Without a
 * socket, the header can differ from the URL; behind a proxy, it names the server.
 */
function hostsOf(request: HttpRequest): [url: string, header: string] {
  const isForwarded = contextOf(request).forwarded?.host !== undefined;
  const header = isForwarded ? null : request.headers.get("host");
  return [request.url.hostname, header?.toLowerCase().replace(/:\d*$/, "") ?? ""];
}

/** The path, and the prefix that a proxy or a mount has removed: it can name a tenant. */
function pathsOf(request: HttpRequest): [prefix: string, mounts: string, path: string] {
  const { raw, received, forwarded } = contextOf(request);
  return [forwarded?.prefix ?? "", received === raw ? "" : pathOf(received.url), request.path];
}

function pathOf(url: string): string {
  const start = pathStart(url);
  return resolveUnreserved(url.slice(start, pathEnd(url, start)));
}

const running = new WeakMap<AppHandle, Map<string, KeptRequest>>();

/** The requests in progress in this process, by key: a full store in memory drops their records. */
function runningIn(app: AppHandle): Map<string, KeptRequest> {
  const known = running.get(app) ?? new Map<string, KeptRequest>();
  running.set(app, known);
  return known;
}

/** The claims of this thread, from before their write to the end of their requests. */
const liveClaims = new Set<string>();

function holdOf({ process }: KeptRequest): number {
  return process === undefined ? LEASE : HELD;
}

async function repeat(
  { fingerprint, claim, reply }: KeptRequest,
  asked: string,
  records: Records,
  name: readonly string[],
): Promise<Response> {
  if (fingerprint !== asked) throw new HTTPError(422, "The Idempotency-Key was used for another request");
  if (!reply) {
    throw new HTTPError(409, "A request with this Idempotency-Key is still in progress", {
      headers: { "retry-after": "1" },
    });
  }
  const response = await repeatReply(reply, records, [...name, claim]);
  if (response) return response;
  throw new HTTPError(
    409,
    `The request with this Idempotency-Key was done, with the status ${reply.status}; its reply was too large or too slow to be kept`,
  );
}

class Claim {
  readonly records: Records;
  readonly name: readonly string[];
  readonly kept: KeptRequest;
  readonly #logger: Logger;
  readonly #lease: Lease<KeptRequest>;
  #renewing: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(records: Records, name: readonly string[], kept: KeptRequest, windowMs: number, logger: Logger) {
    this.records = records;
    this.name = name;
    this.kept = kept;
    this.#logger = logger;
    const write = (value: KeptRequest, expect: string | null) => {
      return records.set(name, value, { expect, expiresIn: value.reply ? windowMs : holdOf(value) });
    };
    this.#lease = new Lease<KeptRequest>({ write, delete: (expect) => records.delete(name, { expect }) }, LEASE);
  }

  /** Claims the key, and renews the claim. If another request has the key, that is the result. */
  async acquire(): Promise<KeptRequest | undefined> {
    try {
      let expect: string | null = null;
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        if (await this.#lease.write(this.kept, expect)) return this.#renewRegularly();
        const entry: StoredRecord<KeptRequest> | null = await this.records.get<KeptRequest>(this.name);
        // The response to the write may have been lost: then the next one repeats it.
        const isOther = entry !== null && entry.value.claim !== this.kept.claim;
        if (isOther && !await this.#hasBrokenOff(entry)) return entry.value;
        expect = entry?.version ?? null;
      }
    } catch (cause) {
      this.#logger.log("error", "A request with an Idempotency-Key was refused: the store of records fails", {
        error: describeError(cause),
      });
    }
    throw new HTTPError(503, "The Idempotency-Key cannot be looked up now", { headers: { "retry-after": "1" } });
  }

  async finish(reply: KeptReply): Promise<void> {
    await this.stop();
    await this.#write({ ...this.kept, reply });
  }

  async release(): Promise<void> {
    await this.stop();
    if (await this.#lease.release()) return;
    // Another node may have written a lease.
    const entry = await this.records.get<KeptRequest>(this.name);
    if (entry?.value.claim === this.kept.claim) await this.records.delete(this.name, { expect: entry.version });
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }

  #renewRegularly(): undefined {
    const renew = () => this.#renewing = this.#renewing.then(() => this.#renew());
    this.#timer = setInterval(renew, this.#lease.renewInterval);
    // The handler keeps the program alive.
    Deno.unrefTimer(this.#timer);
  }

  /** Whether its request ended without a write. An expired lease is no proof of that. */
  async #hasBrokenOff({ value, version }: StoredRecord<KeptRequest>): Promise<boolean> {
    const { process, ...unnamed } = value;
    if (value.reply || process === undefined) return false;
    if (process === this.kept.process) return !liveClaims.has(value.claim);
    const hasEnded = await hasProcessEnded(this.records, process);
    // If nothing is known of it, it gets a lease, which it renews if it is alive.
    if (hasEnded === undefined) await this.records.set(this.name, unnamed, { expect: version, expiresIn: LEASE });
    return hasEnded ?? false;
  }

  async #renew(): Promise<void> {
    try {
      await this.#write(this.kept);
    } catch (error) {
      this.#logger.log("warn", "An Idempotency-Key may be free before its request ends", {
        error: describeError(error),
      });
    }
  }

  async #write(kept: KeptRequest): Promise<void> {
    if (this.#lease.version === null || await this.#lease.write(kept)) return;
    // The response to a write may have been lost, or the store has dropped the record.
    const entry = await this.records.get<KeptRequest>(this.name);
    if (entry && entry.value.claim !== kept.claim) return;
    await this.#lease.write(kept, entry?.version ?? null);
  }
}

/** Statuses below 500 that mean a temporary failure. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 409, 423, 425, 429]);

/** A success with `Retry-After`, such as 202, is none. */
function isTemporary({ status, headers }: Response, further: Headers | undefined): boolean {
  if (status < 400) return false;
  return status >= 500 || TEMPORARY.has(status) || headers.has("retry-after") || (further?.has("retry-after") ?? false);
}

/** Runs the handler, and keeps its reply unless it is a temporary failure. */
async function runFirst({ windowMs }: Idempotency, asked: IdempotentRequest, claim: Claim): Promise<Response> {
  const context = contextOf(asked.request);
  const before = new Headers(context.reply.pendingHeaders);
  let captured: CapturedReply;
  try {
    const response = await replyOf(asked);
    if (isTemporary(response, context.reply.pendingHeaders)) {
      await quietly(context, () => claim.release());
      return response;
    }
    captured = await captureReply(response, addedTo(before, context.reply.pendingHeaders));
  } catch (thrown) {
    await quietly(context, () => claim.release());
    throw thrown;
  }
  await quietly(context, async () => {
    const { records, name, kept } = claim;
    const body = await keepBody(captured.body, records, [...name, kept.claim], windowMs + MARGIN);
    await claim.finish({ ...captured.reply, ...body });
  });
  return captured.response;
}

/** The reply of the handler, or that of its error, whose status `onError` can change. */
async function replyOf({ request, answer, toErrorReply }: IdempotentRequest): Promise<Response> {
  try {
    return await answer();
  } catch (thrown) {
    const context = contextOf(request);
    context.releaseBody();
    return await toErrorReply((await context.fail(thrown)).thrown, request);
  }
}

function addedTo(before: Headers, after: Headers | undefined): Headers | undefined {
  const added = new Headers(after);
  for (const [name, value] of before) if (added.get(name) === value) added.delete(name);
  return added;
}

/** After the effect, a failure of the store must not change the reply. */
async function quietly(logger: Logger, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    logger.log("error", "The reply to a request with an Idempotency-Key could not be kept: it may run again", {
      error: describeError(error),
    });
  }
}
