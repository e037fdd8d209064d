// The time from a publish, or from the commit of a transaction with a message, until another process
// has the message.

import { join } from "node:path";
import { App } from "../../../mod.ts";
import { note } from "../figure.ts";
import { ownProgram } from "../own_program.ts";
import type { Database } from "./databases.ts";
import { printDelays } from "./waits.ts";

/** The pause between two messages, in milliseconds. */
const PAUSE = 12;

/** Returns what is wrong. */
export async function measureDelivery(
  { name, topics, transaction }: Database,
  isInTransaction: boolean,
  messages: number,
): Promise<string | undefined> {
  const app = new App({ topics });
  const topicName = `delivery ${isInTransaction}`;
  const topic = app.topic<number | null>(topicName, { durable: true });
  // It opens the store.
  await app.start();
  const [program = "", ...args] = ownProgram(join(import.meta.dirname!, "subscriber.ts"));
  const child = new Deno.Command(program, {
    args: [...args, JSON.stringify(topics), topicName],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  await lines.read();
  for (let number = 0; number < messages; number++) {
    const now = () => performance.timeOrigin + performance.now();
    if (isInTransaction) {
      await transaction("x", async (transaction) => await topic.publish(now(), { transaction }));
    } else await topic.publish(now());
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
  await topic.publish(null);
  const delays = JSON.parse((await lines.read()).value ?? "[]") as number[];
  await child.status;
  await app.stop();
  const contestant = isInTransaction ? "commit to another process" : "publish to another process";
  printDelays(contestant, delays);
  note({
    measure: `${name}: delivery`,
    contestant,
    value: delays[Math.floor(0.99 * (delays.length - 1))] ?? NaN,
    unit: "ms p99",
    rounds: messages,
  });
  return delays.length === messages ? undefined : `${messages - delays.length} of ${messages} messages have not come`;
}
