/** What is ordered, and where. */
import * as v from "valibot";

/** What a client orders. The id is the client's own: the same order sent again is no second one. */
export const Order = v.object({
  id: v.pipe(v.string(), v.uuid()),
  item: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(100)),
  quantity: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000)),
});

/** An order as it is kept and shown: with the node that has taken it. */
export const TakenOrder = v.object({ ...Order.entries, node: v.string() });

/**
 * What a client is told of its order: its place among all orders, and whether it was there already.
 */
export const Receipt = v.object({ place: v.string(), duplicate: v.boolean() });

/** A node of the shop, as pages know it. */
export const Node = v.object({ name: v.string(), url: v.pipe(v.string(), v.url()) });

/** A node of the shop. */
export type Node = v.InferOutput<typeof Node>;
