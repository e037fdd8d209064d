/** The books of a shop: everyone may look, its clerks may change them. */
import { HTTPError, Router } from "@webfw/core";
import * as v from "valibot";
import { clerk } from "./auth.ts";
import type { Connection } from "./connection.ts";
import { connection, state } from "./database.ts";
import { Book, BookChanges, Isbn, StockedBook } from "./models.ts";
import { pageOf, paging, toPage } from "./paging.ts";
import { AlreadyThere, NoSuchBook, NoSuchShop, NotAllowed } from "./problems.ts";
import { currentShop, type ShopRow } from "./shops.ts";

const inShop = { prefix: "/shops/{slug}/books", state, tags: ["books"], responses: { 404: NoSuchBook } } as const;

/** What everyone may do with the books of a shop. */
export const books = new Router(inShop);

/** What its clerks may do. The dependencies of a router are resolved before anything else. */
export const bookChanges = new Router({
  ...inShop,
  deps: { db: connection, shop: currentShop, clerk },
  responses: { 403: NotAllowed, 404: NoSuchBook },
});

books.get("", {
  query: { ...paging, search: v.optional(v.string(), ""), sort: v.optional(v.picklist(["title", "price"]), "title") },
  deps: { db: connection, shop: currentShop },
  response: pageOf(Book),
  responses: { 404: NoSuchShop },
  tool: true,
}, async function listBooks(request, { search, sort, limit, offset, db, shop }) {
  `List the books of a shop.

  A search finds the books whose title or author holds its text, in any case. \`next\` is where the next page is.`;
  const rows = db.all<Book>`
    SELECT * FROM books
    WHERE shop_id = ${shop.id} AND instr(lower(title || ' ' || author), lower(${search}))
    ORDER BY CASE ${sort} WHEN 'price' THEN price END, title
    LIMIT ${limit + 1} OFFSET ${offset}`;
  return toPage(request, rows, { limit, offset });
});

const getBook = books.get("/{isbn}", {
  params: { isbn: Isbn },
  deps: { db: connection, shop: currentShop },
  response: Book,
  tool: true,
}, async function getBook(_request, { isbn, db, shop }) {
  "Get a book of a shop, by its ISBN.";
  return findBook(db, shop, isbn);
});

bookChanges.post("", {
  body: StockedBook,
  response: Book,
  status: 201,
  responses: { 404: NoSuchShop, 409: AlreadyThere },
}, async function addBook(request, { body, db, shop }) {
  "Add a book to a shop, as one of its clerks.";
  const { isbn, title, author, price, cost, stock } = body;
  const added = db.run`
    INSERT INTO books (shop_id, isbn, title, author, price, cost, stock)
    VALUES (${shop.id}, ${isbn}, ${title}, ${author}, ${price}, ${cost}, ${stock})
    ON CONFLICT DO NOTHING`;
  if (added === 0) throw new HTTPError(409, "The shop has this book already");
  request.replyHeaders.set("location", request.link(getBook, { slug: shop.slug, isbn }));
  return findBook(db, shop, isbn);
});

bookChanges.patch("/{isbn}", {
  params: { isbn: Isbn },
  body: BookChanges,
  response: Book,
}, async function changeBook(_request, { isbn, body, db, shop }) {
  "Change the price or the stock of a book, as a clerk of its shop.";
  const { price = null, stock = null } = body;
  db.run`
    UPDATE books SET price = coalesce(${price}, price), stock = coalesce(${stock}, stock)
    WHERE shop_id = ${shop.id} AND isbn = ${isbn}`;
  return findBook(db, shop, isbn);
});

bookChanges.delete("/{isbn}", {
  params: { isbn: Isbn },
  status: 204,
}, async function removeBook(_request, { isbn, db, shop }) {
  "Remove a book from a shop, as one of its clerks.";
  const removed = db.run`DELETE FROM books WHERE shop_id = ${shop.id} AND isbn = ${isbn}`;
  if (removed === 0) throw noSuchBook();
});

/** The row also holds the cost. The reply does not, because the response model does not name it. */
function findBook(db: Connection, shop: ShopRow, isbn: string): Book {
  const book = db.first<Book>`SELECT * FROM books WHERE shop_id = ${shop.id} AND isbn = ${isbn}`;
  if (book) return book;
  throw noSuchBook();
}

function noSuchBook(): HTTPError {
  return new HTTPError(404, "The shop has no such book");
}
