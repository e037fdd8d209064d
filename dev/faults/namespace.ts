// Runs a program in new network namespaces, if the system allows it.

import { fileURLToPath } from "node:url";
import type { Random } from "../../tests/unit/support/random.ts";
import type { History } from "./history.ts";
import type { LogEntry } from "./node_log.ts";
import { NotAllowedError } from "./not_allowed_error.ts";

/**
 * The output of the program: the history, with logs as pairs of a node and its entries. All
 * published messages are kept.
 */
export interface PartitionReport extends Pick<History, "stored"> {
  readonly injected: readonly string[];
  readonly logs: readonly (readonly [node: string, log: readonly LogEntry[]])[];
}

/** Begins a command line: users, networks and mounts are apart from the system's. */
const UNSHARE = ["--user", "--map-root-user", "--net", "--mount"];

/**
 * Disconnects nodes from the network of their store, and reconnects them.
 *
 * @throws {NotAllowedError} If only an administrator may create networks, or the tools for it are
 * missing.
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
