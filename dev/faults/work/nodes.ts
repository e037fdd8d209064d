// The processes of the nodes of a run, and their logs.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LogLine, NodePlan, StallLine } from "./node.ts";
import { type Break, type SharedStore, Wire } from "./store.ts";
import { type Trouble, wallNow } from "./trouble.ts";

/** How many nodes there are. */
export const NODES = 3;
/** How long a node that goes on needs until its timers have fired, in milliseconds. */
const AWAKE = 250;
/** How long the nodes may take to start, in milliseconds. */
const PATIENCE = 60_000;

/** How the nodes of a run are made. */
export interface NodesSetup<Plan extends NodePlan> {
  readonly store: SharedStore;
  /** For logs. */
  readonly folder: string;
  /** The program of a node. */
  readonly program: URL;
  /** The plan of a node. Its number, counted from 1, only matters in controls. */
  readonly planOf: (index: number) => Omit<Plan, keyof NodePlan>;
}

interface Node {
  readonly process: Deno.ChildProcess;
  readonly orders: WritableStreamDefaultWriter<Uint8Array>;
  readonly wire: Wire;
}

/** Some nodes. Disposing of them kills them. */
export class Nodes<Plan extends NodePlan> implements AsyncDisposable {
  /** What was done to them. */
  readonly troubles: Trouble[] = [];
  readonly #setup: NodesSetup<Plan>;
  readonly #nodes = new Map<string, Node>();
  readonly #encoder = new TextEncoder();
  #starts = 0;
  /** How far the clock of nodes that are started is ahead, in milliseconds. */
  #ahead = 0;

  constructor(setup: NodesSetup<Plan>) {
    this.#setup = setup;
  }

  /** Those that run. */
  get names(): readonly string[] {
    return [...this.#nodes.keys()];
  }

  /** Starts nodes until all are there. Their clocks may be set. */
  fill(ahead: number = this.#ahead): void {
    while (this.#nodes.size < NODES) this.#start(ahead);
  }

  #start(ahead: number): void {
    const { store, folder, program, planOf } = this.#setup;
    const name = `node${++this.#starts}`;
    const wire = new Wire(store);
    const base: NodePlan = { name, log: join(folder, `${name}.log`), topics: wire.location, ahead };
    const isShown = Deno.env.get("FAULT_LOG") === "1";
    const config = Deno.env.get("WEBFW_CONFIG");
    const process = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--unstable-kv", "--no-lock", "--no-check", "--quiet"],
        ...(config ? ["--config", config] : []),
        ...[fileURLToPath(program), JSON.stringify({ ...planOf(this.#starts), ...base })],
      ],
      stdin: "piped",
      stdout: isShown ? "inherit" : "null",
      stderr: isShown ? "inherit" : "null",
    }).spawn();
    this.#nodes.set(name, { process, wire, orders: process.stdin.getWriter() });
  }

  /** Waits until all nodes have started. */
  async ready(): Promise<void> {
    const end = performance.now() + PATIENCE;
    for (;; await rest(50)) {
      const ready = new Set((await this.lines()).filter(({ kind }) => kind === "ready").map(({ node }) => node));
      if (this.names.every((name) => ready.has(name))) return;
      if (performance.now() > end) throw new Error("Cannot start the nodes: they do not say that they are ready");
    }
  }

  /** Kills a node without a warning. */
  async kill(name: string): Promise<void> {
    await this.#end(name, "SIGKILL");
  }

  /** Asks a node to stop. */
  async stop(name: string): Promise<void> {
    await this.#end(name, "SIGTERM");
  }

  async #end(name: string, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const { process, wire, orders } = this.#nodes.get(name)!;
    this.#nodes.delete(name);
    process.kill(signal);
    const kind = signal === "SIGKILL" ? "killed" : "stopped";
    this.troubles.push({ kind, node: name, from: wallNow(), to: Infinity });
    await process.status;
    await orders.close().catch(() => {});
    wire[Symbol.dispose]();
  }

  /** Suspends a node for so many milliseconds. */
  async freeze(name: string, ms: number): Promise<void> {
    const { process } = this.#nodes.get(name)!;
    const from = wallNow();
    process.kill("SIGSTOP");
    await rest(ms);
    process.kill("SIGCONT");
    this.troubles.push({ kind: "frozen", node: name, from, to: wallNow() + AWAKE });
  }

  /** Breaks the way of a node to its store for so many milliseconds. */
  async cutOff(name: string, how: Break, ms: number): Promise<void> {
    const { wire } = this.#nodes.get(name)!;
    const from = wallNow();
    wire.break(how);
    await rest(ms);
    wire.mend();
    this.troubles.push({ kind: "cut off", node: name, from, to: wallNow() + this.#setup.store.recovery });
  }

  /** Sets the clock of a node, or of all. */
  setClock(name: string | undefined, ahead: number): void {
    if (name === undefined) this.#ahead = ahead;
    for (const node of name === undefined ? this.names : [name]) this.#tell(node, ahead);
  }

  #tell(name: string, ahead: number): void {
    this.#nodes.get(name)?.orders.write(this.#encoder.encode(`${ahead}\n`)).catch(() => {});
  }

  /** What all nodes have written down so far. What they say of standing still is no line. */
  async lines<Line extends LogLine>(): Promise<Line[]> {
    return (await this.#allLines()).filter((line): line is Line => line.kind !== "stood still");
  }

  /** What was done to nodes, and when they stood still by themselves. */
  async allTroubles(): Promise<Trouble[]> {
    const stalls = (await this.#allLines()).filter((line): line is StallLine => line.kind === "stood still");
    const own = stalls.map(({ node, from, time }): Trouble => ({ kind: "frozen", node, from, to: time + AWAKE / 5 }));
    return [...this.troubles, ...own];
  }

  async #allLines(): Promise<LogLine[]> {
    const { folder } = this.#setup;
    const lines: LogLine[] = [];
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(".log")) continue;
      const text = await Deno.readTextFile(join(folder, name));
      // The last line may be cut off, where the node was killed.
      lines.push(...text.split("\n").slice(0, -1).map((line): LogLine => JSON.parse(line)));
    }
    return lines.sort((one, other) => one.time - other.time);
  }

  /** Asks all nodes to stop. */
  async stopAll(): Promise<void> {
    await Promise.all(this.names.map((name) => this.stop(name)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.names.map((name) => this.kill(name)));
  }
}

/** Waits. */
export function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
