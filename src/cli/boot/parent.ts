// How the started program ends with the command that started it. Sent as text: see ../boot.ts.

/**
 * Stops the program when the command is gone, which could not tell it if it was killed. Its standard input is not used
 * for that, because it belongs to the application.
 */
export function stopWithParent(parent: number): void {
  const killAfterMs = 15_000;
  // On Windows the number outlives the process.
  const watch = setInterval(() => {
    if (Deno.ppid === parent) return;
    clearInterval(watch);
    Deno.kill(Deno.pid, "SIGINT");
    Deno.unrefTimer(setTimeout(() => Deno.kill(Deno.pid, "SIGKILL"), killAfterMs));
  }, 500);
  Deno.unrefTimer(watch);
}
