// A run with simulated nodes, network, database and time. It can be repeated exactly, and is
// thousands of times faster than a real one.

import type { Random } from "../../../tests/unit/support/random.ts";
import { batchKeyAfter, headKey, INCARNATION_KEY, lowWatermarkKey } from "../../../src/store/kv/keys.ts";
import { toId, toPosition } from "../../../src/topics/message.ts";
import { LOG_START } from "../../../src/store/topic_store.ts";
import { check, type Findings, type History, type Stored } from "../history.ts";
import { type LogEntry, readersOf } from "../node_log.ts";
import { readStored, type UsedTopic } from "../workload.ts";
import { RetentionOracle } from "./retention_oracle.ts";
import { type Backup, SimulatedDatabase } from "./database.ts";
import { checkIncarnations, type StoredIncarnation } from "./incarnation_checker.ts";
import { drawConfig, keptBy, MAX_SKEW, type RunConfig } from "./run_config.ts";
import { Network } from "./network.ts";
import { SimulatedNode, TOPIC } from "./simulated_node.ts";
import { inVirtualTime } from "./virtual_time.ts";

const NAMES = ["a", "b", "c"] as const;

/** The longest time after which a hurried publish is aborted, in milliseconds. */
const MAX_HURRY = 50;
/**
 * The least number of versions by which a database is set back. A loss that new writes make up for
 * at once cannot be noticed.
 */
const MIN_SET_BACK = 600;
/** The longest time in which nodes must notice that a database was set back, in milliseconds. */
const NOTICING = 2_000;
/** How long the log is read at the end, in milliseconds. */
const READING = 10_000;
/** The quiet time at the end, in milliseconds. */
const QUIET = 60_000;
/**
 * The most requests of all nodes meanwhile: each polls the notification entries once a second, and
 * asks for the lease of the retention worker every five seconds.
 */
const MAX_ASKED_IN_QUIET = 400;
/**
 * How many more for each of the other topics: it is trimmed once or twice, by pages of two reads.
 */
const MAX_ASKED_FOR_OTHER = 15;

/** The leading zeros of all cursors: versions have 16 digits, and no run has that many writes. */
const ZEROS = 8;

/** How a run is made. */
export interface SimulationOptions {
  /** For a negative control: whether writes check nothing. */
  readonly isBlind?: boolean;
}

/** The result of a run. */
export interface SimulatedRun extends Findings {
  /** The logs of the nodes, by their names. */
  readonly logs: History["logs"];
  /** The injected faults, and their numbers. */
  readonly injected: ReadonlyMap<string, number>;
  /** How long it took, in virtual milliseconds. */
  readonly time: number;
}

/** Runs and checks a simulation. Nothing else may run in this process. */
export function simulate(random: Random, { isBlind = false }: SimulationOptions = {}): Promise<SimulatedRun> {
  return inVirtualTime(random, async () => {
    const begin = Date.now();
    const simulation = new Simulation(random, isBlind);
    const { logs, ...findings } = await simulation.run();
    const faults = [...findings.faults, ...simulation.faults];
    return { ...findings, faults, logs, injected: simulation.injected, time: Date.now() - begin };
  });
}

class Simulation {
  readonly #random: Random;
  readonly #config: RunConfig;
  readonly #database: SimulatedDatabase;
  readonly #network: Network;
  /** The databases that were lost. */
  readonly #lost: SimulatedDatabase[] = [];
  /** The ids of their incarnations. */
  readonly #ended = new Set<string>();
  readonly #backups: Backup[] = [];
  readonly #nodes = new Map<string, SimulatedNode>();
  readonly #logs = new Map<string, LogEntry[]>(NAMES.map((name) => [name, []]));
  readonly #injected = new Map<string, number>();
  readonly #faults: string[] = [];
  readonly #retention = new RetentionOracle();
  readonly #failure: PromiseWithResolvers<never> = Promise.withResolvers();

  constructor(random: Random, isBlind: boolean) {
    this.#random = random;
    this.#config = drawConfig(random);
    this.#database = new SimulatedDatabase(random);
    this.#network = this.#networkOf(this.#database, isBlind);
  }

  get injected(): ReadonlyMap<string, number> {
    return new Map([...this.#injected, ...this.#network.counts]);
  }

  /** The faults that the history does not show. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  run(): Promise<Pick<SimulatedRun, "logs" | keyof Findings>> {
    return Promise.race([this.#run(), this.#failure.promise]);
  }

  async #run(): Promise<Pick<SimulatedRun, "logs" | keyof Findings>> {
    for (const name of NAMES) this.#nodes.set(name, new SimulatedNode(name, 1, this.#config, this.#network));
    for (const node of this.#nodes.values()) this.#begin(node);
    await this.#disturb();
    this.#network.calm();
    // The nodes need one such time to notice that the database was set back.
    do await rest(NOTICING); while (this.#network.isLate || !this.#isPublished);
    const present = await this.#readAll(this.#network);
    // A reader that does not reach the end is reported as a fault.
    for (let waits = 0; waits < 600 && !this.#isRead(present.stored.at(-1)); waits++) await rest(1_000);
    await this.#checkOthers();
    await this.#checkQuiet();
    await this.#checkTrimmed();
    await Promise.all(Array.from(this.#nodes.values(), (node) => node.end()));
    return { logs: this.#logs, ...await this.#check(present) };
  }

  async #check(present: StoredIncarnation): Promise<Findings> {
    const { keeps } = keptBy(this.#config);
    const incarnations = [present];
    for (const database of this.#lost.toReversed()) {
      const stored = await this.#readAll(this.#networkOf(database));
      // If no node noticed that the database was set back, no message that a node knew may be lost.
      if (stored.id !== incarnations[0]!.id) incarnations.unshift(stored);
    }
    return incarnations.length > 1
      ? checkIncarnations(this.#logs, incarnations, keeps)
      : check({ logs: this.#logs, stored: present.stored, keeps });
  }

  #networkOf(database: SimulatedDatabase, isBlind = false): Network {
    return new Network({ database, random: this.#random, isBlind, ...this.#config });
  }

  get #isPublished(): boolean {
    return [...this.#nodes.values()].every(({ entries }) => entries.some(({ kind }) => kind === "published"));
  }

  #isRead(newest: Stored | undefined): boolean {
    return [...this.#nodes.values()].every(({ entries }) => readersOf(entries).every((last) => last === newest?.id));
  }

  /** The readers of the other topics must reach their ends, too. */
  async #checkOthers(): Promise<void> {
    for (const node of this.#nodes.values()) {
      for (let waits = 0; !await node.hasReadOthers(); waits++) {
        if (waits === 60) return void this.#faults.push(`${node.name}: it has not come to the end of another topic`);
        await rest(1_000);
      }
    }
  }

  /** Idle nodes must send few requests. */
  async #checkQuiet(): Promise<void> {
    const before = this.#network.asked;
    await rest(QUIET);
    const asked = this.#network.asked - before;
    if (asked > MAX_ASKED_IN_QUIET + this.#config.others * MAX_ASKED_FOR_OTHER) {
      this.#faults.push(`nodes: in a minute in which nothing was published they asked ${asked} times`);
    }
  }

  /** By now all must be removed that is not to be kept. */
  async #checkTrimmed(): Promise<void> {
    const { retention = {} } = this.#config.options;
    const [begin, end] = [batchKeyAfter(TOPIC, LOG_START), headKey(TOPIC)];
    if (retention.age !== undefined && this.#database.list(begin, end, 1).length > 0) {
      this.#faults.push("store: it has messages that are too old");
    }
    const { stored } = await this.#readAll(this.#network);
    const { most } = keptBy(this.#config);
    if (stored.length > most) {
      this.#faults.push(`store: it has ${stored.length} messages, and should have ${most} at most`);
    }
  }

  /** Nothing may be removed too early, whatever the clocks of the nodes. */
  #checkYoung(): void {
    const { age } = this.#config.options.retention ?? {};
    const [low] = this.#database.get([lowWatermarkKey(TOPIC)]);
    if (age === undefined || !low) return;
    const youngest = this.#retention.youngestUpTo(new TextDecoder().decode(low.value));
    if (youngest < Number(age) - MAX_SKEW) {
      this.#faults.push(`store: a message was removed within ${youngest} ms, and is to be kept for ${age}`);
    }
  }

  /** Disconnects and kills nodes, and loses databases, while the nodes publish. */
  async #disturb(): Promise<void> {
    const { kills, losses, outages } = this.#config;
    const random = this.#random;
    while (!this.#isPublished) {
      await rest(random.below(random.pick([50, 2_000, 20_000])));
      this.#checkYoung();
      if (kills && random.oneIn(3)) this.#kill(random.pick(NAMES));
      if (losses === "set back" && random.oneIn(4)) this.#backups.push(this.#database.backUp());
      if (losses !== "none" && random.oneIn(4)) {
        this.#lose();
        // The nodes that know the lost messages need time to notice.
        if (losses === "set back") await rest(NOTICING);
      }
      if (random.oneIn(3)) await this.#takeAway(random.below(random.pick(outages)));
    }
  }

  async #takeAway(ms: number): Promise<void> {
    const node = this.#random.oneIn(2) ? this.#nodes.get(this.#random.pick(NAMES))! : "all";
    this.#note(node === "all" ? "outage" : "partition");
    this.#network.takeAway(node);
    await rest(ms);
    this.#network.bringBack();
  }

  #lose(): void {
    const isRestored = this.#config.losses === "set back";
    const backups = this.#backups.filter(({ version }) => version + MIN_SET_BACK < this.#database.version);
    if (this.#lost.length > 3 || isRestored && backups.length === 0) return;
    const entry = this.#database.get([INCARNATION_KEY])[0];
    const id = entry && new TextDecoder().decode(entry.value);
    // No node would know of an incarnation that is lost before a node has seen it.
    if (id !== undefined && this.#ended.has(id)) return;
    if (id !== undefined) this.#ended.add(id);
    this.#note(isRestored ? "set back database" : "lost database");
    this.#lost.push(this.#database.lose(isRestored ? this.#random.pick(backups) : undefined));
  }

  #kill(name: string): void {
    const { generation } = this.#nodes.get(name)!;
    if (generation > 3) return;
    this.#note("killed node");
    this.#nodes.get(name)!.kill();
    const node = new SimulatedNode(name, generation + 1, this.#config, this.#network);
    this.#nodes.set(name, node);
    this.#begin(node);
  }

  #begin(node: SimulatedNode): void {
    const log = this.#logs.get(node.name)!;
    node.begin([...log], this.#wanderer(node), (entry) => {
      log.push(entry);
      this.#retention.note(node.name, entry);
    }).catch(this.#failure.reject);
  }

  /**
   * The topic as a node uses it: publishers rest or hurry, and readers change to other nodes at
   * times.
   */
  #wanderer(node: SimulatedNode): UsedTopic {
    const random = this.#random;
    const nodes = this.#nodes;
    const { pause, oneInHurry, oneInAhead, others } = this.#config;
    const isInHurry = () => oneInHurry < Infinity && random.oneIn(oneInHurry);
    const isAhead = () => oneInAhead < Infinity && random.oneIn(oneInAhead);
    return {
      publish: async (data, options) => {
        if (others > 0 && random.oneIn(2)) node.publishElsewhere(random.below(others));
        const signal = isInHurry()
          ? AbortSignal.any([options!.signal!, timeout(random.below(MAX_HURRY))])
          : options!.signal!;
        const result = await whileAlive(node, node.topic.publish(data, { ...options, signal }));
        await whileAlive(node, rest(pause()));
        return result;
      },
      subscribe: async function* (options) {
        const { topic } = random.oneIn(2) ? node : nodes.get(random.pick(NAMES))!;
        let left = random.oneIn(2) ? random.below(100) : Infinity;
        for await (const entry of topic.subscribe(options)) {
          yield entry;
          if (left-- <= 0) return;
        }
      },
      // Such a reader reads the whole log again, which takes too long at the end.
      placeAhead: (id) => !this.#isPublished && isAhead() ? this.#toAhead(id) : undefined,
    };
  }

  /** An id of the same incarnation, ahead of all ids of a run, which begin with more zeros. */
  #toAhead(id: string): string {
    const { incarnation, cursor } = toPosition(id);
    const digit = this.#random.below(ZEROS);
    this.#note("reader ahead");
    return toId(incarnation, `${cursor.slice(0, digit)}f${cursor.slice(digit + 1)}`);
  }

  /** Reads the content of a database, and its incarnation. */
  async #readAll(network: Network): Promise<StoredIncarnation> {
    network.calm();
    const node = new SimulatedNode("checker", 1, this.#config, network);
    const id = toPosition(await node.topic.head()).incarnation;
    const stored = await readStored(node.topic, timeout(READING));
    await node.end();
    return { id, stored };
  }

  #note(what: string): void {
    this.#injected.set(what, (this.#injected.get(what) ?? 0) + 1);
  }
}

/** A killed node gets no results any more. */
async function whileAlive<Result>(node: SimulatedNode, result: Promise<Result>): Promise<Result> {
  await Promise.allSettled([result]);
  return await (node.isDead ? new Promise<never>(() => {}) : result);
}

/** `AbortSignal.timeout` in virtual time. */
function timeout(ms: number): AbortSignal {
  const giveUp = new AbortController();
  setTimeout(() => giveUp.abort(new DOMException("No answer in time", "TimeoutError")), ms);
  return giveUp.signal;
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
