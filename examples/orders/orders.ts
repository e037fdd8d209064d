/** Puts a node of the shop together. */
import { App } from "@webfw/core";
import type { TopicsLocation } from "@webfw/core/types";
import { bundle } from "../bundle.ts";
import { type MailOptions, sendMails } from "./mail.ts";
import { type Node, TakenOrder } from "./models.ts";
import { page } from "./page.ts";
import { countSales } from "./sales.ts";
import { shop } from "./shop.ts";
import { type State, state } from "./state.ts";

/** The options of a node. */
export interface OrdersOptions {
  /** The name of this node. */
  readonly node: string;
  /** All nodes, this one too. */
  readonly nodes: readonly Node[];
  /** How mails are written. */
  readonly mail: MailOptions;
  /** Where orders are kept, equal for all nodes. `WEBFW_TOPICS` by default. */
  readonly topics?: TopicsLocation;
}

/** Makes the application of a node. */
export function orders({ node, nodes, mail, ...options }: OrdersOptions): App<State> {
  const app = new App({
    title: "Orders",
    version: "1.0.0",
    description: "A shop whose nodes share a store.",
    // To a browser, each node is an origin of its own, and the page of one asks the others.
    origins: nodes.map(({ url }) => url),
    state,
    ...options,
  });
  // For a day, an order that is sent again is known, even if it comes from a queue of a client that
  // was away.
  const retention = { age: "7d", count: 10_000 } as const;
  const topic = app.topic("orders", { schema: TakenOrder, durable: true, dedupe: "24h", retention });
  app.lifespan(async function* () {
    yield { node, nodes, topic, script: await bundle(new URL("page/orders.ts", import.meta.url)) };
  });
  countSales(app);
  sendMails(topic, node, mail);
  app.include(page);
  app.include(shop);
  return app;
}
