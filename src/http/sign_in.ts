/** Sign-ins, and when they end. */
import { MAX_TIMER_MS } from "../base/options.ts";

/** A sign-in, which ends at a time or by the server. */
export interface SignIn {
  /**
   * Calls back once when the sign-in ends, and not before this has returned.
   *
   * @returns Ends the watch.
   */
  watch(onEnd: () => void): () => void;
}

/** A sign-in that ends at a time, in milliseconds since 1970. */
export class TimedSignIn implements SignIn {
  readonly #end: number;

  constructor(end: number) {
    this.#end = end;
  }

  watch(onEnd: () => void): () => void {
    let timer: ReturnType<typeof setTimeout>;
    const wait = () => {
      const rest = this.#end - Date.now();
      timer = rest <= 0 ? setTimeout(onEnd) : setTimeout(wait, Math.min(rest, MAX_TIMER_MS));
    };
    wait();
    return () => clearTimeout(timer);
  }
}
