/** The signal of one call. */

/** The longest delay of a timer of the platform. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The calls that a signal ends. Node.js warns of more than ten listeners, so it has but one. */
const callsOf = new WeakMap<AbortSignal, Set<CallSignal>>();

function endCalls({ target }: Event): void {
  for (const call of callsOf.get(target as AbortSignal)!) call.abort((target as AbortSignal).reason);
}

/**
 * Is aborted by any of several signals, or after a time. The signals do not keep it: those of a
 * client live longer than its calls.
 */
export class CallSignal {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether it has a signal or a time limit. Requests are quicker without. */
  readonly isEndable: boolean;
  /** Whether a request was sent. A mistake in the arguments is found before. */
  isSent = false;
  /** Whether a stream or a socket goes on after the call, and ends it. */
  isStreaming = false;

  /**
   * Begins a call.
   *
   * @param sources The signals.
   * @param timeout How long it may take until its result is there, in milliseconds.
   */
  constructor(sources: readonly (AbortSignal | undefined)[], timeout: number | undefined) {
    this.#sources = sources.filter((source) => source !== undefined);
    for (const source of this.#sources) {
      if (source.aborted) this.abort(source.reason);
      const calls = callsOf.get(source) ?? new Set();
      callsOf.set(source, calls.add(this));
      source.addEventListener("abort", endCalls);
    }
    if (timeout) {
      const expire = () => this.abort(new DOMException(`No result within ${timeout} ms`, "TimeoutError"));
      this.#timer = setTimeout(expire, Math.min(timeout, MAX_TIMER_MS));
    }
    this.isEndable = !!timeout || this.#sources.length > 0;
  }

  /** The signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Waits for a promise, until the call is ended: it rejects with the signal's reason. Not every
   * `fetch` that a client is given obeys the signal of its request.
   */
  until<Value>(promise: Promise<Value>): Promise<Value> {
    if (!this.isEndable && !this.isStreaming) return promise;
    const { signal } = this;
    return new Promise((resolve, reject) => {
      const abort = () => reject(signal.reason);
      signal.addEventListener("abort", abort);
      if (signal.aborted) abort();
      promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  /** Waits for some milliseconds, or rejects with the signal's reason when the call is ended. */
  pause(ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout>;
    const wait = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
    return this.until(wait).finally(() => clearTimeout(timer));
  }

  /** Ends what waits for the signal. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Ends the time limit. The result is there. */
  settle(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the call: leaves the signals. */
  release(): void {
    this.settle();
    for (const source of this.#sources) {
      const calls = callsOf.get(source)!;
      calls.delete(this);
      if (calls.size === 0) source.removeEventListener("abort", endCalls);
    }
  }
}
