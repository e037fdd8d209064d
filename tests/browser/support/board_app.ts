// An application with something on each page of its board.

import * as v from "valibot";
import { App, dependency } from "../../../mod.ts";
import { bearer } from "../../../src/auth/mod.ts";

const Order = v.object({ id: v.string(), item: v.picklist(["tea", "mug"]), quantity: v.number() });

/** An application that shows its board at `/_board`. The caller stops it. */
export function boardApp(): App {
  const app = new App({ title: "Shop", version: "1.2.3", log: () => {} });
  const user = bearer(async (token) => token === "t-1" && { name: "Ada" });
  const stock = dependency(async function stock() {
    await new Promise((resolve) => setTimeout(resolve, 60));
    return 7;
  });
  const orders = app.topic("orders", { schema: Order, retention: { count: 20_000 } });
  orders.consume("mail", { retry: { attempts: 1 } }, async ({ data }) => {
    if (data.item === "mug") throw new Error("No such mailbox");
  });
  app.middleware(async function timing(request, next) {
    return await next(request);
  });
  app.get("/items/{item}", { params: { item: v.string() }, deps: { stock } }, async (request, { item, stock }) => {
    request.log.info("Seen", { item });
    return { item, stock };
  });
  app.post("/orders", { body: Order, deps: { user }, status: 201 }, async (_request, { body }) => {
    return await orders.publish(body);
  });
  app.get("/broken", async () => {
    throw new Error("The ledger is locked");
  });
  app.cron("nightly report", "30 2 * * 1-5", { timeZone: "America/New_York" }, async () => {});
  const { showBoard } = Reflect.get(app, Symbol.for("webfw.app")) as { showBoard(): string };
  showBoard();
  return app;
}

/** Sends a request of each kind. */
export async function useApp(origin: string): Promise<void> {
  const headers = { "content-type": "application/json", authorization: "Bearer t-1" };
  const order = (body: object) => fetch(`${origin}/orders`, { method: "POST", headers, body: JSON.stringify(body) });
  const replies = [
    fetch(`${origin}/items/tea?page=2`),
    order({ id: "o-1", item: "tea", quantity: 1 }),
    order({ id: "o-2", item: "mug", quantity: 1 }),
    order({ id: "o-3", item: "cup" }),
    fetch(`${origin}/broken`),
    fetch(`${origin}/nothing`),
  ];
  for (const reply of replies) await (await reply).body?.cancel();
}
