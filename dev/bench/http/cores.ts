// The cores of the servers and of the load generator.

import { isInstalled } from "./programs.ts";

/** A prefix for the command of each side; empty where processes cannot be pinned. */
export interface Cores {
  server: string[];
  client: string[];
  /** A description for the report. */
  description: string;
}

/**
 * Pins the servers to one core and the load generator to another, if there are `taskset` and two
 * cores.
 */
export async function chooseCores(): Promise<Cores> {
  const [server, client] = await allowedCores();
  if (
    server === undefined || client === undefined ||
    !await isInstalled("taskset")
  ) {
    return { server: [], client: [], description: "processes not pinned" };
  }
  return {
    server: ["taskset", "-c", `${server}`],
    client: ["taskset", "-c", `${client}`],
    description: `servers pinned to core ${server}, load to core ${client}`,
  };
}

async function allowedCores(): Promise<number[]> {
  if (Deno.build.os !== "linux") return [];
  const status = await Deno.readTextFile("/proc/self/status");
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? "";
  return list.split(",").flatMap((range) => {
    const [first = NaN, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}
