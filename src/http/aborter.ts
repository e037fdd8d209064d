/** Aborts a request besides the platform. It makes a signal only for those who read it. */
export class Aborter {
  #signal: AbortSignal | undefined;
  #controller: AbortController | undefined;
  #reason: unknown;
  #isAborted = false;

  /** The signal that is also aborted when the platform's is. */
  signalWith(raw: Request): AbortSignal {
    if (this.#signal) return this.#signal;
    // The platform's signal costs a listener, and is useless after the abort.
    if (this.#isAborted) return this.#signal = AbortSignal.abort(this.#reason);
    this.#controller = new AbortController();
    return this.#signal = AbortSignal.any([raw.signal, this.#controller.signal]);
  }

  /** Aborts the signal. The first reason counts. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
