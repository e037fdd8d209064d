/**
 * Which replies belong to one request, so that the framework may change their headers. A `Response`
 * of the program is another matter: it may be kept, and returned again for the next request.
 */
import type { RequestContext } from "./context.ts";

// Deno's globals are lazy getters. Reading them for each reply has a measurable cost.
const { Response: PlatformResponse } = globalThis;

/** The content codings that Deno's `fetch` decodes. */
const DECODED = /^(?:gzip|br)$/i;

/** A constructor that returns its argument, so that a subclass adds private fields to it. */
class Returned {
  constructor(response: Response) {
    return response;
  }
}

/** What is known of a `Response` of the program. */
interface Note {
  /** Its whole body, if it is known. */
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

/**
 * Accepts a `Response` that the program returns as the reply to a request. It does not look for a
 * lock: only `body` knows of one, and makes a stream of a string, which doubles the CPU time of a
 * short reply. A copy finds the lock, and so does the server. It sends a locked string as it is.
 *
 * @returns The `Response`, or a copy if no server sends it: the program may return that one from
 * another application, which accepts it likewise.
 * @throws {TypeError} If it has no status, or its body is used, locked, or that of another reply.
 */
export function acceptReply(context: RequestContext, response: Response): Response {
  if (response === context.ownReply) {
    // A middleware may have read it. A string that was only locked is sent all the same.
    if (response.bodyUsed) throw unusable("was read already");
    if (response !== context.bufferedReply) refuseLocked(response);
    return response;
  }
  if (response.type === "error") throw new TypeError("Cannot reply with Response.error(): it has no status");
  const note = Noted.noteOf(response);
  // One without a body can be shared.
  if (note?.isTaken && response.body !== null) throw unusable("was sent already");
  if (response.bodyUsed) throw unusable("was read already");
  if (note) note.isTaken = true;
  else new Noted(response, TAKEN);
  return context.isServed ? response : ownReply(context, response);
}

function refuseLocked({ body }: Response): void {
  if (body?.locked) throw unusable("is locked by a reader");
}

function unusable(reason: string): TypeError {
  return new TypeError(
    `Cannot reply with the Response: its body ${reason}, make a new Response for each request or return a clone()`,
  );
}

/**
 * The reply if it belongs to the request alone, otherwise a copy, which does.
 *
 * @throws {TypeError} If a reader has locked its body.
 */
export function ownReply(context: RequestContext, response: Response): Response {
  if (response === context.ownReply || response.status === 101) return response;
  const text = Noted.noteOf(response)?.text;
  // A string would add the type that the program has removed.
  const isKnown = text !== undefined && response.headers.has("content-type");
  if (!isKnown) refuseLocked(response);
  const copy = new PlatformResponse(isKnown ? text : response.body, response);
  if (isKnown) context.bufferedReply = copy;
  // `fetch` decodes bodies and keeps these headers. Deno's server leaves them out, but not of a
  // copy.
  if (response.url !== "" && copy.body && DECODED.test(copy.headers.get("content-encoding") ?? "")) {
    copy.headers.delete("content-encoding");
    copy.headers.delete("content-length");
  }
  return context.ownReply = copy;
}
