// Section 7 of the contract, as npm's `ws` sees it, the client of most programs that are no
// browsers.

import { App, dependency, HTTPError } from "@webfw/core";
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import * as v from "valibot";
import { type ClientOptions, WebSocket as Client } from "npm:ws@^8.18.3";
import { Serving } from "./support/serving.ts";

async function connect(
  serving: Serving,
  path: string,
  options: ClientOptions = {},
  protocols: string[] = [],
): Promise<Client> {
  const client = new Client(serving.origin.replace("http", "ws") + path, protocols, options);
  await once(client, "open");
  return client;
}

async function nextMessage(client: Client): Promise<string | Buffer> {
  const [data, isBinary] = await once(client, "message");
  return isBinary ? data : String(data);
}

async function closing(client: Client): Promise<[number, string]> {
  const [code, reason] = await once(client, "close");
  return [code, String(reason)];
}

function echo(): App {
  const app = new App();
  app.websocket("/echo", async (socket) => {
    for await (const message of socket) await socket.send(message);
  });
  return app;
}

Deno.test("ws talks to it: text, bytes, fragments, pings in between, and a close that is answered", async () => {
  await using serving = await Serving.start(echo());
  const client = await connect(serving, "/echo");
  client.send("Grüße");
  assertEquals(await nextMessage(client), "Grüße");
  client.send(new Uint8Array([1, 2, 3]));
  assertEquals(await nextMessage(client), Buffer.from([1, 2, 3]));
  for (const [part, fin] of [["one, ", false], ["two, ", false], ["three", true]] as const) {
    client.send(part, { fin });
    client.ping("still there?");
  }
  assertEquals(await nextMessage(client), "one, two, three");
  client.ping("and now?");
  const [pong] = await once(client, "pong");
  assertEquals(String(pong), "and now?");
  client.close(4000, "enough");
  assertEquals(await closing(client), [4000, "enough"]);
});

Deno.test("ws sees why it is closed, also while it keeps sending", async () => {
  const app = echo();
  app.websocket("/json", { receive: v.object({ id: v.number() }), limits: { message: 1000 } }, async (socket) => {
    for await (const _ of socket);
  });
  await using serving = await Serving.start(app);
  for (
    const [sent, code] of [['{"id":"x"}', 1007], ["{", 1007], ["x".repeat(1001), 1009], [
      Buffer.from("{}"),
      1003,
    ]] as const
  ) {
    const client = await connect(serving, "/json");
    const closed = closing(client);
    for (let before = 0; before < 20; before++) client.send('{"id":1}');
    client.send(sent);
    for (let after = 0; after < 20; after++) client.send('{"id":2}');
    assertEquals((await closed)[0], code);
  }
});

Deno.test("ws is refused by an ordinary reply", async () => {
  const app = new App();
  const user = dependency({ headers: { authorization: v.optional(v.string()) } }, async (_request, { headers }) => {
    if (headers.authorization !== "Bearer secret") throw new HTTPError(401, "Who are you");
    return "Ada";
  });
  app.websocket("/", { deps: { user }, cookies: { sid: v.string() } }, async (socket, { user, cookies }) => {
    await socket.send(`${user} ${cookies.sid}`);
  });
  await using serving = await Serving.start(app);
  const refused = async (options: ClientOptions): Promise<number | undefined> => {
    const client = new Client(serving.origin.replace("http", "ws"), options);
    const [request, response]: [{ destroy(): void }, IncomingMessage] = await once(
      client,
      "unexpected-response",
    ) as never;
    client.on("error", () => {});
    let body = "";
    for await (const chunk of response) body += chunk;
    request.destroy();
    assertEquals(JSON.parse(body).status, response.statusCode);
    return response.statusCode;
  };
  assertEquals(await refused({ headers: { authorization: "Bearer secret" } }), 422);
  assertEquals(await refused({ headers: { cookie: "sid=1" } }), 401);
  assertEquals(await refused({ origin: "https://attacker.example", headers: { cookie: "sid=1" } }), 403);
  const client = await connect(serving, "/", { headers: { authorization: "Bearer secret", cookie: "sid=1" } });
  const closed = closing(client);
  assertEquals(await nextMessage(client), "Ada 1");
  assertEquals(await closed, [1000, ""]);
});

Deno.test("ws, which names its subprotocols without spaces, gets one of them", async () => {
  const app = new App();
  app.websocket("/", { protocols: ["chat.v2", "chat.v1"] }, async (socket) => await socket.send(socket.protocol));
  await using serving = await Serving.start(app);
  const client = await connect(serving, "/", {}, ["chat.v0", "chat.v1", "chat.v2"]);
  const closed = closing(client);
  assertEquals([client.protocol, await nextMessage(client)], ["chat.v2", "chat.v2"]);
  await closed;
});

Deno.test("the server continues after ws is cut off, or sends an invalid frame", async () => {
  const app = echo();
  const codes: (number | undefined)[] = [];
  app.websocket("/", { limits: { message: Infinity } }, async (socket) => {
    for await (const _ of socket);
    codes.push(socket.closed?.code);
  });
  await using serving = await Serving.start(app);
  const cut = await connect(serving, "/");
  const cutOff = closing(cut);
  cut.terminate();
  await cutOff;
  const huge = await connect(serving, "/");
  huge.on("error", () => {});
  const broken = closing(huge);
  huge.send(new Uint8Array(65 * 1024 * 1024));
  await broken;
  const client = await connect(serving, "/echo");
  client.send("still there?");
  assertEquals(await nextMessage(client), "still there?");
  client.close();
  await closing(client);
  await serving.stop();
  assertEquals(codes, [1006, 1006]);
});

Deno.test("ws that answers no ping is dropped", async () => {
  const app = new App();
  const dropped = Promise.withResolvers<number | undefined>();
  app.websocket("/", { idleTimeout: 100 }, async (socket) => {
    for await (const _ of socket);
    dropped.resolve(socket.closed?.code);
  });
  await using serving = await Serving.start(app);
  const client = await connect(serving, "/", { autoPong: false });
  const closed = closing(client);
  await once(client, "ping");
  assertEquals(await dropped.promise, 1006);
  const [code] = await closed;
  assert(code === 1001 || code === 1006, String(code));
});
