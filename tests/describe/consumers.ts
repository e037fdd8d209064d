// Runs the programs of consumers/: tools of others that read OpenAPI and AsyncAPI documents. They are a separate
// project with its own packages and lock file, and run as child processes.

import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("./consumers/", import.meta.url));
const OPTIONS = ["--quiet", "--frozen", "--config", `${FOLDER}deno.json`];

/**
 * Whether the packages are there, or can be had. A machine may be cut off; under WEBFW_REQUIRE_ALL
 * that is a failure.
 */
export async function hasConsumers(): Promise<boolean> {
  try {
    await deno(["cache", ...OPTIONS, `${FOLDER}validate.ts`, `${FOLDER}generate.ts`, `${FOLDER}asyncapi.ts`], FOLDER);
    return true;
  } catch (error) {
    if (Deno.env.get("WEBFW_REQUIRE_ALL") === "1") throw error;
    return false;
  }
}

/** Runs a program, and returns its output. */
export function consume(program: string, args: readonly string[], cwd: string): Promise<string> {
  return deno(["run", "--no-check", "-A", ...OPTIONS, `${FOLDER}${program}`, ...args], cwd);
}

/**
 * Runs a program of consumers/ from a folder with generated code, after checking types of both.
 *
 * @throws {Error} When the check finds a fault, or the program fails.
 */
export async function checkAndRun(program: string, args: readonly string[], folder: string): Promise<string> {
  await Deno.copyFile(`${FOLDER}${program}`, `${folder}/${program}`);
  return await runChecked(program, args, folder);
}

/**
 * Runs a program that is in a folder with generated code, after checking types of both.
 *
 * @throws {Error} When the check finds a fault, or the program fails.
 */
export function runChecked(program: string, args: readonly string[], folder: string): Promise<string> {
  return deno(["run", "--check", "-A", ...OPTIONS, program, ...args], folder);
}

/**
 * Checks the types of modules.
 *
 * @throws {Error} When there is a fault.
 */
export async function check(modules: readonly string[], folder: string): Promise<void> {
  await deno(["check", ...OPTIONS, ...modules], folder);
}

async function deno(args: readonly string[], cwd: string): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), { args: [...args], cwd, env: { NO_COLOR: "1" }, stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`deno ${args.join(" ")} failed:\n${decoder.decode(stdout)}${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}
