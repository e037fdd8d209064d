// "`client.events(path)` … beside the verbs, without a socket where the platform lets them".

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { App, dependency, HTTPError, SSE } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";

async function* each<Value>(values: readonly Value[]): AsyncGenerator<Value> {
  yield* values;
}

/** An application whose streams never end by themselves, and what it notes of their ends. */
function endless(): { app: App; ended: Promise<string> } {
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const app = new App();
  app.get("/events", async () =>
    SSE(async function* () {
      try {
        for (let count = 1;; count++) yield count;
      } finally {
        resolve("ended");
      }
    }()));
  return { app, ended };
}

Deno.test("events gives the id, the type and the data of each event until the end", async () => {
  const app = new App();
  app.get("/", async () =>
    SSE(async function* () {
      yield { count: 1 };
      yield { data: { count: 2 }, id: "a", event: "counted" };
      yield { data: { count: 3 } };
    }()));
  await using client = new TestClient(app);
  const events = await Array.fromAsync(client.events<{ count: number }>("/"));
  assertEquals(events, [
    { id: undefined, type: "message", data: { count: 1 } },
    { id: "a", type: "counted", data: { count: 2 } },
    { id: "a", type: "message", data: { count: 3 } },
  ]);
});

Deno.test("events gives gaps, and goes on after the header last-event-id", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers", { retention: { count: 2 } });
  app.get("/", async () => SSE(topic.subscribe()));
  await using client = new TestClient(app);
  await using events = client.events<number>("/");
  await events.opened();
  await topic.publish(1);
  const [first] = await events.take(1);
  if (!first || first.gap) throw new Error("There is no event");
  assertEquals(first.data, 1);
  await events.close();
  for (const number of [2, 3, 4]) await topic.publish(number);
  await using again = client.events<number>("/", { headers: { "last-event-id": first.id! } });
  const [gap, next] = await again.take(2);
  assertEquals([gap?.gap?.from, gap?.gap?.oldest !== undefined, next?.data], [first.id, true, 3]);
});

Deno.test("Leaving the loop, close and the end of the client end the stream at the server", async () => {
  {
    const { app, ended } = endless();
    await using client = new TestClient(app);
    for await (const event of client.events("/events")) {
      assertEquals(event.data, 1);
      break;
    }
    assertEquals(await ended, "ended");
  }
  {
    const { app, ended } = endless();
    await using client = new TestClient(app);
    const events = client.events("/events");
    await events.take(2);
    await events.close();
    assertEquals([(await events.next()).done, await ended], [true, "ended"]);
  }
  const { app, ended } = endless();
  {
    await using client = new TestClient(app);
    await client.events("/events").take(1);
  }
  assertEquals(await ended, "ended");
});

Deno.test("A read that waits ends with the stream, or with the application", async () => {
  const app = new App();
  const topic = app.topic("numbers");
  app.get("/", async () => SSE(topic.subscribe()));
  await using client = new TestClient(app);
  const [closed, stopped] = [client.events("/"), client.events("/")];
  const waiting = [closed.next(), stopped.next()];
  await closed.opened();
  await closed.close();
  assertEquals((await waiting[0])?.done, true);
  await stopped.opened();
  await app.stop();
  assertEquals((await waiting[1])?.done, true);
  await stopped.ended;
});

Deno.test("A signal ends the stream", async () => {
  const { app, ended } = endless();
  await using client = new TestClient(app);
  const leaving = new AbortController();
  const events = client.events("/events", { signal: leaving.signal });
  await events.take(2);
  leaving.abort();
  assertEquals([(await events.next()).done, await ended], [true, "ended"]);
});

Deno.test("Dependencies of streams are replaced, and cleaned up at their end", async () => {
  const notes: string[] = [];
  const name = dependency(async (): Promise<string> => {
    throw new HTTPError(503);
  });
  const app = new App();
  app.get("/", { deps: { name } }, async (_request, { name }) => SSE(each([name])));
  await using client = new TestClient(app, {
    override: [[name, async function* () {
      yield "fake";
      notes.push("closed");
    }]],
  });
  const events = await Array.fromAsync(client.events("/"));
  assertEquals([events[0]?.data, notes], ["fake", ["closed"]]);
});

Deno.test("raw keeps data as text, and other methods stream, too", async () => {
  const app = new App();
  app.post("/", async (request) => SSE(each([`got ${await request.text()}`]), { encode: "text" }));
  await using client = new TestClient(app);
  const events = client.events<string>("/", { method: "POST", body: "a question", raw: true });
  assertEquals((await events.take(1))[0]?.data, "got a question");
  await assertRejects(() => client.events("/", { method: "POST", body: "x" }).take(1), SyntaxError, "it is not JSON");
});

Deno.test("A reply that is no stream of events is an error, which problem reads; 204 is no event", async () => {
  const app = new App();
  app.get("/json", async () => ({}));
  app.get("/empty", async () => {});
  app.get("/events", async () => SSE(each([1])));
  await using client = new TestClient(app);
  const missing = client.events("/nothing");
  assertEquals((await missing.problem(404)).status, 404);
  await assertRejects(() => missing.next(), Error, "Cannot read the events: got 404 application/problem+json");
  await assertRejects(() => client.events("/json").take(1), Error, "Cannot read the events: got 200 application/json");
  await assertRejects(() => client.events("/events").problem(), Error, "wanted an error, got 200 text/event-stream");
  assertEquals(await Array.fromAsync(client.events("/empty")), []);
  await assertRejects(() => client.events("/events").take(2), Error, "the stream has ended after 1");
  assertThrows(() => client.events("/events", { raw: true, jsno: 1 } as object), TypeError, '"jsno" is unknown');
});
