// The process in which the application runs: started, told to stop, never left behind.

/** How long a process may take to stop before it is killed: requests in flight have 10 s, lifespans the rest. */
const GRACE_MS = 15_000;
/** The same for a watcher, of which Deno itself gives the program 500 ms. */
const WATCHER_GRACE_MS = 3_000;
/** Time for a signal that has ended the child, and was meant for both, to be seen here too. */
const SIGNAL_SETTLE_MS = 50;

/** What is started. */
export interface ChildOptions {
  /** Arguments of `deno`. */
  readonly args: readonly string[];
  /** Whether they start a watcher. */
  readonly isWatcher: boolean;
}

/**
 * Runs Deno until it ends and gives the exit code: 0 if it stopped because SIGINT or SIGTERM told it to.
 *
 * A watcher does not end when its program fails for good, nor does it see a missing file appear. The program inside can
 * therefore end the whole process with a signal: SIGKILL is final, SIGHUP asks for another start. So does exit code 0,
 * with which the watchers of Deno 2.7.7 to 2.9.1 end when their program has stopped for a restart.
 */
export async function runChild({ args, isWatcher }: ChildOptions): Promise<number> {
  let child: Deno.ChildProcess | undefined;
  let killTimer: ReturnType<typeof setTimeout> | undefined;
  let told = false;
  const stop = (signal: Deno.Signal | null) => {
    told = true;
    if (signal !== null) send(child, signal);
    killTimer ??= setTimeout(() => send(child, "SIGKILL"), isWatcher ? WATCHER_GRACE_MS : GRACE_MS);
  };
  // A terminal sends Ctrl-C to every process that it runs, so the child has it already.
  const fromTerminal = [Deno.stdin, Deno.stdout, Deno.stderr].some((stream) => stream.isTerminal());
  const onInterrupt = () => stop(fromTerminal ? null : "SIGINT");
  // SIGTERM stops the program in a watcher, but not the watcher.
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
      if (told) return exitCodeOfStop(status);
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

/** Runs Deno until it ends; gives the exit code and what it wrote to stdout. */
export async function runForOutput(args: readonly string[]): Promise<{ code: number; output: Uint8Array }> {
  const { code, stdout } = await new Deno.Command(denoPath(), {
    args: [...args],
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

/** A compiled program has no Deno inside that would run another one. */
function denoPath(): string {
  return Deno.build.standalone ? "deno" : Deno.execPath();
}

function send(child: Deno.ChildProcess | undefined, signal: Deno.Signal): void {
  try {
    child?.kill(signal);
  } catch (error) {
    // It has ended already.
    if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function exitCodeOfStop(status: Deno.CommandStatus): number {
  // By the signal itself, since nothing in the program listened for it.
  if (status.code === 130 || status.code === 143) return 0;
  if (status.signal === "SIGKILL") console.error("error: Killed the program: it did not stop in time");
  return status.code;
}
