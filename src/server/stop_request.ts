/** The request to stop a server: a signal of the system, or of the program. */

export type Stopper = "system" | "program";

/**
 * Signals within this time count as one, in milliseconds. A supervisor may signal all processes of
 * a service, and one of them may forward the signal.
 */
const SAME_MS = 300;

/** Listens for signals until it is disposed. */
export class StopRequest implements Disposable {
  readonly #first = Promise.withResolvers<Stopper>();
  readonly #second = Promise.withResolvers<void>();
  readonly #signals: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  readonly #signal: AbortSignal | undefined;
  readonly #kill = (): void => this.#ask("system");
  readonly #stop = (): void => this.#ask("program");
  #since: number | undefined;

  /** @param signal The signal of the program; it may be aborted already. */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
    for (const name of this.#signals) Deno.addSignalListener(name, this.#kill);
    signal?.addEventListener("abort", this.#stop);
    if (signal?.aborted) this.#stop();
  }

  /** Settles when a stop is requested. */
  get by(): Promise<Stopper> {
    return this.#first.promise;
  }

  /** Waits some milliseconds, or until a stop is requested again, or this is disposed. */
  async delay(ms: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, ms);
    await Promise.race([over.promise, this.#second.promise]);
    clearTimeout(timer);
  }

  [Symbol.dispose](): void {
    for (const name of this.#signals) Deno.removeSignalListener(name, this.#kill);
    this.#signal?.removeEventListener("abort", this.#stop);
    this.#second.resolve();
  }

  #ask(by: Stopper): void {
    const now = performance.now();
    this.#first.resolve(by);
    if (this.#since === undefined) this.#since = now;
    else if (now - this.#since >= SAME_MS) this.#second.resolve();
  }
}
