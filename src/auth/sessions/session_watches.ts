/** Watches sessions in a store for their end, for the streams and WebSockets behind them. */
import { outsideRequests } from "../../base/async_context.ts";
import { describeError, log } from "../../log/log.ts";

/** How often a session is read while streams depend on it, in milliseconds. */
const INTERVAL = 3_000;

/** Where the watched sessions are. */
export interface WatchedSessions {
  /** Whether a session is there. */
  readonly isThere: (id: string) => Promise<boolean>;
  /**
   * Calls back when a session may have changed, and gives what ends that; undefined without hints.
   */
  readonly hint?: ((id: string, onChange: () => void) => Promise<() => void>) | undefined;
}

/**
 * The watched sessions of a store. Each is read by one timer, however many streams depend on it.
 */
export class SessionWatches {
  readonly #sessions: WatchedSessions;
  readonly #watched = new Map<string, WatchedSession>();

  constructor(sessions: WatchedSessions) {
    this.#sessions = sessions;
  }

  /**
   * Calls back once when a session has ended. While the store fails, no session counts as ended.
   *
   * @returns Ends the watch.
   */
  watch(id: string, onEnd: () => void): () => void {
    let watched = this.#watched.get(id);
    if (!watched) {
      const forget = () => {
        if (this.#watched.get(id) === watched) this.#watched.delete(id);
      };
      this.#watched.set(id, watched = new WatchedSession(id, this.#sessions, forget));
    }
    return watched.add(onEnd);
  }

  /** Reads a session now, if it is watched: this process has changed it. */
  wake(id: string): void {
    this.#watched.get(id)?.wake();
  }
}

class WatchedSession {
  readonly #id: string;
  readonly #sessions: WatchedSessions;
  readonly #forget: () => void;
  readonly #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unhint: (() => void) | undefined;
  #isReading = false;
  #isClosed = false;
  #hasFailed = false;

  constructor(id: string, sessions: WatchedSessions, forget: () => void) {
    this.#id = id;
    this.#sessions = sessions;
    this.#forget = forget;
    void outsideRequests(() => this.#start());
  }

  add(onEnd: () => void): () => void {
    // Each watch has its own function, also where two callers pass the same.
    const listener = () => onEnd();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#close();
    };
  }

  wake(): void {
    void outsideRequests(() => this.#read());
  }

  #start(): void {
    if (this.#isClosed) return;
    this.#schedule();
    void this.#takeHints();
  }

  async #takeHints(): Promise<void> {
    try {
      const unhint = await this.#sessions.hint?.(this.#id, () => this.wake());
      if (this.#isClosed) unhint?.();
      else this.#unhint = unhint;
    } catch {
      // Hints only save time: the session is read anyway.
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
      const isThere = await this.#sessions.isThere(this.#id);
      this.#hasFailed = false;
      return isThere;
    } catch (error) {
      if (!this.#hasFailed && !this.#isClosed) {
        log("error", "A stream goes on without its session being checked: the store fails", {
          error: describeError(error),
        });
      }
      this.#hasFailed = true;
      return true;
    }
  }

  #close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#listeners.clear();
    this.#unhint?.();
    this.#forget();
  }
}
