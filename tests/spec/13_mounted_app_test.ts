// Section 13 of the contract: "`mount(path, otherApp)` takes an `App`: its lifespans and WebSockets
// work below it".

import { App, RouteError, Router } from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import { TestClient } from "@webfw/core/testing";
import { assertEquals, assertRejects } from "@std/assert";
import { CapturedLog } from "./support/captured_log.ts";
import { Serving } from "./support/serving.ts";
import { SocketClient } from "./support/socket_client.ts";

/** An application that echoes over a WebSocket, and notes when it starts and ends. */
function echoing(name: string, steps: string[]): App {
  const app = new App();
  app.lifespan(async function* () {
    steps.push(`${name} begins`);
    yield;
    steps.push(`${name} ends`);
  });
  app.websocket("/echo/{id}", async (socket, { id }) => {
    for await (const message of socket) await socket.send(`${socket.request.basePath} ${id} ${message}`);
  });
  app.post("/after", async (request) => {
    request.after(() => void steps.push(`${name} after`));
    return await request.json();
  });
  return app;
}

Deno.test("Lifespans of a mounted application begin after those of the outer one, and end before them", async () => {
  const steps: string[] = [];
  const app = echoing("outer", steps);
  const inner = echoing("inner", steps);
  const router = new Router({ prefix: "/v1" });
  router.mount("/other", echoing("other", steps));
  app.mount("/inner", inner);
  app.mount("/again", inner.fetch);
  app.include(router);
  await app.start();
  assertEquals(steps, ["outer begins", "inner begins", "other begins"]);
  await app.stop();
  assertEquals(steps.slice(3), ["other ends", "inner ends", "outer ends"]);
  steps.length = 0;
  await using client = new TestClient(app);
  assertEquals(await client.post("/inner/after", { json: 7 }).json(), 7);
  assertEquals(steps.slice(0, 3), ["outer begins", "inner begins", "other begins"]);
});

Deno.test("If a mounted application cannot start, what has started ends", async () => {
  const steps: string[] = [];
  const app = echoing("outer", steps);
  app.mount("/one", echoing("one", steps));
  const broken = new App();
  // deno-lint-ignore require-yield
  broken.lifespan(async function* () {
    throw new Error("No database");
  });
  app.mount("/two", broken);
  await assertRejects(() => app.start(), Error, "No database");
  assertEquals(steps, ["outer begins", "one begins", "one ends", "outer ends"]);
});

Deno.test("WebSockets work below a mount, by the application and by its fetch, and end with the server", async () => {
  const steps: string[] = [];
  const app = new App();
  app.websocket("/echo/own", async (socket) => await socket.send("own"));
  app.mount("/inner", echoing("inner", steps));
  app.mount("/fetch", echoing("fetch", steps).fetch);
  const serving = await Serving.start(app);
  for (const path of ["/inner", "/fetch"]) {
    await using socket = await SocketClient.open(serving.origin, `${path}/echo/7`);
    socket.send("hello");
    assertEquals(await socket.next(), `${path} 7 hello`);
  }
  const socket = await SocketClient.open(serving.origin, "/inner/echo/7");
  const stopped = serving.stop();
  assertEquals((await socket.closed)[0], 1001);
  await stopped;
  assertEquals(steps.filter((step) => step.endsWith("ends")), ["fetch ends", "inner ends"]);
});

Deno.test("A WebSocket of a mounted application is behind the guards around the mount, also in a test", async () => {
  const member = bearer(async (token) => token === "t" ? { id: 1 } : null);
  const router = new Router({ deps: { member } });
  router.mount("/inner", echoing("inner", []));
  const app = new App();
  app.include(router);
  await using client = new TestClient(app);
  await assertRejects(() => client.websocket("/inner/echo/7"));
  await using socket = await client.websocket("/inner/echo/7", { headers: { authorization: "Bearer t" } });
  socket.send("hello");
  assertEquals(await socket.receive(), "/inner 7 hello");
});

Deno.test("Tasks after a reply of a mounted application run before its lifespans end", async () => {
  const steps: string[] = [];
  const app = new App();
  app.mount("/inner", echoing("inner", steps));
  const serving = await Serving.start(app);
  const response = await fetch(`${serving.origin}/inner/after`, {
    method: "POST",
    body: "7",
    headers: { "content-type": "application/json" },
  });
  assertEquals(await response.json(), 7);
  await serving.stop();
  assertEquals(steps, ["inner begins", "inner after", "inner ends"]);
});

Deno.test("A mounted application sees the client that a trusted proxy names", async () => {
  const inner = new App();
  inner.get("/", async (request) => request.remoteAddress);
  const app = new App({ trustProxy: 1 });
  app.mount("/inner", inner);
  await using serving = await Serving.start(app);
  const response = await fetch(`${serving.origin}/inner`, { headers: { "x-forwarded-for": "203.0.113.7" } });
  assertEquals(await response.json(), "203.0.113.7");
});

Deno.test("An application that is mounted within itself does not start", async () => {
  using _log = new CapturedLog();
  const app = new App();
  app.mount("/self", app);
  assertEquals((await assertRejects(() => app.start(), RouteError)).code, "conflict");
  const outer = new App();
  const inner = new App();
  outer.mount("/inner", inner);
  inner.mount("/outer", outer.fetch);
  assertEquals((await assertRejects(() => outer.start(), RouteError)).code, "conflict");
});
