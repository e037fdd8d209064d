// How the started program finds the application in the user's module. Sent as text: see ../boot.ts.

import { type App, isApp, protocolOf } from "./app.ts";
import { endOrWait, fail, failWith, isFrameOfBoot } from "./failure.ts";
import type { Load, Plan } from "./plan.ts";

/** Imports the module and gives the application that it exports. */
export async function loadApp(load: Load, plan: Plan): Promise<App> {
  const module = await load().catch((error) => failToLoad(error, plan));
  const names = plan.attribute === null ? ["app", "default"] : [plan.attribute];
  const name = names.find((name) => name in module);
  if (name === undefined) {
    const wanted = names.map((name) => `"${name}"`).join(" or ");
    const exported = Object.keys(module).map((name) => `"${name}"`).join(", ");
    return await fail(
      `Cannot find ${wanted} in "${plan.module}": it exports ${
        exported || "nothing"
      }`,
      plan,
    );
  }
  const value = module[name];
  if (isApp(value)) return value;
  const protocol = protocolOf(value);
  return await fail(
    protocol === undefined
      ? `Cannot use "${name}" of "${plan.module}": it is neither an App nor an object with a "fetch" function`
      : `Cannot use "${name}" of "${plan.module}": it needs version ${protocol} of the command's protocol, this is 1`,
    plan,
  );
}

/**
 * Tells why a module was not loaded: in one line if it could not be found, parsed or linked, with the stack if its own
 * code threw.
 */
export async function failToLoad(error: unknown, plan: Plan): Promise<never> {
  const { message, stack } = error instanceof Error
    ? error
    : { message: "", stack: "" };
  const frames =
    (stack ?? "").split(message).at(-1)?.split("\n").filter((line) =>
      /^\s+at /.test(line)
    ) ?? [];
  const hasRun = frames.length === 0 || !frames.every(isFrameOfBoot);
  if (hasRun) {
    return await failWith(
      `"${plan.module}" threw while it was loaded`,
      error,
      plan,
    );
  }
  const { stripVTControlCharacters } = await import("node:util");
  const [problem = "", ...lines] = stripVTControlCharacters(message).split("\n")
    .map((line) => line.trim());
  const cause =
    lines.find((line) => line.startsWith("0: "))?.replace("0: ", ": ") ?? "";
  const place =
    lines.findLast((line) => line.startsWith("at "))?.replace("at ", " at ") ??
      "";
  console.error(
    `error: Cannot load "${plan.module}": ${
      problem.replace(/\.$/, "")
    }${cause}${place}`,
  );
  return await endOrWait(
    plan,
    /^Module not found "(file:[^"]+)"/.exec(problem)?.[1] ?? null,
  );
}
