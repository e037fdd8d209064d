import type { Topic } from "../../src/topics/topic.ts";
import { resolveTopicOptions, type TopicOptions } from "../../src/topics/topic_options.ts";
import { Topics } from "../../src/topics/topics.ts";
import { Clock } from "./clock.ts";
import { type StoreKind, trim } from "./store_fixture.ts";

/** The same topic on two nodes, which share the data. */
export interface TopicNodes {
  readonly one: Topic<number>;
  readonly other: Topic<number>;
  readonly clock: Clock;
  /** Removes what is no longer kept, which a store also does by itself later. */
  readonly trim: () => Promise<void>;
  /** Another topic of the first node. */
  readonly topic: (name: string) => Topic<number>;
}

/** Registers a test of a topic that is declared with options. */
export type TopicTest = (
  title: string,
  options: TopicOptions<number>,
  body: (nodes: TopicNodes) => Promise<void>,
) => void;

/** Registers tests that set the clock of the stores, where they can take it. */
export function timedTopicTest(kind: StoreKind): TopicTest {
  return kind.hasOwnClock ? () => {} : topicTest(kind);
}

/** Registers tests over a kind of store. */
export function topicTest(kind: StoreKind): TopicTest {
  return (title, options, body) => {
    Deno.test(`Topics over ${kind.name}: ${title}`, async () => {
      const clock = new Clock();
      await using fixture = await kind.prepare(clock.now);
      const nodes = [0, 1].map(() => new Topics({ openStore: () => fixture.open(), now: clock.now }));
      const [one, other] = nodes.map((topics) => topics.topic<number>("numbers", options));
      const store = fixture.open();
      const { policy } = resolveTopicOptions(options, "numbers");
      await body({
        one: one!,
        other: other!,
        clock,
        trim: async () => void await trim(store, { name: "numbers", policy }),
        topic: (name) => nodes[0]!.topic(name, options),
      });
      for (const topics of nodes) await topics.close();
    });
  };
}
