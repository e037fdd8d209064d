/** Orders in a shop. The customer who placed an order can read it, and so can the shop's clerks. */
import { HTTPError, type Issue, Router, ValidationError } from "@webfw/core";
import { currentUser, type User } from "./auth.ts";
import type { Connection } from "./connection.ts";
import { connection, state } from "./database.ts";
import { type Book, Id, Order, OrderDraft } from "./models.ts";
import { NoSuchOrder, NoSuchShop, TooFewCopies } from "./problems.ts";
import { currentShop, type ShopRow } from "./shops.ts";

/** Everything below the path of a shop's orders. */
export const orders = new Router({
  prefix: "/shops/{slug}/orders",
  state,
  deps: { user: currentUser },
  tags: ["orders"],
});

/** Shared caches must not store what concerns one customer. */
orders.middleware(async (request, next) => {
  const response = await next(request);
  response.headers.set("cache-control", "private, no-store");
  return response;
});

orders.post("", {
  body: OrderDraft,
  deps: { db: connection, shop: currentShop },
  response: Order,
  status: 201,
  responses: { 404: NoSuchShop, 409: TooFewCopies },
  tool: true,
}, async function placeOrder(request, { body, db, shop, user }) {
  "Order books of a shop, to be sent to an address.";
  const id = db.transaction(() => sell(db, shop, user, body));
  request.replyHeaders.set("location", request.link(getOrder, { slug: shop.slug, id }));
  return findOrder(db, shop, user, id);
});

const getOrder = orders.get("/{id}", {
  params: { id: Id },
  deps: { db: connection, shop: currentShop },
  response: Order,
  responses: { 404: NoSuchOrder },
  tool: true,
}, async function getOrder(_request, { id, db, shop, user }) {
  "Get an order: your own, or one in your shop.";
  return findOrder(db, shop, user, id);
});

/**
 * Takes the books from the stock and writes the order. If it throws, the transaction around it
 * undoes everything.
 */
function sell(db: Connection, shop: ShopRow, user: User, { lines, address }: OrderDraft): number {
  const { street, postcode, city } = address;
  const { id } = db.first<{ id: number }>`
    INSERT INTO orders (shop_id, user_id, placed_at, street, postcode, city)
    VALUES (${shop.id}, ${user.id}, ${new Date().toISOString()}, ${street}, ${postcode}, ${city})
    RETURNING id`!;
  const issues: Issue[] = [];
  for (const [index, { isbn, quantity }] of lines.entries()) {
    const book = db.first<Book>`
      UPDATE books SET stock = stock - ${quantity} WHERE shop_id = ${shop.id} AND isbn = ${isbn} RETURNING *`;
    if (!book) {
      issues.push({
        in: "body",
        path: ["lines", index, "isbn"],
        code: "invalid",
        message: "The shop has no such book",
      });
      continue;
    }
    if (book.stock < 0) throw new HTTPError(409, `The shop has too few copies of "${book.title}"`);
    db.run`
      INSERT INTO order_lines (order_id, isbn, title, price, quantity)
      VALUES (${id}, ${isbn}, ${book.title}, ${book.price}, ${quantity})`;
  }
  if (issues.length > 0) throw new ValidationError(issues);
  return id;
}

/** An order of another customer gets 404 and not 403, so that numbers reveal nothing. */
function findOrder(db: Connection, shop: ShopRow, user: User, id: number): Order {
  const row = db.first<{ placed_at: string; street: string; postcode: string; city: string }>`
    SELECT placed_at, street, postcode, city FROM orders
    WHERE id = ${id} AND shop_id = ${shop.id} AND (user_id = ${user.id} OR shop_id = ${user.shop_id})`;
  if (!row) throw new HTTPError(404, "You have no such order in this shop");
  const lines = db.all<Order["lines"][number]>`
    SELECT isbn, title, price, quantity FROM order_lines WHERE order_id = ${id} ORDER BY rowid`;
  const { placed_at: placedAt, ...address } = row;
  return { id, placedAt, lines, total: lines.reduce((sum, { price, quantity }) => sum + price * quantity, 0), address };
}
