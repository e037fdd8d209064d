// The process that publishes over TLS and over plain HTTP. The argument is its plan in JSON; it
// prints the times.

import { App } from "../../../mod.ts";

/** The plan of the process. */
interface Plan {
  readonly http: string;
  readonly https: string;
  readonly rounds: number;
  readonly messages: number;
}

/** The times of one publish of a message of this size, one per round, in milliseconds. */
export interface TlsTimes {
  readonly bytes: number;
  readonly http: number[];
  readonly https: number[];
}

/** Above about 1 KB, HTTP/2 of Deno's fetch sends the body in a separate frame. */
const SIZES = [200, 4_000, 40_000];
/** The messages in one turn. Turns are short, so that a slow phase of the machine affects both. */
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
