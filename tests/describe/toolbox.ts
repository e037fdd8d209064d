// Python and Go programs that read OpenAPI documents, or are agents. `deno task describe:install`
// installs them in a cache outside of the repository. Tests that need them are ignored if they are
// missing, and fail under WEBFW_REQUIRE_ALL=1.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Contains requirements.txt, and the programs and settings that tests use. */
export const PYTHON_FOLDER: string = fileURLToPath(new URL("./consumers/python/", import.meta.url));
/** Contains requirements.txt of the agents of tests/agents, and their programs. */
export const AGENTS_FOLDER: string = fileURLToPath(new URL("../agents/clients/python/", import.meta.url));
/** Contains go.mod, and the program that tests compile with the clients. */
export const GO_FOLDER: string = fileURLToPath(new URL("./consumers/go/", import.meta.url));

const IS_WINDOWS = Deno.build.os === "windows";
const PYTHON_BIN = IS_WINDOWS ? "Scripts" : "bin";

/**
 * A folder of the cache. Its name has a hash of the pinned versions, so that other versions get
 * another one.
 */
export class Toolbox {
  /** The folder itself. */
  readonly folder: string;
  /** Where its programs are. */
  readonly bin: string;
  /** A file that is written when all is installed. */
  readonly #seal: string;

  private constructor(folder: string, bin: string) {
    this.folder = folder;
    this.bin = join(folder, bin);
    this.#seal = join(folder, "complete");
  }

  /** Programs of Python. */
  static async python(): Promise<Toolbox> {
    return new Toolbox(await folderOf("python", [`${PYTHON_FOLDER}requirements.txt`]), PYTHON_BIN);
  }

  /** Programs of Python for tests/agents. */
  static async agents(): Promise<Toolbox> {
    return new Toolbox(await folderOf("agents", [`${AGENTS_FOLDER}requirements.txt`]), PYTHON_BIN);
  }

  /** Programs of Go. */
  static async go(): Promise<Toolbox> {
    return new Toolbox(await folderOf("go", [`${GO_FOLDER}go.mod`, `${GO_FOLDER}go.sum`]), "bin");
  }

  /** Whether all is installed. */
  async isComplete(): Promise<boolean> {
    try {
      return (await Deno.stat(this.#seal)).isFile;
    } catch {
      return false;
    }
  }

  /** Marks it as complete. */
  async complete(): Promise<void> {
    await Deno.writeTextFile(this.#seal, "");
  }

  /**
   * Runs one of its programs, with the others in its PATH.
   *
   * @returns Its output.
   */
  async run(program: string, args: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
    if (!await this.isComplete()) {
      throw new Error(`Cannot run ${program}: it is not installed, run "deno task describe:install"`);
    }
    const path = `${this.bin}${IS_WINDOWS ? ";" : ":"}${Deno.env.get("PATH") ?? ""}`;
    return await run(join(this.bin, program), args, cwd, { PATH: path, ...env });
  }
}

/**
 * Whether tests that need a toolbox are left out. Under WEBFW_REQUIRE_ALL they are not, and fail.
 */
export async function isMissing(toolbox: Toolbox): Promise<boolean> {
  return Deno.env.get("WEBFW_REQUIRE_ALL") !== "1" && !await toolbox.isComplete();
}

/**
 * Runs a program.
 *
 * @returns Its output, first stdout and then stderr.
 * @throws {Error} When it fails.
 */
export async function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<string> {
  const command = new Deno.Command(program, { args: [...args], cwd, env: { NO_COLOR: "1", ...env }, stdin: "null" });
  const { success, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  const printed = `${decoder.decode(stdout)}${decoder.decode(stderr)}`;
  if (!success) throw new Error(`${program} ${args.join(" ")} failed:\n${printed}`);
  return printed;
}

async function folderOf(name: string, files: readonly string[]): Promise<string> {
  const text = (await Promise.all(files.map((file) => Deno.readTextFile(file)))).join("\0");
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const version = new Uint8Array(digest).toHex().slice(0, 12);
  const home = Deno.env.get("HOME") ?? Deno.env.get("USERPROFILE") ?? ".";
  return join(Deno.env.get("XDG_CACHE_HOME") ?? join(home, ".cache"), "webfw", "consumers", `${name}-${version}`);
}
