// Server-sent events by hand, the reference: each event is encoded once and enqueued to each
// stream.

import { announce } from "../../http/servers/listen.ts";
import { residentMemory } from "./memory.ts";

const encoder = new TextEncoder();
const subscribers = new Set<ReadableStreamDefaultController<Uint8Array>>();
const headers = { "content-type": "text/event-stream", "cache-control": "no-store" };
let published = 0;

Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => announce(port) }, async (request) => {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === "/events") return new Response(subscribe(), { headers });
  if (pathname === "/memory") return Response.json(await residentMemory());
  const data = await request.text();
  const count = Number(searchParams.get("count") ?? 1);
  for (let number = 1; number <= count; number++) {
    publish(data);
    // Others get their turn, as between requests.
    if (number % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return new Response(null, { status: 204 });
});

function publish(data: string): void {
  const event = encoder.encode(`id: ${++published}\ndata: ${data}\n\n`);
  for (const subscriber of subscribers) subscriber.enqueue(event);
}

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
