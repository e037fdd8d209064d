// Counts runs by their kinds, for the last lines and for progress.

import type { Scenario } from "./scenarios.ts";

/** What became of a run. */
export type Outcome = "clean" | "faulty" | "skipped";

/** How often progress is told, in runs. */
const TELL_EACH = 100;

/** What became of all runs. */
export class Tally {
  readonly #planned: number;
  readonly #begin = performance.now();
  readonly #counts = new Map<string, Record<Outcome, number>>();
  readonly #faulty: string[] = [];
  #done = 0;

  /** Counts up to a number of runs. */
  constructor(planned: number) {
    this.#planned = planned;
  }

  /** Whether nothing was wrong. */
  get isClean(): boolean {
    return this.#faulty.length === 0;
  }

  /** Counts a run. */
  add({ name }: Scenario, seed: number, outcome: Outcome): void {
    const counts = this.#counts.get(name) ?? { clean: 0, faulty: 0, skipped: 0 };
    this.#counts.set(name, { ...counts, [outcome]: counts[outcome] + 1 });
    if (outcome === "faulty") this.#faulty.push(`${name} of seed ${seed}`);
    if (++this.#done % TELL_EACH === 0) console.log(this.#progress());
  }

  /** Prints all of it. */
  tell(): void {
    for (const [name, { clean, faulty, skipped }] of this.#counts) {
      console.log(`${name.padEnd(13)} ${clean} clean, ${faulty} with faults, ${skipped} skipped`);
    }
    console.log(this.#progress());
    for (const run of this.#faulty) console.error(`FAULT in ${run}`);
  }

  #progress(): string {
    const seconds = Math.round((performance.now() - this.#begin) / 1000);
    return `${this.#done} of ${this.#planned} runs in ${seconds} s, ${this.#faulty.length} with faults`;
  }
}
