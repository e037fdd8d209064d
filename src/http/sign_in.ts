/** Sign-ins that guards add to requests. Streams and WebSockets end with them. */
import { MAX_TIMER_MS } from "../base/options.ts";

export interface SignIn {
  /** Calls back once when the sign-in ends, always asynchronously. The result ends the watch. */
  watch(onEnd: () => void): () => void;
}

/** Ends at a time in milliseconds since 1970. */
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

export interface SignedIn {
  readonly signIns: readonly SignIn[];
  readonly matched: { readonly info: { readonly options: { readonly endsWithSignIn?: boolean } } | null };
}

/** Calls back once when a sign-in ends, unless `endsWithSignIn` is false. The result stops that. */
export function whileSignedIn({ signIns, matched }: SignedIn, onEnd: () => void): () => void {
  if (matched.info?.options.endsWithSignIn === false) return () => {};
  let hasEnded = false;
  const end = (): void => {
    if (hasEnded) return;
    stop();
    onEnd();
  };
  const watches = signIns.map((signIn) => signIn.watch(end));
  const stop = (): void => {
    hasEnded = true;
    for (const stopOne of watches) stopOne();
  };
  return stop;
}
