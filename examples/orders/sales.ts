/** What was ordered so far: one of the nodes counts it each minute. */
import type { App, Records } from "@webfw/core";
import type { Sales } from "./models.ts";
import type { State } from "./state.ts";

const KEY = ["sales"];

/** How long counting may take: where all orders were removed since, none comes. In milliseconds. */
const PATIENCE = 30_000;

/** Makes a node take part in counting. */
export function countSales(app: App<State>): void {
  app.cron("count sales", "* * * * *", { catchUp: "1h" }, async ({ scheduled, signal, app: { records }, state }) => {
    const { topic } = state;
    const end = await topic.head();
    let [orders, pieces] = [0, 0];
    const isEmpty = /-0+$/.test(end);
    const reading = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]);
    for await (const entry of isEmpty ? [] : topic.subscribe({ from: "earliest", signal: reading })) {
      if ("gap" in entry) continue;
      orders++;
      pieces += entry.data.quantity;
      if (entry.id >= end) break;
    }
    signal.throwIfAborted();
    await records.set(KEY, { at: scheduled.toISOString(), orders, pieces } satisfies Sales);
  });
}

/** What was counted last; null before the first time. */
export async function salesOf(records: Records): Promise<Sales | null> {
  return (await records.get<Sales>(KEY))?.value ?? null;
}
