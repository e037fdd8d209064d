// The network between nodes and the database, with its failures.

import type { KvEngine } from "../../../src/store/kv/engine.ts";
import type { Random } from "../../../tests/unit/support/random.ts";
import type { SimulatedDatabase } from "./database.ts";

/** The fate of a request. */
type Fate =
  /** It is carried out and answered. */
  | "well"
  /** It fails at once. */
  | "refused"
  /** The request is lost. */
  | "lost"
  /** It is carried out, and the answer is an error. */
  | "failed afterwards"
  /** The request is carried out, and the reply is lost. */
  | "not answered"
  /** It fails, and is carried out long afterwards. */
  | "failed and late"
  /** The reply is lost, and the request is carried out long afterwards. */
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
  /** One in this many requests fails; `Infinity` for none. */
  readonly oneInTrouble: number;
  /** The greatest delay of a request, in milliseconds. Dedup entries must live longer. */
  readonly maxLate: number;
  /** The longest delay in one direction, in milliseconds. */
  readonly maxDelay: number;
  /** For a negative control: whether writes check nothing. */
  readonly isBlind: boolean;
}

/** A node, as the network sees it. */
export interface Client {
  /** Whether the node was killed. Its requests and replies on the way are then lost. */
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

  /** How often each fate occurred. */
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

  /** Cuts off one node or all: requests are neither carried out nor answered. */
  takeAway(client: Client | "all"): void {
    this.#away = client;
  }

  /** Brings them back. */
  bringBack(): void {
    this.#away = undefined;
  }

  /** Ends all failures. */
  calm(): void {
    this.#isCalm = true;
    this.#away = undefined;
  }

  /** Connects a node, until the signal is aborted. */
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
   * Carries out a request, or not, and replies, or not. Nothing waits for a reply after the
   * connection is closed. Requests on the way to a database while it is restored are lost: they
   * would run again on a database that has forgotten them.
   */
  async #ask<Result>(client: Client, carryOut: () => Result, closing: AbortSignal): Promise<Result> {
    const { database } = this.#options;
    const { setBacks } = database;
    const fate = this.#fateOf();
    this.#counts.set(fate, (this.#counts.get(fate) ?? 0) + 1);
    await this.#travel();
    // The node that continues the work of a dead node cannot know which requests are on the way:
    // they may arrive after its own.
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
    // One request in a while is delayed much longer.
    const longest = !this.#isCalm && random.oneIn(200) ? maxDelay * 500 : maxDelay;
    await new Promise((resolve) => setTimeout(resolve, random.below(longest)));
  }

  #carryOutLate(client: Client, carryOut: () => unknown, isAgain: boolean): void {
    const { database, random, maxLate } = this.#options;
    const { losses, setBacks } = database;
    this.#late++;
    setTimeout(() => {
      this.#late--;
      // A request on the way is lost if the database was restored. An empty database could not tell
      // a late first write of an ended incarnation from a new one.
      if (!client.isDead && database.setBacks === setBacks && !(isAgain && database.losses > losses)) carryOut();
    }, random.below(random.oneIn(2) ? 1_000 : maxLate));
  }
}

/**
 * Yields the present entries, and again when they may have changed. It may skip states in between.
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
