// An application with this many routes. All are tools if the second argument says so. The document,
// the page and the endpoint for agents are at their default paths. The first route gets the
// request.

import { App, text } from "@webfw/core";
import * as v from "valibot";
import { GREETING } from "../greeting.ts";

const [routes = "1", kind] = Deno.args;
const tool = kind === "tools";
const Id = v.pipe(v.number(), v.integer(), v.minValue(1));
const Text = v.pipe(v.string(), v.minLength(1), v.maxLength(100));

const app = new App({ title: "Started" });
app.get("/greeting", { tool }, async () => text(GREETING));
for (let index = 1; index < Number(routes); index++) {
  const body = v.object({ title: Text, tags: v.array(Text), price: v.pipe(v.number(), v.minValue(0)) });
  const response = v.object({ id: Id, title: Text });
  app.post(`/resources${index}/{id}`, { params: { id: Id }, body, response, tool }, async (_request, { id, body }) => {
    "Stores a resource.\n\nGives back what it is known by.";
    return { id, title: body.title };
  });
}

await app.run({ port: 0, onListen: ({ port }) => console.log(`port ${port}`) });
