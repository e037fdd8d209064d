/**
 * One node of a shop. `deno task orders` starts two of them. Alone it runs at
 * http://127.0.0.1:8000, by `webfw run main.ts:app`, `deno run -A --unstable-kv serve.ts` or
 * `deno serve -A --unstable-kv main.ts`.
 *
 * ORDERS_NODES names all nodes, `one=http://127.0.0.1:8001,two=http://127.0.0.1:8002`, and
 * ORDERS_NODE the one that this is. WEBFW_TOPICS is the store that they share: the path of a file
 * on one machine, or the URL of a denokv.
 *
 * ORDERS_MAILS is the folder of the mails. ORDERS_MAIL_MS says how long a mail takes, and
 * ORDERS_LEASE_MS how long those of a node that was killed wait, both in milliseconds.
 */
import type { Node } from "./models.ts";
import { orders } from "./orders.ts";

const nodes = (Deno.env.get("ORDERS_NODES") ?? "one=http://127.0.0.1:8000").split(",").map(toNode);
const own = nodes.find(({ name }) => name === (Deno.env.get("ORDERS_NODE") ?? "one"));
if (own === undefined) throw new Error("Cannot start: ORDERS_NODE names none of ORDERS_NODES");

/** The address of this node. */
export const url = own.url;
export const app = orders({
  node: own.name,
  nodes,
  mail: {
    folder: Deno.env.get("ORDERS_MAILS") ?? "mails",
    takes: Number(Deno.env.get("ORDERS_MAIL_MS") ?? 1_000),
    lease: Number(Deno.env.get("ORDERS_LEASE_MS") ?? 10_000),
  },
});

/** For `deno serve`. */
export default app;

function toNode(text: string): Node {
  const [name = "", url = ""] = text.split("=");
  return { name, url: new URL(url).origin };
}
