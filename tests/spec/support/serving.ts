// An application on a socket of this machine, for tests.

import type { App, RunOptions } from "@webfw/core";

/** A running application. Disposing of it stops it. */
export class Serving implements AsyncDisposable {
  /** Where it listens. */
  readonly port: number;
  /** Settles when it has stopped. */
  readonly stopped: Promise<void>;
  readonly #stop: AbortController;

  private constructor(port: number, stopped: Promise<void>, stop: AbortController) {
    this.port = port;
    this.stopped = stopped;
    this.#stop = stop;
  }

  /** Serves at a free port of 127.0.0.1. */
  static async start<State>(app: App<State>, options: RunOptions = {}): Promise<Serving> {
    const stop = new AbortController();
    const listening = Promise.withResolvers<number>();
    const stopped = app.run({
      port: 0,
      signal: stop.signal,
      ...options,
      onListen: (address) => {
        options.onListen?.(address);
        listening.resolve(address.port);
      },
    });
    stopped.catch(listening.reject);
    return new Serving(await listening.promise, stopped, stop);
  }

  /** The address to ask. */
  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Stops it, and waits until it has stopped. */
  async stop(): Promise<void> {
    this.tellToStop();
    await this.stopped;
  }

  /** Starts its stop. */
  tellToStop(): void {
    this.#stop.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
