import type { Topic } from "../../src/topics/topic.ts";
import { Topics } from "../../src/topics/topics.ts";
import { Clock } from "./clock.ts";
import { FaultyStore } from "./faulty_store.ts";
import type { StoreKind } from "./store_fixture.ts";

/** A topic, and the store that fails. */
export interface FaultyTopic {
  readonly topic: Topic<number>;
  readonly store: FaultyStore;
}

/** The error of a failure. */
export class StoreFailure extends Error {}

/** Fails. */
export function fail(): never {
  throw new StoreFailure("Cannot reach the store");
}

/** Registers a test of a topic over a store that fails. */
export type FaultyTopicTest = (title: string, body: (setting: FaultyTopic) => Promise<void>) => void;

/** Registers tests over a kind of store. */
export function faultyTopicTest(kind: StoreKind): FaultyTopicTest {
  return (title, body) => {
    Deno.test(`Topics over ${kind.name} that fails: ${title}`, async () => {
      const clock = new Clock();
      await using fixture = await kind.prepare(clock.now);
      const store = new FaultyStore(fixture.open());
      const topics = new Topics({ openStore: () => store, now: clock.now });
      await body({ topic: topics.topic("numbers"), store });
      await topics.close();
    });
  };
}
