// While the framework loads a part of itself, it reads no body: that time does not count against
// the client.

import { App, Stream } from "@webfw/core";
import { assertEquals } from "@std/assert";
import { load } from "../../../src/base/async_context.ts";
import { RawConnection } from "../../spec/support/raw_connection.ts";
import { Serving } from "../../spec/support/serving.ts";
import { SkippedTimeout } from "../../spec/support/skipped_timeout.ts";
import { ticks } from "../../spec/support/ticks.ts";

Deno.test("When a server stops, it refuses no body before all modules are loaded", async () => {
  const arrived = Promise.withResolvers<void>();
  const app = new App();
  app.post("/", { body: Stream() }, async (_request, { body }) => {
    arrived.resolve();
    return (await Array.fromAsync(body)).length > 0;
  });
  await using serving = await Serving.start(app);
  using connection = await RawConnection.open(serving.port);
  await connection.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na");
  await arrived.promise;
  const module = Promise.withResolvers<void>();
  const loading = load(() => module.promise);
  // The 2 seconds that a body has then.
  using _skipped = new SkippedTimeout(2_000);
  serving.tellToStop();
  await ticks(5);
  await connection.write("b");
  const { status, body } = await connection.reply();
  module.resolve();
  await loading;
  assertEquals([status, body], [200, "true"]);
  await serving.stopped;
});
