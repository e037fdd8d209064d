// Consumers of a durable topic in the store that the argument names: a file, or the address of a
// denokv.

import { App } from "../../../../mod.ts";
import { IN_FLIGHT, serve } from "../work.ts";

const [topics = ""] = Deno.args;

serve(async (name, handle) => {
  const app = new App({ topics });
  const topic = app.topic<unknown>(name, { durable: true });
  topic.consume("bench", { concurrency: IN_FLIGHT, from: "earliest" }, () => handle());
  return {
    publish: (data) => topic.publish(data),
    consume: () => app.start(),
    close: () => app.stop(),
  };
});
