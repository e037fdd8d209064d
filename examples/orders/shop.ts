/** Takes orders, and shows them live: all nodes share the topic of orders. The page calls these routes. */
import { Events, HTTPError, Problem, PublishOutcomeUnknownError, Router, SSE } from "@webfw/core";
import * as v from "valibot";
import { Node, Order, Purchase, Receipt, Sales, TakenOrder } from "./models.ts";
import { salesOf } from "./sales.ts";
import { type State, state } from "./state.ts";

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
  return await publish(request.state, body, body.id);
});

/** Takes an order of a client that has no ids. */
export const buy = shop.post("/purchases", {
  body: Purchase,
  response: Receipt,
  status: 201,
  responses: { 503: SendAgain },
  idempotent: { window: "24h", required: true },
}, async function buy(request, { body }) {
  "Take an order that has no id. A repetition with the same Idempotency-Key gets the same receipt.";
  // Where a node dies before it has answered, the topic knows the key of the order that it has taken.
  return await publish(request.state, { ...body, id: crypto.randomUUID() }, `key ${request.idempotencyKey}`);
});

/** Publishes an order under an id, by which the topic knows it if it comes again. */
async function publish(
  { node, topic }: State,
  order: v.InferOutput<typeof Order>,
  id: string,
): Promise<v.InferOutput<typeof Receipt>> {
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const { id: place, duplicate } = await topic.publish({ ...order, node }, { id, signal });
    return { place, duplicate };
  } catch (error) {
    // An order that does not fit the topic never will.
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    const isUnknown = error instanceof PublishOutcomeUnknownError;
    const detail = `The order ${isUnknown ? "may be taken or not" : "is not taken"}: send it again`;
    throw new HTTPError(503, detail, { headers: { "retry-after": "1" }, cause: error });
  }
}

/** All orders. */
export const streamOrders = shop.get("/orders/events", {
  response: Events(TakenOrder),
}, async function streamOrders(request) {
  "Send all orders that are kept, then each as it is taken, by whichever node.";
  return SSE(request.state.topic.subscribe({ from: "earliest" }), { retry: RETRY });
});

/** What was sold. */
export const getSales = shop.get("/sales", { response: v.nullable(Sales) }, async function getSales(request) {
  "What was ordered until the last full minute; null before the first one.";
  return await salesOf(request.app.records);
});

/** The nodes. */
export const listNodes = shop.get("/nodes", { response: v.array(Node) }, async function listNodes(request) {
  "List the nodes: where to go when this one does not answer.";
  return [...request.state.nodes];
});
