// Checks an application with the TypeScript compiler and reads the cost.

import { join } from "node:path";

/** The cost of a check. */
export interface Cost {
  /** Type instantiations: the same on every machine. */
  instantiations: number;
  /** The time of the check alone, without parsing and binding, in milliseconds. */
  time: number;
}

/**
 * Checks modules, by their names, as the only application of a project. The main one is `app.ts`.
 *
 * @throws {Error} if it does not check, with the first lines that the compiler printed
 */
export async function typeCheck(
  modules: Readonly<Record<string, string>>,
  directory: string,
  signal: AbortSignal,
): Promise<Cost> {
  for (const [name, source] of Object.entries(modules)) await Deno.writeTextFile(join(directory, name), source);
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--v8-flags=--max-old-space-size=8192",
      "npm:typescript/tsc",
      "--project",
      directory,
      "--extendedDiagnostics",
    ],
    cwd: directory,
    env: { NO_COLOR: "1" },
    stderr: "inherit",
    signal,
  }).output();
  const output = new TextDecoder().decode(stdout);
  if (!success) {
    const errors = output.split("\n").filter((line) => line.includes("error TS")).slice(0, 10);
    throw new Error(`Cannot measure an application that is wrong:\n${errors.join("\n")}`);
  }
  return {
    instantiations: Number(figure(output, "Instantiations", "")),
    time: Number(figure(output, "Check time", "s")) * 1000,
  };
}

function figure(output: string, name: string, unit: string): string {
  const text = new RegExp(`^${name}:\\s+([\\d.]+)${unit}$`, "m").exec(output)
    ?.[1];
  if (text !== undefined) return text;
  throw new Error(`Cannot read "${name}" in the compiler's diagnostics`);
}
