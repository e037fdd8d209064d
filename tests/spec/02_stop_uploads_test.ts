// Section 2 of the contract: run() "stops accepting, ends streams, waits for requests in flight up
// to a grace period": also for those whose bodies are still coming.

import { App, Form, Stream, UploadFile } from "@webfw/core";
import { assertEquals } from "@std/assert";
import * as v from "valibot";
import { headerOf, RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";

const SIZE = 300_000;

/** Ways to read a body of this size. Each reports its begin. */
const READERS: Readonly<Record<string, { type: string; head: string; tail: string; declare: (app: App) => void }>> = {
  "a stream": {
    type: "application/octet-stream",
    head: "",
    tail: "",
    declare: (app) =>
      void app.post("/", { body: Stream() }, async (_request, { body }) => {
        let size = 0;
        for await (const chunk of body) size += chunk.length;
        return size;
      }),
  },
  "JSON": {
    type: "application/json",
    head: '"',
    tail: '"',
    declare: (app) => void app.post("/", { body: v.string() }, async (_request, { body }) => body.length + 2),
  },
  "bytes": {
    type: "application/octet-stream",
    head: "",
    tail: "",
    declare: (app) => void app.post("/", async (request) => (await request.bytes()).length),
  },
  "a form with a file": {
    type: "multipart/form-data; boundary=x",
    head: '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n',
    tail: "\r\n--x--\r\n",
    declare: (app) => {
      const form = Form(v.object({ file: UploadFile }));
      app.post("/", { form }, async (_request, { form: { file } }) => file.size);
    },
  },
};

for (const [name, { type, head, tail, declare }] of Object.entries(READERS)) {
  Deno.test(`When it stops, a body that is still coming is read to its end: ${name}`, async () => {
    const arrived = Promise.withResolvers<void>();
    const app = new App();
    app.middleware(async (request, next) => {
      arrived.resolve();
      return await next(request);
    });
    declare(app);
    await using serving = await Serving.start(app);
    using connection = await RawConnection.open(serving.port);
    const fill = "x".repeat(SIZE - head.length - tail.length);
    await connection.write(
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${SIZE}\r\n\r\n${head}`,
    );
    await connection.write(fill.slice(0, 100_000));
    await arrived.promise;
    serving.tellToStop();
    await connection.write(fill.slice(100_000) + tail);
    const { status, body } = await connection.reply();
    assertEquals([status, Number(body)], [200, name === "a form with a file" ? fill.length : SIZE]);
    await serving.stopped;
  });
}

Deno.test("While it waits for a body, it answers new requests with 503", async () => {
  const arrived = Promise.withResolvers<void>();
  const app = new App();
  app.post("/", { body: Stream() }, async (_request, { body }) => {
    arrived.resolve();
    return (await Array.fromAsync(body)).length > 0;
  });
  app.get("/", async () => "served");
  await using serving = await Serving.start(app);
  using other = await RawConnection.open(serving.port);
  await other.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  assertEquals((await other.reply()).status, 200);
  using connection = await RawConnection.open(serving.port);
  await connection.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na");
  await arrived.promise;
  serving.tellToStop();
  await Promise.resolve();
  await other.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const refused = await other.reply();
  assertEquals([refused.status, JSON.parse(refused.body).detail], [503, "The server stops"]);
  assertEquals(headerOf(refused, "connection"), "close");
  await connection.write("b");
  assertEquals((await connection.reply()).body, "true");
  await serving.stopped;
});
