// Section 7 of the contract: `app.websocket(path, { params, query, receive, send }, handler)`.
// `socket.request` is the HttpRequest; a message that fails its schema closes with 1007, shutdown
// 1001, handler failure 1011.

import { App, dependency } from "@webfw/core";
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as v from "valibot";
import { CapturedLog } from "./support/captured_log.ts";
import { OPCODE, RawSocket } from "./support/raw_socket.ts";
import { Serving } from "./support/serving.ts";
import { SocketClient } from "./support/socket_client.ts";

const Said = v.object({ text: v.string() });
const Heard = v.object({ text: v.string(), room: v.string(), times: v.number() });

Deno.test("messages come and go as JSON that fits its schemas, and arguments are bound as of any route", async () => {
  const app = new App();
  app.websocket("/chat/{room}", {
    query: { times: v.optional(v.number(), 2) },
    receive: Said,
    send: Heard,
  }, async (socket, { room, times }) => {
    for await (const { text } of socket) {
      const reply = { text, room, times, secret: "not in the schema" };
      await socket.send(reply);
    }
  });
  await using serving = await Serving.start(app);
  await using client = await SocketClient.open(serving.origin, "/chat/lobby?times=3");
  client.send({ text: "Hello", more: 1 });
  assertEquals(await client.next(), '{"text":"Hello","room":"lobby","times":3}');
  client.send({ text: "Bye" });
  assertEquals(await client.next(), '{"text":"Bye","room":"lobby","times":3}');
});

Deno.test("without a schema text is a string, and binary a Uint8Array", async () => {
  const app = new App();
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  await using serving = await Serving.start(app);
  await using client = await SocketClient.open(serving.origin, "/");
  for (const message of ["", "Grüße 👋", "{}", new Uint8Array(), new Uint8Array([0, 1, 255])]) {
    client.send(message);
    assertEquals(await client.next(), message);
  }
});

Deno.test("socket.request is the request that was upgraded", async () => {
  const app = new App<{ greeting: string }>();
  app.lifespan(async function* () {
    yield { greeting: "Hello" };
  });
  app.websocket("/{name}", async ({ request, send: _, ...socket }, { name }) => {
    void socket;
    const { method, path, params, state, query, route } = request;
    assertEquals([method, path, params.name, state.greeting, query.get("q"), route?.path], [
      "GET",
      "/Ada",
      name,
      "Hello",
      "1",
      "/{name}",
    ]);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/Ada?q=1");
  assertEquals(await client.closed, [1000, ""]);
});

Deno.test("schemas may be async, and recursive ones are limited by the stack", async () => {
  const app = new App();
  const checked = v.pipeAsync(v.string(), v.checkAsync(async (text) => text !== "no", "Not allowed"));
  app.websocket("/async", { receive: checked, send: checked }, async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  interface Tree {
    below?: Tree | undefined;
  }
  const Tree: v.GenericSchema<Tree> = v.object({ below: v.optional(v.lazy(() => Tree)) });
  app.websocket("/tree", { receive: Tree }, async (socket) => {
    for await (const _ of socket);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/async");
  client.send('"yes"');
  assertEquals(await client.next(), '"yes"');
  client.send('"no"');
  assertEquals(await client.closed, [1007, "Not allowed"]);
  const deep = await SocketClient.open(serving.origin, "/tree");
  deep.send('{"below":'.repeat(50_000) + "{}" + "}".repeat(50_000));
  assertEquals(await deep.closed, [1007, "A message is nested too deeply"]);
});

Deno.test("send() of an invalid value throws a TypeError without the value, and the socket stays open", async () => {
  const app = new App();
  app.websocket("/", { send: Heard }, async (socket) => {
    const wrong = { text: "secret", room: 7, times: "x" } as unknown as v.InferInput<typeof Heard>;
    const error = await assertRejects(() => socket.send(wrong), TypeError);
    assertEquals(
      error.message,
      'Cannot send the message of WEBSOCKET /: it does not fit the send schema, "room" should be string, "times" should be number',
    );
    await socket.send({ text: "fits", room: "a", times: 1 });
  });
  app.websocket("/plain", async (socket) => {
    const error = await assertRejects(() => socket.send(7 as unknown as string), TypeError);
    assertEquals(
      error.message,
      "Cannot send the message of WEBSOCKET /plain: without a send schema it must be a string or a Uint8Array, got number",
    );
    await socket.send("fits");
  });
  await using serving = await Serving.start(app);
  for (const path of ["/", "/plain"]) {
    const client = await SocketClient.open(serving.origin, path);
    assert(String(await client.next()).includes("fits"));
    assertEquals(await client.closed, [1000, ""]);
  }
});

Deno.test("leaving the loop keeps the socket open, and another loop continues", async () => {
  const app = new App();
  app.websocket("/", { receive: Said }, async (socket) => {
    for await (const { text } of socket) {
      assertEquals(text, "token");
      break;
    }
    for await (const { text } of socket) return await socket.send(`${text}, after the token`);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  client.send({ text: "token" });
  client.send({ text: "Hello" });
  assertEquals(await client.next(), "Hello, after the token");
  assertEquals(await client.closed, [1000, ""]);
});

Deno.test("dependencies are cleaned up, and request.after() runs, when the socket has closed and the handler has ended", async () => {
  const app = new App();
  const order: string[] = [];
  const db = dependency(async function* (request) {
    request.after(() => order.push("after, of the dependency"));
    yield "db";
    order.push("cleaned up");
  });
  const gate = Promise.withResolvers<void>();
  app.websocket("/", { deps: { db } }, async (socket, { db }) => {
    socket.request.after(() => order.push("after, of the handler"));
    for await (const _ of socket);
    order.push(`closed, with ${db}`);
    await gate.promise;
    order.push("handler ended");
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  await client.close();
  gate.resolve();
  await serving.stop();
  assertEquals(order, [
    "closed, with db",
    "handler ended",
    "after, of the dependency",
    "after, of the handler",
    "cleaned up",
  ]);
});

Deno.test("the error of a handler comes to the yield, and tasks do not run; until the handler has ended means before the close", async () => {
  const app = new App();
  const notes: string[] = [];
  const named = (name: string, options: { until?: "handler" }) =>
    dependency(options, async function* () {
      try {
        yield name;
        notes.push(`${name} commits`);
      } catch (error) {
        notes.push(`${name} rolls back: ${(error as Error).message}`);
      }
    });
  const broken = dependency({ until: "handler" }, async function* () {
    yield "broken";
    throw new Error("commit failed");
  });
  const deps = { plain: named("plain", {}), until: named("until", { until: "handler" }) };
  app.websocket("/fine", { deps }, async (socket) => {
    socket.request.after(() => notes.push("after"));
    await socket.send("done");
  });
  app.websocket("/fails", { deps }, async (socket) => {
    socket.request.after(() => notes.push("after"));
    await socket.send("done");
    throw new Error("broken");
  });
  app.websocket("/commit", { deps: { ...deps, broken } }, async (socket) => await socket.send("done"));
  await using serving = await Serving.start(app);
  using log = new CapturedLog();
  const results: Record<string, [number, readonly string[]]> = {};
  for (const path of ["/fine", "/fails", "/commit"]) {
    const client = await SocketClient.open(serving.origin, path);
    assertEquals(await client.next(), "done");
    const [code] = await client.closed;
    await client.close();
    results[path] = [code, notes];
  }
  await serving.stop();
  assertEquals(Object.entries(results).map(([path, [code]]) => [path, code]), [
    ["/fine", 1000],
    ["/fails", 1011],
    ["/commit", 1011],
  ]);
  assertEquals(notes, [
    "until commits",
    "after",
    "plain commits",
    "until rolls back: broken",
    "plain rolls back: broken",
    "until rolls back: commit failed",
    "plain rolls back: commit failed",
  ]);
  assertEquals(log.lines.length, 2);
});

Deno.test("a thousand sockets are opened and closed, and nothing of them is left", async () => {
  const app = new App();
  let ended = 0;
  app.websocket("/", async (socket) => {
    for await (const message of socket) await socket.send(message);
    ended++;
  });
  await using serving = await Serving.start(app);
  const clients: SocketClient[] = [];
  for (let left = 1000; left > 0; left -= 100) {
    clients.push(...await Promise.all(Array.from({ length: 100 }, () => SocketClient.open(serving.origin, "/"))));
  }
  clients.forEach((client, index) => client.send(String(index)));
  assertEquals(await Promise.all(clients.map((client) => client.next())), clients.map((_, index) => String(index)));
  await Promise.all(clients.map((client) => client.close()));
  await serving.stop();
  assertEquals(ended, 1000);
});

Deno.test("pings are answered, also while the handler is busy", async () => {
  const app = new App();
  const gate = Promise.withResolvers<void>();
  app.websocket("/", async () => await gate.promise);
  await using serving = await Serving.start(app);
  using client = await RawSocket.open(serving.port, "/");
  await client.send(OPCODE.ping, "are you there?");
  const pong = await client.frame();
  assertEquals([pong?.opcode, new TextDecoder().decode(pong?.payload)], [OPCODE.pong, "are you there?"]);
  gate.resolve();
  assertEquals(await client.closeCode(), 1000);
});
