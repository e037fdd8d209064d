// How the started program prints the OpenAPI document of an application. Sent as text: see ../boot.ts.

import { isWebfwApp } from "./app.ts";
import { fail, failWith } from "./failure.ts";
import { loadApp } from "./load_app.ts";
import { stopWithParent } from "./parent.ts";
import type { Load, Plan } from "./plan.ts";

/** Prints the document and ends the program. What the module prints goes to stderr: stdout has the document alone. */
export async function printDocument(load: Load, plan: Plan): Promise<never> {
  stopWithParent(plan.parent);
  for (const method of ["log", "info", "debug", "table", "dir"] as const) console[method] = console.error;
  const app = await loadApp(load, plan);
  if (!isWebfwApp(app) || app.openapi === undefined) {
    return await fail(`Cannot describe "${plan.module}": it is no App`, plan);
  }
  let text: string;
  try {
    text = JSON.stringify(app.openapi(), null, 2);
  } catch (error) {
    return await failWith(`Cannot describe "${plan.module}"`, error, plan);
  }
  const bytes = new TextEncoder().encode(`${text}\n`);
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
  Deno.exit(0);
}
