// What the nodes of a run did, and what is wrong with it.

import type { ResolvedRate } from "../../../../src/topics/consume_options.ts";

/** The data of a message: what its handler does. */
export interface Task {
  readonly number: number;
  readonly key: string;
  /** How long the handler takes, in milliseconds. */
  readonly time: number;
  readonly plan: "works" | "obedient" | "throws" | "throws once" | "discards";
}

/** An event that is no handler. */
export type Event =
  | { readonly kind: "killed" | "stopped"; readonly node: string }
  | { readonly kind: "frozen"; readonly node: string; readonly ms: number }
  | { readonly kind: "given up"; readonly number: number };

/** A handler. */
export interface Run {
  readonly node: string;
  readonly number: number;
  readonly key: string;
  readonly attempt: number;
  readonly begin: number;
  isAborted: boolean;
  outcome: "done" | "failed" | "aborted" | "killed" | undefined;
  end(outcome: "done" | "failed" | "aborted"): void;
}

/** What the checker knows of the consumer. */
export interface Rules {
  readonly attempts: number;
  readonly hasKeys: boolean;
  /** How long a node may be silent before others have its messages, in milliseconds. */
  readonly lease: number;
  readonly rate: ResolvedRate | undefined;
}

/** Looks at each step of the nodes as it happens. */
export class Journal {
  readonly faults: string[] = [];
  /** The numbers of the messages that are done or given up. */
  readonly finished = new Set<number>();
  readonly givenUp = new Set<number>();
  handled = 0;
  /** How often a node may not have been able to say what has become of messages. */
  unsaid = 0;
  readonly #rules: Rules;
  readonly #running = new Set<Run>();
  /** When handlers got messages, and how many. */
  #given: (readonly [time: number, messages: number])[] = [];
  /** How often each message has failed, apart from tries of which the record may not know. */
  readonly #failures = new Map<number, Run[]>();
  /** Numbers by key, in the order of the log. */
  readonly #byKey = new Map<string, number[]>();
  /** When each node was killed, stood still, or could not reach its store. */
  readonly #troubles = new Map<string, number[]>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** A handler gets messages. */
  give(messages: number): void {
    const { rate } = this.#rules;
    if (!rate) return;
    const now = Date.now();
    this.#given = [...this.#given.filter(([time]) => time > now - rate.per), [now, messages]];
    const sum = this.#given.reduce((sum, [, count]) => sum + count, 0);
    if (sum > rate.limit) this.faults.push(`${sum} messages in ${rate.per} ms, and at most ${rate.limit} are allowed`);
  }

  /** A message was stored. */
  published({ number, key }: Task): void {
    this.#byKey.set(key, [...this.#byKey.get(key) ?? [], number]);
  }

  note(event: Event): void {
    if (event.kind === "given up") {
      this.finished.add(event.number);
      this.givenUp.add(event.number);
      return;
    }
    this.unsaid++;
    const now = Date.now();
    const until = event.kind === "frozen" ? now + event.ms : now;
    this.#troubles.set(event.node, [...this.#troubles.get(event.node) ?? [], until]);
    if (event.kind === "frozen") return;
    for (const run of this.#running) {
      if (run.node !== event.node) continue;
      run.outcome = "killed";
      this.#running.delete(run);
    }
  }

  begin({ node, number, key, attempt }: Pick<Run, "node" | "number" | "key" | "attempt">): Run {
    const run: Run = {
      ...{ node, number, key, attempt, begin: Date.now(), isAborted: false, outcome: undefined },
      end: (outcome) => this.#end(run, outcome),
    };
    this.#check(run);
    this.#running.add(run);
    return run;
  }

  #check(run: Run): void {
    const { number, key, attempt, node } = run;
    if (attempt < 1 || attempt > this.#rules.attempts) this.faults.push(`message ${number}: try ${attempt}`);
    for (const other of this.#running) {
      if (other.node === node ? other.number !== number : !this.#lives(other)) continue;
      if (other.number === number) this.faults.push(`message ${number} is held by ${other.node} and ${node}`);
    }
    if (!this.#rules.hasKeys) return;
    for (const other of this.#running) {
      if (other.key === key && other.number !== number && (other.node === node || this.#lives(other))) {
        this.faults.push(`key ${key}: ${other.number} and ${number} at once, on ${other.node} and ${node}`);
      }
    }
    for (const earlier of this.#byKey.get(key) ?? []) {
      if (earlier >= number) break;
      if (!this.finished.has(earlier)) this.faults.push(`key ${key}: ${number} before ${earlier}`);
    }
  }

  /** Whether the node of a handler must be the only one. */
  #lives({ node, isAborted }: Run): boolean {
    const last = this.#troubles.get(node)?.at(-1) ?? -Infinity;
    // It has just woken, and its timers are about to abort its signals.
    return !isAborted && Date.now() > last + this.#rules.lease;
  }

  #end(run: Run, outcome: "done" | "failed" | "aborted"): void {
    this.#running.delete(run);
    run.outcome = outcome;
    this.handled++;
    if (outcome === "done") this.finished.add(run.number);
    if (outcome === "failed") this.#failures.set(run.number, [...this.#failures.get(run.number) ?? [], run]);
  }

  /** Checks a run that has come to its end. */
  finish(published: readonly number[]): void {
    for (const number of published) {
      if (!this.finished.has(number)) this.faults.push(`message ${number} was never handled`);
    }
    for (const [number, runs] of this.#failures) {
      const tries = new Map<number, number>();
      for (const { attempt } of runs) tries.set(attempt, (tries.get(attempt) ?? 0) + 1);
      const most = Math.max(...tries.values());
      // A try of which its node could not say that it had failed is made again.
      if (most > 1 + this.unsaid) this.faults.push(`message ${number} was tried ${most} times as the same try`);
    }
  }
}
