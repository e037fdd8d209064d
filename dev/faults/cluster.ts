// The nodes of a run, and their logs.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { App } from "../../mod.ts";
import { type History, mostKept, type Stored } from "./history.ts";
import { type LogEntry, LogFile, readersOf } from "./node_log.ts";
import type { NodePlan } from "./node.ts";
import { readStored } from "./workload.ts";

/** How long it is waited while no node writes anything down, in milliseconds. */
const PATIENCE = 60_000;
/** How often the logs are looked at. */
const LOOK_MS = 50;
/** The time between two checks whether enough messages were removed. */
const TRIM_LOOK_MS = 1_000;

/** The part of the plan that is equal for all nodes of a run. */
export type ClusterPlan = Omit<NodePlan, "name" | "generation" | "log">;

/**
 * A prefix of the command that starts a node: empty, or a program that runs the rest of its command
 * line.
 */
export type Launcher = (node: string) => readonly string[];

/** Some nodes. Disposing of them kills them. */
export class Cluster implements AsyncDisposable {
  readonly #folder: string;
  readonly #plans: readonly Omit<NodePlan, "generation">[];
  readonly #launcher: Launcher;
  readonly #logs: ReadonlyMap<string, LogFile>;
  readonly #nodes = new Map<string, Deno.ChildProcess>();
  /** The generation of each node. */
  readonly #generations = new Map<string, number>();

  /** Makes a cluster whose nodes have not started. */
  constructor(folder: string, plan: ClusterPlan, names: readonly string[], launcher: Launcher = () => []) {
    this.#folder = folder;
    this.#launcher = launcher;
    this.#plans = names.map((name) => ({ ...plan, name, log: join(folder, `${name}.log`) }));
    this.#logs = new Map(this.#plans.map(({ name, log }) => [name, new LogFile(log)]));
  }

  /** Starts all nodes. */
  start(): void {
    for (const plan of this.#plans) this.startNode(plan.name);
  }

  /** Starts a node, again after it was killed. */
  startNode(name: string): void {
    const plan = this.#plans.find((plan) => plan.name === name)!;
    const generation = (this.#generations.get(name) ?? 0) + 1;
    this.#generations.set(name, generation);
    const config = Deno.env.get("WEBFW_CONFIG");
    const [program = Deno.execPath(), ...args] = [...this.#launcher(name), Deno.execPath()];
    const node = new Deno.Command(program, {
      args: [
        ...args,
        "run",
        "-A",
        "--quiet",
        "--no-check",
        "--no-lock",
        ...config ? ["--config", config] : [],
        fileURLToPath(new URL("node.ts", import.meta.url)),
        JSON.stringify({ ...plan, generation } satisfies NodePlan),
      ],
      stdin: "null",
      stdout: "null",
      stderr: Deno.env.get("FAULT_LOG") === "1" ? "inherit" : "null",
    }).spawn();
    this.#nodes.set(name, node);
  }

  /** Kills a node without a warning. */
  async killNode(name: string): Promise<void> {
    const node = this.#nodes.get(name)!;
    this.#nodes.delete(name);
    node.kill("SIGKILL");
    await node.status;
  }

  /** Waits until this many publishes have been acknowledged. */
  async progress(count: number): Promise<void> {
    await this.#until(`${count} publishes are acknowledged`, () => {
      let acknowledged = 0;
      for (const { entries } of this.#logs.values()) {
        for (const { kind } of entries) if (kind === "ok") acknowledged++;
      }
      return acknowledged >= count;
    });
  }

  /** Waits until all is published and read, ends the nodes, and returns their logs. */
  async finish(location: NodePlan["topics"]): Promise<History> {
    await this.#until("all is published", () => {
      return this.#presentLogs().every((log) => log.some(({ kind }) => kind === "published"));
    });
    const plan = this.#plans[0]!;
    let stored = await readAll(location, plan);
    const head = stored.at(-1)!.id;
    await this.#until("all is read", () => {
      return this.#presentLogs().every((log) => readersOf(log).every((last) => last === head));
    }).catch(() => {
      // Reported later as a fault of these readers.
    });
    const keeps = plan.options.retention?.count ?? Infinity;
    const most = mostKept(keeps, plan.publishers);
    for (let looks = 0; stored.length > most && looks < PATIENCE / TRIM_LOOK_MS; looks++) {
      await rest(TRIM_LOOK_MS);
      stored = await readAll(location, plan);
    }
    for (const node of this.#nodes.values()) node.kill("SIGTERM");
    await Promise.all([...this.#nodes].map(([name, node]) => ended(name, node)));
    this.#nodes.clear();
    this.#look();
    const logs = new Map([...this.#logs].map(([name, { entries }]) => [name, entries]));
    return { logs, stored, keeps, most };
  }

  /** The log entries of each node since its last start; empty before its first entry. */
  #presentLogs(): (readonly LogEntry[])[] {
    return [...this.#logs].map(([name, { entries }]) => {
      const begin = entries.findLastIndex((entry) =>
        entry.kind === "begin" && entry.generation === this.#generations.get(name)
      );
      return begin < 0 ? [] : entries.slice(begin);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes.values()) node.kill("SIGKILL");
    await Promise.all([...this.#nodes.values()].map((node) => node.status));
    await Deno.remove(this.#folder, { recursive: true });
  }

  /** Waits for something that the logs show, as long as they grow. */
  async #until(what: string, isSo: () => boolean): Promise<void> {
    let grownAt = performance.now();
    for (let isNew = true;; isNew = this.#look()) {
      if (isNew && isSo()) return;
      if (isNew) grownAt = performance.now();
      if (performance.now() - grownAt > PATIENCE) throw new Error(`Cannot wait longer until ${what}`);
      await rest(LOOK_MS);
    }
  }

  /** Reads the new log entries of the nodes, and returns whether there are any. */
  #look(): boolean {
    return [...this.#logs.values()].map((log) => log.look()).includes(true);
  }
}

/** A node that leaves a connection open would never end. */
async function ended(name: string, { status }: Deno.ChildProcess): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`Node ${name} does not end`)), PATIENCE);
  await Promise.race([status, late]);
  clearTimeout(timer);
}

async function readAll(location: NodePlan["topics"], { options }: ClusterPlan): Promise<Stored[]> {
  const app = new App({ topics: location });
  const stored = await readStored(app.topic("orders", options));
  await app.stop();
  return stored;
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
