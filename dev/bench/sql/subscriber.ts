// The process that gets messages. The arguments are the location of topics in JSON and the name of
// the topic. It prints a line when it listens, and then how late each message came, in milliseconds.

import { App } from "../../../mod.ts";

const [location = "", name = ""] = Deno.args;
const app = new App({ topics: JSON.parse(location) });
const subscription = app.topic<number | null>(name, { durable: true }).subscribe();
await subscription.cursor();
console.log("ready");
const delays: number[] = [];
for await (const entry of subscription) {
  if (!("data" in entry)) continue;
  if (entry.data === null) break;
  delays.push(performance.timeOrigin + performance.now() - entry.data);
}
console.log(JSON.stringify(delays));
await app.stop();
