/**
 * The sign-ins of a request. A guard adds that of the client, and streams and WebSockets end with
 * it.
 */
import { mountedOf } from "./connection.ts";
import { contextOf, type HttpRequest } from "./request.ts";
import type { SignIn } from "./sign_in.ts";

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
