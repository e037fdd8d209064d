/** The process of the application: the command starts it, stops it, and does not outlive it. */

/** A process is killed when it takes longer to stop. Requests have 10 s, lifespans the rest. */
const GRACE_MS = 15_000;
/** The same for a watcher. Deno itself gives the program in it 500 ms. */
const WATCHER_GRACE_MS = 3_000;
/** A signal to both processes may end the child before it is seen here: the time to wait for it. */
const SIGNAL_SETTLE_MS = 50;

export interface ChildOptions {
  /** Arguments of `deno`. */
  readonly args: readonly string[];
  /** Whether the arguments start a watcher. */
  readonly isWatcher: boolean;
  /** How long the program serves on after it was asked to stop, in milliseconds. */
  readonly drainDelay: number;
}

/**
 * Runs Deno until it ends and gives the exit code: 0 if it stopped because of SIGINT or SIGTERM.
 *
 * A watcher goes on when its program fails for good, and does not see a missing file appear. So the
 * program may end the watcher by a signal: SIGKILL is final, SIGHUP asks for another start. Exit
 * code 0 asks for one, too: watchers of Deno 2.9.0 and 2.9.1 end with it when their program has
 * stopped for a restart.
 */
export async function runChild({ args, isWatcher, drainDelay }: ChildOptions): Promise<number> {
  let child: Deno.ChildProcess | undefined;
  let killTimer: ReturnType<typeof setTimeout> | undefined;
  let isStopping = false;
  const stop = (signal: Deno.Signal | null) => {
    isStopping = true;
    if (signal !== null) kill(child, signal);
    const grace = isWatcher ? WATCHER_GRACE_MS : GRACE_MS + drainDelay;
    killTimer ??= setTimeout(() => kill(child, "SIGKILL"), grace);
  };
  // On Ctrl-C, a terminal signals all processes of the command, the child, too.
  const fromTerminal = [Deno.stdin, Deno.stdout, Deno.stderr].some((stream) => stream.isTerminal());
  const onInterrupt = () => stop(fromTerminal ? null : "SIGINT");
  // SIGTERM would stop the program in a watcher, but not the watcher.
  const onTerminate = () => stop(isWatcher ? "SIGINT" : "SIGTERM");
  Deno.addSignalListener("SIGINT", onInterrupt);
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGTERM", onTerminate);
  try {
    while (true) {
      child = spawn(args);
      const status = await child.status;
      if (isWatcher || status.signal !== null) {
        await new Promise((resolve) => setTimeout(resolve, SIGNAL_SETTLE_MS));
      }
      if (isStopping) return exitCodeOfStop(status);
      if (!isWatcher) return status.code;
      if (status.signal !== "SIGHUP" && status.code !== 0) {
        return status.signal === "SIGKILL" ? 1 : status.code;
      }
    }
  } finally {
    clearTimeout(killTimer);
    Deno.removeSignalListener("SIGINT", onInterrupt);
    if (Deno.build.os !== "windows") Deno.removeSignalListener("SIGTERM", onTerminate);
  }
}

/**
 * Runs Deno until it ends, with more environment variables, and gives the exit code and its stdout.
 */
export async function runForOutput(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number; output: Uint8Array }> {
  const { code, stdout } = await new Deno.Command(denoPath(), {
    args: [...args],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  return { code, output: stdout };
}

function spawn(args: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(denoPath(), {
    args: [...args],
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
}

/** A program made by `deno compile` cannot run others: it takes the Deno of the PATH. */
function denoPath(): string {
  return Deno.build.standalone ? "deno" : Deno.execPath();
}

function kill(child: Deno.ChildProcess | undefined, signal: Deno.Signal): void {
  try {
    child?.kill(signal);
  } catch (error) {
    // The process has ended already.
    if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function exitCodeOfStop(status: Deno.CommandStatus): number {
  // The signal itself ended the program, which did not listen for it.
  if (status.code === 130 || status.code === 143) return 0;
  if (status.signal === "SIGKILL") console.error("error: Killed the program: it did not stop in time");
  return status.code;
}
