// `deno task bench http` runs one measurement by its name. `deno task bench` runs all, and prints
// one table.

import { runCommand } from "./command.ts";
import { BENCHES } from "./table/benches.ts";

/** The export of each measurement. It returns the exit code. */
type Main = (args: string[], signal: AbortSignal) => Promise<number>;

await runCommand(async (args, signal) => {
  const bench = BENCHES.find(({ name }) => name === args[0]);
  // Computed as a URL: for a template, Deno would load every module whose path fits it.
  const program = new URL(bench?.program ?? "table/main.ts", import.meta.url);
  const { main } = await import(program.href) as { main: Main };
  return await main(bench ? args.slice(1) : args, signal);
});
