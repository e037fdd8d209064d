/**
 * The stock of a shop with its costs, for clerks, as lines of JSON that are sent while they are
 * read.
 */
import { JsonLines, Router } from "@webfw/core";
import { clerk } from "./auth.ts";
import { connection, state } from "./database.ts";
import { StockedBook } from "./models.ts";
import { NoSuchShop, NotAllowed } from "./problems.ts";
import { currentShop } from "./shops.ts";

/** Everything that a shop has. */
export const stock = new Router({ prefix: "/shops/{slug}/stock", state });

// The request keeps the connection until the last line is sent or the client disconnects.
stock.get("", {
  deps: { db: connection, shop: currentShop, clerk },
  response: JsonLines(StockedBook),
  responses: { 403: NotAllowed, 404: NoSuchShop },
  tags: ["books"],
}, async function* listStock(_request, { db, shop }) {
  "Export everything that a shop has, for its clerks.";
  yield* db.each<StockedBook>`
    SELECT isbn, title, author, price, cost, stock FROM books WHERE shop_id = ${shop.id} ORDER BY isbn`;
});
