/** The parts of an application that start and stop with it. */

/** Topics, mounted applications, consumers, crons. After a close it can start again. */
export interface Service<Context = unknown> {
  /** Begins to work. If it rejects, nothing of it continues. */
  start(context: Context): Promise<void>;
  /** Takes nothing new, and ends what would never end by itself. Running handlers continue. */
  drain(): void | Promise<void>;
  /**
   * Aborts what runs. It may come before the start.
   *
   * @param reason The reason of the handlers' signals.
   * @param only "handlers" if messages that are being published have more time.
   */
  abort(reason: DOMException, only?: "handlers"): void;
  /** Drains, waits for what runs, and releases all. After an abort that takes about 2 seconds. */
  close(): Promise<void>;
}

/** Why a stop aborts the signals of handlers. */
export function stopReason(): DOMException {
  return new DOMException("The application stops", "AbortError");
}
