// A WebSocket server, by hand or by webfw, in its own process. It prints its port on stdout.

import * as v from "valibot";
import { App } from "../../../mod.ts";

/** The message for a client that does not read. */
const EVENT = JSON.stringify({ symbol: "WEBFW", price: 12.5, note: "x".repeat(60) });

/** The resident memory after garbage collection, in bytes. */
async function residentMemory(): Promise<number> {
  for (let turn = 0; turn < 10; turn++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return Deno.memoryUsage().rss;
}

function byHand(): Deno.ServeHandler {
  const sockets = new Set<WebSocket>();
  return async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/memory") return Response.json(await residentMemory());
    if (pathname === "/publish") {
      for (let left = Number(searchParams.get("count")); left > 0; left--) {
        for (const socket of sockets) socket.send(EVENT);
        if (left % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
      }
      return Response.json(await residentMemory());
    }
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 120 });
    if (pathname === "/echo") socket.onmessage = ({ data }) => socket.send(data);
    else if (pathname === "/echo/json") socket.onmessage = ({ data }) => socket.send(JSON.stringify(JSON.parse(data)));
    else sockets.add(socket);
    return response;
  };
}

function byWebfw(): Deno.ServeHandler {
  const app = new App();
  const Message = v.object({ id: v.number(), text: v.string() });
  const events = app.topic<string>("events");
  const isImpatient = new Set<(event: string) => void>();
  app.get("/memory", async () => await residentMemory());
  app.get("/publish", { query: { count: v.number() } }, async (_request, { count }) => {
    for (let left = count; left > 0; left--) {
      await events.publish(EVENT);
      for (const send of isImpatient) send(EVENT);
      if (left % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
    }
    return await residentMemory();
  });
  app.websocket("/echo", async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  app.websocket("/echo/json", { receive: Message, send: Message }, async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  app.websocket("/events", async (socket) => {
    for await (const entry of events.subscribe({ signal: socket.signal })) {
      if ("data" in entry) await socket.send(entry.data);
    }
  });
  app.websocket("/events/impatient", async (socket) => {
    const send = (event: string) => void socket.send(event);
    isImpatient.add(send);
    for await (const _ of socket);
    isImpatient.delete(send);
  });
  return app.fetch;
}

const handler = Deno.args[0] === "webfw" ? byWebfw() : byHand();
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(`port ${port}`) }, handler);
