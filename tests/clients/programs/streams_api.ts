// The streams and sockets that the programs of these tests use.

import { App, dependency, Events, html, HTTPError, Router } from "@webfw/core";
import * as v from "valibot";

/** How many events a connection brings before it ends. */
const EACH = 3;

const shops = new Router({ prefix: "/shops/{slug}" });

export const counts = shops.get(
  "/counts",
  { response: Events(v.object({ n: v.number() })) },
  async function* (request) {
    const after = Number(request.lastEventId ?? 0);
    for (let n = after + 1; n <= after + EACH; n++) yield { id: `${n}`, retry: 1, data: { n } };
  },
);

export const steps = shops.post("/steps", { response: Events(v.string()) }, async function* () {
  yield "begin";
  yield "end";
});

const Said = v.object({ text: v.string() });
const Heard = v.object({ by: v.string(), text: v.string() });
const user = dependency({ query: { user: v.optional(v.string()) } }, async (_request, { user }) => {
  if (user === undefined) throw new HTTPError(401, "Say who you are");
  return user;
});

export const chat = shops.websocket(
  "/chat/{room}",
  { receive: Said, send: Heard, query: { user: v.optional(v.string()) }, deps: { by: user } },
  async (socket, { by }) => {
    for await (const { text } of socket) await socket.send({ by, text });
  },
);

/** An application with these routes below `/v1`, and a page. */
export function service(): App {
  const app = new App();
  app.get("/", async () => html("<!doctype html><link rel=icon href='data:,'><title>Page</title>"));
  app.include(shops, { prefix: "/v1" });
  return app;
}
