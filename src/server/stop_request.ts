/** Who asks a server to stop: the system by a signal, or the program. */

/** Who asked. */
export type Stopper = "system" | "program";

/**
 * Within this time, signals count as one, in milliseconds. A supervisor may signal all processes of
 * a service, of which one passes the signal on.
 */
const SAME_MS = 300;

/** Listens for signals until it is disposed of. */
export class StopRequest implements Disposable {
  readonly #first = Promise.withResolvers<Stopper>();
  readonly #second = Promise.withResolvers<void>();
  readonly #signals: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  readonly #signal: AbortSignal | undefined;
  readonly #kill = (): void => this.#ask("system");
  readonly #stop = (): void => this.#ask("program");
  #since: number | undefined;

  /**
   * Begins to listen.
   *
   * @param signal The signal of the program; it may be aborted already.
   */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
    for (const name of this.#signals) Deno.addSignalListener(name, this.#kill);
    signal?.addEventListener("abort", this.#stop);
    if (signal?.aborted) this.#stop();
  }

  /** Settles when the server is asked to stop. */
  get by(): Promise<Stopper> {
    return this.#first.promise;
  }

  /** Waits some milliseconds, or until the server is asked once more, or this is disposed of. */
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
