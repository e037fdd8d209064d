/**
 * Whether this process is `deno serve`, which serves the default export of its main module itself.
 */

/**
 * Tells `deno serve` by the command line of the process. Only Linux shows it, and only to a program
 * that may do everything (`-A`); anywhere else the answer is false.
 */
export function isDenoServe(): boolean {
  // The arguments of a compiled program are its own.
  if (Deno.build.os !== "linux" || Deno.build.standalone) return false;
  const path = "/proc/self/cmdline";
  // A program that may not read it must not be stopped by a prompt.
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return false;
  try {
    return Deno.readTextFileSync(path).split("\0")[1] === "serve";
  } catch (error) {
    // Files below /proc take all permissions.
    if (error instanceof Deno.errors.NotCapable) return false;
    throw error;
  }
}
