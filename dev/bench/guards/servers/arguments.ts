// The arguments of a measured server, after those of the workloads: the guard, whether it is there,
// and what it needs.

import process from "node:process";

/** The name of the guard; "none" if there is none. */
export const guard: string = process.argv[4] ?? "none";

/** What the guard needs. */
export const argument: string = process.argv[5] ?? "";
