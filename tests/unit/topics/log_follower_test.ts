// How messages reach those who read at the end of a topic.

import { assertEquals } from "@std/assert";
import { App } from "../../../mod.ts";

Deno.test("What is published in one turn of the event loop comes to all readers as one list, the very same", async () => {
  const app = new App();
  const topic = app.topic<number>("numbers");
  const subscriptions = Array.from({ length: 64 }, () => topic.subscribe());
  await Promise.all(subscriptions.map((each) => each.cursor()));
  for (const numbers of [[1], [2, 3, 4], [5]]) {
    const reading = Promise.all(subscriptions.map((each) => each.nextBatch()));
    for (const number of numbers) await topic.publish(number);
    const batches = await reading;
    assertEquals(batches[0]?.map((entry) => "data" in entry ? entry.data : entry), numbers);
    assertEquals(new Set(batches).size, 1);
  }
  await app.stop();
});
