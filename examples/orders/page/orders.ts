// The page: the orders of one node, and of another one when that does not answer. All nodes give the same orders in the
// same order under the same ids, so any of them goes on where another one has stopped.

import { client, ProblemError } from "@webfw/core/client";
import type * as v from "valibot";
import type { Node, Order, TakenOrder } from "../models.ts";
import type * as api from "../shop.ts";

/** How long a node may take to reply to an order, in milliseconds. */
const PATIENCE = 10_000;
/** How long to wait before an order is sent again, in milliseconds. */
const PAUSE = 300;

const state = byId("state");
const rows = byId("orders") as HTMLTableSectionElement;
const count = byId("count");
const receipt = byId("receipt");

const nodes = await client<typeof api>("").get("/nodes");
/** The one that requests go to: first the one that has sent the page. */
let node = nodes.find(({ url }) => url === location.origin) ?? nodes[0]!;
/** The one that the stream of orders was last at. */
let streaming: Node | undefined;

const shop = client<typeof api>("", { fetch: sendToNode });

/** Sends a request to the node that has answered last. If it does not answer, the next one has its turn. */
async function sendToNode(request: Request): Promise<Response> {
  const { method, headers, signal } = request;
  const { pathname, search } = new URL(request.url);
  const isStream = pathname === "/orders/events";
  // The stream comes back, so it has lost its node.
  if (isStream && streaming) leave(streaming);
  const asked = node;
  try {
    const body = method === "POST" ? await request.blob() : null;
    const response = await fetch(new URL(pathname + search, asked.url), { method, headers, signal, body });
    if (isStream) {
      streaming = asked;
      if (response.ok) show(`Connected to node ${asked.name}`, true);
    }
    return response;
  } catch (error) {
    leave(asked);
    throw error;
  }
}

/** Goes to the next node, unless another request has done so already. */
function leave(lost: Node): void {
  if (node !== lost) return;
  node = nodes[(nodes.indexOf(lost) + 1) % nodes.length]!;
  show(`Lost node ${lost.name}, trying node ${node.name}`, false);
}

/** Sends an order until a node has answered. It keeps its id, so it is taken once however often it is sent. */
async function send(order: v.InferInput<typeof Order>): Promise<string> {
  for (;;) {
    try {
      await shop.post("/orders", { body: order }, { timeout: PATIENCE });
      return "Taken";
    } catch (error) {
      if (error instanceof ProblemError && error.status < 500) return error.issues[0]?.message ?? error.problem.detail;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

function show(text: string, isConnected: boolean): void {
  state.textContent = text;
  state.toggleAttribute("data-connected", isConnected);
}

function add({ item, quantity, node }: v.InferOutput<typeof TakenOrder>): void {
  addRow([item, `${quantity}`, node]);
  count.textContent = `${Number(count.textContent) + 1}`;
}

function clear(): void {
  rows.replaceChildren();
  count.textContent = "0";
}

function addRow(cells: readonly string[]): void {
  const row = document.createElement("tr");
  for (const text of cells) row.insertCell().textContent = text;
  rows.prepend(row);
}

function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

const ordering = byId("ordering") as HTMLFormElement;
ordering.onsubmit = async (event) => {
  event.preventDefault();
  const fields = new FormData(ordering);
  receipt.textContent = "Sending";
  const order = { id: crypto.randomUUID(), item: `${fields.get("item")}`, quantity: Number(fields.get("quantity")) };
  receipt.textContent = await send(order);
};
// Before this, the browser would send the form by itself, and load the page again.
ordering.querySelector("button")!.disabled = false;

for await (const event of shop.events("/orders/events")) {
  if (event.gap) {
    // What comes now is all that the store has: after its loss, or a backup, also what is shown already.
    if (["epoch", "ahead"].includes(event.gap.reason)) clear();
    addRow(["Some orders are no longer kept", "", ""]);
  } else add(event.data);
}
