// The workloads by hand. It routes by a slice of the URL and a map, and validates by conditions.

import {
  authenticate,
  describeUser,
  fillerSegment,
  GREETING,
  listBooks,
  MAX_OFFSET,
  type Order,
  ORDER_BOUNDS,
  receiptFor,
  SEARCH_LIMIT,
  SORT_KEYS,
  type SortKey,
  Timing,
} from "../domain.ts";
import { fillerRoutes, isBounded } from "./listen.ts";

const MAX_BODY = 1024 * 1024;
const MAX_TIME = 30_000;
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/;

const timing = new Timing();
const collections = new Map<string, (id: string) => Response>();
for (let index = 0; index < fillerRoutes; index++) {
  collections.set(fillerSegment(index), (id) => json({ resource: index, id }));
}
collections.set("users", user);

/** Answers a request of any workload. */
export function answer(request: Request): Response | Promise<Response> {
  const { url } = request;
  const start = url.indexOf("/", 8);
  const query = url.indexOf("?", start);
  const path = query < 0 ? url.slice(start) : url.slice(start, query);
  if (path === "/orders") {
    return request.method === "POST" ? order(request) : refuse(405);
  }
  if (request.method !== "GET" && request.method !== "HEAD") return refuse(405);
  switch (path) {
    case "/text":
      return text(GREETING);
    case "/search":
      return search(new URLSearchParams(query < 0 ? "" : url.slice(query + 1)));
    case "/books":
      return books(new URLSearchParams(query < 0 ? "" : url.slice(query + 1)));
    case "/profile":
      return profile(request);
  }
  const slash = path.indexOf("/", 1);
  const collection = collections.get(path.slice(1, slash));
  if (!collection || path.includes("/", slash + 1)) return refuse(404);
  return collection(path.slice(slash + 1));
}

function user(text: string): Response {
  const id = integer(text);
  return id === undefined || id < 1 ? refuse(422) : json(describeUser(id));
}

function search(query: URLSearchParams): Response {
  const q = query.get("q");
  const limit = integer(query.get("limit") ?? "");
  const tags = query.getAll("tags");
  if (
    !q || limit === undefined || limit < SEARCH_LIMIT.min ||
    limit > SEARCH_LIMIT.max || tags.length === 0
  ) return refuse(422);
  return json({ q, limit, tags });
}

function books(query: URLSearchParams): Response {
  const sort = query.get("sort");
  const limit = integer(query.get("limit") ?? "");
  const offset = integer(query.get("offset") ?? "");
  if (
    !SORT_KEYS.includes(sort as SortKey) || limit === undefined || limit < SEARCH_LIMIT.min ||
    limit > SEARCH_LIMIT.max || offset === undefined || offset < 0 || offset > MAX_OFFSET
  ) return refuse(422);
  return json(listBooks(sort as SortKey, limit, offset));
}

async function order(request: Request): Promise<Response> {
  const type = request.headers.get("content-type");
  if (!type?.startsWith("application/json")) return refuse(415);
  if (isBounded && !(Number(request.headers.get("content-length") ?? NaN) <= MAX_BODY)) return refuse(413);
  let body: unknown;
  try {
    body = await (isBounded ? inTime(request.json()) : request.json());
  } catch {
    return refuse(400);
  }
  return isOrder(body) ? json(receiptFor(body), 201) : refuse(422);
}

/** Waits for a body as one does by hand, with a timer for each. */
async function inTime<T>(body: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("Too slow")), MAX_TIME);
  try {
    return await Promise.race([body, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function profile(request: Request): Promise<Response> {
  const start = performance.now();
  const response = await currentUser(request);
  response.headers.set("x-frame-options", "DENY");
  timing.record(start);
  return response;
}

async function currentUser({ headers }: Request): Promise<Response> {
  if (!headers.get("x-client")) return refuse(400);
  const user = await authenticate(headers.get("authorization") ?? "");
  return user ? json(user) : refuse(401);
}

function integer(text: string): number | undefined {
  return INTEGER.test(text) ? Number(text) : undefined;
}

function isOrder(value: unknown): value is Order {
  if (!isObject(value)) return false;
  const { customer, address, items } = value;
  return isObject(customer) && isText(customer.name, ORDER_BOUNDS.name) &&
    matches(customer.email, ORDER_BOUNDS.email) &&
    isObject(address) && isText(address.street, ORDER_BOUNDS.street) &&
    isText(address.city, ORDER_BOUNDS.city) &&
    isText(address.postcode, ORDER_BOUNDS.postcode) &&
    matches(address.country, ORDER_BOUNDS.country) &&
    Array.isArray(items) && items.length >= 1 &&
    items.length <= ORDER_BOUNDS.items && items.every(isItem);
}

function isItem(value: unknown): boolean {
  return isObject(value) && matches(value.sku, ORDER_BOUNDS.sku) &&
    Number.isInteger(value.quantity) &&
    isBetween(value.quantity, 1, ORDER_BOUNDS.quantity) &&
    isBetween(value.price, 0, ORDER_BOUNDS.price);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown, maximum: number): boolean {
  return typeof value === "string" && value.length >= 1 &&
    value.length <= maximum;
}

function matches(value: unknown, pattern: RegExp): boolean {
  return typeof value === "string" && pattern.test(value);
}

function isBetween(value: unknown, minimum: number, maximum: number): boolean {
  return typeof value === "number" && value >= minimum && value <= maximum;
}

function json(value: unknown, status = 200): Response {
  return status === 200 ? Response.json(value) : Response.json(value, { status });
}

function text(value: string): Response {
  return new Response(value);
}

/** A refusal without a body. */
export function refuse(status: number): Response {
  return new Response(null, { status });
}
