// Cuts a stream of events after each of its bytes, and resumes it.

import { join } from "node:path";
import { App, SSE } from "../../mod.ts";
import type { Random } from "../../tests/unit/support/random.ts";
import type { History, Stored } from "./history.ts";
import type { LogEntry, Payload } from "./node_log.ts";

const PUBLISHER = "p";

/**
 * Publishes some messages, and reads all of them once for each byte of the stream, which is cut
 * after that byte.
 */
export async function cutStream(random: Random, tell: (injected: string) => void): Promise<History> {
  const folder = await Deno.makeTempDir({ prefix: "webfw_fault_" });
  const app = new App({ topics: join(folder, "topics.sqlite") });
  const topic = app.topic<Payload & { text: string }>("orders", { durable: true });
  app.get("/events", async () => SSE(topic.subscribe({ from: "earliest" })));
  await app.start();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, app.fetch);
  try {
    const stored: Stored[] = [];
    for (let number = 0; number < 5 + random.below(6); number++) {
      const payload = { publisher: PUBLISHER, number, text: "é\n".repeat(random.below(12)) };
      stored.push({ id: (await topic.publish(payload)).id, payload });
    }
    const url = `http://127.0.0.1:${server.addr.port}/events`;
    const log: LogEntry[] = [];
    const whole = new Client(url, "whole", log);
    const length = await whole.read(Infinity, stored.length);
    for (let bytes = 1; bytes < length; bytes++) {
      const client = new Client(url, `${bytes}`, log);
      await client.read(bytes, stored.length);
      await client.read(Infinity, stored.length);
    }
    tell(`cut a stream of ${stored.length} messages after each of its ${length} bytes`);
    return { logs: new Map([["client", log]]), stored, keeps: Infinity };
  } finally {
    await app.stop();
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Reads like an `EventSource`: an id counts when its event is complete. */
class Client {
  readonly #url: string;
  readonly #reader: string;
  readonly #log: LogEntry[];
  #lastId = "";
  #seen = 0;

  constructor(url: string, reader: string, log: LogEntry[]) {
    this.#url = url;
    this.#reader = reader;
    this.#log = log;
    log.push({ kind: "subscribe", reader, after: null });
  }

  /**
   * Reads at most this many bytes, and this many messages in total. Returns how many bytes it read.
   */
  async read(bytes: number, messages: number): Promise<number> {
    if (this.#seen >= messages) return 0;
    const headers = this.#lastId === "" ? {} : { "last-event-id": this.#lastId };
    const response = await fetch(this.#url, { headers });
    if (response.status !== 200) throw new Error(`Cannot read the stream: status ${response.status}`);
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let [text, count] = ["", 0];
    while (count < bytes && this.#seen < messages) {
      const { value } = await reader.read();
      if (!value) throw new Error("Cannot read the stream: it ended by itself");
      const taken = value.subarray(0, bytes - count);
      count += taken.length;
      text += decoder.decode(taken, { stream: true });
      const events = text.split("\n\n");
      text = events.pop()!;
      for (const event of events) this.#take(event);
    }
    await reader.cancel();
    return count;
  }

  #take(event: string): void {
    const fields = event.split("\n").map((line) => /^(\w+): ?(.*)$/.exec(line));
    const valuesOf = (name: string) => fields.filter((field) => field?.[1] === name).map((field) => field![2]!);
    this.#lastId = valuesOf("id").at(-1) ?? this.#lastId;
    const data = valuesOf("data");
    if (data.length === 0) return;
    const reader = this.#reader;
    if (valuesOf("event").includes("webfw.gap")) {
      this.#log.push({ kind: "gap", reader, ...JSON.parse(data.join("\n")) });
      return;
    }
    this.#seen++;
    this.#log.push({ kind: "read", reader, id: this.#lastId, payload: JSON.parse(data.join("\n")) as Payload });
  }
}
