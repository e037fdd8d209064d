/**
 * The async context of code: what `AsyncLocalStorage` reads, and spans of OpenTelemetry. A promise
 * keeps the context of its `then()` call for its reaction. This works without `node:async_hooks`,
 * which takes several milliseconds to load.
 */

/** Runs a function once, in the async context in which it was given. */
export interface Deferred<Args extends unknown[], Result> {
  /** Runs it. A second call gives the same result. */
  (...args: Args): Promise<Result>;
}

/**
 * Defers a function to later code of another async context.
 *
 * @param run Runs in the async context of this call.
 */
export function deferred<Args extends unknown[], Result>(
  run: (...args: Args) => Result | Promise<Result>,
): Deferred<Args, Result> {
  const { promise, resolve } = Promise.withResolvers<Args>();
  const result = promise.then((args) => run(...args));
  return (...args) => {
    resolve(args);
    return result;
  };
}
