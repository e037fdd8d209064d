/** Tells functions that are declared `async` from those that only return a promise. */

const AsyncFunction = (async () => {}).constructor;
const AsyncGeneratorFunction = (async function* () {}).constructor;

/** Whether it was declared `async function` or as an `async` arrow. */
export function isAsyncFunction(
  value: unknown,
): value is (...args: never[]) => Promise<unknown> {
  return value instanceof AsyncFunction;
}

/** Whether it was declared `async function*`. */
export function isAsyncGeneratorFunction(
  value: unknown,
): value is (...args: never[]) => AsyncGenerator<unknown> {
  return value instanceof AsyncGeneratorFunction;
}
