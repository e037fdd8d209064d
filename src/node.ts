/**
 * Modules of Node.js, loaded when one of them is first used. An import would load them at every start, which takes Deno several
 * milliseconds and MiB, and most applications never use any.
 */

/** Typed here, since not every program is checked with the globals of Node.js. */
const scope = globalThis as unknown as { readonly process: typeof import("node:process") };

let timers: typeof import("node:timers") | undefined;

/** Paths of files, as the system writes them. */
export function nodePath(): typeof import("node:path") {
  return scope.process.getBuiltinModule("node:path");
}

/** URLs of files. */
export function nodeUrl(): typeof import("node:url") {
  return scope.process.getBuiltinModule("node:url");
}

/** Timers that the platform has no others for. */
export function nodeTimers(): typeof import("node:timers") {
  return timers ??= scope.process.getBuiltinModule("node:timers");
}
