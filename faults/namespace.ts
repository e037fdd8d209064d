// Runs a program in network namespaces of its own, where the system allows it.

import { fileURLToPath } from "node:url";
import type { Random } from "../tests/unit/support/random.ts";
import type { History } from "./history.ts";
import type { LogEntry } from "./node_log.ts";
import { NotAllowedError } from "./not_allowed_error.ts";

/**
 * What the program prints: what happened, where the logs are pairs of the node and its entries. All
 * that is published is kept.
 */
export interface PartitionReport extends Pick<History, "stored"> {
  readonly injected: readonly string[];
  readonly logs: readonly (readonly [node: string, log: readonly LogEntry[]])[];
}

/** Begins a command line: users, networks and mounts are apart from the system's. */
const UNSHARE = ["--user", "--map-root-user", "--net", "--mount"];

/**
 * Takes nodes off the network of their store, and back.
 *
 * @throws {NotAllowedError} Where nobody but the system's administrator may make networks, or it
 * has no tools for that.
 */
export async function runPartition(random: Random, tell: (injected: string) => void): Promise<History> {
  if (!await isAllowed()) throw new NotAllowedError("This system does not let a program have network namespaces");
  const config = Deno.env.get("WEBFW_CONFIG");
  const program = fileURLToPath(new URL("partition.ts", import.meta.url));
  const flags = ["-A", "--quiet", "--no-check", "--no-lock", ...config ? ["--config", config] : []];
  const { code, stdout } = await new Deno.Command("unshare", {
    args: [...UNSHARE, Deno.execPath(), "run", ...flags, program, `${random.below(2 ** 31)}`],
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (code !== 0) throw new Error(`Cannot finish the run in network namespaces: exit code ${code}`);
  const { injected, logs, stored } = JSON.parse(new TextDecoder().decode(stdout)) as PartitionReport;
  for (const text of injected) tell(text);
  return { logs: new Map(logs), stored, keeps: Infinity };
}

async function isAllowed(): Promise<boolean> {
  const script = "mount -t tmpfs tmpfs /run && ip netns add a && ip link add probe type veth peer name eth0 netns a";
  try {
    const args = [...UNSHARE, "sh", "-c", script];
    return (await new Deno.Command("unshare", { args, stdin: "null", stdout: "null", stderr: "null" }).output())
      .success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
