/** Errors of declarations begin with the line of the program. */

/** Messages of the framework: "Cannot do this: the reason". Those of V8 have no colon. */
const MESSAGE = /^Cannot .+?: /;

/**
 * Wraps a function that declares something, so that the stacks of its errors begin with its caller.
 * V8 keeps ten frames: below those of the framework, the line of the program would be missing.
 */
export function atCaller<Args extends unknown[], Result>(
  declare: (...args: Args) => Result,
): (...args: Args) => Result {
  return function declared(...args) {
    try {
      return declare(...args);
    } catch (error) {
      if (error instanceof Error && MESSAGE.test(error.message)) Error.captureStackTrace(error, declared);
      throw error;
    }
  };
}
