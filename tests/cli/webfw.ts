// The command line in a process of its own, for tests.

import process from "node:process";
import { fileURLToPath } from "node:url";
import { prepareDeno } from "../../tools/deno.ts";
import { Lines } from "./lines.ts";
import { inTime, until } from "./patience.ts";

const CLI = fileURLToPath(new URL("../../cli.ts", import.meta.url));

/** How a command line is run. */
export interface WebfwOptions {
  /** The working directory. */
  readonly cwd: string;
  /** Variables beside those of the test. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A command line that has come to its end. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command line. Disposing of it stops it, and whatever it has started. */
export class Webfw implements AsyncDisposable {
  readonly stdout: Lines;
  readonly stderr: Lines;
  readonly #child: Deno.ChildProcess;
  #hasEnded = false;

  /** Takes over a process with piped output. */
  constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.stdout = new Lines(child.stdout);
    this.stderr = new Lines(child.stderr);
  }

  /** Starts a command line. */
  static async start(args: readonly string[], { cwd, env }: WebfwOptions): Promise<Webfw> {
    await using prepared = await prepareDeno(["run", "-A", "--quiet", CLI, ...args], {
      cwd,
      // The application's own configuration is to be found, not the one that resolves the command line itself.
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

  /** Process id of the command line. */
  get pid(): number {
    return this.#child.pid;
  }

  /** Waits until it listens and gives the origin. */
  async origin(): Promise<string> {
    return (await this.stderr.next(/^Listening on (http:\S+)$/))[1]!;
  }

  /** Sends a signal to the command line alone. */
  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Waits for its end, and that of all that writes to its output, and gives the exit code. */
  async end(): Promise<number> {
    const { code } = await inTime(this.#child.status, () => "the command ends");
    this.#hasEnded = true;
    await inTime(Promise.all([this.stdout.ended, this.stderr.ended]), () => "what it has started ends");
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#hasEnded) return;
    this.signal("SIGTERM");
    await this.end();
  }
}

/** Waits until a process is gone. One that stays is killed, so that a failing test leaves nothing behind. */
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
  // A zombie is a dead process that nobody has waited for: what becomes of an orphan where process 1 does not.
  return Deno.build.os !== "linux" || !/^\d+ \(.*\) [ZX]/s.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
}
