// The clock of a node decides nothing about messages. That of the database does, even if the
// clock of the node jumps.

import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { takeData, takeMessages } from "../contract/reading.ts";
import { Denokv, hasDenokv } from "./denokv.ts";

const HOUR = 3_600_000;
const KEPT = { durable: true, retention: { age: "30m" } } as const;

/**
 * The clock of this node, which a test has jump. It has to be there before the application is made.
 */
class NodeClock implements Disposable {
  #ahead = 0;
  readonly #now = Date.now;
  readonly #fetch = globalThis.fetch;

  constructor() {
    Date.now = () => this.#now() + this.#ahead;
  }

  /** Jumps when one of the next requests is on its way. */
  jump(ms: number, request: number): void {
    globalThis.fetch = (...args) => {
      const answer = this.#fetch(...args);
      if (--request === 0) this.#ahead += ms;
      return answer;
    };
  }

  [Symbol.dispose](): void {
    Date.now = this.#now;
    globalThis.fetch = this.#fetch;
  }
}

function test(title: string, body: (app: App, clock: NodeClock, server: Denokv) => Promise<void>): void {
  Deno.test({
    name: `A node whose clock jumps: ${title}`,
    ignore: !hasDenokv,
    fn: async () => {
      await using server = await Denokv.start();
      using clock = new NodeClock();
      const app = new App({ topics: { url: server.url, token: server.token } });
      await body(app, clock, server);
      await app.stop();
    },
  });
}

for (const hours of [1, -1]) {
  const direction = hours > 0 ? "ahead" : "back";
  test(
    `a reader gets all messages and no gap when it jumps ${direction} during a read`,
    async (app, clock) => {
      const topic = app.topic<number>("orders", KEPT);
      const { id } = await topic.publish(0);
      for (const number of [1, 2, 3]) await topic.publish(number);
      // Any of the workers may read the messages.
      for (const request of [1, 2, 3, 4]) {
        await using subscription = topic.subscribe({ after: id });
        clock.jump(hours * HOUR, request);
        for (const number of [1, 2, 3]) assertEquals(await takeData(subscription, 1), [number]);
      }
    },
  );

  test(
    `messages that are published after it jumped ${direction} are kept and remembered as long as others`,
    async (app, clock, server) => {
      const topic = app.topic<number>("orders", KEPT);
      const { id } = await topic.publish(0);
      clock.jump(hours * HOUR, 1);
      await topic.head();
      const published = await topic.publish(1, { id: "one" });
      // Another node, whose clock is right.
      clock[Symbol.dispose]();
      const now = Date.now();
      const other = new App({ topics: { url: server.url, token: server.token } });
      const again = other.topic<number>("orders", KEPT);
      assertEquals(await again.publish(1, { id: "one" }), { id: published.id, duplicate: true });
      const [message] = await takeMessages(again.subscribe({ after: id }), 1);
      assertEquals(Math.round((message!.time.getTime() - now) / HOUR), 0);
      await other.stop();
    },
  );
}
