/** Where the data of sessions is kept: in a sealed cookie, or in a store. */

/** The data of a session as it is kept. */
export interface KeptSession {
  /** When it was set, in milliseconds since 1970. */
  readonly setAt: number;
  /** The data, parsed from JSON. */
  readonly data: unknown;
  /** Random. It stays where the session is set again for the same subject. */
  readonly id: string;
  /** All of it, as it is kept. */
  readonly text: string;
}

/** Keeps sessions outside of the process, each behind the value of a cookie. */
export interface SessionKeeper {
  /** What is kept behind the value that a client sent; null if there is nothing. */
  open(value: string): Promise<KeptSession | null>;
  /** Keeps a new session, and returns the value of its cookie. */
  keep(text: string): Promise<string>;
  /**
   * Replaces what is kept behind the value of a cookie, and returns the value of the cookie from
   * then on; undefined if the session has ended meanwhile.
   */
  replace(value: string, text: string): Promise<string | undefined>;
  /**
   * Keeps a session for longer, and returns the value of the cookie from then on; undefined if the
   * session has ended or was set meanwhile.
   */
  renew(value: string, kept: KeptSession): Promise<string | undefined>;
  /**
   * Calls back once when the session behind the value of a cookie ends. It returns what ends the
   * watch.
   */
  watch(value: string, kept: KeptSession, onEnd: () => void): () => void;
  /** Forgets what is behind the value of a cookie. False if nothing was there any more. */
  drop(value: string): Promise<boolean>;
}

/** The text of a session as it is kept. */
export function toText(json: string, id: string): string {
  return `[${Date.now()},${json},"${id}"]`;
}

/** The text of the same session, set now. */
export function renewedText({ data, id }: KeptSession): string {
  return toText(JSON.stringify(data), id);
}

/** Reads such a text; null if it is none, or older than the session may be. */
export function fromText(text: string, maxAge: number): KeptSession | null {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(parts) || parts.length !== 3) return null;
  const [setAt, data, id] = parts;
  const isWhole = typeof setAt === "number" && typeof id === "string";
  return isWhole && setAt + maxAge > Date.now() ? { setAt, data, id, text } : null;
}
