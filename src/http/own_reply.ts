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

/**
 * What is known of a `Response` of the program, in private fields of the `Response` itself: they
 * cost 0.2 us for each reply, an entry of a `WeakMap` 0.9 us.
 */
class Mark extends Returned {
  readonly #text: string | undefined;
  #isTaken: boolean;

  /**
   * Marks a `Response`, once.
   *
   * @param response The `Response`.
   * @param text Its whole body, if it is known.
   * @param isTaken Whether a request replies with it.
   */
  constructor(response: Response, text: string | undefined, isTaken: boolean) {
    super(response);
    this.#text = text;
    this.#isTaken = isTaken;
  }

  static textOf(response: object): string | undefined {
    return #text in response ? response.#text : undefined;
  }

  static isTaken(response: object): boolean {
    return #isTaken in response && response.#isTaken;
  }

  static take(response: Response): void {
    if (#isTaken in response) response.#isTaken = true;
    else new Mark(response, undefined, true);
  }
}

/** Remembers the body of a new `Response`. */
export function noteText(response: Response, text: string): Response {
  new Mark(response, text, false);
  return response;
}

/**
 * Accepts a `Response` that the program returns as the reply to a request.
 *
 * @returns The `Response`, or a copy if no server sends it: the program may return that one from
 * another application, which accepts it likewise.
 * @throws {TypeError} If it has no status, or its body is used, locked, or that of another reply.
 */
export function acceptReply(context: RequestContext, response: Response): Response {
  if (response === context.ownReply) {
    // A middleware may have read it. A string that was only locked is sent all the same.
    if (response.bodyUsed) throw unusable("was read already");
    if (response !== context.bufferedReply && response.body?.locked) throw unusable("is locked by a reader");
    return response;
  }
  if (response.type === "error") throw new TypeError("Cannot reply with Response.error(): it has no status");
  const hasKnownBody = Mark.textOf(response) !== undefined;
  // To read `body` turns a string into a stream, which costs 1.2 us.
  if (hasKnownBody || response.body !== null) {
    if (Mark.isTaken(response)) throw unusable("was sent already");
    if (response.bodyUsed) throw unusable("was read already");
    if (!hasKnownBody && response.body!.locked) throw unusable("is locked by a reader");
    Mark.take(response);
  }
  return context.isServed ? response : ownReply(context, response);
}

function unusable(reason: string): TypeError {
  return new TypeError(
    `Cannot reply with the Response: its body ${reason}, make a new Response for each request or return a clone()`,
  );
}

/** The reply if it belongs to the request alone, otherwise a copy, which does. */
export function ownReply(context: RequestContext, response: Response): Response {
  if (response === context.ownReply || response.status === 101) return response;
  const text = Mark.textOf(response);
  // A string would add the type that the program has removed.
  const isKnown = text !== undefined && response.headers.has("content-type");
  const copy = new PlatformResponse(isKnown ? text : response.body, response);
  if (isKnown) context.bufferedReply = copy;
  // `fetch` decodes bodies and keeps these headers. Deno's server leaves them out, but not of a copy.
  if (response.url !== "" && copy.body && DECODED.test(copy.headers.get("content-encoding") ?? "")) {
    copy.headers.delete("content-encoding");
    copy.headers.delete("content-length");
  }
  return context.ownReply = copy;
}
