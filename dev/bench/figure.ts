// A figure of a measurement. Each measurement prints its figures. If it was started for the table
// of all measurements, it also writes them to a file.

import type { Spread } from "./http/statistics.ts";

/** A figure of a contestant, and its ratio to the reference. */
export interface Figure {
  /** The name of the measurement. */
  measure: string;
  /** The name of the contestant. */
  contestant: string;
  /** The contestant that the ratio refers to; absent if there is no ratio. */
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

/** Writes a figure to the file for the table, if there is one. */
export function note(figure: Figure): void {
  const file = Deno.env.get(FIGURES_FILE);
  if (file) Deno.writeTextFileSync(file, JSON.stringify(figure) + "\n", { append: true });
}

/** The figures that were noted in a file. */
export async function readFigures(file: string): Promise<Figure[]> {
  const lines = (await Deno.readTextFile(file)).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}
