// The programs whose start is measured, and which of them is compared with which.

import { join } from "node:path";
import { ownProgram } from "../own_program.ts";

/** A program that is started over and over. */
export interface Contestant {
  name: string;
  /** What it is. */
  description: string;
  /** The name of the contestant that it is compared with. */
  reference: string;
  /** The file of the program, and its arguments. */
  program: string[];
  /** How many times the first reply of the reference its own may take, and how many bytes it may hold beyond; if it is bound. */
  bounds?: { time: number; memory: number };
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
    name: "one",
    description: "an application of one route",
    reference: "bare",
    program: ["webfw.ts", "1"],
    bounds: { time: 1.25, memory: 12 * MIB },
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
];

/** The command that starts a contestant, with flags of Deno's. */
export function commandOf({ program: [file = "", ...args] }: Contestant, flags: string[]): string[] {
  return [...ownProgram(join(import.meta.dirname!, "servers", file), ...flags), ...args];
}
