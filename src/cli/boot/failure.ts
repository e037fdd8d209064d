// How the started program tells of a failure and ends, in a watcher or not. Sent as text: see ../boot.ts.

import type { Plan } from "./plan.ts";

/** Tells of a failure in one line; the program ends with exit code 1, or waits for an edit. */
export async function fail(message: string, plan: Plan): Promise<never> {
  console.error(`error: ${message}`);
  return await endOrWait(plan, null);
}

/** Tells of a failure that no edit can mend; the program ends with exit code 1, and its watcher too. */
export function failForGood(message: string, plan: Plan): never {
  console.error(`error: ${message}`);
  // Deno.exit() would leave the watcher waiting.
  if (plan.isWatched) Deno.kill(Deno.pid, "SIGKILL");
  Deno.exit(1);
}

/** Tells what the user's own code threw, with its stack; the program ends with exit code 1, or waits for an edit. */
export async function failWith(message: string, thrown: unknown, plan: Plan): Promise<never> {
  const colors = !Deno.noColor && Deno.stderr.isTerminal();
  const report = Deno.inspect(thrown, { colors }).split("\n").filter((line) => !isFrameOfBoot(line));
  console.error(`error: ${message}\n${report.join("\n")}`);
  return await endOrWait(plan, null);
}

/** Whether a line of a stack belongs to the text that was sent. */
export function isFrameOfBoot(line: string): boolean {
  return /^\s+at .*data:text\/javascript,/.test(line);
}

/**
 * Resolves when a watcher has taken in the files that were read. It does so beside the program, some turns of the event
 * loop later and without a word; an edit before that goes unseen.
 */
export async function watcherIsReady(plan: Plan): Promise<void> {
  if (plan.isWatched) await new Promise((resolve) => setTimeout(resolve, 100));
}

/** Ends the program; in a watcher it waits for the next edit, or for a missing file to appear. */
export async function endOrWait(plan: Plan, missing: string | null): Promise<never> {
  if (!plan.isWatched) Deno.exit(1);
  await watcherIsReady(plan);
  console.error("Waiting for a change");
  // The watcher looks at the files that were read: it would not see this one appear.
  const isAwaited = missing !== null && Deno.build.os !== "windows";
  return await new Promise(() => {
    setInterval(() => {
      if (isAwaited && isReadable(new URL(missing))) Deno.kill(Deno.pid, "SIGHUP");
    }, 200);
  });
}

/** Whether a file exists, as far as that can be known without asking for permission. */
export function isReadable(file: URL): boolean {
  if (
    Deno.permissions.querySync({ name: "read", path: file }).state !== "granted"
  ) return false;
  try {
    return Deno.statSync(file).isFile;
  } catch {
    return false; // still missing
  }
}
