// "`websocket` comes back by itself where `reconnect: true` (backoff as `events`; what was sent meanwhile is given back
// to the caller, not guessed), has `protocols`, and notices a silent connection (`idleTimeout`)." Other platforms:
// `tests/clients/reconnect_test.ts`.

import { assertEquals, assertRejects } from "@std/assert";
import { App, dependency, HTTPError, type WebSocketConnection } from "@webfw/core";
import { client, type ClientSocket, ProblemError } from "@webfw/core/client";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { Serving } from "../support/serving.ts";

/** What the routes do with the next connections. */
class Scene {
  /** The refusals of the next connections, after which they are accepted. */
  readonly refusals: HTTPError[] = [];
  /** The sockets of the server, in their order. */
  readonly sockets: WebSocketConnection<{ text: string }, number>[] = [];
  /** When each request came. */
  readonly times: number[] = [];
  readonly app = new App();
  readonly room;
  #onSocket: () => void = () => {};

  constructor() {
    const door = dependency(async () => {
      this.times.push(performance.now());
      const refusal = this.refusals.shift();
      if (refusal) throw refusal;
    });
    const schemas = { receive: v.object({ text: v.string() }), send: v.number() };
    this.room = this.app.websocket(
      "/room",
      { ...schemas, protocols: ["b", "c"], deps: { door } },
      async (socket) => {
        this.sockets.push(socket);
        this.#onSocket();
        await socket.send(this.sockets.length);
        for await (const { text } of socket) if (text === "fail") throw new Error("It failed");
      },
    );
  }

  async socket(index: number): Promise<WebSocketConnection<{ text: string }, number>> {
    while (!this.sockets[index]) await new Promise<void>((resolve) => this.#onSocket = resolve);
    return this.sockets[index];
  }

  client(origin: string) {
    return client<{ room: Scene["room"] }>(origin);
  }
}

async function readOne(socket: ClientSocket<unknown, number>): Promise<number | undefined> {
  for await (const message of socket) return message;
  return undefined;
}

Deno.test("without reconnect, a socket that breaks ends with its error, as before", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  await using socket = await scene.client(serving.origin).websocket("/room");
  assertEquals(await readOne(socket), 1);
  scene.sockets[0]!.close(1012);
  const error = await assertRejects(() => readOne(socket), Error, "The WebSocket is closed: 1012");
  assertEquals(error, socket.closed);
});

Deno.test("it comes back after 1001, 1011, 1012 and 1013, with what was not read before in front", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  await using socket = await scene.client(serving.origin).websocket("/room", {}, { reconnect: true });
  for (const [index, code] of [1001, 1011, 1012, 1013].entries()) {
    const other = await scene.socket(index);
    await other.send(100 + index);
    other.close(code);
    await scene.socket(index + 1);
  }
  const heard: number[] = [];
  for await (const message of socket) if (heard.push(message) === 9) break;
  assertEquals([heard, socket.closed], [[1, 100, 2, 101, 3, 102, 4, 103, 5], null]);
});

Deno.test("another code ends it: the loop ends after 1000, and throws after others", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  const open = async () => {
    const socket = await scene.client(serving.origin).websocket("/room", {}, { reconnect: true });
    await readOne(socket);
    return socket;
  };
  const ended = await open();
  (await scene.socket(0)).close();
  assertEquals([await readOne(ended), ended.closed?.code], [undefined, 1000]);
  const refused = await open();
  (await scene.socket(1)).close(1008, "You left");
  await assertRejects(() => readOne(refused), Error, 'The WebSocket is closed: 1008 "You left"');
  await assertRejects(() => refused.send({ text: "still there?" }), Error, "1008");
  assertEquals(scene.sockets.length, 2);
});

Deno.test("a refusal by 503, 429 or another status like them is tried again, and 401 ends it with its error", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  await using socket = await scene.client(serving.origin).websocket("/room", {}, { reconnect: true });
  await readOne(socket);
  const asked = new HTTPError(429, "Slower", { headers: { "retry-after": "1" } });
  // Each refusal is told by a plain request, which is refused, too.
  scene.refusals.push(asked, asked, new HTTPError(503), new HTTPError(503));
  const before = scene.times.length;
  scene.sockets[0]!.close(1012);
  assertEquals(await readOne(socket), 2);
  const [, second, third] = scene.times.slice(before);
  assertEquals(third! - second! >= 1_000, true, "Retry-After has passed");
  scene.refusals.push(new HTTPError(401, "Sign in"), new HTTPError(401, "Sign in"));
  scene.sockets[1]!.close(1012);
  const error = await assertRejects(() => readOne(socket), ProblemError);
  assertEquals([error.status, error.problem.detail, socket.closed?.code], [401, "Sign in", 1012]);
});

Deno.test("what was sent since the last message is given back, and what is sent meanwhile is refused", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  const given = Promise.withResolvers<readonly { text: string }[]>();
  await using socket = await scene.client(serving.origin).websocket("/room", {}, { reconnect: given.resolve });
  await socket.send({ text: "before" });
  await readOne(socket);
  await scene.sockets[0]!.send(7);
  assertEquals(await readOne(socket), 7);
  for (const text of ["a", "b", "a"]) await socket.send({ text });
  scene.sockets[0]!.close(1012);
  while (!socket.closed) await new Promise((resolve) => setTimeout(resolve, 1));
  await assertRejects(() => socket.send({ text: "away" }), Error, "1012");
  assertEquals(await given.promise, [{ text: "a" }, { text: "b" }, { text: "a" }]);
});

Deno.test("a function that breaks with its connection gets the messages again; one that fails ends the socket", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  const given: string[][] = [];
  const socket = await scene.client(serving.origin).websocket("/room", {}, {
    reconnect: async (sent) => {
      given.push(sent.map(({ text }) => text));
      if (given.length === 2) throw new Error("A mistake");
      const [first] = sent;
      await socket.send(first!);
      scene.sockets[1]!.close(1012);
      while (!socket.closed) await new Promise((resolve) => setTimeout(resolve, 1));
      await socket.send(sent[1]!);
    },
  });
  await readOne(socket);
  await socket.send({ text: "a" });
  await socket.send({ text: "b" });
  scene.sockets[0]!.close(1012);
  await assertRejects(
    async () => {
      for await (const _message of socket);
    },
    Error,
    "A mistake",
  );
  assertEquals(given, [["a", "b"], ["a", "b"]]);
  assertEquals(socket.closed?.code, 1000);
});

Deno.test("while it is away, close(), `await using` and an abort end it without an error", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  const stop = new AbortController();
  const ends = [
    (socket: ClientSocket<unknown, number>) => socket.close(),
    (socket: ClientSocket<unknown, number>) => socket[Symbol.asyncDispose](),
    () => stop.abort(),
  ];
  for (const [index, end] of ends.entries()) {
    const { signal } = stop;
    const socket = await scene.client(serving.origin).websocket("/room", {}, { reconnect: true, signal });
    await readOne(socket);
    const next = readOne(socket);
    scene.sockets[index]!.close(1012);
    while (!socket.closed) await new Promise((resolve) => setTimeout(resolve, 1));
    await end(socket);
    assertEquals(await next, undefined);
  }
  assertEquals(scene.sockets.length, 3);
});

Deno.test("each connection reads the arguments again, such as a position to resume after", async () => {
  const app = new App();
  const schemas = { query: { after: v.number() }, send: v.number() };
  const count = app.websocket("/count", schemas, async (socket, { after }) => {
    await socket.send(after + 1);
    socket.close(1012);
  });
  await using serving = await Serving.start(app);
  const args = { after: 0 };
  const shop = client<{ count: typeof count }>(serving.origin);
  await using socket = await shop.websocket("/count", args, { reconnect: true });
  const heard: number[] = [];
  for await (const n of socket) {
    args.after = n;
    if (heard.push(n) === 3) break;
  }
  assertEquals(heard, [1, 2, 3]);
});

Deno.test("the first connection is not tried again: its failure is thrown", async () => {
  const scene = new Scene();
  const serving = await Serving.start(scene.app);
  scene.refusals.push(new HTTPError(503), new HTTPError(503));
  const shop = scene.client(serving.origin);
  const open = () => shop.websocket("/room", {}, { reconnect: true });
  assertEquals((await assertRejects(open, ProblemError)).status, 503);
  await serving.stop();
  await assertRejects(open, TypeError);
  // @ts-expect-error It is misspelt.
  await assertRejects(() => shop.websocket("/room", {}, { reconect: true }), TypeError, 'the option "reconect"');
  await assertRejects(() => shop.websocket("/room", {}, { idleTimeout: 0 }), RangeError, "idleTimeout must be");
});

Deno.test("a silent connection is broken after its idleTimeout, and each message begins it again", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  const shop = scene.client(serving.origin);
  const silent = await shop.websocket("/room", {}, { idleTimeout: 200 });
  await readOne(silent);
  await assertRejects(() => readOne(silent), Error, 'The WebSocket is closed: 1006 "No message for 200 ms"');
  await using socket = await shop.websocket("/room", {}, { idleTimeout: 200, reconnect: true });
  assertEquals([await readOne(socket), await readOne(socket)], [2, 3]);
});

Deno.test("the server chooses one of the protocols, also for a TestClient", async () => {
  const scene = new Scene();
  await using serving = await Serving.start(scene.app);
  for (const protocols of [["a", "b", "c"], "b"]) {
    await using socket = await scene.client(serving.origin).websocket("/room", {}, { protocols });
    assertEquals(socket.protocol, "b");
  }
  const none = scene.client(serving.origin).websocket("/room", {}, { protocols: ["x"] });
  await assertRejects(() => none, Error, "The WebSocket is closed");
  await using tester = new TestClient<{ room: Scene["room"] }>(scene.app);
  await using socket = await tester.api.websocket("/room", {}, { protocols: ["c"], reconnect: true });
  assertEquals([socket.protocol, await readOne(socket)], ["c", 3]);
  scene.sockets[2]!.close(1012);
  assertEquals([await readOne(socket), socket.protocol], [4, "c"]);
});
