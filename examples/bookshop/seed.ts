/** The content of a new database: two shops, a few books, two users. */
import type { Connection } from "./connection.ts";
import { hashToken } from "./token.ts";

const SHOPS = [
  { id: 1, slug: "corner", name: "The Corner Bookshop", city: "Coventry" },
  { id: 2, slug: "harbour", name: "Harbour Books", city: "Whitby" },
];

/** Tokens to try the program with. Real ones are long and random. */
const USERS = [
  { name: "Ada", clerkOf: null, token: "ada" },
  { name: "Grace", clerkOf: 1, token: "grace" },
];

const BOOKS = [
  { shop: 1, isbn: "9780141439549", title: "Middlemarch", author: "George Eliot", price: 1099, cost: 620, stock: 4 },
  {
    shop: 1,
    isbn: "9780141439518",
    title: "Pride and Prejudice",
    author: "Jane Austen",
    price: 799,
    cost: 410,
    stock: 9,
  },
  { shop: 1, isbn: "9780141439471", title: "Frankenstein", author: "Mary Shelley", price: 699, cost: 350, stock: 2 },
  { shop: 1, isbn: "9780141439846", title: "Dracula", author: "Bram Stoker", price: 899, cost: 480, stock: 0 },
  { shop: 2, isbn: "9780142437247", title: "Moby-Dick", author: "Herman Melville", price: 1299, cost: 700, stock: 3 },
];

/** Fills new tables. */
export function seed(db: Connection): void {
  for (const { id, slug, name, city } of SHOPS) {
    db.run`INSERT INTO shops (id, slug, name, city) VALUES (${id}, ${slug}, ${name}, ${city})`;
  }
  for (const { name, clerkOf, token } of USERS) {
    db.run`INSERT INTO users (name, shop_id, token_hash) VALUES (${name}, ${clerkOf}, ${hashToken(token)})`;
  }
  for (const { shop, isbn, title, author, price, cost, stock } of BOOKS) {
    db.run`
      INSERT INTO books (shop_id, isbn, title, author, price, cost, stock)
      VALUES (${shop}, ${isbn}, ${title}, ${author}, ${price}, ${cost}, ${stock})`;
  }
}
