// `deno task bench many`: nodes that subscribe to many durable topics on one denokv. The memory of a
// topic, the CPU time of a node that waits, the time to start, and the delay of a burst of one message
// on each topic. Figures never decide the exit code.

import { parseArgs } from "@std/cli/parse-args";
import { Denokv } from "../../../tests/denokv/denokv.ts";
import { readCount, refuseUnknown } from "../command.ts";
import { note } from "../figure.ts";
import { ownProgram } from "../own_program.ts";
import type { Plan, Received, Started } from "./node.ts";

const USAGE = `Measures nodes that subscribe to many durable topics, on a denokv of this machine.

Options:
  --nodes <n>    nodes (default 10)
  --topics <n>   topics of each node (default 1000)
  --idle <ms>    how long they wait for the CPU time (default 10000)
  --quick        2 nodes with 20 topics
  --help         print this text`;

/** Measures, and returns the exit code. */
export async function main(args: string[], signal: AbortSignal): Promise<number> {
  const parsed = parseArgs(args, {
    string: ["nodes", "topics", "idle"],
    boolean: ["quick", "help"],
    unknown: refuseUnknown,
  });
  if (parsed.help) {
    console.log(USAGE);
    return 0;
  }
  const nodes = readCount(parsed.nodes ?? (parsed.quick ? "2" : "10"));
  const topics = readCount(parsed.topics ?? (parsed.quick ? "20" : "1000"));
  const idle = readCount(parsed.idle ?? (parsed.quick ? "100" : "10000"));
  await using server = await Denokv.start();
  Deno.env.set("DENO_KV_ACCESS_TOKEN", server.token);
  console.log(`Deno ${Deno.version.deno}, denokv, ${Deno.build.target}; ${nodes} nodes with ${topics} topics\n`);
  const open: ManyTopicsNode[] = [];
  try {
    const begin = performance.now();
    for (let count = 0; count < nodes; count++) open.push(new ManyTopicsNode({ url: server.url, topics }, signal));
    const started = await Promise.all(open.map((node) => node.answer<Started>()));
    show("start, the slowest of all nodes, with its process", performance.now() - begin, "ms", nodes);
    show("start, its subscriptions", Math.max(...started.map(({ start }) => start)), "ms", nodes);
    show("heap of a topic", median(started.map(({ heap }) => heap)) / 1024, "KiB", nodes);
    show("memory of the process for a topic", median(started.map(({ rss }) => rss)) / 1024, "KiB", nodes);
    await ask(open, "cpu");
    await new Promise((resolve) => setTimeout(resolve, idle));
    const waited = await ask<number>(open, "cpu");
    show("CPU of a node that waits", 100 * median(waited) / idle, "% of a core", nodes);
    for (const burst of ["first", "second"]) {
      const begin = performance.now();
      await open[0]!.ask("publish");
      show(`${burst} burst, published`, performance.now() - begin, "ms", nodes);
      const received = await ask<Received>(open, "received");
      show(`${burst} burst, received by all nodes`, performance.now() - begin, "ms", nodes);
      const delays = received.flatMap(({ delays }) => delays).sort((a, b) => a - b);
      show(`${burst} burst, median delay`, delays[Math.floor(delays.length / 2)]!, "ms", nodes);
      show(`${burst} burst, p99 of the delay`, delays[Math.floor(delays.length * 0.99)]!, "ms", nodes);
      const cpu = received.reduce((sum, { cpu }) => sum + cpu, 0);
      show(`${burst} burst, CPU time of all nodes for a delivery`, cpu / delays.length, "ms", nodes);
    }
    const ended = await ask<Started>(open, "memory");
    show("heap of a topic after them", median(ended.map(({ heap }) => heap)) / 1024, "KiB", nodes);
    show("memory of the process for a topic after them", median(ended.map(({ rss }) => rss)) / 1024, "KiB", nodes);
  } finally {
    await Promise.all(open.map((node) => node.close()));
  }
  return 0;
}

class ManyTopicsNode {
  readonly #process: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #output: ReadableStreamDefaultReader<string>;
  #text = "";

  constructor(plan: Plan, signal: AbortSignal) {
    const file = new URL("node.ts", import.meta.url).pathname;
    const [command, ...args] = ownProgram(file, "--v8-flags=--expose-gc", "--no-check");
    this.#process = new Deno.Command(command!, {
      args: [...args, JSON.stringify(plan)],
      ...{ stdin: "piped", stdout: "piped", signal },
    }).spawn();
    this.#stdin = this.#process.stdin.getWriter();
    this.#output = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  async answer<Answer>(): Promise<Answer> {
    while (!this.#text.includes("\n")) {
      const { done, value } = await this.#output.read();
      if (done) throw new Error("A node has ended");
      this.#text += value;
    }
    const end = this.#text.indexOf("\n");
    const line = this.#text.slice(0, end);
    this.#text = this.#text.slice(end + 1);
    return JSON.parse(line);
  }

  async ask<Answer>(command: string): Promise<Answer> {
    await this.#stdin.write(new TextEncoder().encode(`${command}\n`));
    return await this.answer();
  }

  async close(): Promise<void> {
    await this.#stdin.close().catch(() => {});
    await this.#output.cancel().catch(() => {});
    await this.#process.status;
  }
}

async function ask<Answer>(nodes: readonly ManyTopicsNode[], command: string): Promise<Answer[]> {
  return await Promise.all(nodes.map((node) => node.ask<Answer>(command)));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function show(contestant: string, value: number, unit: string, rounds: number): void {
  console.log(`  ${contestant.padEnd(52)}${value.toFixed(value < 100 ? 2 : 0).padStart(9)} ${unit}`);
  note({ measure: "many topics", contestant, value, unit, rounds });
}
