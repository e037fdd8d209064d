/** Where the data of sessions is kept: in a sealed cookie, or in a store. */

/** The data of a session as it is kept. */
export interface KeptSession {
  /** When it was set, in milliseconds since 1970. */
  readonly setAt: number;
  /** The data, parsed from JSON. */
  readonly data: unknown;
  /** Identifies the sign-in: it stays when the session is set again. */
  readonly id: string;
}

/** Keeps sessions outside of the process, each behind the value of a cookie. */
export interface SessionKeeper {
  /** What is kept behind the value that a client sent; null if there is nothing. */
  open(value: string): Promise<KeptSession | null>;
  /** Keeps a session, and returns the value of its new cookie. */
  keep(text: string): Promise<string>;
  /** Keeps a session for longer, if it is still there, and returns the value of its cookie. */
  renew(value: string, text: string): Promise<string>;
  /** Forgets what is behind the value of a cookie. */
  drop(value: string): Promise<void>;
}

/** The text of a session as it is kept. */
export function toText(json: string, id: string): string {
  return `[${Date.now()},${json},"${id}"]`;
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
  return isWhole && setAt + maxAge > Date.now() ? { setAt, data, id } : null;
}
