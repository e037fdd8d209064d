// Section 5 of the contract over real sockets: what of a request can be read in its tasks, cleanups,
// streams and WebSockets. The platform drops what nobody has read before the reply.

import { assertEquals } from "@std/assert";
import { App, dependency, type HttpRequest } from "@webfw/core";
import { Serving } from "./support/serving.ts";
import { RawConnection } from "./support/raw_connection.ts";
import { ticks } from "./support/ticks.ts";

/** Reads everything of a request. */
function read(request: HttpRequest): Record<string, unknown> {
  return {
    header: request.headers.get("x-name"),
    cookie: request.cookies.sid,
    url: request.url.pathname,
    query: request.query.get("q"),
    method: request.method,
    address: request.remoteAddress,
    lastEventId: request.lastEventId,
    key: request.idempotencyKey,
  };
}

/** What {@linkcode read} finds of each request of these tests. */
const FOUND = {
  header: "Ada",
  cookie: "7",
  query: "1",
  method: "GET",
  address: "127.0.0.1",
  lastEventId: "e",
  key: "k",
};

const HEADERS = "Host: x\r\nX-Name: Ada\r\nCookie: sid=7\r\nLast-Event-ID: e\r\nIdempotency-Key: k\r\n";

Deno.test("Tasks, cleanups, streams and WebSockets can read a request of which nothing was read before", async () => {
  const reads = new Map<string, unknown>();
  const done = new Map<string, PromiseWithResolvers<void>>();
  const note = (request: HttpRequest) => {
    try {
      reads.set(request.path, read(request));
    } catch (error) {
      reads.set(request.path, String(error));
    }
    done.get(request.path)!.resolve();
  };
  const opened = dependency(async function* (request: HttpRequest) {
    yield 1;
    note(request);
  });
  // The platform hands over the rest of a stream later.
  const later = () => ticks(1);
  const app = new App();
  app.get("/after", async (request) => request.after(() => note(request)));
  app.get("/cleanup", { deps: { opened } }, async () => 1);
  app.get("/lines", async function* (request) {
    yield 1;
    await later();
    note(request);
  });
  app.get("/bytes", async (request) =>
    new ReadableStream({
      async pull(controller) {
        await later();
        note(request);
        controller.close();
      },
    }));
  app.websocket("/socket", async ({ request }) => {
    await later();
    note(request);
  });
  await using serving = await Serving.start(app);
  for (const path of ["/after", "/cleanup", "/lines", "/bytes", "/socket"]) {
    done.set(path, Promise.withResolvers());
    using connection = await RawConnection.open(serving.port);
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    await connection.write(
      `GET ${path}?q=1 HTTP/1.1\r\n${HEADERS}${path === "/socket" ? upgrade : "Connection: close\r\n"}\r\n`,
    );
    await connection.until("\r\n\r\n");
    await done.get(path)!.promise;
    assertEquals(reads.get(path), { ...FOUND, url: path }, path);
  }
});
