// Section 1 of the contract of the client: "`webfw asyncapi main.ts:app -o file` writes an AsyncAPI
// 3.0 document of WebSocket routes, event streams and topics." tests/cli has the command itself.

import { assert, assertEquals } from "@std/assert";
import { App, Events } from "@webfw/core";
import {
  asyncapiOf,
  chatApp,
  collidingApp,
  eventsApp,
  guardedApp,
  Heard,
  hiddenApp,
  locatedApp,
  Said,
  topicsApp,
} from "../../support/asyncapi_apps.ts";
import { INT64 } from "./json_schema/support/integer_bounds.ts";

Deno.test("A WebSocket route is a channel with its path, parameters, query, headers and both kinds of messages", async () => {
  const document = await asyncapiOf(chatApp());
  const { asyncapi, info, channels, operations, components, servers } = document;
  assertEquals([asyncapi, servers], ["3.0.0", undefined]);
  assertEquals(info, { title: "Chat", version: "1.0.0", description: "Talking." });
  assertEquals(channels.talk, {
    address: "/rooms/{room}/chat/{seat}",
    summary: "Talk in a room.",
    description: "Until you leave.",
    parameters: {
      room: { enum: ["a", "b"], "x-schema": { enum: ["a", "b"], type: "string" } },
      seat: { description: "Where to sit.", "x-schema": INT64 },
    },
    messages: {
      received: {
        name: "talkReceived",
        contentType: "application/json",
        payload: { $ref: "#/components/schemas/Said" },
      },
      sent: { name: "talkSent", contentType: "application/json", payload: { $ref: "#/components/schemas/Heard" } },
    },
    tags: [{ name: "rooms" }],
    bindings: {
      ws: {
        method: "GET",
        query: {
          type: "object",
          properties: { since: { type: "string" }, limit: { ...INT64, default: 10 } },
          required: ["since"],
        },
        headers: {
          type: "object",
          properties: {
            "x-device": { type: "string" },
            cookie: { type: "string", description: "The cookies, of which these are read: theme" },
          },
        },
        bindingVersion: "0.1.0",
      },
    },
  });
  assertEquals(operations.talkReceive, {
    action: "receive",
    channel: { $ref: "#/channels/talk" },
    summary: "Talk in a room.",
    messages: [{ $ref: "#/channels/talk/messages/received" }],
    tags: [{ name: "rooms" }],
  });
  assertEquals([operations.talkSend?.action, operations.talkSend?.messages], ["send", [
    { $ref: "#/channels/talk/messages/sent" },
  ]]);
  assertEquals(Object.keys(components.schemas!), ["Heard", "HeardMoved", "HeardSaid", "Said"]);
});

Deno.test("A WebSocket route without schemas sends and receives text or bytes", async () => {
  const { channels } = await asyncapiOf(chatApp());
  assertEquals(channels.echo?.address, "/echo/{path}");
  assertEquals(channels.echo?.messages.received, { name: "echoReceived", summary: "Text, or bytes." });
});

Deno.test("Schemas are those of draft 07, as AsyncAPI has them: tuples, and no discriminator", async () => {
  const { components } = await asyncapiOf(chatApp());
  const text = JSON.stringify(components.schemas);
  assert(!/prefixItems|discriminator|mapping/.test(text), text);
  assert(text.includes('"items":[{"type":"number","format":"double"},{"type"'), text);
});

Deno.test("Models have the names that they have in the OpenAPI document", async () => {
  const app = chatApp();
  app.post(
    "/said",
    { body: Said, response: Heard },
    async () => ({ type: "moved" as const, to: [1, 2] as [number, number] }),
  );
  const names = Object.keys(app.openapi().components.schemas!);
  for (const name of Object.keys((await asyncapiOf(app)).components.schemas!)) assert(names.includes(name), name);
});

Deno.test("Hidden routes, routes for requests, and mounts are no channels", async () => {
  const app = hiddenApp();
  const document = await asyncapiOf(app);
  assertEquals([document.channels, document.operations, document.components], [{}, {}, {}]);
});

Deno.test("An event stream is a channel on which the application sends events, with the schema of their data", async () => {
  const { channels, operations, components, servers } = await asyncapiOf(eventsApp());
  const { messages, ...channel } = channels.newOrders!;
  assertEquals(channel, {
    address: "/shops/{slug}/orders",
    summary: "Orders as they come.",
    parameters: { slug: {} },
    servers: [{ $ref: "#/servers/https" }],
  });
  const { headers, ...event } = messages.event!;
  assertEquals(event, {
    name: "newOrdersEvent",
    contentType: "application/json",
    payload: { $ref: "#/components/schemas/Order" },
  });
  assertEquals(Object.keys(headers!.properties!), ["id", "event", "retry"]);
  assertEquals(components.schemas!.Order?.properties?.placed, { type: "string", format: "date-time" });
  assertEquals(operations.newOrdersSend, {
    action: "send",
    channel: { $ref: "#/channels/newOrders" },
    summary: "Orders as they come.",
    messages: [{ $ref: "#/channels/newOrders/messages/event" }],
    bindings: {
      http: {
        method: "GET",
        query: { type: "object", properties: { since: { type: "string" } } },
        bindingVersion: "0.3.0",
      },
    },
    "x-headers": { type: "object", properties: { "x-device": { type: "string" } }, required: ["x-device"] },
  });
  assertEquals(operations.askSend?.bindings?.http.method, "POST");
  assertEquals(Object.keys(operations).filter((name) => name.endsWith("Receive")), ["talkReceive"]);
  assertEquals(Object.keys(servers!), ["wss", "https", "webfw"]);
});

Deno.test("A tag that a route has twice is one tag", async () => {
  const app = new App();
  app.get("/", { response: Events(Heard), tags: ["news", "news"] }, async function* hear() {});
  const { channels } = await asyncapiOf(app);
  assertEquals(channels.hear!.tags, [{ name: "news" }]);
  assertEquals(app.openapi().paths["/"]!.get!.tags, ["news"]);
});

Deno.test("Models of events have the names that they have in the OpenAPI document", async () => {
  const app = eventsApp();
  const { schemas } = app.openapi().components;
  const { components, channels } = await asyncapiOf(app);
  const names = [channels.events, channels.newOrders].map((channel) => channel!.messages.event!.payload!.$ref!);
  for (const name of names.map((ref) => ref.split("/").at(-1)!)) assert(schemas![name] && components.schemas![name]);
});

Deno.test("Topics are channels on which the application publishes, durable or not", async () => {
  const app = topicsApp();
  const document = await asyncapiOf(app);
  const { channels, operations } = document;
  assertEquals(Object.keys(channels), ["topicOrders", "topicPricesEu"]);
  assertEquals(channels.topicOrders?.address, "orders");
  assertEquals(
    channels.topicOrders?.description,
    "A durable topic: its messages are in a store, which processes can share. " +
      "It keeps the last 500 messages, messages of the last 7 days, at most 64 MiB.",
  );
  assertEquals(channels.topicOrders?.messages.message?.payload, { $ref: "#/components/schemas/Order" });
  assertEquals(operations.topicOrdersSend, {
    action: "send",
    channel: { $ref: "#/channels/topicOrders" },
    messages: [{ $ref: "#/channels/topicOrders/messages/message" }],
  });
  assertEquals(channels.topicPricesEu?.address, "prices/%7Beu%7D");
  assert(channels.topicPricesEu?.description?.startsWith("A topic in the memory of the process."));
  assertEquals(channels.topicPricesEu?.messages.message?.payload, undefined);
});

Deno.test("A topic and a route that want one name get two", async () => {
  const app = collidingApp();
  const document = await asyncapiOf(app);
  assertEquals(Object.keys(document.channels), ["topicOrders", "topicOrders2", "topicOrders3"]);
});

Deno.test("What the application says of itself is in `info`, and `servers` have the protocols of their channels", async () => {
  const app = locatedApp();
  const document = await asyncapiOf(app);
  assertEquals(document.info, {
    title: "Chat",
    version: "1.0.0",
    description: "Talking.",
    contact: { name: "Ada", email: "ada@shop.example" },
    license: { name: "Apache 2.0", "x-identifier": "Apache-2.0" },
    termsOfService: "https://shop.example/terms",
    tags: [{ name: "rooms", description: "Where people talk." }],
    externalDocs: { url: "https://shop.example/guide" },
  });
  assertEquals(document.servers, {
    wss: {
      host: "{region}.shop.example:8443",
      protocol: "wss",
      pathname: "/v1",
      description: "By region.",
      variables: { region: { default: "eu", enum: ["eu", "us"] } },
    },
    ws: { host: "localhost:8000", protocol: "ws" },
    webfw: {
      host: "application",
      protocol: "webfw",
      description: "The topics inside of the application. Clients get their messages from other channels.",
    },
  });
  assertEquals(document.channels.talk?.servers, [{ $ref: "#/servers/wss" }, { $ref: "#/servers/ws" }]);
  assertEquals(document.channels.topicOrders?.servers, [{ $ref: "#/servers/webfw" }]);
});

Deno.test("Guards are security schemes, and scopes those that an operation needs", async () => {
  const app = guardedApp();
  const document = await asyncapiOf(app);
  const { operations, components: { securitySchemes } } = document;
  const bearerRef = { $ref: "#/components/securitySchemes/bearer" };
  const keyName = Object.keys(securitySchemes!).find((name) => securitySchemes![name]!.type === "httpApiKey")!;
  const keyRef = { $ref: `#/components/securitySchemes/${keyName}` };
  assertEquals(securitySchemes![keyName], { type: "httpApiKey", in: "header", name: "x-key" });
  assertEquals(operations.userReceive?.security, [bearerRef]);
  assertEquals(operations.eitherReceive?.security, [bearerRef, keyRef]);
  assertEquals(operations.eitherReceive?.["x-security"], undefined);
  assertEquals(operations.bothSend?.security, [bearerRef, keyRef]);
  assertEquals(operations.bothSend?.["x-security"], [{ bearer: [], [keyName]: [] }]);
  assertEquals(operations.maybeSend?.security, undefined);
  assertEquals(operations.maybeSend?.["x-security"], [{ basic: [] }, {}]);
  assertEquals(operations.scopedSend?.security, [{
    type: "oauth2",
    flows: {
      clientCredentials: {
        tokenUrl: "https://shop.example/token",
        availableScopes: { read: "Read", write: "Write" },
      },
    },
    scopes: ["read"],
  }]);
});

Deno.test("The document is the same each time, and nothing of an application is started for it", async () => {
  const app = chatApp();
  app.lifespan(async function* () {
    yield await Promise.reject(new Error("started"));
  });
  assertEquals(JSON.stringify(await asyncapiOf(app)), JSON.stringify(await asyncapiOf(app)));
  assertEquals(JSON.stringify(await asyncapiOf(app)), JSON.stringify(await asyncapiOf(chatApp())));
});
