// Many readers, publishers, trims and closings in a random order, compared with a list of published
// messages. A seed decides the order.

import { assert, assertEquals } from "@std/assert";
import { MemoryStore } from "../../../src/store/memory/memory_store.ts";
import type { TopicEntry } from "../../../src/topics/message.ts";
import { readerOf, type Subscription } from "../../../src/topics/subscription.ts";
import type { Topic } from "../../../src/topics/topic.ts";
import { Topics } from "../../../src/topics/topics.ts";
import { FaultyStore } from "../../contract/faulty_store.ts";
import { ticks } from "../../spec/support/ticks.ts";
import { Random } from "../support/random.ts";

const SEEDS = 20;
const STEPS = 120;

/** A topic, and the messages published to it. */
class World {
  readonly random: Random;
  readonly topics: Topics;
  readonly topic: Topic<number>;
  readonly isLossless: boolean;
  published = 0;
  time = 1_000_000;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.isLossless = seed % 3 === 0;
    const retention = this.isLossless ? { count: 100_000 } : {
      count: 1 + this.random.below(40),
      ...(this.random.oneIn(2) ? { age: 1000 } : {}),
    };
    const store = new FaultyStore(new MemoryStore({ now: () => this.time }));
    // Half of the stores are slow, before and after each call.
    const pass = () => this.random.oneIn(2) ? ticks(1) : undefined;
    if (this.random.oneIn(2)) {
      store.faults = {
        beforeAppend: pass,
        afterAppend: pass,
        beforeRead: pass,
        afterRead: pass,
        beforeBounds: pass,
        afterBounds: pass,
      };
    }
    this.topics = new Topics({ openStore: () => store, now: () => this.time });
    this.topic = this.topics.topic("numbers", { retention, buffer: 1 + this.random.below(20) });
  }

  /** Publishes the next numbers, 1, 2, 3. */
  async publish(): Promise<void> {
    const number = ++this.published;
    // Messages are in the order of the calls, so the numbers in the topic have no hole.
    const { duplicate } = await this.topic.publish(number);
    assert(!duplicate);
  }
}

/** A reader that resumes after each close. It must get each number once and in order, or a gap. */
class Follower {
  readonly #world: World;
  #subscription: Subscription<number>;
  /** The number that was read last; before the first one, that of the start position. */
  #last: number | undefined;
  /** The last number that was published before it subscribed. It may not be stored yet. */
  #before: number;
  #sawGap = false;
  readonly #closings: Set<() => void>;
  readonly log: string[] = [];

  constructor(world: World, closings: Set<() => void>) {
    this.#world = world;
    this.#closings = closings;
    this.#subscription = world.topic.subscribe();
    this.#before = world.published;
  }

  close(): void {
    this.#subscription.close();
  }

  async run(until: number): Promise<void> {
    const { random } = this.#world;
    for (;;) {
      const close = () => this.close();
      this.#closings.add(close);
      await this.#readSome(until);
      this.#closings.delete(close);
      if (this.#last === until) break;
      const cursor = random.oneIn(2) ? await this.#subscription.cursor() : undefined;
      this.#subscription.close();
      if (random.oneIn(2)) await ticks(1);
      const after = cursor ?? await this.#subscription.cursor();
      if (after !== undefined) this.#begin(Number.parseInt(after.slice(9), 16));
      this.log.push(`resume after ${after?.slice(-4)}`);
      // It may have begun at the end.
      if (after === undefined ? this.#world.published === until : Number.parseInt(after.slice(9), 16) === until) break;
      if (after === undefined) {
        // It was closed before its start position was known, so there is nothing to resume after.
        this.#last = undefined;
        this.#before = this.#world.published;
        this.#subscription = this.#world.topic.subscribe();
      } else if (random.oneIn(2)) {
        this.#subscription = this.#world.topic.subscribe({ after });
      } else {
        this.#subscription = this.#world.topic.subscribe();
        if (random.oneIn(2)) void this.#subscription.cursor();
        this.#subscription.resumeAfter(after);
      }
    }
    this.close();
  }

  /** Reads in a random way, until it is closed or changes to another way. */
  async #readSome(until: number): Promise<void> {
    const { random } = this.#world;
    const way = random.below(3);
    for (let reads = 1 + random.below(30); reads > 0 && this.#last !== until; reads--) {
      if (random.oneIn(6)) await ticks(1);
      if (random.oneIn(8)) await this.#checkCursor();
      if (way === 0) {
        const isOver = await this.#take(until);
        if (isOver) return;
      } else if (way === 1 || random.oneIn(2)) {
        const { done, value } = await this.#subscription.next();
        if (done) return;
        this.#see([value]);
      } else {
        const batch = await this.#subscription.nextBatch();
        if (!batch) return;
        this.#see(batch);
      }
      // Now and then, a read closes another reader.
      if (random.oneIn(20)) random.pick([...this.#closings])?.();
    }
  }

  /** Reads like a stream of events: by a receiver, for as long as it requests the next batch. */
  async #take(until: number): Promise<boolean> {
    const { random } = this.#world;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    let more = 1 + random.below(5);
    readerOf(this.#subscription as Subscription).request({
      receive: (batch) => {
        if (!batch) return resolve(true), false;
        this.#see(batch as readonly TopicEntry<number>[]);
        if (random.oneIn(20)) this.close();
        if (random.oneIn(20)) queueMicrotask(random.pick([...this.#closings]));
        if (--more > 0 && this.#last !== until) return true;
        resolve(false);
        return false;
      },
      fail: reject,
    });
    return await promise;
  }

  async #checkCursor(): Promise<void> {
    const cursor = await this.#subscription.cursor();
    const number = cursor === undefined ? undefined : Number.parseInt(cursor.slice(9), 16);
    if (number === undefined || this.#sawGap) return;
    assertEquals(number, this.#last ?? number, "the cursor is that of what was read last");
    this.#begin(number);
  }

  /** The start position must be before the messages that were published after the subscription. */
  #begin(position: number): void {
    if (this.#last !== undefined || this.#sawGap) return;
    assert(position <= this.#before, `it begins after ${position}, and not after ${this.#before}`);
    this.#last = position;
  }

  #see(entries: readonly TopicEntry<number>[]): void {
    for (const entry of entries) {
      if ("gap" in entry) {
        this.log.push(`gap ${entry.gap.reason}`);
        assert(!this.#world.isLossless, `nothing was removed, and there is a gap: ${entry.gap.reason}`);
        assertEquals(entries.length, 1);
        this.#sawGap = true;
        continue;
      }
      this.log.push(String(entry.data));
      this.#begin(entry.data - 1);
      if (this.#sawGap) assert(entry.data > (this.#last ?? 0), `${entry.data} after ${this.#last}`);
      else assertEquals(entry.data, this.#last! + 1);
      this.#sawGap = false;
      this.#last = entry.data;
    }
  }
}

async function run(seed: number): Promise<void> {
  const world = new World(seed);
  const { random } = world;
  const closings = new Set<() => void>();
  const followers: Follower[] = [];
  const running: Promise<void>[] = [];
  const publishing: Promise<void>[] = [];
  const until = STEPS * 3;
  const begin = () => {
    const follower = new Follower(world, closings);
    followers.push(follower);
    const done = follower.run(until).catch((cause) => {
      throw new Error(`Seed ${seed}: ${follower.log.slice(-12).join(", ")}`, { cause });
    });
    // It is thrown where all readers are awaited.
    done.catch(() => {});
    running.push(done);
  };
  begin();
  for (let step = 0; step < STEPS; step++) {
    const action = random.below(10);
    if (action < 5 && world.published < until - 10) {
      for (let n = 1 + random.below(4); n > 0; n--) publishing.push(world.publish());
    } else if (action === 5 && followers.length < 20) begin();
    else if (action === 6) random.pick([...closings])?.();
    else if (action === 7) world.time += random.below(400);
    else if (action === 8) await Promise.resolve();
    else await ticks(1);
  }
  while (world.published < until) {
    publishing.push(world.publish());
    if (random.oneIn(10)) await ticks(1);
  }
  await Promise.all(publishing);
  await Promise.all(running);
  await world.topics.close();
}

Deno.test("Whatever many readers do, each gets each message once and in order, or a gap", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) await run(seed);
});
