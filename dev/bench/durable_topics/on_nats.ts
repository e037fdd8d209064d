// Publishing on one NATS server and on three, compared with denokv.

import { App, type Topic } from "../../../mod.ts";
import { hasNats, NatsServer } from "../../../tests/nats/nats_server.ts";
import { compareRates, type Contestant } from "./rates.ts";

/** How many publish at once, and whether with ids. */
const KINDS = [
  { title: "one publisher", publishers: 1, hasIds: false },
  { title: "one publisher, with ids", publishers: 1, hasIds: true },
  { title: "64 publishers", publishers: 64, hasIds: false },
  { title: "64 publishers, with ids", publishers: 64, hasIds: true },
];

/**
 * Compares topics on NATS with this one on denokv, and prints the result. The servers sync each
 * write to the disk, as denokv does.
 */
export async function measureOnNats(
  onDenokv: Topic<unknown>,
  data: unknown,
  rounds: number,
  messages: number,
  signal: AbortSignal,
): Promise<void> {
  if (!hasNats) return console.log('on NATS: run "deno task nats:install" first');
  await using one = await NatsServer.start();
  await using three = await NatsServer.startCluster();
  const apps = [one, three].map(({ url }) => new App({ topics: url }));
  const [onOne, onThree] = apps.map((app) => app.topic<unknown>("bench", { durable: true }));
  const topics = { denokv: onDenokv, "one NATS server": onOne!, "three NATS servers": onThree! };
  try {
    for (const { title, publishers, hasIds } of KINDS) {
      const contestants = Object.entries(topics).map(([store, topic]): Contestant => ({
        name: `${store}, ${title}`,
        publishers,
        publish: () => hasIds ? topic.publish(data, { id: crypto.randomUUID() }) : topic.publish(data),
      }));
      const reference = contestants[0]!.name;
      await compareRates({ measure: "publish on NATS", reference, contestants, rounds, messages }, signal);
    }
  } finally {
    await Promise.all(apps.map((app) => app.stop()));
  }
}
