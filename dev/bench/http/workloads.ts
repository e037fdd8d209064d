// The workloads: the request under load, the reply that every server must give, and the requests
// that it must refuse.

import { listBooks, MAX_OFFSET, type SortKey } from "./domain.ts";

/** A request as plain data, so that the load generators and `fetch` send the same. */
export interface WorkloadRequest {
  method: "GET" | "POST";
  /** Path and query. */
  target: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A reply that must not differ between servers. */
export interface ExpectedReply {
  status: number;
  /** The media type without parameters. */
  type: string;
  body: string;
  /** Other headers that the reply must have, or must not have where it says null. */
  headers?: Record<string, string | RegExp | null>;
}

/** A request and its required reply. */
export interface Exchange {
  request: WorkloadRequest;
  reply: ExpectedReply;
}

/** The requests that a server has to answer. */
export interface Work {
  /** The request under load, and its reply. */
  measured: Exchange;
  /** Further requests that must be accepted. They are only checked, not measured. */
  accepted: Exchange[];
  /** Requests that must get a 4xx status. */
  refused: WorkloadRequest[];
}

/** One thing to measure. */
export interface Workload extends Work {
  name: string;
  /** A title for the report. */
  title: string;
  /**
   * How many other routes to register; more than one number compares the same server with itself.
   */
  fillerRoutes: number[];
}

const TAGS = [
  "deno",
  "typescript",
  "http",
  "valibot",
  "schema",
  "router",
  "async",
  "json",
  "server",
  "types",
];
const PROFILE_HEADERS = {
  "authorization": "Bearer 8f14e45fceea167a",
  "x-client": "bench",
};
const ORDER = {
  customer: { name: "Ada Lovelace", email: "ada@example.org" },
  address: {
    street: "12 St James Square",
    city: "London",
    postcode: "SW1Y 4JH",
    country: "GB",
  },
  items: [
    { sku: "A-100", quantity: 2, price: 9.5 },
    { sku: "B-200", quantity: 1, price: 20 },
    { sku: "C-300", quantity: 5, price: 1.25 },
  ],
};
const RECEIPT = { id: 1, customer: "Ada Lovelace", lines: 3, total: 45.25 };

function get(
  target: string,
  headers?: Record<string, string>,
): WorkloadRequest {
  return headers ? { method: "GET", target, headers } : { method: "GET", target };
}

function post(
  body: string,
  type = "application/json",
): WorkloadRequest {
  return {
    method: "POST",
    target: "/orders",
    headers: { "content-type": type },
    body,
  };
}

function json(value: unknown, status = 200): ExpectedReply {
  return { status, type: "application/json", body: JSON.stringify(value) };
}

function search(q: string, limit: string, tags: string[]): WorkloadRequest {
  const query = new URLSearchParams({ q, limit });
  for (const tag of tags) query.append("tags", tag);
  return get(`/search?${query}`);
}

function page(sort: string, limit: string, offset: string): WorkloadRequest {
  return get(`/books?${new URLSearchParams({ sort, limit, offset })}`);
}

function books(sort: SortKey, limit: number, offset: number): Exchange {
  return { request: page(sort, `${limit}`, `${offset}`), reply: json(listBooks(sort, limit, offset)) };
}

/** The measured order with some parts of it replaced, as a request. */
function orderWith(changes: {
  customer?: Record<string, unknown>;
  address?: unknown;
  items?: unknown;
  item?: Record<string, unknown>;
}): WorkloadRequest {
  const { item, customer, ...rest } = changes;
  const [first, ...others] = ORDER.items;
  return post(JSON.stringify({
    ...ORDER,
    customer: { ...ORDER.customer, ...customer },
    items: [{ ...first, ...item }, ...others],
    ...rest,
  }));
}

const user42: Exchange = {
  request: get("/users/42"),
  reply: json({ id: 42, name: "User 42" }),
};
const notUsers = ["abc", "1.5", "0", "-3", "4x"].map((id) => get(`/users/${id}`));

/** All workloads, in the order in which they are measured. */
export const WORKLOADS: Workload[] = [
  {
    name: "text",
    title: "text: GET /text",
    measured: {
      request: get("/text"),
      reply: { status: 200, type: "text/plain", body: "Hello, World!" },
    },
    accepted: [],
    refused: [get("/texts"), get("/text/more")],
    fillerRoutes: [0],
  },
  {
    name: "param",
    title: "typed path parameter: GET /users/{id}",
    measured: user42,
    accepted: [{
      request: get("/users/1"),
      reply: json({ id: 1, name: "User 1" }),
    }],
    refused: notUsers,
    fillerRoutes: [0],
  },
  {
    name: "query",
    title: "typed query with a list of 10: GET /search?q=&limit=&tags=",
    measured: {
      request: search("typed web framework", "10", TAGS),
      reply: json({ q: "typed web framework", limit: 10, tags: TAGS }),
    },
    accepted: [{
      request: search("a&b=c é", "100", ["one"]),
      reply: json({ q: "a&b=c é", limit: 100, tags: ["one"] }),
    }],
    refused: [
      search("x", "0", TAGS),
      search("x", "101", TAGS),
      search("x", "ten", TAGS),
      search("x", "1.5", TAGS),
      search("", "10", TAGS),
      search("x", "10", []),
      get("/search?limit=10&tags=a"),
      get("/search?q=x&tags=a"),
    ],
    fillerRoutes: [0],
  },
  {
    name: "list",
    title: "typed query, reply of 10 objects: GET /books?sort=&limit=&offset=",
    measured: books("price", 10, 20),
    accepted: [books("title", 100, 0), books("price", 1, MAX_OFFSET)],
    refused: [
      page("colour", "10", "20"),
      page("price", "0", "20"),
      page("price", "101", "20"),
      page("price", "ten", "20"),
      page("price", "10", "-1"),
      page("price", "10", "0.5"),
      page("price", "10", `${MAX_OFFSET + 1}`),
      get("/books?sort=price&limit=10"),
    ],
    fillerRoutes: [0],
  },
  {
    name: "body",
    title: "nested validated JSON body: POST /orders",
    measured: {
      request: post(JSON.stringify(ORDER)),
      reply: json(RECEIPT, 201),
    },
    accepted: [{
      request: orderWith({ item: { price: 0, quantity: 1000 } }),
      reply: json({ ...RECEIPT, total: 26.25 }, 201),
    }],
    refused: [
      post("{"),
      post("null"),
      post("[]"),
      post(""),
      post(JSON.stringify(ORDER), "text/html"),
      orderWith({ customer: { name: "" } }),
      orderWith({ customer: { name: "x".repeat(101) } }),
      orderWith({ customer: { email: "ada" } }),
      orderWith({ address: "London" }),
      orderWith({ address: { ...ORDER.address, country: "gb" } }),
      orderWith({ items: [] }),
      orderWith({ items: "none" }),
      orderWith({ item: { sku: 5 } }),
      orderWith({ item: { quantity: 0 } }),
      orderWith({ item: { quantity: 1001 } }),
      orderWith({ item: { quantity: 1.5 } }),
      orderWith({ item: { price: -1 } }),
      orderWith({ item: { price: "free" } }),
    ],
    fillerRoutes: [0],
  },
  {
    name: "routes",
    title: "the path parameter beside 1 and 500 other routes",
    measured: user42,
    accepted: [{
      request: get("/resources0/a1"),
      reply: json({ resource: 0, id: "a1" }),
    }],
    refused: [...notUsers, get("/resources0"), get("/resources0/a/b")],
    fillerRoutes: [1, 500],
  },
  {
    name: "stack",
    title: "three middlewares and a dependency: GET /profile",
    measured: {
      request: get("/profile", PROFILE_HEADERS),
      reply: {
        ...json({ id: 7, name: "Ada" }),
        headers: { "x-frame-options": "DENY" },
      },
    },
    accepted: [],
    refused: [
      get("/profile"),
      get("/profile", { "x-client": "bench" }),
      get("/profile", {
        authorization: PROFILE_HEADERS.authorization,
      }),
      get("/profile", { ...PROFILE_HEADERS, authorization: "Bearer 1" }),
    ],
    fillerRoutes: [0],
  },
];
