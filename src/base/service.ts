/** Parts of an application that start and stop with it. */

/** Topics, mounted applications, consumers, crons. After a close it can start again. */
export interface Service<Context = unknown> {
  /** If it rejects, nothing continues. */
  start(context: Context): Promise<void>;
  /** Accepts nothing new, and ends what would not end by itself. Running handlers continue. */
  drain(): void | Promise<void>;
  /**
   * May come before the start.
   *
   * @param reason For the signals of handlers.
   * @param only "handlers" if publishing may continue.
   */
  abort(reason: DOMException, only?: "handlers"): void;
  /** Drains, waits and releases. After an abort it takes about 2 seconds. */
  close(): Promise<void>;
}

/** The reason in the signals of handlers. */
export function stopReason(): DOMException {
  return new DOMException("The application stops", "AbortError");
}
