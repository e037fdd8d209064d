/** The stock of a shop with its costs, for clerks, as lines of JSON that are sent while they are read. */
import { Router } from "@webfw/core";
import { clerk } from "./auth.ts";
import { connection, state } from "./database.ts";
import type { StockedBook } from "./models.ts";

/** The list of everything that a shop has. */
export const stock = new Router({ prefix: "/shops/{slug}/stock", state });

// The connection stays with the request until the last line has gone, or the client.
stock.get("", { deps: { db: connection, clerk } }, async function* exportStock(_request, { db, slug }) {
  yield* db.each<StockedBook>`
    SELECT isbn, title, author, price, cost, stock FROM books
    WHERE shop_id = (SELECT id FROM shops WHERE slug = ${slug})
    ORDER BY isbn`;
});
