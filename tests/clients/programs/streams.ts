// Uses streams and sockets, on any platform. It is bundled for it.

import { client } from "../../../src/client/mod.ts";
import type * as api from "./streams_api.ts";

/** Uses streams and sockets below an address, and gives what came, as JSON can write it. */
export async function run(base: string): Promise<Record<string, unknown>> {
  // Browsers send no header with a socket.
  const shop = client<typeof api>(base, { headers: () => ({ "x-token": "t" }) });
  const slug = "a b/ü";
  const found: Record<string, unknown> = {};

  const numbers: unknown[] = [];
  for await (const event of shop.events("/shops/{slug}/counts", { slug })) {
    if (event.gap || numbers.push([event.id, event.data.n]) === 7) break;
  }
  found.numbers = numbers;
  const steps: unknown[] = [];
  for await (const { data } of await shop.post("/shops/{slug}/steps", { slug }) as AsyncIterable<{ data: string }>) {
    steps.push(data);
  }
  found.steps = steps;

  const refused = await shop.websocket("/shops/{slug}/chat/{room}", { slug, room: "a" }).catch((error) => error);
  found.refused = [refused.name, refused.status, refused.problem?.detail];
  const room = await shop.websocket("/shops/{slug}/chat/{room}", { slug, room: "a", user: "Ann" });
  await room.send({ text: "hello" });
  for await (const message of room) {
    found.heard = message;
    await room.close(3001, "done");
  }
  found.closed = [room.closed?.code, room.closed?.reason];
  return found;
}
