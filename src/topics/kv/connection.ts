/** A connection to the database that is kept up: what hangs is given up and opened anew, what fails is tried again. */
import { log } from "../../log.ts";
import { CannotOpenError } from "../topic_errors.ts";
import { Attempts } from "./attempts.ts";
import { isBusyFile, reasonOf } from "./cannot_open.ts";
import type { KvEngine } from "./engine.ts";
import { EPOCH_KEY } from "./keys.ts";

/** How a connection is kept up. */
export interface ConnectionOptions {
  /** Names the database in messages. It holds no secret. */
  readonly name: string;
  /** Opens it, until the signal says that nobody wants it any more. What it throws as {@linkcode CannotOpenError} is final. */
  readonly open: (signal: AbortSignal) => Promise<KvEngine>;
  /** How long an answer may take before the connection is opened anew, in milliseconds. */
  readonly deadline?: number;
  /** How long it is tried again, in milliseconds. */
  readonly patience?: number;
  /** Whether the log is told when the database goes away and comes back: by one of the connections to it. Unless given, it is. */
  readonly isLogged?: boolean;
}

/** What is asked of a database: one may give what it has and take nothing more. */
export type Kind = "read" | "write";

/** Has each attempt wait for its turn, the first of which has the number 1. */
export type Turns = <Result>(attempt: () => Promise<Result>, number: number) => Promise<Result>;

const DEADLINE = 3_000;
const PATIENCE = 30_000;
const MAX_PAUSE = 500;
/** For how long a database is taken not to do what was not tried since, in milliseconds. */
const LAPSE = 60_000;
/** A process that holds the lock of a file holds it for a few milliseconds. */
const MAX_BUSY_PAUSE = 20;

/** Asks the database, as often as it takes. */
export class Connection {
  readonly #name: string;
  readonly #open: (signal: AbortSignal) => Promise<KvEngine>;
  readonly #deadline: number;
  readonly #patience: number;
  readonly #isLogged: boolean;
  readonly #closing = new AbortController();
  readonly #attempts: Attempts;
  #engine: Promise<KvEngine> | undefined;
  /** What was open last. */
  #latest: KvEngine | undefined;
  /** Ends what was opened last. */
  #letGo = new AbortController();
  /** What it does not do at present, and when it was tried last, in milliseconds of `performance.now()`. */
  readonly #down = new Map<Kind, number>();

  /** Opens nothing yet. */
  constructor({ name, open, deadline = DEADLINE, patience = PATIENCE, isLogged = true }: ConnectionOptions) {
    this.#name = name;
    this.#open = open;
    this.#deadline = deadline;
    this.#patience = patience;
    this.#isLogged = isLogged;
    this.#attempts = new Attempts(deadline);
  }

  /** How long it is tried again, in milliseconds. */
  get patience(): number {
    return this.#patience;
  }

  /** The time in milliseconds since 1970 by the clock of the database, as far as is known. */
  now(): number {
    return this.#latest?.now?.() ?? Date.now();
  }

  #opened(): Promise<KvEngine> {
    if (this.#engine) return this.#engine;
    this.#letGo = new AbortController();
    const opening = this.#engine = this.#open(this.#letGo.signal);
    opening.then((engine) => this.#latest = engine, () => {
      if (this.#engine === opening) this.#engine = undefined;
    });
    return opening;
  }

  /**
   * Asks something, and asks again where it fails or is not answered. What is asked must stand being done several times, also later:
   * a database may do what it was asked long after the one who asked has given up.
   *
   * @param action What is asked.
   * @param signal Gives up.
   * @param kind Whether it writes.
   * @param turns When it is asked. How long the first turn is waited for does not count.
   * @throws {CannotOpenError} When it cannot be opened, and never was.
   */
  async use<Result>(
    action: (engine: KvEngine) => Promise<Result>,
    signal?: AbortSignal,
    kind: Kind = "read",
    turns: Turns = atOnce,
  ): Promise<Result> {
    let begin: number | undefined;
    for (let attempt = 1;; attempt++) {
      this.#throwIfClosed();
      signal?.throwIfAborted();
      let hasBegun = false;
      try {
        const result = await turns(() => {
          this.#throwIfClosed();
          hasBegun = true;
          begin ??= performance.now();
          return this.#attempt(action, signal);
        }, attempt);
        if (this.#down.size > 0) this.#tellUp(kind);
        return result;
      } catch (error) {
        this.#throwIfClosed();
        signal?.throwIfAborted();
        // Of one that was open, something in front of it may say so while it is started again; and something may have been written.
        if (error instanceof CannotOpenError && !this.#latest) throw error;
        if (!hasBegun) throw error;
        const isBusy = isBusyFile(error);
        const time = performance.now() - begin!;
        if (isBusy ? time > this.#deadline : attempt > 1) this.#tellDown(kind, error);
        if (time > this.#patience) throw this.#failure(error);
        const longest = isBusy ? MAX_BUSY_PAUSE : Math.min(MAX_PAUSE, 10 * 2 ** attempt);
        const giveUp = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
        await pause(Math.random() * longest, giveUp);
      }
    }
  }

  /**
   * Opens it and asks it once. A database that is away is told of in the log, and tried again when
   * it is used.
   *
   * @throws {CannotOpenError} When it can never be opened.
   */
  async open(): Promise<void> {
    try {
      await this.#attempt((engine) => engine.get([EPOCH_KEY]), undefined);
    } catch (error) {
      if (error instanceof CannotOpenError) throw error;
      this.#tellDown("read", error);
    }
  }

  /** Lets go of the connection; the next one who asks opens it anew. */
  reopen(): void {
    const engine = this.#engine;
    this.#engine = undefined;
    // Where it is still being opened, it may never come to be there.
    this.#letGo.abort();
    engine?.then((engine) => closeQuietly(engine), () => {});
  }

  /** Ends it when what was asked before has been answered, or could not be. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const patience = new AbortController();
    await Promise.race([this.#attempts.ended(), pause(this.#deadline, patience.signal)]);
    patience.abort();
    this.#closing.abort();
    this.#attempts.leaveAll(this.#closing.signal.reason);
    this.reopen();
  }

  #attempt<Result>(action: (engine: KvEngine) => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
    const opening = this.#opened();
    const onLate = (): void => {
      if (this.#engine === opening) this.reopen();
    };
    const running = opening.then((engine) => {
      const asking = engine.askTime?.();
      return asking ? asking.then(() => action(engine)) : action(engine);
    });
    return this.#attempts.wait(running, onLate, signal);
  }

  #throwIfClosed(): void {
    if (this.#closing.signal.aborted) throw new Error(`Cannot use the store of topics "${this.#name}": it is closed`);
  }

  #failure(cause: unknown): Error {
    const seconds = Math.round(this.#patience / 1000);
    const message = `Cannot use the store of topics "${this.#name}": it did not answer for ${seconds} s, ${
      reasonOf(cause)
    }`;
    return new Error(message, { cause });
  }

  #tellDown(kind: Kind, error: unknown): void {
    const isKnown = this.#down.size > 0;
    this.#down.set(kind, performance.now());
    if (isKnown || !this.#isLogged) return;
    const fields = { store: this.#name, reason: reasonOf(error) };
    log("warn", "The store of topics does not answer, it is tried again", fields);
  }

  #tellUp(kind: Kind): void {
    for (const [down, time] of this.#down) {
      // Nobody may ever try again what it did not do.
      if (down === kind || performance.now() - time > LAPSE) this.#down.delete(down);
    }
    if (this.#down.size > 0 || !this.#isLogged) return;
    log("info", "The store of topics answers again", { store: this.#name });
  }
}

function atOnce<Result>(attempt: () => Promise<Result>): Promise<Result> {
  return attempt();
}

function closeQuietly(engine: KvEngine): void {
  try {
    engine.close();
  } catch {
    // It has been closed already.
  }
}

/** Waits for a time, or until the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  if (signal.aborted) end();
  else signal.addEventListener("abort", end);
  return promise;
}
