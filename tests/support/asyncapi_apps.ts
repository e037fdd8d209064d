// Applications whose AsyncAPI documents are tested, also with the reference parser.

import { apiKey, basic, bearer, optional } from "@webfw/core/auth";
import { anySecurity, App, type AppOptions, dependency, Events, Router, SSE } from "@webfw/core";
import * as v from "valibot";
import type { AsyncAPIDocument } from "../../src/describe/asyncapi/document.ts";

/** What `webfw asyncapi` prints, as the program in the process of the application gets it. */
export async function asyncapiOf(app: unknown): Promise<AsyncAPIDocument> {
  const describe: () => Promise<AsyncAPIDocument> = Reflect.get(app as App, Symbol.for("webfw.app")).asyncapi;
  return await describe();
}

export const Said = v.pipe(
  v.object({ text: v.string(), at: v.optional(v.pipe(v.string(), v.isoTimestamp())) }),
  v.title("Said"),
);
export const Heard = v.pipe(
  v.variant("type", [
    v.object({ type: v.literal("said"), said: Said }),
    v.object({ type: v.literal("moved"), to: v.tuple([v.number(), v.number()]) }),
  ]),
  v.title("Heard"),
);

/** WebSockets with and without schemas. */
export function chatApp(options: AppOptions = {}): App {
  const app = new App({ title: "Chat", version: "1.0.0", description: "Talking.", ...options });
  const rooms = new Router({ prefix: "/rooms/{room}", tags: ["rooms"] });
  rooms.websocket("/chat/{seat}", {
    params: { seat: v.pipe(v.number(), v.integer(), v.description("Where to sit.")), room: v.picklist(["a", "b"]) },
    query: { since: v.string(), limit: v.optional(v.pipe(v.number(), v.integer()), 10) },
    headers: { "x-device": v.optional(v.string()) },
    cookies: { theme: v.optional(v.string()) },
    receive: Said,
    send: Heard,
  }, async function talk(socket) {
    `Talk in a room.

    Until you leave.`;
    for await (const said of socket) await socket.send({ type: "said", said });
  });
  app.include(rooms);
  app.websocket("/echo/{path...}", async function echo() {});
  return app;
}

/** Streams of events: of a schema, of a topic, and the answer to a POST. */
export function eventsApp(): App {
  const app = new App({ servers: [{ url: "https://shop.example/v1" }] });
  const Order = v.pipe(v.object({ id: v.number(), placed: v.date() }), v.title("Order"));
  const orders = app.topic("orders", { schema: v.object({ id: v.number() }) });
  app.get(
    "/shops/{slug}/orders",
    { query: { since: v.optional(v.string()) }, headers: { "x-device": v.string() }, response: Events(Order) },
    async function* newOrders() {
      "Orders as they come.";
      yield { id: 1, placed: new Date(0) };
    },
  );
  app.get("/events", { response: Events(orders) }, async function events() {
    return SSE(orders.subscribe());
  });
  app.post("/ask", { body: v.object({ text: v.string() }), response: Events(v.string()) }, async function* ask() {
    yield "word";
  });
  app.websocket("/talk", async function talk() {});
  return app;
}

/** Topics, durable and not. */
export function topicsApp(): App {
  const app = new App();
  app.topic("orders", {
    schema: v.pipe(v.object({ id: v.number(), total: v.optional(v.number(), 0) }), v.title("Order")),
    durable: true,
    retention: { age: "7d", count: 500 },
  });
  app.topic("prices/{eu}");
  return app;
}

/** Channels that want one name. */
export function collidingApp(): App {
  const app = new App();
  app.websocket("/orders", async function topicOrders() {});
  app.topic("orders");
  app.topic("Orders");
  return app;
}

/** All that an application says of itself. */
export function locatedApp(): App {
  const app = chatApp({
    contact: { name: "Ada", email: "ada@shop.example" },
    license: { name: "Apache 2.0", identifier: "Apache-2.0" },
    termsOfService: "https://shop.example/terms",
    externalDocs: { url: "https://shop.example/guide" },
    tags: [{ name: "rooms", description: "Where people talk." }],
    servers: [
      {
        url: "https://{region}.shop.example:8443/v1",
        description: "By region.",
        variables: { region: { default: "eu", enum: ["eu", "us"] } },
      },
      { url: "http://localhost:8000" },
      { url: "/v1" },
    ],
  });
  app.topic("orders");
  return app;
}

/** Every kind of guard. */
export function guardedApp(): App {
  const oauth = dependency(
    {
      security: {
        oauth: {
          type: "oauth2",
          flows: { clientCredentials: { tokenUrl: "/token", scopes: { read: "Read", write: "Write" } } },
          scopes: ["read"],
        },
      },
    },
    async () => "Ada",
  );
  const user = bearer(async () => "Ada");
  const key = apiKey(async () => "Ada", { in: "header", name: "x-key" });
  const app = new App({ servers: [{ url: "https://shop.example/v1" }] });
  app.websocket("/user", { deps: { user } }, async function user() {});
  app.websocket("/either", { deps: { user: anySecurity(user, key) } }, async function either() {});
  app.websocket("/both", { deps: { user, key } }, async function both() {});
  app.websocket("/maybe", { deps: { user: optional(basic(async () => "Ada")) } }, async function maybe() {});
  app.websocket("/scoped", { deps: { user: oauth } }, async function scoped() {});
  return app;
}

/** No channels. */
export function hiddenApp(): App {
  const app = new App();
  app.get("/", async () => 1);
  app.mount("/other", () => new Response());
  const hidden = new Router({ hidden: true });
  hidden.websocket("/secret", async () => {});
  app.include(hidden);
  return app;
}
