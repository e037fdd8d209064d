// How the started program tells that the user's module could not be loaded. Sent as text: see ../boot.ts.

import { endOrWait, failWith, isFrameOfBoot } from "./failure.ts";
import type { Plan } from "./plan.ts";

/** Tells in one line why a module was not found, parsed or linked, and with its stack what its own code threw. */
export async function failToLoad(error: unknown, plan: Plan): Promise<never> {
  if (!(error instanceof Error) || hasRun(error)) {
    return await failWith(`"${plan.module}" threw while it was loaded`, error, plan);
  }
  const { stripVTControlCharacters } = await import("node:util");
  const message = stripVTControlCharacters(error.message).replaceAll(/ (from|at) "?data:text\/javascript,\S*/g, "");
  const [problem = "", ...details] = message.split("\n").map((line) => line.trim());
  const cause = details.find((line) => line.startsWith("0: "))?.slice(1) ?? "";
  const place = details.findLast((line) => line.startsWith("at ")) ?? "";
  console.error(`error: Cannot load "${plan.module}": ${problem.replace(/\.$/, "")}${cause} ${place}`.trimEnd());
  const missing = /^Module not found "(file:[^"]+)"/.exec(problem);
  return await endOrWait(plan, missing?.[1] ?? null);
}

/** Whether an error comes from code of the program: if so, its stack has a frame of it. */
export function hasRun({ message, stack = "" }: Error): boolean {
  const frames = stack.slice(stack.indexOf(message) + message.length).split("\n")
    .filter((line) => /^\s+at .*:\d+:\d+\)?$/.test(line));
  return frames.length === 0 || !frames.every(isFrameOfBoot);
}
