/** Loads the parts of the client that few pages need. */

type Load = <Module>(start: () => Promise<Module>) => Promise<Module>;

/**
 * Loads a part. In a server, its framework does it outside of the async context of any request; see
 * `src/base/async_context.ts`.
 */
export const load: Load = (start) => {
  const { [Symbol.for("webfw.load")]: load } = globalThis as { readonly [key: symbol]: Load | undefined };
  return load ? load(start) : start();
};
