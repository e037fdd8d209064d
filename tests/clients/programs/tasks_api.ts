// A service whose messages outlive its process. WEBFW_TOPICS says where they are.

import { App, Events, SSE } from "@webfw/core";
import * as v from "valibot";

const Task = v.object({ number: v.number() });

export const app = new App();
const tasks = app.topic("tasks", { schema: Task, durable: true });

export const addTask = app.post("/tasks", { body: Task, status: 201 }, async (_request, { body }) => {
  await tasks.publish(body);
});

export const streamTasks = app.get("/tasks/events", { response: Events(tasks) }, async () => {
  return SSE(tasks.subscribe({ from: "earliest" }), { retry: 100 });
});
