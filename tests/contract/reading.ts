import { assert } from "@std/assert";
import type { TopicEntry, TopicMessage } from "../../src/topics/message.ts";
import type { Subscription } from "../../src/topics/subscription.ts";

/** The next entries of a subscription. */
export async function take<Data>(subscription: Subscription<Data>, count: number): Promise<TopicEntry<Data>[]> {
  const entries: TopicEntry<Data>[] = [];
  while (entries.length < count) {
    const { done, value } = await subscription.next();
    assert(!done && value, `The subscription ended after ${entries.length} of ${count} entries`);
    entries.push(value);
  }
  return entries;
}

/** The next messages of a subscription. A gap is an error. */
export async function takeMessages<Data>(
  subscription: Subscription<Data>,
  count: number,
): Promise<TopicMessage<Data>[]> {
  return (await take(subscription, count)).map((entry) => {
    assert(!("gap" in entry), `Got a gap: ${JSON.stringify(entry)}`);
    return entry;
  });
}

/** The data of the next messages of a subscription. */
export async function takeData<Data>(subscription: Subscription<Data>, count: number): Promise<Data[]> {
  return (await takeMessages(subscription, count)).map(({ data }) => data);
}
