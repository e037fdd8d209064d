// Section 7 of the contract with npm's `eventsource`: "Last-Event-ID resumes a subscription by
// itself … The subscription is closed when the client goes", and section 8: "a subscriber that
// resumes gets each event once and in order, or is told of the gap".

import { App, SSE, type Subscription } from "@webfw/core";
import { assertEquals } from "@std/assert";
import { EventSource } from "npm:eventsource@^5.1.5";
import { Serving } from "./support/serving.ts";
import { freePorts } from "../support/free_ports.ts";

/** News, of which each stream that is opened is known to the test. */
function service() {
  const app = new App();
  const news = app.topic<number>("news");
  const streams: { subscription: Subscription<number>; gone: Promise<void> }[] = [];
  app.get("/news", async (request) => {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    request.after(resolve);
    const subscription = news.subscribe();
    streams.push({ subscription, gone });
    return SSE(subscription, { retry: 20 });
  });
  return { app, news, streams };
}

/** A client that records its events. */
class Watcher implements Disposable {
  readonly seen: unknown[] = [];
  readonly source: EventSource;
  #more = Promise.withResolvers<void>();

  constructor(url: string) {
    this.source = new EventSource(url);
    this.source.onopen = () => this.#note("open");
    for (const name of ["message", "special", "webfw.gap"]) {
      this.source.addEventListener(name, ({ data }) => this.#note([name, JSON.parse(data)]));
    }
  }

  async sees(count: number): Promise<unknown[]> {
    while (this.seen.length < count) await this.#more.promise;
    return this.seen;
  }

  [Symbol.dispose](): void {
    this.source.close();
  }

  #note(what: unknown): void {
    this.seen.push(what);
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}

/** Passes connections on to a port, until they are cut off. */
class Proxy implements Disposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly port = this.#listener.addr.port;
  #cutting = new AbortController();

  constructor(port: number) {
    void this.#accept(port);
  }

  cut(): void {
    this.#cutting.abort();
    this.#cutting = new AbortController();
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    this.cut();
  }

  async #accept(port: number): Promise<void> {
    try {
      for await (const client of this.#listener) {
        const server = await Deno.connect({ hostname: "127.0.0.1", port });
        const { signal } = this.#cutting;
        // Both fail when they are cut off.
        client.readable.pipeTo(server.writable, { signal }).catch(() => {});
        server.readable.pipeTo(client.writable, { signal }).catch(() => {});
      }
    } catch {
      // Disposed of.
    }
  }
}

Deno.test("A client that is cut off comes back, and gets each event once and in order", async () => {
  const { app, news, streams } = service();
  await using serving = await Serving.start(app);
  using proxy = new Proxy(serving.port);
  {
    using watcher = new Watcher(`http://127.0.0.1:${proxy.port}/news`);
    await watcher.sees(1);
    await news.publish(1);
    await news.publish(2, { type: "special" });
    await watcher.sees(3);
    proxy.cut();
    await streams[0]?.gone;
    assertEquals(await streams[0]?.subscription.nextBatch(), undefined, "closed");
    await news.publish(3);
    await news.publish(4);
    await watcher.sees(6);
    await news.publish(5);
    assertEquals(await watcher.sees(7), [
      "open",
      ["message", 1],
      ["special", 2],
      "open",
      ["message", 3],
      ["message", 4],
      ["message", 5],
    ]);
  }
  const last = streams.at(-1);
  await last?.gone;
  assertEquals(await last?.subscription.nextBatch(), undefined, "closed by the client");
});

Deno.test("A client of a restarted server gets a gap for the messages that were in memory", async () => {
  const before = service();
  const [port = 0] = freePorts(1);
  const first = await Serving.start(before.app, { port });
  using watcher = new Watcher(`${first.origin}/news`);
  await watcher.sees(1);
  const { id } = await before.news.publish(1);
  await watcher.sees(2);
  await first.stop();
  assertEquals(await before.streams[0]?.subscription.nextBatch(), undefined, "closed");
  const after = service();
  const { id: oldest } = await after.news.publish(2);
  await using _second = await Serving.start(after.app, { port });
  assertEquals(await watcher.sees(5), [
    "open",
    ["message", 1],
    "open",
    ["webfw.gap", { reason: "epoch", from: id, oldest }],
    ["message", 2],
  ]);
  watcher.source.close();
  await after.streams[0]?.gone;
});
