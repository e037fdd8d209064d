// The process that publishes over TLS and over plain HTTP. The argument is its plan in JSON; it
// prints the times.

import { App } from "../../mod.ts";

/** What it does. */
interface Plan {
  readonly http: string;
  readonly https: string;
  readonly rounds: number;
  readonly messages: number;
}

/** How long a publish of so many bytes took in each round, in milliseconds. */
export interface TlsTimes {
  readonly bytes: number;
  readonly http: number[];
  readonly https: number[];
}

/** From about 1 KB on, HTTP/2 of Deno's fetch sends a body in a part of its own. */
const SIZES = [200, 4_000, 40_000];
/**
 * How many messages are one turn: short, so that what slows the machine down for a while slows
 * both.
 */
const TURN = 10;

const { rounds, messages, ...urls } = JSON.parse(Deno.args[0]!) as Plan;
const ways = (["http", "https"] as const).map((name) => {
  const app = new App({ topics: urls[name] });
  return { name, app, topic: app.topic<string>(name, { durable: true }) };
});
const times: TlsTimes[] = SIZES.map((bytes) => ({ bytes, http: [], https: [] }));
// The first round warms up and does not count.
for (let round = 0; round <= rounds; round++) {
  for (const { bytes, ...sums } of times) {
    const data = "x".repeat(bytes);
    const spent = { http: 0, https: 0 };
    for (let sent = 0; sent < messages; sent += TURN) {
      for (const { name, topic } of Math.random() < 0.5 ? ways : ways.toReversed()) {
        const begin = performance.now();
        for (let count = 0; count < TURN; count++) await topic.publish(data);
        spent[name] += performance.now() - begin;
      }
    }
    if (round === 0) continue;
    const published = Math.ceil(messages / TURN) * TURN;
    for (const { name } of ways) sums[name].push(spent[name] / published);
  }
}
await Promise.all(ways.map(({ app }) => app.stop()));
console.log(JSON.stringify(times));
