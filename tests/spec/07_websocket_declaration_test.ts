// Sections 7 and 3 of the contract: the declaration of a WebSocket route, and where it is listed.

import { App, RouteError, Router } from "@webfw/core";
import { assertEquals, assertThrows } from "@std/assert";
import * as v from "valibot";

Deno.test("a WebSocket is in the table of routes, and neither in the document nor a tool", () => {
  const app = new App();
  app.websocket("/chat", { receive: v.string() }, async function chat() {});
  app.get("/chat", async function chat() {
    return 1;
  });
  assertEquals(app.routes.map(({ method, path, operationId }) => [method, path, operationId]), [
    ["WEBSOCKET", "/chat", "chat2"],
    ["GET", "/chat", "chat"],
  ]);
  assertEquals(Object.keys(app.openapi().paths["/chat"] ?? {}), ["get"]);
  assertEquals(app.openapi().paths["/chat"]?.get?.operationId, "chat");
});

Deno.test("tool on a WebSocket is RouteError code tool, below a prefix too, and nothing is registered", () => {
  const app = new App();
  const router = new Router({ prefix: "/v1" });
  const options = { tool: true } as Record<never, never>;
  const table = [
    [() => app.websocket("/chat", options, async () => {}), "/chat"],
    [() => router.websocket("/chat", options, async () => {}), "/v1/chat"],
  ] as const;
  for (const [declare, path] of table) {
    const error = assertThrows(declare, RouteError);
    assertEquals(error.code, "tool");
    assertEquals(
      error.message,
      `Cannot expose WEBSOCKET ${path} as a tool: agents cannot converse over a WebSocket, leave out "tool"`,
    );
  }
  assertEquals(app.routes, []);
});

Deno.test("a socket that cannot be served throws at its declaration", () => {
  const app = new App();
  const handler = async (): Promise<void> => {};
  const declare = (options: unknown, given: unknown = handler) => () =>
    app.websocket("/", options as Record<never, never>, given as typeof handler);
  for (
    const [declaration, message] of [
      [
        declare({}, () => {}),
        "Cannot register WEBSOCKET /: the handler must be an async function, got another function",
      ],
      [declare({}, async function* () {}), "the handler must be an async function"],
      [declare({}, "chat"), "the handler must be an async function, got string"],
      [declare({ response: v.string() }), 'Cannot register WEBSOCKET /: the option "response" is unknown'],
      [declare({ receive: "text" }), '"receive" must be a valibot schema'],
      [declare({ send: {} }), '"send" must be a valibot schema'],
      [declare({ receive: v.object({ on: v.date() }) }), 'a schema of kind "date" cannot be read from JSON'],
      [declare({ send: v.map(v.string(), v.string()) }), "Cannot register WEBSOCKET /: cannot describe"],
      [
        declare({ origins: ["books.example"] }),
        'Cannot set the origins of WEBSOCKET /: "books.example" is not an origin',
      ],
      [declare({ origins: "https://books.example" }), "Cannot set the origins of WEBSOCKET /: it must be an array"],
      [declare({ protocols: ["a b"] }), '"protocols" must be an array of tokens'],
      [declare({ protocols: "v1" }), '"protocols" must be an array of tokens'],
      [declare({ idleTimeout: "soon" }), "Cannot set the idleTimeout of WEBSOCKET /"],
      [declare({ limits: { message: 0 } }), '"message" must be a positive number'],
      [declare({ params: { id: v.string() } }), 'it has no "{id}"'],
      [declare(null), "the options must be an object"],
      [() => new App({ origins: ["https://books.example/"] }), "Cannot set the origins of the App"],
    ] as const
  ) {
    assertThrows(declaration, Error, message);
  }
  assertEquals(app.routes, []);
});

Deno.test("it is too late for a WebSocket when the router is included, or the application serves", async () => {
  const router = new Router();
  const app = new App();
  app.include(router);
  const late = assertThrows(() => router.websocket("/chat", async () => {}), RouteError);
  assertEquals([late.code, late.message.slice(0, 42)], ["frozen", "Cannot register WEBSOCKET /chat: the route"]);
  await (await app.fetch(new Request("http://localhost/"))).body?.cancel();
  assertEquals(assertThrows(() => app.websocket("/chat", async () => {}), RouteError).code, "frozen");
  await app.stop();
});
