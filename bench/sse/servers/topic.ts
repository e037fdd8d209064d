// Server-sent events of a topic.

import { App, SSE } from "@webfw/core";
import { announce } from "../../http/servers/listen.ts";
import { residentMemory } from "./memory.ts";

const app = new App();
const topic = app.topic("events");

app.get("/events", async () => SSE(topic.subscribe()));
app.get("/memory", async () => residentMemory());
app.post("/", async (request) => {
  await topic.publish(await request.json());
});

await app.run({ port: 0, onListen: ({ port }) => announce(port) });
