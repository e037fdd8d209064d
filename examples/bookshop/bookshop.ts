/** Puts the service together. */
import { App } from "@webfw/core";
import { requestId } from "@webfw/core/middleware";
import * as v from "valibot";
import { bookChanges, books } from "./books.ts";
import { Database, type State, state } from "./database.ts";
import { orders } from "./orders.ts";
import { shops } from "./shops.ts";
import { stock } from "./stock.ts";

/**
 * Makes the application. Each test makes one, with a new database.
 *
 * @param file The path of the database. It is created if it does not exist.
 */
export function bookshop(file: string): App<State> {
  const app = new App({ title: "Bookshop", version: "1.0.0", description: "Shops, their books, and orders.", state });

  app.lifespan(async function* () {
    const database = new Database(file);
    yield { database };
    database.close();
  });

  app.middleware(requestId());

  app.get(
    "/",
    { response: v.object({ title: v.string(), routes: v.array(v.string()) }) },
    async function getIndex(request) {
      "List what is served.";
      const { title, routes } = request.app;
      return { title, routes: routes.map(({ method, path }) => `${method} ${path}`) };
    },
  );
  app.include(shops);
  app.include(books);
  app.include(bookChanges);
  app.include(orders);
  app.include(stock);

  return app;
}
