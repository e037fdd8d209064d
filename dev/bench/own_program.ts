// How the measurements start a program of this repository.

/**
 * The command of a program, resolved as the task runner found it to fit. The flags are Deno's own.
 */
export function ownProgram(file: string, ...flags: string[]): string[] {
  const config = Deno.env.get("WEBFW_CONFIG");
  return [Deno.execPath(), "run", ...(config ? ["--config", config] : []), "-A", ...flags, file];
}
