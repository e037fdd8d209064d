/**
 * The state of the reply to one request: the `Response` that it owns, so that its headers may
 * change, and what is added to its head. The program may return a `Response` of its own again.
 */
import { quote } from "../base/options.ts";
import type { ResourceMetadataHint } from "./challenge.ts";

// Deno's globals are lazy getters, which have a measurable cost for each reply.
const { Response: PlatformResponse } = globalThis;

const DECODED = /^(?:gzip|br)$/i;

/** Headers that describe the content of a success, its location or its caching. */
const OF_SUCCESS =
  /^(?:content-(?!security-policy)|repr-digest$|digest$|etag$|last-modified$|accept-ranges$|location$|refresh$|expires$|age$|(?:[\w-]+-)?cache-control$|surrogate-control$|transfer-encoding$|trailer$)/;

/** Returns its argument, so that a subclass adds private fields to it. */
class Returned {
  constructor(response: Response) {
    return response;
  }
}

interface Note {
  /** The whole body, if known. */
  readonly text: string | undefined;
  isTaken: boolean;
}

/**
 * In a private field of the `Response`: an entry of a `WeakMap` costs 0.9 us for each reply. A
 * single field: each further one costs 40 ns.
 */
class Noted extends Returned {
  readonly #note: Note;

  constructor(response: Response, note: Note) {
    super(response);
    this.#note = note;
  }

  static noteOf(response: object): Note | undefined {
    return #note in response ? response.#note : undefined;
  }
}

/** Shared by all responses without a known body. */
const TAKEN: Note = { text: undefined, isTaken: true };

export function noteText(response: Response, text: string): Response {
  new Noted(response, { text, isTaken: false });
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
  #headers: Headers | undefined = undefined;
  /** Headers that are on a reply already, for an error reply that replaces it. */
  #placed: Headers | undefined = undefined;
  #rateLimits: RateLimitItem[] | undefined = undefined;
  #own: Response | undefined = undefined;
  #buffered: Response | undefined = undefined;
  #plain: Response | undefined = undefined;

  get headers(): Headers {
    return this.#headers ??= new Headers();
  }

  /** The headers that are on no reply yet. */
  get pendingHeaders(): Headers | undefined {
    return this.#headers;
  }

  get isBare(): boolean {
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

  claim(response: Response): Response {
    return this.#own = response;
  }

  /**
   * The response, or a copy if the request does not own it. Throws if a reader has locked its body.
   */
  own(response: Response): Response {
    if (response === this.#own || response.status === 101) return response;
    const text = Noted.noteOf(response)?.text;
    // A string would add the type that the program has removed.
    const isKnown = text !== undefined && response.headers.has("content-type");
    if (!isKnown) refuseLocked(response);
    const copy = new PlatformResponse(isKnown ? text : response.body, response);
    if (isKnown) this.#buffered = copy;
    // `fetch` decodes bodies, but keeps these headers. Deno's server removes them, but not from a
    // copy.
    if (response.url !== "" && copy.body && DECODED.test(copy.headers.get("content-encoding") ?? "")) {
      copy.headers.delete("content-encoding");
      copy.headers.delete("content-length");
    }
    return this.#own = copy;
  }

  /**
   * Uses a `Response` of the program as the reply, or a copy if no server sends it: another
   * application may then send it likewise. Throws a TypeError if it cannot be sent.
   *
   * It does not check for a lock: reading `body` makes a stream of a string, which doubles the CPU
   * time of a short reply. The copy checks, and so does the server, which sends a locked string
   * anyway.
   */
  accept(response: Response, isServed: boolean): Response {
    if (response === this.#own) {
      // Middleware may have read it. A string that was only locked can still be sent.
      if (response.bodyUsed) throw unusable("was read already");
      if (response !== this.#buffered) refuseLocked(response);
      return response;
    }
    if (response.type === "error") throw new TypeError("Cannot reply with Response.error(): it has no status");
    const note = Noted.noteOf(response);
    // A response without a body can be shared.
    if (note?.isTaken && response.body !== null) throw unusable("was sent already");
    if (response.bodyUsed) throw unusable("was read already");
    if (note) note.isTaken = true;
    else new Noted(response, TAKEN);
    return isServed ? response : this.own(response);
  }

  /** Marks a reply whose whole body is in memory. */
  markBuffered(response: Response): void {
    this.#buffered = response;
  }

  isBuffered(response: Response): boolean {
    return response === this.#buffered;
  }

  /** Marks an owned reply whose headers only describe its body. */
  markPlain(response: Response): void {
    this.#plain = response;
  }

  isPlain(response: Response): boolean {
    return response === this.#plain;
  }

  /** Returns the reply or a copy of it. */
  place(response: Response): Response {
    const reply = this.placeHeaders(response);
    return this.#rateLimits ? this.#placeRateLimits(this.own(reply)) : reply;
  }

  /** Returns the reply or a copy of it. */
  placeHeaders(response: Response): Response {
    const headers = this.#headers;
    if (!headers) return response;
    this.#keepPlaced();
    const reply = this.own(response);
    setHeaders(reply.headers, headers);
    return reply;
  }

  /** They replace nothing, and headers of a success are left out. */
  placeOnError(response: Response): Response {
    this.#keepPlaced();
    if (this.#rateLimits) this.#placeRateLimits(response);
    for (const [name, value] of this.#placed ?? []) {
      if (name === "set-cookie") response.headers.append(name, value);
      else if (!response.headers.has(name) && survivesError(name, value)) response.headers.set(name, value);
    }
    return this.#own = response;
  }

  /** Through `headers` these would cost three times as much. */
  #placeRateLimits(response: Response): Response {
    const limits = this.#rateLimits!;
    response.headers.set("ratelimit-policy", limits.map(({ policy }) => policy).join(", "));
    response.headers.set("ratelimit", limits.map(({ rest }) => rest).join(", "));
    return response;
  }

  #keepPlaced(): void {
    if (!this.#headers) return;
    if (!this.#placed) this.#placed = this.#headers;
    else setHeaders(this.#placed, this.#headers);
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
