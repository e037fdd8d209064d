/** What a node has while it runs. */
import { stateType, type Topic } from "@webfw/core";
import type * as v from "valibot";
import type { Node, TakenOrder } from "./models.ts";

/** The value of the application's lifespan. */
export interface State {
  /** The name of this node. */
  readonly node: string;
  /** All nodes. Pages may connect to them. */
  readonly nodes: readonly Node[];
  /** Where orders are kept. */
  readonly topic: Topic<v.InferOutput<typeof TakenOrder>>;
  /** The script of the page. */
  readonly script: Blob;
}

/** Its type, for the application and its routers. */
export const state = stateType<State>();
