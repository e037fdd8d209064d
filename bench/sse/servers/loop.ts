// Server-sent events by hand, which webfw is compared with: each event is encoded once and enqueued to each stream.

import { announce } from "../../http/servers/listen.ts";
import { residentMemory } from "./memory.ts";

const encoder = new TextEncoder();
const subscribers = new Set<ReadableStreamDefaultController<Uint8Array>>();
const headers = { "content-type": "text/event-stream", "cache-control": "no-store" };
let published = 0;

Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => announce(port) }, async (request) => {
  const { pathname } = new URL(request.url);
  if (pathname === "/events") return new Response(subscribe(), { headers });
  if (pathname === "/memory") return Response.json(residentMemory());
  const event = encoder.encode(`id: ${++published}\ndata: ${await request.text()}\n\n`);
  for (const subscriber of subscribers) subscriber.enqueue(event);
  return new Response(null, { status: 204 });
});

function subscribe(): ReadableStream<Uint8Array> {
  let subscriber: ReadableStreamDefaultController<Uint8Array>;
  return new ReadableStream({
    start(controller) {
      subscriber = controller;
      subscribers.add(subscriber);
      controller.enqueue(encoder.encode(`id: ${published}\n\n`));
    },
    cancel() {
      subscribers.delete(subscriber);
    },
  });
}
