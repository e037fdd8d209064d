/** Takes orders, and shows them live: all nodes share the topic of orders. */
import { Events, HTTPError, Problem, PublishOutcomeUnknown, Router, SSE, type Topic } from "@webfw/core";
import * as v from "valibot";
import { Node, Order, Receipt, type TakenOrder } from "./models.ts";

/** How long a client waits for the store before it gets 503, in milliseconds. */
const PATIENCE = 5_000;

const SendAgain = v.pipe(Problem, v.description("The order may be taken or not: send it again with the same id."));

/** What the routes need. */
export interface ShopOptions {
  /** The name of this node. */
  readonly node: string;
  /** All nodes. */
  readonly nodes: readonly Node[];
  /** Where orders are kept. */
  readonly topic: Topic<v.InferOutput<typeof TakenOrder>>;
}

/** The routes of the shop. */
export function shop({ node, nodes, topic }: ShopOptions): Router {
  const router = new Router();

  router.post("/orders", {
    body: Order,
    response: Receipt,
    status: 201,
    responses: { 503: SendAgain },
  }, async function takeOrder(_request, { body }) {
    "Take an order.";
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

  router.get("/orders/events", { response: Events(topic) }, async function streamOrders() {
    "Send all orders that are kept, then each as it is taken, by whichever node.";
    return SSE(topic.subscribe({ from: "earliest" }));
  });

  router.get("/nodes", { response: v.array(Node) }, async function listNodes() {
    "List the nodes: where to go when this one does not answer.";
    return [...nodes];
  });

  return router;
}
