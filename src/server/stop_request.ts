/** The request to stop a server, by a signal of the system or of the program. */

export type Stopper = "system" | "program";

/** Signals within this time count as one: a supervisor and a forwarding process may both signal. */
const SAME_MS = 300;

/** Listens until it is disposed. */
export class StopRequest implements Disposable {
  readonly #first = Promise.withResolvers<Stopper>();
  readonly by: Promise<Stopper> = this.#first.promise;
  readonly #second = Promise.withResolvers<void>();
  readonly #signals: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  readonly #signal: AbortSignal | undefined;
  readonly #kill = (): void => this.#ask("system");
  readonly #stop = (): void => this.#ask("program");
  #since: number | undefined;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
    for (const name of this.#signals) Deno.addSignalListener(name, this.#kill);
    signal?.addEventListener("abort", this.#stop);
    if (signal?.aborted) this.#stop();
  }

  /** Waits until the time is over, a stop is requested again, or this is disposed. */
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
