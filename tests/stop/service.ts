// A service that has work of every kind in progress when it stops, and prints on stdout how the
// work ends.

import { App, dependency, SSE } from "@webfw/core";

const tell = (line: string): void => console.log(line);

/** Settles when streams end. Work that waits for it is in progress while the service stops. */
const stopping = Promise.withResolvers<void>();

export const app = new App();

app.lifespan(async function* () {
  yield;
  tell("first lifespan ended");
});
app.lifespan(async function* () {
  yield;
  tell("second lifespan ended");
});

const handle = dependency(async function* () {
  try {
    yield "handle";
  } finally {
    tell("dependency ended");
  }
});

app.get("/slow", { deps: { handle } }, async function slow(request) {
  request.after(async () => {
    await Promise.resolve();
    tell("task done");
  });
  tell("slow begun");
  await stopping.promise;
  return "slow but whole";
});

app.get("/lines", async function* lines() {
  try {
    yield "first";
    await stopping.promise;
  } finally {
    tell("lines ended");
  }
});

app.get("/events", async function events(request) {
  request.after(() => {
    tell("events ended");
    stopping.resolve();
  });
  return SSE(request.app.topic("news").subscribe(), { retry: 100 });
});

app.websocket("/socket", async function echo(socket) {
  for await (const message of socket) await socket.send(message);
  tell("socket ended");
});

if (import.meta.main) {
  const controller = new AbortController();
  Deno.addSignalListener("SIGUSR1", () => controller.abort());
  await app.run({ port: 0, signal: controller.signal });
  tell("run() resolved");
  Deno.exit();
}
