/**
 * The state of the reply to one request: the `Response` that it owns, so that its headers may
 * change, and what is added to its head. The program may return a `Response` of its own again.
 */
import { quote } from "../base/options.ts";
import type { ResourceMetadataHint } from "./challenge.ts";

// Deno's globals are lazy getters, which have a measurable cost for each reply.
const { Response: PlatformResponse } = globalThis;

const DECODED = /^(?:gzip|br)$/i;

/**
 * Headers that describe the content of a success, its location or its caching.
 * `content-security-policy` is none of them.
 */
const OF_SUCCESS =
  /^(?:content-(?!security-policy)|repr-digest$|digest$|etag$|last-modified$|accept-ranges$|location$|refresh$|expires$|age$|(?:[\w-]+-)?cache-control$|surrogate-control$|transfer-encoding$|trailer$)/;

/** Returns its argument, so that a subclass adds private fields to it. */
class Returned {
  constructor(response: Response) {
    return response;
  }
}

interface BodyState {
  /** The whole body, if known. */
  readonly text: string | undefined;
  isUsed: boolean;
}

/**
 * In a private field of the `Response`: an entry of a `WeakMap` costs 0.9 us for each reply. A
 * single field: each further one costs 40 ns.
 */
class WithBodyState extends Returned {
  readonly #state: BodyState;

  constructor(response: Response, state: BodyState) {
    super(response);
    this.#state = state;
  }

  static of(response: object): BodyState | undefined {
    return #state in response ? response.#state : undefined;
  }
}

/** Shared by all responses without a known body. */
const USED: BodyState = { text: undefined, isUsed: true };

export function rememberText(response: Response, text: string): Response {
  new WithBodyState(response, { text, isUsed: false });
  return response;
}

interface RateLimitItem {
  readonly policy: string;
  /** The remaining quota; a request that is counted again changes it. */
  rest: string;
}

export class ReplyState {
  metadataHint: ResourceMetadataHint | undefined = undefined;
  /** Resolves after the work that adds to the head. */
  headWork: Promise<unknown> | undefined = undefined;
  /** Whether the server has the reply, so that nothing can be added to its head. */
  hasBegun = false;
  /** A reply whose whole body is in memory. */
  buffered: Response | undefined = undefined;
  /** An owned reply whose headers only describe its body. */
  withBodyHeadersOnly: Response | undefined = undefined;
  #headers: Headers | undefined = undefined;
  /** Headers that are on a reply already, for an error reply that replaces it. */
  #added: Headers | undefined = undefined;
  #rateLimits: RateLimitItem[] | undefined = undefined;
  #owned: Response | undefined = undefined;

  get headers(): Headers {
    return this.#headers ??= new Headers();
  }

  /** The headers that are on no reply yet. */
  get pendingHeaders(): Headers | undefined {
    return this.#headers;
  }

  get isHeadComplete(): boolean {
    return this.#headers === undefined && this.#rateLimits === undefined;
  }

  assertOpen(action: string, name: unknown): void {
    if (!this.hasBegun) return;
    throw new TypeError(`Cannot ${action} ${quote(name)}: the reply has begun, do it before the handler returns`);
  }

  /** The reply of the handler waits for `work`, which never rejects. */
  addHeadWork(work: Promise<unknown>): void {
    this.headWork = this.headWork === undefined ? work : Promise.all([this.headWork, work]);
  }

  /** Sets a rate limit that counted the request, for the headers of each reply. */
  setRateLimit(policy: string, rest: string): void {
    const limits = this.#rateLimits ??= [];
    const known = limits.find((limit) => limit.policy === policy);
    if (known) known.rest = rest;
    else limits.push({ policy, rest });
  }

  setOwned(response: Response): Response {
    return this.#owned = response;
  }

  /**
   * The response, or a copy if the request does not own it. Throws if a reader has locked its body.
   */
  toOwned(response: Response): Response {
    if (response === this.#owned || response.status === 101) return response;
    const text = WithBodyState.of(response)?.text;
    // A string would add the type that the program has removed.
    const isKnown = text !== undefined && response.headers.has("content-type");
    if (!isKnown) refuseLocked(response);
    const copy = new PlatformResponse(isKnown ? text : response.body, response);
    if (isKnown) this.buffered = copy;
    // `fetch` decodes bodies, but keeps these headers. Deno's server removes them, but not from a
    // copy.
    if (response.url !== "" && copy.body && DECODED.test(copy.headers.get("content-encoding") ?? "")) {
      copy.headers.delete("content-encoding");
      copy.headers.delete("content-length");
    }
    return this.#owned = copy;
  }

  /**
   * Uses a `Response` of the program as the reply, or a copy if no server sends it: another
   * application may then send it likewise. Throws a TypeError if it cannot be sent.
   *
   * It does not check for a lock: reading `body` makes a stream of a string, which doubles the CPU
   * time of a short reply. The copy checks, and so does the server, which sends a locked string
   * anyway.
   */
  useResponse(response: Response, isServed: boolean): Response {
    if (response === this.#owned) {
      // Middleware may have read it. A string that was only locked can still be sent.
      if (response.bodyUsed) throw unusable("was read already");
      if (response !== this.buffered) refuseLocked(response);
      return response;
    }
    if (response.type === "error") throw new TypeError("Cannot reply with Response.error(): it has no status");
    const state = WithBodyState.of(response);
    // A response without a body can be shared.
    if (state?.isUsed && response.body !== null) throw unusable("was sent already");
    if (response.bodyUsed) throw unusable("was read already");
    if (state) state.isUsed = true;
    else new WithBodyState(response, USED);
    return isServed ? response : this.toOwned(response);
  }

  /** Returns the reply or a copy of it. */
  addHead(response: Response): Response {
    const reply = this.addHeaders(response);
    return this.#rateLimits ? this.#addRateLimits(this.toOwned(reply)) : reply;
  }

  addHeaders(response: Response): Response {
    const headers = this.#headers;
    if (!headers) return response;
    this.#markAdded();
    const reply = this.toOwned(response);
    setHeaders(reply.headers, headers);
    return reply;
  }

  /** They replace nothing, and headers of a success are left out. */
  addHeadToError(response: Response): Response {
    this.#markAdded();
    if (this.#rateLimits) this.#addRateLimits(response);
    for (const [name, value] of this.#added ?? []) {
      if (name === "set-cookie") response.headers.append(name, value);
      else if (!response.headers.has(name) && survivesError(name, value)) response.headers.set(name, value);
    }
    return this.#owned = response;
  }

  /** Through `headers` these would cost three times as much. */
  #addRateLimits(response: Response): Response {
    const limits = this.#rateLimits!;
    response.headers.set("ratelimit-policy", limits.map(({ policy }) => policy).join(", "));
    response.headers.set("ratelimit", limits.map(({ rest }) => rest).join(", "));
    return response;
  }

  #markAdded(): void {
    if (!this.#headers) return;
    if (!this.#added) this.#added = this.#headers;
    else setHeaders(this.#added, this.#headers);
    this.#headers = undefined;
  }
}

/** Adds `set-cookie`, because a reply can have several. */
export function setHeaders(headers: Headers, added: Headers): void {
  for (const [name, value] of added) {
    if (name === "set-cookie") headers.append(name, value);
    else headers.set(name, value);
  }
}

function survivesError(name: string, value: string): boolean {
  return !OF_SUCCESS.test(name) || (name === "cache-control" && /\bno-store\b/i.test(value));
}

function refuseLocked({ body }: Response): void {
  if (body?.locked) throw unusable("is locked by a reader");
}

function unusable(reason: string): TypeError {
  return new TypeError(
    `Cannot reply with the Response: its body ${reason}, make a new Response for each request or return a clone()`,
  );
}
