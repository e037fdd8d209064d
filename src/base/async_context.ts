/**
 * The async context of code, for `AsyncLocalStorage` and spans of OpenTelemetry. An async function
 * continues in the context in which it began. `node:async_hooks` would take several milliseconds to
 * load.
 */

export type RunInContext = <Result>(work: () => Result | Promise<Result>) => Promise<Result>;

export function captureContext(): RunInContext {
  const jobs: (() => void)[] = [];
  let wake: () => void;
  const runJobs = async (): Promise<void> => {
    for (;;) {
      // A job may add another one, which wakes nothing.
      for (let job; (job = jobs.shift());) job();
      await new Promise<void>((resolve) => wake = resolve);
    }
  };
  void runJobs();
  return (work) =>
    new Promise((resolve, reject) => {
      jobs.push(() => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
      wake();
    });
}

/** For work that belongs to no request, although one may be the first to need it. */
export const outsideRequests: RunInContext = captureContext();

/**
 * Loads a module. Deno (2.9) keeps the async context of `import()`: all later requests would see
 * the `AsyncLocalStorage` of one. So all modules use this function.
 *
 * @param start Calls `import()`.
 */
export function load<Module>(start: () => Promise<Module>): Promise<Module> {
  const module = outsideRequests(start);
  loads += 1;
  module.then(endLoad, endLoad);
  return module;
}

/** A value that is made on first use, for all callers. A use after a failure tries again. */
export class Lazy<Value> {
  readonly #make: () => Promise<Value>;
  #made: Promise<Value> | undefined;

  constructor(make: () => Promise<Value>) {
    this.#make = make;
  }

  /** Undefined before the first use. */
  get made(): Promise<Value> | undefined {
    return this.#made;
  }

  use(): Promise<Value> {
    return this.#made ??= this.#make().catch((error) => {
      this.#made = undefined;
      throw error;
    });
  }
}

let loads = 0;
let whenLoaded: (() => void)[] = [];

function endLoad(): void {
  loads -= 1;
  if (loads > 0) return;
  for (const resolve of whenLoaded) resolve();
  whenLoaded = [];
}

/** Resolves when no module is loading. */
export async function loaded(): Promise<void> {
  if (loads > 0) await new Promise<void>((resolve) => whenLoaded.push(resolve));
}

// For the client, which has no room for this module.
Object.defineProperty(globalThis, Symbol.for("webfw.load"), { value: load, configurable: true });

/** @returns Runs the function once, in the current context. Later calls return the same promise. */
export function deferred<Args extends unknown[], Result>(
  run: (...args: Args) => Result | Promise<Result>,
): (...args: Args) => Promise<Result> {
  const { promise, resolve } = Promise.withResolvers<Args>();
  const result = promise.then((args) => run(...args));
  return (...args) => {
    resolve(args);
    return result;
  };
}
