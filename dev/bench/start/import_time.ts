// The time of importing the framework, measured in the process itself.

import { join } from "node:path";
import { ownProgram } from "../own_program.ts";

/** The time of one import in a new process, in milliseconds. */
export async function importTime(flags: string[], signal: AbortSignal): Promise<number> {
  const [program = "", ...args] = ownProgram(join(import.meta.dirname!, "servers", "import.ts"), ...flags);
  const { success, stdout } = await new Deno.Command(program, { args, stdin: "null", stderr: "inherit", signal })
    .output();
  if (success) return Number(new TextDecoder().decode(stdout));
  throw new Error("Cannot measure the import: its process failed");
}
