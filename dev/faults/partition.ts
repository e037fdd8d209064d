// A run in which each node has its own network, joined to the store's network by a virtual cable
// that can be pulled. Start it in new namespaces, with a seed as its argument.

import { Denokv } from "../../tests/denokv/denokv.ts";
import { Random } from "../../tests/unit/support/random.ts";
import { Cluster } from "./cluster.ts";
import type { PartitionReport } from "./namespace.ts";
import { NODES, PLAN, TOTAL } from "./scenarios.ts";

/** Where all nodes find the store. */
const STORE = "10.78.0.1";

async function main(seed: number): Promise<void> {
  const random = new Random(seed);
  const injected: string[] = [];
  await run("mount", "-t", "tmpfs", "tmpfs", "/run");
  await ip("link set lo up");
  await ip(`addr add ${STORE}/32 dev lo`);
  for (const [index, node] of NODES.entries()) await join(node, `10.77.${index}`);
  await using server = await Denokv.start("0.0.0.0");
  const { token, port, url } = server;
  const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
  const plan = { ...PLAN, topics: { url: `http://${STORE}:${port}`, token } };
  await using cluster = new Cluster(folder, plan, NODES, (node) => ["ip", "netns", "exec", node]);
  cluster.start();
  await cluster.progress(1 + random.below(TOTAL / 3));
  const away = NODES.filter(() => random.below(2) === 0);
  if (away.length === 0) away.push(random.pick(NODES));
  for (const node of away) await ip(`link set to-${node} down`);
  const ms = 500 + random.below(5000);
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (const node of away) await ip(`link set to-${node} up`);
  injected.push(`took ${away.join(" and ")} off the store's network for ${ms} ms`);
  const { logs, stored } = await cluster.finish({ url, token });
  const report: PartitionReport = { injected, logs: [...logs], stored };
  console.log(JSON.stringify(report));
}

/** Connects a node to its network. */
async function join(node: string, network: string): Promise<void> {
  await ip(`netns add ${node}`);
  await ip(`link add to-${node} type veth peer name eth0 netns ${node}`);
  await ip(`addr add ${network}.1/30 dev to-${node}`);
  await ip(`link set to-${node} up`);
  await ip(`-n ${node} addr add ${network}.2/30 dev eth0`);
  await ip(`-n ${node} link set eth0 up`);
  await ip(`-n ${node} link set lo up`);
  await ip(`-n ${node} route add default via ${network}.1`);
}

async function ip(command: string): Promise<void> {
  await run("ip", ...command.split(" "));
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  if (!success) throw new Error(`Cannot run ${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}

if (import.meta.main) await main(Number(Deno.args[0]));
