/** Errors of declarations begin with the line of the program. */

import { readVariable } from "./runtime.ts";

/** Messages of the framework: "Cannot do this: the reason". Those of V8 have no colon. */
const MESSAGE = /^Cannot .+?: /;

/**
 * Wraps a function that declares something, so that the stacks of its errors begin with its caller.
 * V8 keeps ten frames: below those of the framework, the line of the program would be missing. With
 * `WEBFW_LOG=full` the stack has the frames of the framework, too.
 */
export function atCaller<Args extends unknown[], Result>(
  declare: (...args: Args) => Result,
): (...args: Args) => Result {
  return function declared(...args) {
    try {
      return declare(...args);
    } catch (error) {
      if (error instanceof Error && MESSAGE.test(error.message)) {
        const { stack = "" } = error;
        Error.captureStackTrace(error, declared);
        if (readVariable("WEBFW_LOG") === "full") error.stack = withFrames(stack, error.stack ?? "");
      }
      throw error;
    }
  };
}

/** Adds the frames of the caller to a stack that ends before them. */
function withFrames(stack: string, callerStack: string): string {
  const frames = callerStack.slice(callerStack.indexOf("\n    at "));
  const [, nearest = ""] = frames.split("\n");
  return stack.includes(nearest) ? stack : stack + frames;
}
