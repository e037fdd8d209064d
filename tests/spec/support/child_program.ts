// A program in its own process, for tests of signals and of the ways to start a server.

import { fileURLToPath } from "node:url";
import { toText } from "./to_text.ts";
import { PATIENCE_MS } from "../../support/patience.ts";

/** Where programs import the framework from. */
export const CORE: string = new URL("../../../mod.ts", import.meta.url).href;

/** How a program is started. */
export interface ChildOptions {
  /** The subcommand of Deno, and its flags. */
  readonly command?: readonly string[];
  /** Variables in addition to those of the test. */
  readonly env?: Readonly<Record<string, string>>;
  /** Permission flags. Default: all permissions. */
  readonly permissions?: readonly string[];
  /** Whether Deno prints no messages. */
  readonly isQuiet?: boolean;
  /** How many file descriptors it may have. */
  readonly descriptors?: number;
  /** The folder of its file. Default: that of the system for temporary files. */
  readonly folder?: string;
}

/**
 * A running program that prints `port <number>` on stdout when it listens. Disposing of it kills
 * it.
 */
export class ChildProgram implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #file: string | undefined;
  readonly #stdout: Promise<string>;
  readonly #stderr: Promise<string>;
  /** The output so far, of both streams. */
  #seen = "";
  /** Settles when there is more output, and rejects at its end. */
  #more = Promise.withResolvers<void>();

  private constructor(child: Deno.ChildProcess, file?: string) {
    this.#child = child;
    this.#file = file;
    this.#stdout = toText(child.stdout, (part) => this.#look(part));
    this.#stderr = toText(child.stderr, (part) => this.#look(part));
    Promise.all([this.#stdout, this.#stderr]).then(() => {
      this.#more.promise.catch(() => {});
      this.#more.reject(new Error(`The program ended after: ${this.#seen}`));
    });
  }

  /** Starts a program from its source. */
  static async start(source: string, options: ChildOptions = {}): Promise<ChildProgram> {
    const { command = ["run"], env = {}, permissions = ["-A"], isQuiet = true, descriptors, folder } = options;
    const dir = folder === undefined ? {} : { dir: folder };
    const file = await Deno.makeTempFile({ ...dir, prefix: "webfw_spec_", suffix: ".ts" });
    await Deno.writeTextFile(file, source);
    const config = Deno.env.get("WEBFW_CONFIG") || fileURLToPath(new URL("../../../deno.json", import.meta.url));
    const [subcommand = "run", ...flags] = command;
    const args = [
      subcommand,
      ...permissions,
      ...(isQuiet ? ["--quiet"] : []),
      "--no-lock",
      "--config",
      config,
      ...flags,
    ];
    const deno = Deno.execPath();
    if (descriptors === undefined) return new ChildProgram(spawn(deno, [...args, file], env), file);
    const limited = ["-c", `ulimit -n ${descriptors} && exec "$0" "$@"`, deno, ...args, file];
    return new ChildProgram(spawn("/bin/sh", limited, env), file);
  }

  /** Starts an executable. */
  static run(executable: string, args: readonly string[] = []): ChildProgram {
    return new ChildProgram(spawn(executable, args, {}));
  }

  /**
   * Waits until it listens, and gives the port: that of `port 8000` on a line, or of Deno's own
   * message.
   */
  async port(): Promise<number> {
    const output = await this.#until(/^port (\d+)\n|Listening on http:\/\/[^:]+:(\d+)/m);
    return Number(output[1] ?? output[2]);
  }

  /** Waits until it has printed a line. */
  async printed(line: string): Promise<void> {
    await this.#until(new RegExp(`^${line}\n`, "m"));
  }

  /** Waits until its output matches. */
  found(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(pattern);
  }

  /** Sends a signal. */
  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /**
   * Waits for its end.
   *
   * @throws {Error} It did not end in time, and was killed.
   */
  async end(
    patience = PATIENCE_MS,
  ): Promise<{ code: number; signal: Deno.Signal | null; stdout: string; stderr: string }> {
    let isLate = false;
    const impatience = setTimeout(() => {
      isLate = true;
      this.#child.kill("SIGKILL");
    }, patience);
    const { code, signal } = await this.#child.status;
    clearTimeout(impatience);
    if (isLate) throw new Error(`The program did not end in ${patience / 1_000} s after: ${this.#seen}`);
    return { code, signal, stdout: await this.#stdout, stderr: await this.#stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.end();
    if (this.#file !== undefined) await Deno.remove(this.#file);
  }

  async #until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#seen);
      if (found) return found;
      await this.#more.promise;
    }
  }

  #look(part: string): void {
    this.#seen += part;
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}

function spawn(executable: string, args: readonly string[], env: Readonly<Record<string, string>>): Deno.ChildProcess {
  return new Deno.Command(executable, {
    args: [...args],
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}
