/** Runs the command line in another process, for tests. */

import process from "node:process";
import { fileURLToPath } from "node:url";
import { prepareDeno } from "../../dev/tools/deno.ts";
import { Lines } from "./lines.ts";
import { inTime, until } from "../support/wait.ts";

const CLI = fileURLToPath(new URL("../../cli.ts", import.meta.url));

export interface WebfwOptions {
  readonly cwd: string;
  /** More environment variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The result of a command line. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command line. Disposing of it stops it and its child processes. */
export class Webfw implements AsyncDisposable {
  readonly stdout: Lines;
  readonly stderr: Lines;
  readonly #child: Deno.ChildProcess;
  #hasEnded = false;

  /** @param child A process with piped output. */
  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.stdout = new Lines(child.stdout);
    this.stderr = new Lines(child.stderr);
  }

  /** Starts a command line. */
  static async start(args: readonly string[], { cwd, env }: WebfwOptions): Promise<Webfw> {
    await using prepared = await prepareDeno(["run", "-A", "--quiet", CLI, ...args], {
      cwd,
      // Otherwise the application gets the configuration that resolves the command line.
      env: { WEBFW_CONFIG: "", NO_COLOR: "1", ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
    return new Webfw(prepared.command.spawn());
  }

  /** Runs a command line to its end. */
  static async finish(args: readonly string[], options: WebfwOptions): Promise<Finished> {
    await using webfw = await Webfw.start(args, options);
    const code = await webfw.end();
    return { code, stdout: webfw.stdout.text, stderr: webfw.stderr.text };
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Waits until it listens, and gives the origin. */
  async origin(): Promise<string> {
    return (await this.stderr.next(/^\S+ INFO Listening on (http:\S+)$/))[1]!;
  }

  /** Sends a signal to the command line, not to its child processes. */
  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Waits for the end of it and of all processes that write to its output. Gives the exit code. */
  async end(): Promise<number> {
    const { code } = await inTime(this.#child.status, () => "the command ends");
    this.#hasEnded = true;
    await inTime(Promise.all([this.stdout.ended, this.stderr.ended]), () => "its child processes end");
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#hasEnded) return;
    this.signal("SIGTERM");
    await this.end();
  }
}

/** Waits until a process has ended. A process that goes on is killed, and fails the test. */
export async function isGone(pid: number): Promise<void> {
  try {
    await until(`process ${pid} is gone`, () => !isAlive(pid));
  } catch (error) {
    Deno.kill(pid, "SIGKILL");
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie has ended. An orphan stays one where process 1 does not wait for it.
  return Deno.build.os !== "linux" || !/^\d+ \(.*\) [ZX]/s.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
}
