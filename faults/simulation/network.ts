// What lies between nodes and the database, and what it does to what is asked and to the answers.

import type { KvEngine } from "../../src/topics/kv/engine.ts";
import type { Random } from "../../tests/unit/support/random.ts";
import type { SimulatedDatabase } from "./database.ts";

/** What becomes of something that is asked. */
type Fate =
  /** It is carried out and answered. */
  | "well"
  /** It fails at once. */
  | "refused"
  /** It is never carried out, and nobody hears of it. */
  | "lost"
  /** It is carried out, and the answer is an error. */
  | "failed afterwards"
  /** It is carried out, and there is no answer. */
  | "not answered"
  /** It fails, and is carried out long afterwards. */
  | "failed and late"
  /** There is no answer, and it is carried out long afterwards. */
  | "late"
  /**
   * It is carried out and answered, and long afterwards it is carried out again, unless the
   * database was lost meanwhile.
   */
  | "doubled";

const TROUBLES = [
  "refused",
  "lost",
  "failed afterwards",
  "not answered",
  "failed and late",
  "late",
  "doubled",
] as const;

/** How a network behaves. */
export interface NetworkOptions {
  readonly database: SimulatedDatabase;
  readonly random: Random;
  /** Of so many things that are asked one comes into trouble; `Infinity` where none does. */
  readonly oneInTrouble: number;
  /**
   * How much later what was asked may be carried out, in milliseconds. What is remembered of
   * messages must outlast it.
   */
  readonly maxLate: number;
  /** How long a way takes at most, in milliseconds. */
  readonly maxDelay: number;
  /** For a negative control: whether writes check nothing. */
  readonly isBlind: boolean;
}

/** A node, as the network sees it. */
export interface Client {
  /**
   * Whether it was killed: what is on the way to the database is lost, and what is on the way back.
   */
  readonly isDead: boolean;
}

/** Lies between. */
export class Network {
  readonly #options: NetworkOptions;
  readonly #counts = new Map<Fate, number>();
  /** How much is carried out late. */
  #late = 0;
  #isCalm = false;
  /** Who is out of reach of the database. */
  #away: Client | "all" | undefined;

  /** Lies there. */
  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** How often what happened. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** How much was asked. */
  get asked(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Whether something will be carried out yet. */
  get isLate(): boolean {
    return this.#late > 0;
  }

  /**
   * Takes a node out of reach of the database, or all: what is asked is neither carried out nor
   * answered.
   */
  takeAway(client: Client | "all"): void {
    this.#away = client;
  }

  /** Brings them back. */
  bringBack(): void {
    this.#away = undefined;
  }

  /** From now on there is no trouble. */
  calm(): void {
    this.#isCalm = true;
    this.#away = undefined;
  }

  /** Connects a node, until the signal says that nobody wants it any more. */
  async connect(client: Client, signal: AbortSignal): Promise<KvEngine> {
    const { database, isBlind } = this.#options;
    const closing = new AbortController();
    const ask = <Result>(carryOut: () => Result) => this.#ask(client, carryOut, closing.signal);
    await this.#ask(client, () => undefined, signal);
    return {
      get: (keys) => ask(() => database.get(keys)),
      list: (from, to, limit) => ask(() => database.list(from, to, limit)),
      write: (write) => ask(() => database.write(isBlind ? { ...write, checks: [] } : write)),
      watch: (keys) => watch(database, () => ask(() => database.get(keys)), closing.signal),
      close: () => closing.abort(new Error("The connection was closed")),
    };
  }

  /**
   * Carries out what is asked, or not, and answers, or not. Nobody waits for an answer when the
   * connection has been closed. What is on the way to a database while it is set back gets lost: it
   * would be done again where it is as if it had never been done.
   */
  async #ask<Result>(client: Client, carryOut: () => Result, closing: AbortSignal): Promise<Result> {
    const { database } = this.#options;
    const { setBacks } = database;
    const fate = this.#fateOf();
    this.#counts.set(fate, (this.#counts.get(fate) ?? 0) + 1);
    await this.#travel();
    // Whoever goes on with the work of a dead node cannot know what is on the way: it may come
    // after what that one does.
    if (this.#away === "all" || this.#away === client || client.isDead) return await noAnswer(closing);
    if (database.setBacks !== setBacks) return await noAnswer(closing);
    if (fate === "refused") throw new Error("The network is in trouble");
    if (fate === "lost") return await noAnswer(closing);
    if (fate === "late" || fate === "failed and late" || fate === "doubled") {
      this.#carryOutLate(client, carryOut, fate === "doubled");
    }
    if (fate === "late") return await noAnswer(closing);
    if (fate === "failed and late") throw new Error("The network is in trouble");
    const result = carryOut();
    await this.#travel();
    if (client.isDead || fate === "not answered") return await noAnswer(closing);
    if (fate === "failed afterwards") throw new Error("The network is in trouble");
    return result;
  }

  #fateOf(): Fate {
    const { random, oneInTrouble } = this.#options;
    if (this.#isCalm || oneInTrouble === Infinity || !random.oneIn(oneInTrouble)) return "well";
    return random.pick(TROUBLES);
  }

  async #travel(): Promise<void> {
    const { random, maxDelay } = this.#options;
    // One in a while is held up.
    const longest = !this.#isCalm && random.oneIn(200) ? maxDelay * 500 : maxDelay;
    await new Promise((resolve) => setTimeout(resolve, random.below(longest)));
  }

  #carryOutLate(client: Client, carryOut: () => unknown, isAgain: boolean): void {
    const { database, random, maxLate } = this.#options;
    const { losses, setBacks } = database;
    this.#late++;
    setTimeout(() => {
      this.#late--;
      // What was on the way is lost if the database was set back. An empty database could not tell
      // a late first write of an ended incarnation from a new one.
      if (!client.isDead && database.setBacks === setBacks && !(isAgain && database.losses > losses)) carryOut();
    }, random.below(random.oneIn(2) ? 1_000 : maxLate));
  }
}

/**
 * Gives what there is now, and again when it may have changed; what it was in between may be left
 * out.
 */
async function* watch<Entries>(
  database: SimulatedDatabase,
  look: () => Promise<Entries>,
  closing: AbortSignal,
): AsyncGenerator<Entries> {
  let wake = Promise.withResolvers<void>();
  const end = database.watch(() => wake.resolve());
  const closed = new Promise<void>((resolve) => closing.addEventListener("abort", () => resolve()));
  try {
    while (!closing.aborted) {
      yield await look();
      await Promise.race([wake.promise, closed]);
      wake = Promise.withResolvers();
    }
  } finally {
    end();
  }
}

function noAnswer(closing: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (closing.aborted) reject(closing.reason);
    else closing.addEventListener("abort", () => reject(closing.reason));
  });
}
