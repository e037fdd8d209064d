/** Takes orders, and shows them live: all nodes share the topic of orders. The page calls these routes. */
import { Events, HTTPError, Problem, PublishOutcomeUnknown, Router, SSE } from "@webfw/core";
import * as v from "valibot";
import { Node, Order, Receipt, TakenOrder } from "./models.ts";
import { state } from "./state.ts";

/** How long a client waits for the store before it gets 503, in milliseconds. */
const PATIENCE = 5_000;
/** How long a client that has lost this node waits before it goes to another one, in milliseconds. */
const RETRY = 300;

const SendAgain = v.pipe(Problem, v.description("The order may be taken or not: send it again with the same id."));

/** The routes of the shop. */
export const shop = new Router({ state });

/** Takes an order. */
export const takeOrder = shop.post("/orders", {
  body: Order,
  response: Receipt,
  status: 201,
  responses: { 503: SendAgain },
}, async function takeOrder(request, { body }) {
  "Take an order.";
  const { node, topic } = request.state;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const { id: place, duplicate } = await topic.publish({ ...body, node }, { id: body.id, signal });
    return { place, duplicate };
  } catch (error) {
    // An order that does not fit the topic never will.
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    const isUnknown = error instanceof PublishOutcomeUnknown;
    const detail = `The order ${isUnknown ? "may be taken or not" : "is not taken"}: send it again`;
    throw new HTTPError(503, detail, { headers: { "retry-after": "1" }, cause: error });
  }
});

/** All orders. */
export const streamOrders = shop.get("/orders/events", {
  response: Events(TakenOrder),
}, async function streamOrders(request) {
  "Send all orders that are kept, then each as it is taken, by whichever node.";
  return SSE(request.state.topic.subscribe({ from: "earliest" }), { retry: RETRY });
});

/** The nodes. */
export const listNodes = shop.get("/nodes", { response: v.array(Node) }, async function listNodes(request) {
  "List the nodes: where to go when this one does not answer.";
  return [...request.state.nodes];
});
