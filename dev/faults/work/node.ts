// What the programs of all nodes have in common: their plan, their log, their clock and their end.

import { MovedClock } from "../../../tests/spec/support/moved_clock.ts";
import type { Location } from "./store.ts";
import { wallNow } from "./trouble.ts";

/** The part of the plan that all nodes have. */
export interface NodePlan {
  readonly name: string;
  /** The path of its log. */
  readonly log: string;
  readonly topics: Location;
  /** How far its clock is ahead when it starts, in milliseconds. */
  readonly ahead: number;
}

/** A line of the log of a node. Times are in milliseconds since 1970. */
export interface LogLine {
  readonly kind: string;
  readonly node: string;
  readonly time: number;
}

/** A node that had no time of a processor. */
export interface StallLine extends LogLine {
  readonly kind: "stood still";
  readonly from: number;
}

/** How often a node looks whether it gets time of a processor, in milliseconds. */
const TICK = 20;
/** It stands still if it gets none for this long. */
const STALL = 100;

/** The process of a node. */
export class NodeProcess<Plan extends NodePlan> {
  readonly plan: Plan = JSON.parse(Deno.args[0]!);
  /** Resolves when the node receives the command to stop. */
  readonly stopped: Promise<void>;
  readonly #file = Deno.openSync(this.plan.log, { append: true, create: true });
  readonly #encoder = new TextEncoder();
  readonly #clock = new MovedClock();

  constructor() {
    this.#clock.advance(this.plan.ahead);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.stopped = promise;
    Deno.addSignalListener("SIGTERM", resolve);
    this.#watchStalls();
    this.#obey();
  }

  /** Writes a line before the next step, so that it is there if the process is killed. */
  note(line: { readonly kind: string; readonly [field: string]: unknown }): void {
    const text = JSON.stringify({ node: this.plan.name, time: wallNow(), ...line });
    this.#file.writeSync(this.#encoder.encode(`${text}\n`));
  }

  #watchStalls(): void {
    let last = wallNow();
    setInterval(() => {
      const now = wallNow();
      if (now - last > STALL) this.note({ kind: "stood still", from: last });
      last = now;
    }, TICK);
  }

  /**
   * Sets the clock by what it is told: how many milliseconds it is ahead. It ends with the program
   * that tells it.
   */
  async #obey(): Promise<void> {
    let { ahead } = this.plan;
    for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
      const told = Number(text.trim().split("\n").at(-1));
      this.#clock.advance(told - ahead);
      ahead = told;
    }
    Deno.exit(1);
  }
}
