// "`client.websocket(path, { receive, send })` beside the verbs, without a socket": "the schemas
// that `websocket` takes are the client's view: `receive` is what comes from the server".

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, WebSocketClosedError } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";

const Said = v.object({ text: v.string() });
const Heard = v.object({ text: v.string(), times: v.number() });

function echoing(): App {
  const app = new App();
  app.websocket("/echo", async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  return app;
}

Deno.test("receive is what comes from the server, and send what the client sends, as JSON", async () => {
  const app = new App();
  app.websocket("/{room}", { receive: Said, send: Heard, query: { times: v.number() } }, async (socket, { times }) => {
    for await (const { text } of socket) await socket.send({ text, times });
  });
  await using client = new TestClient(app);
  await using socket = await client.websocket("/a", { receive: Heard, send: Said, query: { times: 2 } });
  await socket.send({ text: "Hello" });
  const { text, times } = await socket.receive();
  assertEquals([text.toUpperCase(), times + 1], ["HELLO", 3]);
});

Deno.test("Messages that do not fit the schemas of the client are refused", async () => {
  const app = new App();
  app.websocket("/", { receive: v.looseObject({}) }, async (socket) => {
    for await (const message of socket) await socket.send(JSON.stringify(message));
  });
  await using client = new TestClient(app);
  await using socket = await client.websocket("/", { receive: Said, send: Said });
  await socket.send({ text: "fits" });
  assertEquals(await socket.receive(), { text: "fits" });
  const wrong = { text: 5 } as unknown as { text: string };
  const faults = 'Cannot send the message to /: it does not fit the schema, "text" should be string';
  await assertRejects(() => socket.send(wrong), TypeError, faults);
  await using other = await client.websocket("/", { receive: Heard, send: Said });
  await other.send({ text: "no times" });
  const fault = await assertRejects(() => other.receive(), TypeError, "Cannot read the message of /: times: ");
  assert(fault.message.endsWith(', got {"text":"no times"}'), fault.message);
});

Deno.test("A client sends what a schema takes, and the server transforms it", async () => {
  const Dated = v.object({ on: v.pipe(v.string(), v.isoDate(), v.transform((text) => text.length)) });
  const app = new App();
  app.websocket("/", { receive: Dated, send: v.number() }, async (socket) => {
    for await (const { on } of socket) await socket.send(on);
  });
  await using client = new TestClient(app);
  await using socket = await client.websocket("/", { receive: v.number(), send: Dated });
  await socket.send({ on: "2026-01-01" });
  assertEquals(await socket.receive(), 10);
});

Deno.test("Without schemas a client sends and gets text and bytes", async () => {
  await using client = new TestClient(echoing());
  await using socket = await client.websocket("/echo");
  for (const message of ["", "Grüße 👋", "{}", new Uint8Array(), new Uint8Array([0, 1, 255])]) {
    await socket.send(message);
    assertEquals(await socket.receive(), message);
  }
  await assertRejects(
    () => socket.send({} as string),
    TypeError,
    "without a schema it must be a string or a Uint8Array",
  );
});

Deno.test("A loop gets what was sent before the server closes, and ends then", async () => {
  const app = new App();
  app.websocket("/", { send: v.number() }, async (socket) => {
    for (let number = 0; number < 500; number++) await socket.send(number);
    socket.close(4001, "That is all");
  });
  await using client = new TestClient(app);
  const socket = await client.websocket("/", { receive: v.number() });
  const numbers: number[] = [];
  for await (const number of socket) numbers.push(number);
  assertEquals(numbers, Array.from({ length: 500 }, (_, index) => index));
  assertEquals([socket.closed?.code, (await socket.ended).reason], [4001, "That is all"]);
  const closed = await assertRejects(() => socket.receive(), WebSocketClosedError);
  assertEquals(closed.code, 4001);
  await assertRejects(() => socket.send("late"), WebSocketClosedError);
});

Deno.test("A close of the client ends the handler's loop after what was sent before", async () => {
  const got: unknown[] = [];
  const ended = Promise.withResolvers<unknown>();
  const app = new App();
  app.websocket("/", async (socket) => {
    for await (const message of socket) got.push(message);
    ended.resolve(socket.closed?.code);
  });
  await using client = new TestClient(app);
  const socket = await client.websocket("/");
  await socket.send("one");
  await socket.send("two");
  await socket.close(4000, "Enough");
  assertEquals([await ended.promise, got], [4000, ["one", "two"]]);
  assertEquals([socket.closed?.code, socket.closed?.reason], [4000, "Enough"]);
});

Deno.test("A handler that sends without end waits for the client, and stops when it has gone", async () => {
  const stopped = Promise.withResolvers<void>();
  const app = new App();
  app.websocket("/", async (socket) => {
    try {
      for (;;) await socket.send("x".repeat(1000));
    } finally {
      stopped.resolve();
    }
  });
  await using client = new TestClient(app);
  await using socket = await client.websocket("/");
  for (let count = 0; count < 300; count++) await socket.receive();
  await socket.close();
  await stopped.promise;
});

Deno.test("A message that does not fit the server's schema closes with 1007, and one that is too large with 1009", async () => {
  const app = new App();
  app.websocket("/strict", { receive: Said }, async (socket) => {
    for await (const _ of socket);
  });
  app.websocket("/large", { limits: { message: 10 } }, async (socket) => {
    for await (const _ of socket);
  });
  await using client = new TestClient(app);
  await using strict = await client.websocket("/strict");
  await strict.send('{"text":1}');
  assertEquals((await strict.ended).code, 1007);
  await using large = await client.websocket("/large");
  await large.send("x".repeat(11));
  assertEquals((await large.ended).code, 1009);
});

Deno.test("A refusal before the upgrade is thrown, or read as a problem", async () => {
  const user = bearer(async (): Promise<string | null> => null);
  const app = echoing();
  app.websocket("/guarded", { deps: { user } }, async () => {});
  app.get("/plain", async () => "no socket");
  await using client = new TestClient(app);
  const refused = await client.websocket("/guarded").problem(401);
  assertEquals(refused.detail, "Send a bearer token in the Authorization header");
  await assertRejects(async () => await client.websocket("/nothing"), Error, "Cannot open the WebSocket: got 404");
  await assertRejects(async () => await client.websocket("/plain"), Error, "Cannot open the WebSocket: got");
  await assertRejects(() => client.websocket("/echo").problem(), Error, "wanted an error, and the WebSocket opened");
});

Deno.test("Dependencies of WebSocket routes are replaced, and what they opened is closed at the end", async () => {
  const notes: string[] = [];
  const user = bearer(async (): Promise<string | null> => null);
  const db = dependency(async (): Promise<string> => {
    throw new HTTPError(503);
  });
  const app = new App();
  app.websocket("/", { deps: { user, db } }, async (socket, { user, db }) => {
    await socket.send(`${user}, ${db}`);
  });
  {
    await using client = new TestClient(app, {
      override: [[user, async () => "Ada"], [db, async function* () {
        yield "a fake";
        notes.push("closed");
      }]],
    });
    await using socket = await client.websocket("/");
    assertEquals(await socket.receive(), "Ada, a fake");
  }
  assertEquals(notes, ["closed"]);
});

Deno.test("Headers, cookies and subprotocols are sent with the handshake", async () => {
  const app = new App();
  app.get("/set", async (request) => request.setCookie({ name: "sid", value: "7" }));
  app.websocket("/", { protocols: ["chat.v2", "chat.v1"] }, async (socket) => {
    const { cookies, headers, remoteAddress, url } = socket.request;
    await socket.send(JSON.stringify([cookies.sid, headers.get("x-a"), headers.get("x-b"), remoteAddress, url.search]));
  });
  await using client = new TestClient(app, { cookies: true, headers: { "x-a": "1" } });
  await client.get("/set");
  const init = { headers: { "x-b": "2" }, query: { q: 3 }, protocols: ["chat.v1", "chat.v2"] };
  await using socket = await client.websocket("/", init);
  assertEquals(socket.protocol, "chat.v2");
  assertEquals(await socket.receive(), '["7","1","2",null,"?q=3"]');
  assertEquals((await client.websocket("/", { protocols: ["other"] }).problem(400)).status, 400);
});

Deno.test("What a client has opened is closed with it, and a signal closes one socket", async () => {
  const codes: unknown[] = [];
  const app = new App();
  app.websocket("/", async (socket) => {
    for await (const _ of socket);
    codes.push(socket.closed?.code);
  });
  {
    await using client = new TestClient(app);
    const leaving = new AbortController();
    await client.websocket("/");
    const left = await client.websocket("/", { signal: leaving.signal });
    leaving.abort();
    assertEquals((await left.ended).code, 1000);
  }
  assertEquals(codes, [1000, 1000]);
});

Deno.test("A code or a reason that a platform does not send is refused, as it is with a connection", async () => {
  const app = new App();
  const open = app.websocket("/open", { receive: v.string(), send: v.string() }, async (socket) => {
    for await (const text of socket) await socket.send(text);
  });
  await using client = new TestClient<{ open: typeof open }>(app);
  await using socket = await client.websocket("/open");
  await using typed = await client.api.websocket("/open");
  for (const [code, reason] of [[1001, ""], [1005, ""], [2999, ""], [5000, ""], [1000, "é".repeat(62)]] as const) {
    await assertRejects(async () => await socket.close(code, reason), DOMException);
    await assertRejects(async () => await typed.close(code, reason), DOMException);
  }
  assertEquals([socket.closed, typed.closed], [null, null]);
  await socket.close(3000, "é".repeat(61));
  assertEquals(socket.closed?.code, 3000);
});

Deno.test("A server that stops closes the sockets with 1001", async () => {
  const app = echoing();
  await using client = new TestClient(app);
  const socket = await client.websocket("/echo");
  await app.stop();
  assertEquals((await socket.ended).code, 1001);
});

Deno.test("Mistakes are refused: schemas that are none, and what is no application", async () => {
  await using client = new TestClient(echoing());
  const open = (init: unknown) => async () => await client.websocket("/echo", init as { protocols: [] });
  await assertRejects(open({ receive: {} }), TypeError, 'Cannot open the WebSocket /echo: "receive" must be a valibot');
  assertThrows(
    () => client.websocket("/echo", { recieve: Said } as object),
    TypeError,
    'the option "recieve" is unknown',
  );
  await using other = new TestClient({ fetch: () => new Response(null, { status: 101 }) });
  await assertRejects(async () => await other.websocket("/"), TypeError, "only an App of @webfw/core accepts one");
});
