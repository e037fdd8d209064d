// What a measurement found, in a form that the table of all of them can hold. Each of them prints
// what it finds; where the table has started it, it notes the same figures in a file, too.

import type { Spread } from "./http/statistics.ts";

/** A figure of a contestant, beside that of its reference. */
export interface Figure {
  /** What was measured. */
  measure: string;
  /** Whose figure it is. */
  contestant: string;
  /** Whose figure it is divided by; nothing where it stands alone. */
  reference?: string;
  /** The figure: a median. */
  value: number;
  unit: string;
  /** How many times that of the reference. */
  ratio?: Spread;
  /** Rounds, or processes, of each contestant. */
  rounds: number;
}

/** The variable of the environment that names the file. */
export const FIGURES_FILE = "WEBFW_FIGURES";

/** Notes a figure for the table, if there is to be one. */
export function note(figure: Figure): void {
  const file = Deno.env.get(FIGURES_FILE);
  if (file) Deno.writeTextFileSync(file, JSON.stringify(figure) + "\n", { append: true });
}

/** The figures that were noted in a file. */
export async function readFigures(file: string): Promise<Figure[]> {
  const lines = (await Deno.readTextFile(file)).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}
