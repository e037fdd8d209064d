// The values that all servers reply with, without a framework. The servers differ only in how a
// request gets here.

/** A user as the replies carry it. */
export interface User {
  id: number;
  name: string;
}

/** An order as a client sends it. */
export interface Order {
  customer: { name: string; email: string };
  address: { street: string; city: string; postcode: string; country: string };
  items: { sku: string; quantity: number; price: number }[];
}

/** The reply to an accepted order. */
export interface Receipt {
  id: number;
  customer: string;
  lines: number;
  total: number;
}

/** The body of `GET /text`. */
export const GREETING = "Hello, World!";

/** The bounds of an order, checked by every server. */
export const ORDER_BOUNDS = {
  name: 100,
  email: /^[^@\s]+@[^@\s]+$/,
  street: 200,
  city: 100,
  postcode: 20,
  country: /^[A-Z]{2}$/,
  items: 100,
  sku: /^[A-Z]-\d{3}$/,
  quantity: 1000,
  price: 100_000,
} as const;

/** A book as the replies carry it. */
export interface Book {
  isbn: string;
  title: string;
  author: string;
  /** In cents. */
  price: number;
  stock: number;
}

/** The orders in which books can be listed. */
export const SORT_KEYS = ["title", "price"] as const;

/** One of these orders. */
export type SortKey = typeof SORT_KEYS[number];

/** The largest `offset` of a list of books. */
export const MAX_OFFSET = 10_000;

const SHELF: readonly Book[] = Array.from({ length: 100 }, (_, index) => ({
  isbn: `978014143${String(9000 + index)}`,
  title: `The Collected Letters, volume ${index + 1}`,
  author: index % 2 === 0 ? "Mary Shelley" : "George Eliot",
  price: 699 + (index * 37) % 1000,
  stock: index % 7,
}));

const SORTED: Readonly<Record<SortKey, readonly Book[]>> = {
  title: SHELF.toSorted((one, other) => one.title < other.title ? -1 : 1),
  price: SHELF.toSorted((one, other) => one.price - other.price),
};

/** A page of the books. */
export function listBooks(sort: SortKey, limit: number, offset: number): Book[] {
  return SORTED[sort].slice(offset, offset + limit);
}

/** The bounds of `limit` in a search. */
export const SEARCH_LIMIT = { min: 1, max: 100 } as const;

/** The user with this id. */
export function describeUser(id: number): User {
  return { id, name: `User ${id}` };
}

/** Adds up an order. */
export function receiptFor(order: Order): Receipt {
  let total = 0;
  for (const { quantity, price } of order.items) total += quantity * price;
  return {
    id: 1,
    customer: order.customer.name,
    lines: order.items.length,
    total,
  };
}

const SESSIONS = new Map<string, User>([
  ["Bearer 8f14e45fceea167a", { id: 7, name: "Ada" }],
]);

/** Finds the user of an `Authorization` header. Asynchronous like a look-up in a real store. */
export function authenticate(
  authorization: string,
): Promise<User | undefined> {
  return Promise.resolve(SESSIONS.get(authorization));
}

/** Counts requests and their time, as a timing middleware does. */
export class Timing {
  /** The requests seen. */
  requests = 0;
  /** Their time together, in milliseconds. */
  total = 0;

  /** Adds a request that started at `start`, a value of `performance.now()`. */
  record(start: number): void {
    this.requests++;
    this.total += performance.now() - start;
  }
}

/** The first path segment of the filler route number `index`. */
export function fillerSegment(index: number): string {
  return `resources${index}`;
}
