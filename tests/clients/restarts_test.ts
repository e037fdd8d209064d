// A reader of a durable topic, whose server is killed and stopped.

import { assertEquals } from "@std/assert";
import { client } from "@webfw/core/client";
import { join } from "node:path";
import { ChildProgram } from "../spec/support/child_program.ts";
import { freePorts } from "../support/free_ports.ts";
import type * as api from "./programs/tasks_api.ts";

const API = new URL("programs/tasks_api.ts", import.meta.url).href;
/** How many tasks come between two restarts. */
const COUNT = 5;

Deno.test("a reader outlives three restarts of its server: the stream comes back and goes on where it was", async () => {
  const folder = await Deno.makeTempDir({ prefix: "webfw_restarts_" });
  const [port = 0] = freePorts(1);
  const env = { WEBFW_TOPICS: join(folder, "topics.sqlite") };
  const start = async () => {
    const source = `import { app } from "${API}";
      await app.run({ port: ${port}, accessLog: false, onListen: ({ port }) => console.log("port", port) });`;
    const server = await ChildProgram.start(source, { env });
    await server.port();
    return server;
  };
  const tasks = client<typeof api>(`http://127.0.0.1:${port}`);
  const stream = tasks.events("/tasks/events");
  const numbers: (number | string)[] = [];
  for (const end of ["SIGKILL", "SIGTERM", "SIGKILL", "SIGTERM"] as const) {
    await using server = await start();
    for (let index = 0; index < COUNT; index++) {
      await tasks.post("/tasks", { body: { number: numbers.length + index } });
    }
    for (let index = 0; index < COUNT; index++) {
      const { value } = await stream.next();
      numbers.push(value.gap?.reason ?? value.data.number);
    }
    server.signal(end);
    await server.end();
  }
  await stream.return?.();
  assertEquals(numbers, Array.from({ length: 4 * COUNT }, (_, number) => number));
  await Deno.remove(folder, { recursive: true });
});
