/** The abort signal of one call. */

/** Platforms fire longer timers at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Node.js warns of more than ten listeners, so each signal gets one. */
const callsOf = new WeakMap<AbortSignal, Set<CallSignal>>();

function abortCalls({ target }: Event): void {
  for (const call of callsOf.get(target as AbortSignal)!) call.abort((target as AbortSignal).reason);
}

/**
 * Aborts with any of several signals, or after a timeout. `AbortSignal.any` would keep each call in
 * memory as long as the signal of its client.
 */
export class CallSignal {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  /** Requests without a signal are faster. */
  readonly isEndable: boolean;
  /** False while errors are mistakes in the arguments. */
  isSent = false;
  /** Whether a stream or socket outlives the call, and ends it. */
  isStreaming = false;

  /** @param timeout Until there is a result, in milliseconds. */
  constructor(sources: readonly (AbortSignal | undefined)[], timeout: number | undefined) {
    this.#sources = sources.filter((source) => source !== undefined);
    for (const source of this.#sources) {
      if (source.aborted) this.abort(source.reason);
      const calls = callsOf.get(source) ?? new Set();
      callsOf.set(source, calls.add(this));
      source.addEventListener("abort", abortCalls);
    }
    if (timeout) {
      const expire = () => this.abort(new DOMException(`No result within ${timeout} ms`, "TimeoutError"));
      this.#timer = setTimeout(expire, Math.min(timeout, MAX_TIMER_MS));
    }
    this.isEndable = !!timeout || this.#sources.length > 0;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Rejects on an abort: a `fetch` of the program may ignore the signal of its request. */
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

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  /** Clears the timeout. */
  settle(): void {
    clearTimeout(this.#timer);
  }

  /** Clears the timeout, and stops listening to the signals. */
  release(): void {
    this.settle();
    for (const source of this.#sources) {
      const calls = callsOf.get(source)!;
      calls.delete(this);
      if (calls.size === 0) source.removeEventListener("abort", abortCalls);
    }
  }
}
