// Section 7 of the contract: "Pull-driven with a bounded buffer". Section 9: the cost of each
// client is bounded.

import { App, SSE } from "@webfw/core";
import { assert, assertEquals } from "@std/assert";
import { ticks } from "./support/ticks.ts";

const EVENTS = 20_000;

/** How many are published in a turn of the event loop: fewer than a topic keeps. */
const TOGETHER = 500;

/**
 * The most data that a topic holds ready, in bytes; a chunk of events is slightly larger than its
 * data.
 */
const MAX_CHUNK = 2 * 1024 * 1024;

/** Opens a stream that is not read after its first chunk, and publishes. */
async function stall(path: string): Promise<{ app: App; reader: ReadableStreamDefaultReader<Uint8Array> }> {
  const app = new App();
  const [topic, other] = [app.topic<number>("numbers"), app.topic("other")];
  // Without heartbeats, which would end a stream that is not read while a busy machine publishes.
  const options = { heartbeat: "1h" } as const;
  app.get("/one", async () => SSE(topic.subscribe(), options));
  app.get("/several", async () => SSE([topic.subscribe(), other.subscribe()], options));
  const { body } = await app.fetch(new Request(`http://localhost${path}`));
  const reader = body!.getReader();
  await reader.read();
  for (let data = 0; data < EVENTS; data++) {
    await topic.publish(data);
    // So that a stream which did not wait for its client would take all of them.
    if (data % TOGETHER === 0) await ticks(1);
  }
  return { app, reader };
}

for (const path of ["/one", "/several"]) {
  Deno.test(`A client of ${path} that reads none of ${EVENTS} events costs a chunk or two, and gets a gap`, async () => {
    const { app, reader } = await stall(path);
    const decoder = new TextDecoder();
    const held: Uint8Array[] = [];
    let gap = "";
    while (gap === "") {
      const { value } = await reader.read();
      assert(value, "The stream has ended");
      const text = decoder.decode(value);
      if (text.includes("event: webfw.gap\n")) gap = text;
      else held.push(value);
    }
    assert(held.length <= 2, `${held.length} chunks were held`);
    for (const chunk of held) assert(chunk.length <= MAX_CHUNK, `A chunk of ${chunk.length} bytes was held`);
    const [, data = ""] = /^data: (.*)$/m.exec(gap) ?? [];
    assertEquals(JSON.parse(data).reason, "slow");
    let rest = "";
    while (!rest.includes(`data: ${EVENTS - 1}\n`)) rest += decoder.decode((await reader.read()).value);
    assert(rest.match(/^data: /gm)!.length <= 1000, "More came than the topic keeps");
    await reader.cancel();
    await app.stop();
  });
}
