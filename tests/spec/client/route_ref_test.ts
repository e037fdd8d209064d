// "Verbs of applications and routers return a `RouteRef`: a value without content whose type carries
// method, path, inputs and result." The types are in tests/types/client_types_test.ts.

import { assertEquals } from "@std/assert";
import { App, Router } from "@webfw/core";

Deno.test("a `RouteRef` is a value without content, which every verb of applications and routers returns", () => {
  for (const target of [new App(), new Router({ prefix: "/shops/{slug}" }) as unknown as App]) {
    const refs = [
      target.get("/", async () => {}),
      target.post("/", async () => {}),
      target.put("/", async () => {}),
      target.patch("/", async () => {}),
      target.delete("/", async () => {}),
      target.route("/both", { methods: ["GET", "POST"] }, async () => {}),
      target.websocket("/socket", async () => {}),
    ];
    for (const ref of refs) assertEquals([Reflect.ownKeys(ref), Object.isFrozen(ref)], [[], true]);
  }
});
