// An application with a durable topic in the file that the first argument names. The first reply
// publishes to it if the second argument says so. Otherwise the store is only opened.

import { App, text } from "../../../../mod.ts";
import { GREETING } from "../greeting.ts";

const [file = "", use] = Deno.args;
const app = new App({ title: "Started", topics: file });
const greetings = app.topic<string>("greetings", { durable: true });

app.get("/greeting", async () => {
  if (use === "publish") await greetings.publish(GREETING);
  return text(GREETING);
});

await app.run({ port: 0, onListen: ({ port }) => console.log(`port ${port}`) });
