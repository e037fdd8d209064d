// WebSocket routes: the types of messages, arguments, state and request.

import { App, dependency, type HttpRequest, Router, stateType, type WebSocketConnection } from "@webfw/core";
import * as v from "valibot";
import { assertType, type IsExact } from "./assert_type.ts";

interface State {
  names: string[];
}
const state = stateType<State>();
const int = v.pipe(v.number(), v.integer());
const Said = v.object({ text: v.string(), at: v.pipe(v.string(), v.isoTimestamp(), v.toDate()) });
const Heard = v.object({ text: v.string(), times: v.optional(int, 1) });
const countBooks = dependency(async () => 12);

Deno.test("messages have the types of their schemas: the output of receive, the input of send", () => {
  const app = new App();
  app.websocket("/chat", { receive: Said, send: Heard }, async (socket, args) => {
    assertType<IsExact<typeof args, Record<never, never>>>(true);
    for await (const message of socket) {
      assertType<IsExact<typeof message, { text: string; at: Date }>>(true);
      await socket.send({ text: message.text });
      await socket.send({ text: message.text, times: 2 });
    }
    assertType<IsExact<Parameters<typeof socket.send>[0], v.InferInput<typeof Heard>>>(true);
  });
});

Deno.test("without schemas messages are text and bytes", () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    assertType<IsExact<typeof socket, WebSocketConnection>>(true);
    for await (const message of socket) {
      assertType<IsExact<typeof message, string | Uint8Array<ArrayBuffer>>>(true);
      await socket.send(message);
    }
  });
  app.websocket("/{id}", { params: { id: int } }, async (socket, { id }) => {
    assertType<IsExact<typeof socket, WebSocketConnection>>(true);
    assertType<IsExact<typeof id, number>>(true);
  });
});

Deno.test("arguments, state and the names of prefixes have their types, as in any handler", () => {
  const router = new Router({ prefix: "/shelves/{shelf}", state });
  router.websocket("/{id}", {
    params: { id: int },
    query: { limit: v.optional(int, 10), q: v.optional(v.string()) },
    headers: { "x-token": v.string() },
    cookies: { sid: v.string() },
    deps: { count: countBooks },
  }, async (socket, args) => {
    assertType<IsExact<typeof socket.request, HttpRequest<State>>>(true);
    assertType<
      IsExact<typeof args, {
        readonly shelf: string;
        readonly id: number;
        readonly limit: number;
        readonly q: string | undefined;
        readonly headers: { readonly "x-token": string };
        readonly cookies: { readonly sid: string };
        readonly count: number;
      }>
    >(true);
  });
  const app = new App({ state });
  app.include(router);
});
