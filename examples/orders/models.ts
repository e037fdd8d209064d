/** The models of orders. */
import * as v from "valibot";

/**
 * An order as the client sends it. The client chooses the id, so the same order sent twice counts
 * once.
 */
export const Order = v.object({
  id: v.pipe(v.string(), v.uuid()),
  item: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(100)),
  quantity: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000)),
});

/** An order of a client that gives it no id, but its request an `Idempotency-Key`. */
export const Purchase = v.omit(Order, ["id"]);

/** What was ordered so far. */
export const Sales = v.object({ at: v.string(), orders: v.number(), pieces: v.number() });

/** An order as it is kept and shown, with the node that took it. */
export const TakenOrder = v.object({ ...Order.entries, node: v.string() });

/** The reply to an order: its place among all orders, and whether it was there before. */
export const Receipt = v.object({ place: v.string(), duplicate: v.boolean() });

/** A node of the shop, as pages know it. */
export const Node = v.object({ name: v.string(), url: v.pipe(v.string(), v.url()) });

/** A node of the shop. */
export type Node = v.InferOutput<typeof Node>;

/** What was ordered so far. */
export type Sales = v.InferOutput<typeof Sales>;
