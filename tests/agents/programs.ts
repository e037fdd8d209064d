// Runs the programs of others that connect to an agent endpoint. They are in clients/, a separate
// project with its own packages and lock file, and run as child processes: the tests load nothing
// of it.

import { fileURLToPath } from "node:url";

const FOLDER = fileURLToPath(new URL("./clients/", import.meta.url));
const OPTIONS = ["--quiet", "--frozen", "--config", `${FOLDER}deno.json`];

/** The official inspector. */
export const INSPECTOR = "npm:@modelcontextprotocol/inspector@2.12.0";
/** The official conformance suites: of the revisions up to 2025-11-25, and with 2026-07-28. */
export const CONFORMANCE = {
  first: "npm:@modelcontextprotocol/conformance@0.1.16",
  second: "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
} as const;

const PROGRAMS = [
  `${FOLDER}first_generation.ts`,
  `${FOLDER}second_generation.ts`,
  INSPECTOR,
  CONFORMANCE.first,
  CONFORMANCE.second,
];

/** The output of a program, and how it ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Whether the packages are there, or can be had. A machine may be cut off; under WEBFW_REQUIRE_ALL
 * that is a failure.
 */
export async function hasPrograms(): Promise<boolean> {
  const { code, stderr } = await deno(["cache", ...OPTIONS, ...PROGRAMS], FOLDER);
  if (code !== 0 && Deno.env.get("WEBFW_REQUIRE_ALL") === "1") throw new Error(stderr);
  return code === 0;
}

/** Runs a program of clients/, or a package. */
export function run(program: string, args: readonly string[], cwd: string = FOLDER): Promise<Ended> {
  const main = program.startsWith("npm:") ? program : `${FOLDER}${program}`;
  return deno(["run", "--no-check", "-A", ...OPTIONS, main, ...args], cwd);
}

/** Gives a folder for as long as the work takes. */
export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "webfw_agent_" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The inspector would write its notes into the user's home folder. */
async function deno(args: readonly string[], cwd: string): Promise<Ended> {
  const env = { NO_COLOR: "1", MCP_STORAGE_DIR: cwd };
  const command = new Deno.Command(Deno.execPath(), { args: [...args], cwd, env, stdin: "null" });
  const { code, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
