// Counts the outcomes of runs by kind, for the progress and the last lines.

import type { Scenario } from "./scenarios.ts";

/** The outcome of a run. */
export type Outcome = "clean" | "faulty" | "skipped";

/** Progress is printed after this many runs. */
const PRINT_EACH = 100;

/** The outcomes of all runs. */
export class Summary {
  readonly #planned: number;
  readonly #begin = performance.now();
  readonly #counts = new Map<string, Record<Outcome, number>>();
  readonly #faulty: string[] = [];
  #done = 0;

  /** Counts up to a number of runs. */
  constructor(planned: number) {
    this.#planned = planned;
  }

  /** Whether no run had faults. */
  get isClean(): boolean {
    return this.#faulty.length === 0;
  }

  /** Counts a run. */
  add({ name }: Scenario, seed: number, outcome: Outcome): void {
    const counts = this.#counts.get(name) ?? { clean: 0, faulty: 0, skipped: 0 };
    this.#counts.set(name, { ...counts, [outcome]: counts[outcome] + 1 });
    if (outcome === "faulty") this.#faulty.push(`${name} of seed ${seed}`);
    if (++this.#done % PRINT_EACH === 0) console.log(this.#progress());
  }

  /** Prints the counts. */
  print(): void {
    for (const [name, { clean, faulty, skipped }] of this.#counts) {
      console.log(`${name.padEnd(16)} ${clean} clean, ${faulty} with faults, ${skipped} skipped`);
    }
    console.log(this.#progress());
    for (const run of this.#faulty) console.error(`FAULT in ${run}`);
  }

  #progress(): string {
    const seconds = Math.round((performance.now() - this.#begin) / 1000);
    return `${this.#done} of ${this.#planned} runs in ${seconds} s, ${this.#faulty.length} with faults`;
  }
}
