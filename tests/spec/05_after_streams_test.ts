// Section 5 of the contract over real sockets: "after(task) (runs after the last byte has gone)",
// for replies of every kind.

import { assert, assertEquals } from "@std/assert";
import { App, dependency, file, Form, type HttpRequest, UploadFile } from "@webfw/core";
import * as v from "valibot";
import { RawConnection } from "./support/raw_connection.ts";
import { Serving } from "./support/serving.ts";
import { TemporaryFolder } from "./support/temporary_folder.ts";
import { ticks } from "./support/ticks.ts";

/** More than the socket buffers of both sides. */
const SIZE = 64 * 1024 * 1024;

/** Returns zeros in parts, and records when all were read. */
function parts(order: string[]): () => Uint8Array<ArrayBuffer> | undefined {
  let left = SIZE;
  return () => {
    if (left === 0) {
      order.push("source");
      return undefined;
    }
    left -= 256 * 1024;
    return new Uint8Array(256 * 1024);
  };
}

/** Replies of this many bytes. */
const REPLIES: Record<
  string,
  (order: string[], folder: TemporaryFolder) => (request: HttpRequest) => Promise<unknown>
> = {
  "an async iterable": (order) => async () => {
    const next = parts(order);
    return (async function* () {
      for (let part; (part = next());) yield part;
    })();
  },
  "a ReadableStream": (order) => async () => {
    const next = parts(order);
    return new ReadableStream({
      pull(controller) {
        const part = next();
        if (part) controller.enqueue(part);
        else controller.close();
      },
    });
  },
  "a Response of the handler": (order) => async () => {
    const next = parts(order);
    return new Response(ReadableStream.from((function* () {
      for (let part; (part = next());) yield part;
    })()));
  },
  "a Blob": (order) => async () => {
    order.push("source");
    return new Blob([new Uint8Array(SIZE)]);
  },
  "a file": (order, folder) => async () => {
    order.push("source");
    await Deno.writeFile(folder.within("zeros"), new Uint8Array());
    await Deno.truncate(folder.within("zeros"), SIZE);
    return await file(folder.within("zeros"));
  },
};

for (const [name, make] of Object.entries(REPLIES)) {
  for (const isTaken of [true, false]) {
    const end = isTaken ? "its client has taken all of it" : "its client has gone";
    Deno.test(`Tasks and cleanups wait until ${end}: ${name}`, async () => {
      await using folder = await TemporaryFolder.make();
      const [order, ended] = [[] as string[], Promise.withResolvers<void>()];
      const handle = make(order, folder);
      const app = new App();
      const db = dependency(async function* () {
        yield "db";
        order.push("dependency");
        ended.resolve();
      });
      app.get("/", { deps: { db } }, async (request) => {
        request.after(() => order.push("after"));
        return await handle(request);
      });
      await using serving = await Serving.start(app);
      using connection = await RawConnection.open(serving.port);
      await connection.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      await connection.until("\r\n\r\n");
      await ticks(100);
      assert(!order.includes("after") && !order.includes("dependency"), order.join());
      if (isTaken) await connection.drain();
      else connection.close();
      await ended.promise;
      assertEquals(order.filter((step) => step !== "source"), ["after", "dependency"]);
      if (isTaken) assertEquals(order[0], "source");
    });
  }
}

Deno.test("Tasks and cleanups can read an uploaded file", async () => {
  const sizes: number[] = [];
  const ended = Promise.withResolvers<void>();
  const app = new App();
  let uploaded: UploadFile | undefined;
  const audit = dependency(async function* () {
    yield "audit";
    sizes.push((await uploaded!.bytes()).length);
    ended.resolve();
  });
  app.post("/", { form: Form(v.object({ f: UploadFile })), deps: { audit } }, async (request, { form }) => {
    uploaded = form.f;
    request.after(async () => sizes.push((await form.f.bytes()).length));
  });
  await using serving = await Serving.start(app);
  const body = new FormData();
  body.append("f", new File([new Uint8Array(2_000_000)], "f"));
  assertEquals((await fetch(serving.origin, { method: "POST", body })).status, 204);
  await ended.promise;
  assertEquals(sizes, [2_000_000, 2_000_000]);
});
