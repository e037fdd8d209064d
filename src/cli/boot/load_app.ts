// How the started program finds the application in the user's module. Sent as text: see ../boot.ts.

import { type App, isApp, protocolOf } from "./app.ts";
import { fail } from "./failure.ts";
import { failToLoad } from "./load_failure.ts";
import type { Load, Plan } from "./plan.ts";

/** Imports the module and gives the application that it exports. */
export async function loadApp(load: Load, plan: Plan): Promise<App> {
  const module = await load().catch((error) => failToLoad(error, plan));
  const names = plan.attribute === null ? ["app", "default"] : [plan.attribute];
  const name = names.find((name) => name in module);
  if (name === undefined) {
    const wanted = names.map((name) => `"${name}"`).join(" or ");
    const exported = Object.keys(module).map((name) => `"${name}"`).join(", ");
    return await fail(`Cannot find ${wanted} in "${plan.module}": it exports ${exported || "nothing"}`, plan);
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
