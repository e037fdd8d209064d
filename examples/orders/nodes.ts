/**
 * Two nodes of the shop and the store that they share: `deno task orders`, then open what it prints. It also prints the process of
 * each node, to kill it with `kill -9`; a node that has ended comes back after some seconds.
 *
 * The store is what WEBFW_TOPICS names, such as the URL of a denokv, or else a file in a temporary folder. ORDERS_PORTS has the
 * ports of the nodes, unless they are to be 8001 and 8002.
 */
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const SERVE = fileURLToPath(new URL("serve.ts", import.meta.url));
const NAMES = ["one", "two"];
/** How long a node stays away, in milliseconds. */
const REST = 3_000;

const ports = (Deno.env.get("ORDERS_PORTS") ?? "8001,8002").split(",");
const nodes = NAMES.map((name, index) => `${name}=http://127.0.0.1:${ports[index]}`);
// What the nodes import is found as it was for this program.
const config = Deno.env.get("WEBFW_CONFIG");
const stopping = new AbortController();
const running = new Set<Deno.ChildProcess>();

for (const signal of Deno.build.os === "windows" ? ["SIGINT"] as const : ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, stop);
}

const given = Deno.env.get("WEBFW_TOPICS");
const folder = given ? undefined : await Deno.makeTempDir({ prefix: "orders_" });
try {
  const store = given ?? join(folder!, "topics.sqlite");
  console.log(`The store is ${store}`);
  await Promise.all(NAMES.map((name, index) => keepUp(name, nodes[index]!, store)));
} finally {
  if (folder) await Deno.remove(folder, { recursive: true });
}
Deno.exit();

/** Starts a node, and again whenever it has ended. */
async function keepUp(name: string, node: string, store: string): Promise<void> {
  while (!stopping.signal.aborted) {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--unstable-kv", "--quiet", ...(config ? ["--config", config] : []), SERVE],
      env: { ORDERS_NODE: name, ORDERS_NODES: nodes.join(","), WEBFW_TOPICS: store },
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

/** Waits until a node may come back, or all are told to stop. */
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
