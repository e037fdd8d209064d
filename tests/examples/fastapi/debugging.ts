// A program that serves from its code, so that a debugger can start it.
import { App } from "@webfw/core";
import { assertEquals } from "@std/assert";

const app = new App();
app.get("/", async () => ({ sum: 1 + 1 }));

Deno.test("debugging: a file with app.run() is started by deno run --inspect-brk serve.ts", async () => {
  const stop = new AbortController();
  const listening = Promise.withResolvers<number>();
  const stopped = app.run({ port: 0, signal: stop.signal, onListen: ({ port }) => listening.resolve(port) });
  const reply = await fetch(`http://127.0.0.1:${await listening.promise}/`);
  assertEquals(await reply.json(), { sum: 2 });
  stop.abort();
  await stopped;
});
