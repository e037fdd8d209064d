// The programs whose start is measured, and their references.

import { join } from "node:path";
import { ownProgram } from "../own_program.ts";
import type { Release } from "./release.ts";

/** A program that is started over and over. */
export interface Contestant {
  name: string;
  /** A description for the report. */
  description: string;
  /** The name of the contestant that it is compared with. */
  reference: string;
  /** The file of the program, and its arguments. */
  program: string[];
  /** Whether it runs the bundles of a release, as users do, in place of the modules. */
  isBundled?: boolean;
  /** Whether the path of a database is its first argument. */
  hasDatabase?: boolean;
  /**
   * The greatest time and CPU time of the first reply, as ratios to the reference, and the most
   * additional bytes of memory; absent without limits.
   */
  bounds?: { time?: number; cpu?: number; memory?: number };
}

const MIB = 1024 * 1024;

/** The routes of an application that has many. */
const MANY = 100;

/** All contestants. */
export const CONTESTANTS: Contestant[] = [
  {
    name: "bare",
    description: "Deno.serve with one handler, and nothing else",
    reference: "bare",
    program: ["bare.ts"],
  },
  {
    name: "release",
    description: "an application of one route, from the bundles of a release",
    reference: "bare",
    program: ["webfw.ts", "1"],
    isBundled: true,
    bounds: { cpu: 2.2, memory: 16 * MIB },
  },
  {
    name: "one",
    description: "the same from the modules, like all below",
    reference: "bare",
    program: ["webfw.ts", "1"],
  },
  {
    name: "many",
    description: `an application of ${MANY} routes with models`,
    reference: "bare",
    program: ["webfw.ts", `${MANY}`],
  },
  {
    name: "tools",
    description: "the same, but every route is a tool, which no agent calls",
    reference: "many",
    program: ["webfw.ts", `${MANY}`, "tools"],
    // The noise of a run.
    bounds: { time: 1.05, memory: MIB },
  },
  {
    name: "durable",
    description: "an application of one route and a durable topic on a file, which is not used",
    reference: "one",
    program: ["durable.ts"],
    hasDatabase: true,
    bounds: { time: 1.5 },
  },
  {
    name: "publish",
    description: "the same, but the first reply publishes to it",
    reference: "one",
    program: ["durable.ts", "publish"],
    hasDatabase: true,
    bounds: { time: 1.5 },
  },
  {
    name: "commit",
    description: "Deno.serve with one handler that commits to Deno KV on a file",
    reference: "bare",
    program: ["bare_commit.ts"],
    hasDatabase: true,
  },
];

/** The command that starts a contestant, with flags of Deno's. Databases are kept in the directory. */
export function commandOf(
  { name, program: [file = "", ...args], isBundled = false, hasDatabase = false }: Contestant,
  flags: string[],
  directory: string,
  release: Release,
): string[] {
  const path = join(import.meta.dirname!, "servers", file);
  const program = isBundled ? release.command(path, ...flags) : ownProgram(path, ...flags);
  return [...program, ...hasDatabase ? [join(directory, `${name}.sqlite`)] : [], ...args];
}
