// Section 3 of the contract of shipping: the gauges of several workers.

import { OtlpCollector } from "../spec/support/otlp_collector.ts";
import { frameworkImports } from "./framework.ts";
import { Project } from "./project.ts";
import { Webfw } from "./webfw.ts";

const APP = `import { App, SSE } from "@webfw/core";
export const app = new App();
const orders = app.topic("orders");
app.get("/events", async () => SSE(orders.subscribe()));`;

Deno.test("the gauges of workers do not hide one another", { ignore: Deno.build.os !== "linux" }, async () => {
  await using collector = new OtlpCollector();
  await using folder = await Project.create({ "deno.json": { imports: await frameworkImports() }, "main.ts": APP });
  const args = ["run", "main.ts", "--port", "0", "--workers", "2"];
  await using webfw = await Webfw.start(args, { cwd: folder.path, env: collector.env });
  const origin = await webfw.origin();
  await using opened = new AsyncDisposableStack();
  // The system distributes connections, not requests: as many come to both workers.
  for (let count = 0; count < 24; count++) {
    const client = opened.use(Deno.createHttpClient({ poolMaxIdlePerHost: 0 }));
    const reader = (await fetch(`${origin}/events`, { client })).body!.getReader();
    opened.defer(() => reader.cancel());
    await reader.read();
  }
  for (const worker of [undefined, "webfw-2"]) {
    await collector.point(({ name, value, attributes }) =>
      name === "webfw.subscribers" && value! > 0 && attributes["webfw.worker"] === worker
    );
  }
});
