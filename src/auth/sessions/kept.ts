/** Kept sessions: their string form, a store of them, and watches of their end. */
import { outsideRequests } from "../../base/async_context.ts";
import { nodeCrypto } from "../../base/runtime.ts";
import { describeError, log } from "../../log/log.ts";
import type { SessionStore } from "./stores.ts";

/** In a sealed cookie, or in a store. */
export interface KeptSession {
  /** In milliseconds since 1970. */
  readonly setAt: number;
  /** Parsed from JSON, and not checked. */
  readonly data: unknown;
  /** Random. Stays the same while `set` keeps the subject. */
  readonly id: string;
  /** The stored string. */
  readonly text: string;
}

/** Keeps sessions by the values of cookies. */
export interface SessionKeeper {
  open(value: string): Promise<KeptSession | null>;
  /** Returns the value of the new cookie. */
  keep(text: string): Promise<string>;
  /** Returns the new value of the cookie; undefined if the session has ended. */
  replace(value: string, text: string): Promise<string | undefined>;
  /**
   * Returns the new value of the cookie; undefined if another request has ended or set the session.
   */
  renew(value: string, kept: KeptSession): Promise<string | undefined>;
  /** Calls back once. Returns a function that ends the watch. */
  watch(value: string, kept: KeptSession, onEnd: () => void): () => void;
  /** Returns whether the session existed. */
  drop(value: string): Promise<boolean>;
}

/** The stored string of a session. */
export function toText(json: string, id: string): string {
  return `[${Date.now()},${json},"${id}"]`;
}

/** The same session, set now. */
export function renewedText({ data, id }: KeptSession): string {
  return toText(JSON.stringify(data), id);
}

/** Null if malformed, or older than `maxAge` milliseconds. */
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

const ID_BYTES = 32;
/** An id in base64url. */
const ID = /^[\w-]{43}$/;

type Hint = (key: string, onChange: () => void) => Promise<() => void>;

/** The cookie has a random id. */
export class StoredSessions implements SessionKeeper {
  readonly #store: SessionStore;
  readonly #purpose: string;
  readonly #maxAge: number;
  readonly #hint: Hint | undefined;
  /** One timer for each session, however many streams depend on it. */
  readonly #watched = new Map<string, WatchedSession>();

  /** @param purpose Ids of one cookie find nothing for another. */
  constructor(store: SessionStore, purpose: string, maxAge: number, hint?: Hint) {
    this.#store = store;
    this.#purpose = purpose;
    this.#maxAge = maxAge;
    this.#hint = hint;
  }

  async open(id: string): Promise<KeptSession | null> {
    const text = ID.test(id) ? await this.#store.get(this.#keyOf(id)) : null;
    return text === null ? null : fromText(text, this.#maxAge);
  }

  async keep(text: string): Promise<string> {
    const id = nodeCrypto().randomBytes(ID_BYTES).toString("base64url");
    await this.#store.set(this.#keyOf(id), text, { expiresIn: this.#maxAge, mustExist: false });
    return id;
  }

  /** Keeps the id for other requests of the page. */
  async replace(id: string, text: string): Promise<string | undefined> {
    const write = { expiresIn: this.#maxAge, mustExist: true };
    return isDone(await this.#store.set(this.#keyOf(id), text, write)) ? id : undefined;
  }

  async renew(id: string, kept: KeptSession): Promise<string | undefined> {
    // Without `expect`, it would undo a `set` of another request.
    const write = { expiresIn: this.#maxAge, mustExist: true, expect: kept.text };
    return isDone(await this.#store.set(this.#keyOf(id), renewedText(kept), write)) ? id : undefined;
  }

  /** While the store fails, no session counts as ended. */
  watch(id: string, _kept: KeptSession, onEnd: () => void): () => void {
    let watched = this.#watched.get(id);
    if (!watched) {
      watched = new WatchedSession({
        isThere: async () => await this.open(id) !== null,
        hint: async (onChange) => await this.#hint?.(this.#keyOf(id), onChange),
        onClose: () => this.#watched.delete(id),
      });
      this.#watched.set(id, watched);
    }
    return watched.add(onEnd);
  }

  async drop(id: string): Promise<boolean> {
    const isDropped = ID.test(id) && isDone(await this.#store.delete(this.#keyOf(id)));
    this.#watched.get(id)?.wake();
    return isDropped;
  }

  /**
   * A hash: a reader of the store cannot compute the id, and timing reveals nothing. In hex, which
   * Deno encodes three times as fast as base64url.
   */
  #keyOf(id: string): string {
    return nodeCrypto().createHash("sha256").update(`${this.#purpose}\0${id}`).digest("hex");
  }
}

/** A store in JavaScript may return undefined, which counts as done. */
function isDone(result: unknown): boolean {
  return result !== false;
}

/** Between reads of a watched session, in milliseconds. */
const INTERVAL = 3_000;

interface Watch {
  readonly isThere: () => Promise<boolean>;
  /** Returns a function that ends it, if it can. */
  readonly hint: (onChange: () => void) => Promise<(() => void) | undefined>;
  readonly onClose: () => void;
}

class WatchedSession {
  readonly #watch: Watch;
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unhint: (() => void) | undefined;
  #isReading = false;
  #isClosed = false;
  #hasFailed = false;

  constructor(watch: Watch) {
    this.#watch = watch;
    void outsideRequests(() => this.#start());
  }

  /** Calls back once. Returns a function that ends the watch. */
  add(onEnd: () => void): () => void {
    // A function for each watch, also if two callers pass the same one.
    const listener = () => onEnd();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#close();
    };
  }

  /** Reads the session now. */
  wake(): void {
    void outsideRequests(() => this.#read());
  }

  async #start(): Promise<void> {
    if (this.#isClosed) return;
    this.#schedule();
    try {
      const unhint = await this.#watch.hint(() => this.wake());
      if (this.#isClosed) unhint?.();
      else this.#unhint = unhint;
    } catch {
      // Without hints, the timer reads the session.
    }
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), INTERVAL);
  }

  async #read(): Promise<void> {
    if (this.#isReading || this.#isClosed) return;
    this.#isReading = true;
    const isThere = await this.#isThere();
    this.#isReading = false;
    if (this.#isClosed) return;
    if (isThere) return this.#schedule();
    const listeners = [...this.#listeners];
    this.#close();
    for (const listener of listeners) listener();
  }

  async #isThere(): Promise<boolean> {
    try {
      const isThere = await this.#watch.isThere();
      this.#hasFailed = false;
      return isThere;
    } catch (error) {
      if (!this.#hasFailed && !this.#isClosed) {
        log("error", "A stream continues although its session cannot be checked: the store fails", {
          error: describeError(error),
        });
      }
      this.#hasFailed = true;
      return true;
    }
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#listeners.clear();
    this.#unhint?.();
    this.#watch.onClose();
  }
}
