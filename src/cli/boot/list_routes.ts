// How the started program prints the route table of an application. Sent as text: see ../boot.ts.

import { isWebfwApp } from "./app.ts";
import { fail } from "./failure.ts";
import { loadApp } from "./load_app.ts";
import { stopWithParent } from "./parent.ts";
import type { Load, Plan } from "./plan.ts";

/** Prints method, path and operation id of each route, in the order of the table, and ends the program. */
export async function listRoutes(load: Load, plan: Plan): Promise<never> {
  stopWithParent(plan.parent);
  const app = await loadApp(load, plan);
  if (!isWebfwApp(app)) return await fail(`Cannot list the routes of "${plan.module}": it is no App`, plan);
  const rows = [["METHOD", "PATH", "OPERATION"]];
  for (const { method, path, operationId } of app.routes) {
    rows.push([method, path, operationId ?? ""]);
  }
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows) {
    console.log(
      row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")
        .trimEnd(),
    );
  }
  Deno.exit(0);
}
