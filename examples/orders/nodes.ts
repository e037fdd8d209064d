/**
 * Starts two nodes of the shop and the store that they share: `deno task orders`. Open the address
 * that it prints. It also prints the process id of each node, for `kill -9`. A node that has ended
 * restarts after some seconds.
 *
 * WEBFW_TOPICS names the store, such as the URL of a denokv. By default it is a file in a temporary
 * folder, as are the mails unless ORDERS_MAILS names another one. ORDERS_PORTS has the ports of the nodes, 8001 and 8002 by default.
 */
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const SERVE = fileURLToPath(new URL("serve.ts", import.meta.url));
const NAMES = ["one", "two"];
/** How long a node stays away, in milliseconds. */
const REST = 3_000;

const ports = (Deno.env.get("ORDERS_PORTS") ?? "8001,8002").split(",");
const nodes = NAMES.map((name, index) => `${name}=http://127.0.0.1:${ports[index]}`);
// The nodes use the configuration that this program was started with.
const config = Deno.env.get("WEBFW_CONFIG");
const stopping = new AbortController();
const running = new Set<Deno.ChildProcess>();

for (const signal of Deno.build.os === "windows" ? ["SIGINT"] as const : ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, stop);
}

const given = Deno.env.get("WEBFW_TOPICS");
const folder = await Deno.makeTempDir({ prefix: "orders_" });
const mails = Deno.env.get("ORDERS_MAILS") ?? join(folder, "mails");
try {
  const store = given ?? join(folder, "topics.sqlite");
  console.log(`The store is ${store}, the mails are in ${mails}`);
  await Promise.all(NAMES.map((name, index) => keepUp(name, nodes[index]!, store)));
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit();

/** Starts a node, and again whenever it has ended. */
async function keepUp(name: string, node: string, store: string): Promise<void> {
  while (!stopping.signal.aborted) {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--unstable-kv", "--quiet", ...(config ? ["--config", config] : []), SERVE],
      env: { ORDERS_NODE: name, ORDERS_NODES: nodes.join(","), WEBFW_TOPICS: store, ORDERS_MAILS: mails },
    }).spawn();
    running.add(child);
    console.log(`Node ${node.replace("=", ": ")}, process ${child.pid}`);
    const { code, signal } = await child.status;
    running.delete(child);
    if (stopping.signal.aborted) return;
    console.log(`Node ${name} has ended by ${signal ?? `code ${code}`}, it comes back in ${REST / 1_000} s`);
    await rest();
  }
}

/** Waits until a node may restart, or all must stop. */
async function rest(): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, REST);
    stopping.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function stop(): void {
  stopping.abort();
  for (const child of running) child.kill("SIGTERM");
}
