/** The tables of the database. All amounts of money are in cents. */
import type { Connection } from "./connection.ts";

/** Creates the tables if they do not exist. Returns whether it did. */
export function createTables(db: Connection): boolean {
  if (db.first`SELECT name FROM sqlite_schema WHERE name = 'shops'`) return false;
  db.run`
    CREATE TABLE shops (
      id INTEGER PRIMARY KEY,
      slug TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      city TEXT NOT NULL
    ) STRICT`;
  db.run`
    CREATE TABLE users (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      shop_id INTEGER REFERENCES shops, -- where they are a clerk
      token_hash TEXT NOT NULL UNIQUE   -- who reads the file still cannot sign in
    ) STRICT`;
  db.run`
    CREATE TABLE books (
      shop_id INTEGER NOT NULL REFERENCES shops,
      isbn TEXT NOT NULL,
      title TEXT NOT NULL,
      author TEXT NOT NULL,
      price INTEGER NOT NULL,
      cost INTEGER NOT NULL,            -- what the shop pays: nothing for customers
      stock INTEGER NOT NULL,
      PRIMARY KEY (shop_id, isbn)
    ) STRICT`;
  db.run`
    CREATE TABLE orders (
      id INTEGER PRIMARY KEY,
      shop_id INTEGER NOT NULL REFERENCES shops,
      user_id INTEGER NOT NULL REFERENCES users,
      placed_at TEXT NOT NULL,
      street TEXT NOT NULL,
      postcode TEXT NOT NULL,
      city TEXT NOT NULL
    ) STRICT`;
  db.run`
    CREATE TABLE order_lines (
      order_id INTEGER NOT NULL REFERENCES orders,
      isbn TEXT NOT NULL,
      title TEXT NOT NULL,              -- title and price as they were then
      price INTEGER NOT NULL,
      quantity INTEGER NOT NULL,
      PRIMARY KEY (order_id, isbn)
    ) STRICT`;
  return true;
}
