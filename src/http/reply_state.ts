/**
 * The state of the reply to one request: which `Response` belongs to the request alone, so that its
 * headers may be changed, and what is added to its head. A `Response` of the program is another
 * matter: it may be kept, and returned again for the next request.
 */
import { quote } from "../base/options.ts";
import type { ResourceMetadataHint } from "./challenge.ts";

// Deno's globals are lazy getters. Reading them for each reply has a measurable cost.
const { Response: PlatformResponse } = globalThis;

/** The content codings that Deno's `fetch` decodes. */
const DECODED = /^(?:gzip|br)$/i;

/**
 * The headers that describe the content of a success, say where it is, or let caches keep it.
 * `content-security-policy` does not describe the content.
 */
const OF_SUCCESS =
  /^(?:content-(?!security-policy)|repr-digest$|digest$|etag$|last-modified$|accept-ranges$|location$|refresh$|expires$|age$|(?:[\w-]+-)?cache-control$|surrogate-control$|transfer-encoding$|trailer$)/;

/** A constructor that returns its argument, so that a subclass adds private fields to it. */
class Returned {
  constructor(response: Response) {
    return response;
  }
}

interface Note {
  /** The whole body, if it is known. */
  readonly text: string | undefined;
  /** Whether a request replies with it. */
  isTaken: boolean;
}

/**
 * The note of a `Response`, in a private field of the `Response` itself: an entry of a `WeakMap`
 * costs 0.9 us for each reply. One field: each further one costs 40 ns.
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

/** The note of each `Response` whose body was not known when a request replied with it. */
const TAKEN: Note = { text: undefined, isTaken: true };

/** Remembers the body of a new `Response`. */
export function noteText(response: Response, text: string): Response {
  new Noted(response, { text, isTaken: false });
  return response;
}

interface RateLimitItem {
  readonly policy: string;
  /** What is left; a request that is counted again changes it. */
  rest: string;
}

export class ReplyState {
  metadataHint: ResourceMetadataHint | undefined = undefined;
  /** Resolves after the work that adds to the head; undefined if there is none. */
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

  /** Headers for the reply, whatever the handler returns. */
  get headers(): Headers {
    return this.#headers ??= new Headers();
  }

  /** The headers that are on no reply yet; undefined if there are none. */
  get pendingHeaders(): Headers | undefined {
    return this.#headers;
  }

  /** Whether no headers and no rate limits have to be added. */
  get isBare(): boolean {
    return this.#headers === undefined && this.#rateLimits === undefined;
  }

  /**
   * Checks that a cookie can still be set.
   *
   * @throws {TypeError} If the reply has begun.
   */
  assertOpen(action: string, name: unknown): void {
    if (!this.hasBegun) return;
    throw new TypeError(`Cannot ${action} ${quote(name)}: the reply has begun, do it before the handler returns`);
  }

  /**
   * Makes the reply of the handler wait for work that adds to its head.
   *
   * @param work A promise that never rejects.
   */
  addHeadWork(work: Promise<unknown>): void {
    this.headWork = this.headWork === undefined ? work : Promise.all([this.headWork, work]);
  }

  /** Sets a rate limit that has counted the request, for the headers of each reply. */
  setRateLimit(policy: string, rest: string): void {
    const limits = this.#rateLimits ??= [];
    const known = limits.find((limit) => limit.policy === policy);
    if (known) known.rest = rest;
    else limits.push({ policy, rest });
  }

  /** Sets the reply that belongs to this request alone: the framework has made it. */
  claim(response: Response): Response {
    return this.#own = response;
  }

  /**
   * The reply if it belongs to the request alone, otherwise a copy, which does.
   *
   * @throws {TypeError} If a reader has locked its body.
   */
  own(response: Response): Response {
    if (response === this.#own || response.status === 101) return response;
    const text = Noted.noteOf(response)?.text;
    // A string would add the type that the program has removed.
    const isKnown = text !== undefined && response.headers.has("content-type");
    if (!isKnown) refuseLocked(response);
    const copy = new PlatformResponse(isKnown ? text : response.body, response);
    if (isKnown) this.#buffered = copy;
    // `fetch` decodes bodies and keeps these headers. Deno's server leaves them out, but not of a
    // copy.
    if (response.url !== "" && copy.body && DECODED.test(copy.headers.get("content-encoding") ?? "")) {
      copy.headers.delete("content-encoding");
      copy.headers.delete("content-length");
    }
    return this.#own = copy;
  }

  /**
   * Accepts a `Response` of the program as the reply. It does not look for a lock: only `body`
   * knows of one, and makes a stream of a string, which doubles the CPU time of a short reply. A
   * copy finds the lock, and so does the server, which sends a locked string as it is.
   *
   * @returns The `Response`, or a copy if no server sends it: the program may return that one from
   * another application, which accepts it likewise.
   * @throws {TypeError} If it has no status, or its body is used, locked, or that of another reply.
   */
  accept(response: Response, isServed: boolean): Response {
    if (response === this.#own) {
      // A middleware may have read it. A string that was only locked is sent all the same.
      if (response.bodyUsed) throw unusable("was read already");
      if (response !== this.#buffered) refuseLocked(response);
      return response;
    }
    if (response.type === "error") throw new TypeError("Cannot reply with Response.error(): it has no status");
    const note = Noted.noteOf(response);
    // One without a body can be shared.
    if (note?.isTaken && response.body !== null) throw unusable("was sent already");
    if (response.bodyUsed) throw unusable("was read already");
    if (note) note.isTaken = true;
    else new Noted(response, TAKEN);
    return isServed ? response : this.own(response);
  }

  /** Marks a reply whose body was made at once, and not as a stream. */
  markBuffered(response: Response): void {
    this.#buffered = response;
  }

  isBuffered(response: Response): boolean {
    return response === this.#buffered;
  }

  /** Marks a reply of the request's own whose headers describe only its body. */
  markPlain(response: Response): void {
    this.#plain = response;
  }

  isPlain(response: Response): boolean {
    return response === this.#plain;
  }

  /** Adds the pending headers and the rate limits to a reply or a copy of it. */
  place(response: Response): Response {
    const reply = this.placeHeaders(response);
    return this.#rateLimits ? this.#placeRateLimits(this.own(reply)) : reply;
  }

  /** Adds the pending headers to a reply or a copy of it. */
  placeHeaders(response: Response): Response {
    const headers = this.#headers;
    if (!headers) return response;
    this.#keepPlaced();
    const reply = this.own(response);
    setHeaders(reply.headers, headers);
    return reply;
  }

  /**
   * Adds all headers to an error reply, which belongs to the request alone, also those of the reply
   * that it replaces. They replace nothing, and those that describe a success are left out.
   */
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

/** Sets headers. `set-cookie` is added, because a reply can have several. */
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
