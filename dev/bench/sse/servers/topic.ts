// Server-sent events of a topic.

import { App, SSE } from "@webfw/core";
import * as v from "valibot";
import { announce } from "../../http/servers/listen.ts";
import { residentMemory } from "./memory.ts";

const app = new App();
const topic = app.topic("events");

app.get("/events", async () => SSE(topic.subscribe()));
app.get("/memory", async () => await residentMemory());
app.post("/", { query: { count: v.optional(v.number(), 1) } }, async (request, { count }) => {
  const data = await request.json();
  for (let number = 1; number <= count; number++) {
    await topic.publish(data);
    // Others get their turn, as between requests.
    if (number % 1000 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
});

await app.run({ port: 0, onListen: ({ port }) => announce(port) });
