/**
 * The command line of webfw, as a function.
 *
 * ```sh
 * deno run -A jsr:@webfw/cli run main.ts:app --reload
 * deno install -gA -n webfw jsr:@webfw/cli
 * ```
 *
 * @module
 */

import { runProgram } from "./src/cli/program.ts";

/**
 * Runs a command: `init`, `run`, `openapi`, `asyncapi`, `routes`, `topics`, `env`, `completions`,
 * `help` or `--version`.
 *
 * The application runs in a child process, with the configuration of its own project. SIGINT and
 * SIGTERM are passed on to it.
 *
 * @param args The arguments after the name of the program.
 * @returns The exit code: 0 for success and for a stop by SIGINT or SIGTERM, 2 for an invalid
 * command line, and 1 or the code of the child process for other failures. A failure prints one
 * line to stderr.
 *
 * @example
 * ```ts
 * import { main } from "@webfw/core/cli";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await main(["--version"]), 0);
 * ```
 */
export function main(args: string[]): Promise<number> {
  return runProgram(args);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
