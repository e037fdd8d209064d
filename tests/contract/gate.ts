/** Blocks all calls until it is opened. */
export class Gate {
  readonly #arrival = Promise.withResolvers<void>();
  readonly #opening = Promise.withResolvers<void>();

  /** Resolves when a call waits. */
  readonly reached: Promise<void> = this.#arrival.promise;

  /** Waits until it is open. */
  readonly pass = (): Promise<void> => {
    this.#arrival.resolve();
    return this.#opening.promise;
  };

  /** Lets all calls pass. */
  open(): void {
    this.#opening.resolve();
  }
}
