// `deno task fault consumers`: consumers on three nodes, faults, and a checker that compares what the
// nodes wrote down with the promises of consumers.

import { parseArgs } from "@std/cli/parse-args";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCount, readNames, refuseUnknown, select } from "../../bench/command.ts";
import { App } from "../../mod.ts";
import { Denokv } from "../../tests/denokv/denokv.ts";
import { Random } from "../../tests/unit/support/random.ts";
import type { DeadLetter } from "../../types.ts";
import { checkConsumer } from "./check.ts";
import type { Line, NodePlan, Task, Trouble } from "./plan.ts";

const USAGE = `Breaks nodes and stores of consumers, and checks what the nodes did.

Options:
  --seeds <n>      runs on each store (default 2)
  --from <n>       the first seed (default 1)
  --only <a,b>     stores: denokv, file
  --help           print this text`;

const STORES = [{ name: "denokv" }, { name: "file" }] as const;
const NODES = 3;
/** How long the nodes may take to come to the end after all faults, in milliseconds. */
const PATIENCE = 90_000;

/** Runs the scenarios that the arguments name, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const parsed = parseArgs(args, {
    string: ["seeds", "from", "only"],
    boolean: ["help"],
    unknown: refuseUnknown,
  });
  if (parsed.help) {
    console.log(USAGE);
    return 0;
  }
  const first = readCount(parsed.from ?? "1");
  const last = first + readCount(parsed.seeds ?? "2") - 1;
  let [runs, bad] = [0, 0];
  for (let seed = first; seed <= last; seed++) {
    for (const { name } of select([...STORES], readNames(parsed.only))) {
      if (signal.aborted) break;
      const faults = await run(seed, name);
      runs++;
      if (faults.length > 0) bad++;
      for (const fault of faults.slice(0, 10)) console.error(`  FAULT ${fault}`);
    }
  }
  console.log(`${runs} runs, ${bad} with faults`);
  signal.throwIfAborted();
  return bad === 0 ? 0 : 1;
}

async function run(seed: number, store: "denokv" | "file"): Promise<string[]> {
  const random = new Random(seed);
  const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
  const server = store === "denokv" ? await Denokv.start() : undefined;
  const topics = server ? { url: server.url, token: server.token } : join(folder, "topics.sqlite");
  const scene = new Scene(random, folder, {
    ...{ topics, concurrency: random.pick([1, 4, 16]), lease: random.pick([1_000, 2_000]) },
    ...{ attempts: random.pick([2, 3, 5]), hasKeys: random.oneIn(2) },
  }, server);
  const begin = performance.now();
  try {
    const faults = await scene.run();
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    console.log(`consumers ${store} seed ${seed}: ${scene.summary}; ${faults.length} faults, ${seconds} s`);
    return faults;
  } finally {
    scene.end();
    await server?.[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
}

/** One run. */
class Scene {
  readonly #random: Random;
  readonly #folder: string;
  readonly #plan: Omit<NodePlan, "name" | "log">;
  readonly #server: Denokv | undefined;
  readonly #nodes = new Map<string, Deno.ChildProcess>();
  readonly #tasks: Task[] = [];
  readonly #troubles: Trouble[] = [];
  readonly #injected: string[] = [];
  #starts = 0;
  #handled = 0;

  constructor(random: Random, folder: string, plan: Omit<NodePlan, "name" | "log">, server: Denokv | undefined) {
    this.#random = random;
    this.#folder = folder;
    this.#plan = plan;
    this.#server = server;
  }

  get summary(): string {
    const { concurrency, lease, hasKeys, attempts } = this.#plan;
    const kind = `${concurrency} at a time, lease ${lease} ms, ${attempts} tries${hasKeys ? ", keys" : ""}`;
    return `${kind}; ${this.#injected.join(", ")}; ${this.#tasks.length} messages, ${this.#handled} handlers`;
  }

  async run(): Promise<string[]> {
    const app = new App({ topics: this.#plan.topics });
    const orders = app.topic<Task>("orders", { durable: true });
    const failed = app.topic<DeadLetter<Task>>("failed", { durable: true });
    for (let index = 0; index < NODES; index++) this.#startNode();
    const isOver = { value: false };
    const publishing = this.#publish(orders, isOver);
    for (let count = 2 + this.#random.below(4); count > 0; count--) {
      await rest(300 + this.#random.below(2_000));
      await this.#disturb();
    }
    isOver.value = true;
    await publishing;
    while (this.#nodes.size < NODES) this.#startNode();
    const end = performance.now() + PATIENCE;
    const isDone = async () => {
      const [report] = (await app.reportTopics()).topics.filter(({ name }) => name === "orders");
      const consumer = report?.consumers[0];
      return consumer?.lag === 0 && consumer.position === report!.head;
    };
    while (!await isDone() && performance.now() < end) await rest(200);
    const faults = await isDone() ? [] : ["the nodes have not come to the end"];
    const givenUp: number[] = [];
    await using letters = failed.subscribe({ from: "earliest" });
    const { messages = 0 } = (await app.reportTopics()).topics.find(({ name }) => name === "failed") ?? {};
    while (givenUp.length < messages) {
      const { value } = await letters.next();
      if (value && "data" in value) givenUp.push(value.data.data!.number);
    }
    await this.#stopAll();
    const lines = await this.#lines();
    this.#handled = lines.filter(({ kind }) => kind === "begin").length;
    faults.push(...checkConsumer({
      ...{ plan: this.#plan, tasks: this.#tasks, lines, givenUp },
      ...{ troubles: this.#troubles, disturbances: this.#injected.length },
    }));
    await app.stop();
    return faults;
  }

  /** Kills what still runs. */
  end(): void {
    for (const node of this.#nodes.values()) node.kill("SIGKILL");
  }

  async #publish(
    orders: { publish(data: Task, options: { id: string }): Promise<unknown> },
    isOver: { readonly value: boolean },
  ): Promise<void> {
    const random = this.#random;
    while (!isOver.value) {
      const task: Task = {
        number: this.#tasks.length,
        key: `key ${random.below(20)}`,
        time: random.oneIn(50) ? 800 : random.below(40),
        plan: random.oneIn(10) ? random.pick(["throws once", "throws once", "throws", "discards"]) : "works",
      };
      this.#tasks.push(task);
      // A publish whose outcome is unknown is made again under its id.
      while (!await orders.publish(task, { id: `${task.number}` }).then(() => true, () => false));
      await rest(random.below(10));
    }
  }

  async #disturb(): Promise<void> {
    const random = this.#random;
    const [name, node] = random.pick([...this.#nodes]);
    const { lease } = this.#plan;
    switch (random.below(this.#server ? 5 : 3)) {
      case 0:
        node.kill("SIGKILL");
        this.#troubles.push({ kind: "killed", node: name, from: wallNow(), to: wallNow() });
        this.#nodes.delete(name);
        this.#injected.push("killed a node");
        return this.#startNode();
      case 1: {
        const ms = random.below(3 * lease);
        const from = wallNow();
        node.kill("SIGSTOP");
        await rest(ms);
        node.kill("SIGCONT");
        // Its timers fire when it has time again.
        this.#troubles.push({ kind: "frozen", node: name, from, to: wallNow() + lease / 4 });
        this.#injected.push(`froze a node for ${ms} ms`);
        return;
      }
      case 2:
        node.kill("SIGTERM");
        await node.status;
        this.#nodes.delete(name);
        this.#injected.push("stopped a node");
        return this.#startNode();
      case 3: {
        const ms = random.below(2 * lease);
        await this.#server!.kill();
        await rest(ms);
        await this.#server!.startAgain();
        this.#injected.push(`killed the store for ${ms} ms`);
        return;
      }
      case 4: {
        const ms = random.below(2 * lease);
        this.#server!.freeze();
        await rest(ms);
        this.#server!.thaw();
        this.#injected.push(`froze the store for ${ms} ms`);
      }
    }
  }

  #startNode(): void {
    const name = `node${++this.#starts}`;
    const plan: NodePlan = { ...this.#plan, name, log: join(this.#folder, `${name}.log`) };
    const isShown = Deno.env.get("FAULT_LOG") === "1";
    const config = Deno.env.get("WEBFW_CONFIG");
    const node = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--unstable-kv", "--no-lock", "--quiet", ...(config ? ["--config", config] : [])],
        ...[fileURLToPath(new URL("node.ts", import.meta.url)), JSON.stringify(plan)],
      ],
      stdout: isShown ? "inherit" : "null",
      stderr: isShown ? "inherit" : "null",
    }).spawn();
    this.#nodes.set(name, node);
  }

  async #stopAll(): Promise<void> {
    for (const node of this.#nodes.values()) node.kill("SIGTERM");
    await Promise.all(Array.from(this.#nodes.values(), ({ status }) => status));
    this.#nodes.clear();
  }

  async #lines(): Promise<Line[]> {
    const lines: Line[] = [];
    for await (const { name } of Deno.readDir(this.#folder)) {
      if (!name.endsWith(".log")) continue;
      const text = await Deno.readTextFile(join(this.#folder, name));
      // The last line may be cut off, where the node was killed.
      lines.push(...text.split("\n").slice(0, -1).map((line): Line => JSON.parse(line)));
    }
    return lines;
  }
}

/** The time as nodes write it down. */
function wallNow(): number {
  return performance.timeOrigin + performance.now();
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
