/**
 * The ends of sign-ins. A guard adds the sign-in of the client to its request, and streams and
 * WebSockets end with it.
 */
import { MAX_TIMER_MS } from "../duration.ts";
import { mountedOf } from "./connection.ts";
import type { SignIn } from "./context.ts";
import { contextOf, type HttpRequest } from "./request.ts";

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

/** Adds the sign-in of the client to a request. */
export function addSignIn(request: HttpRequest, signIn: SignIn): void {
  const context = contextOf(request);
  (context.signIns ??= []).push(signIn);
}

/** The sign-ins of the client, also those of the guards around a mount; undefined without any. */
export function signInsOf(request: HttpRequest): readonly SignIn[] | undefined {
  const { signIns, connection } = contextOf(request);
  const outer = mountedOf(connection)?.signIns;
  return outer && signIns ? [...outer, ...signIns] : signIns ?? outer;
}

const NOTHING = (): void => {};

/**
 * Calls back once when a sign-in of the client ends, unless the route keeps its streams open.
 *
 * @returns Ends the watch.
 */
export function whileSignedIn(request: HttpRequest, onEnd: () => void): () => void {
  const signIns = signInsOf(request);
  if (!signIns || contextOf(request).matched.info?.options.endsWithSignIn === false) return NOTHING;
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
