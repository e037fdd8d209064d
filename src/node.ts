/**
 * Modules of Node.js, loaded when one of them is first used. An import would load them at every start, which takes Deno several
 * milliseconds and MiB, and most applications never use any.
 */

/** Paths of files, as the system writes them. */
export function nodePath(): typeof import("node:path") {
  return process.getBuiltinModule("node:path");
}

/** URLs of files. */
export function nodeUrl(): typeof import("node:url") {
  return process.getBuiltinModule("node:url");
}
