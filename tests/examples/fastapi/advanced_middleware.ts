// A redirect to HTTPS, trusted hosts, compressed replies.
import { App } from "@webfw/core";
import { httpsOnly } from "@webfw/core/middleware";
import { TestClient } from "@webfw/core/testing";
import { assertEquals } from "@std/assert";
import { get } from "node:http";
import { once } from "node:events";
import { Serving } from "../../spec/support/serving.ts";

const app = new App({ hosts: ["books.example", "*.books.example"], trustProxy: 1 });
app.middleware(httpsOnly("www.books.example"));
app.get("/", async () => "A big reply. ".repeat(1000));

Deno.test("advanced middleware: a redirect to HTTPS, and trusted hosts", async () => {
  await using client = new TestClient(app, { base: "http://www.books.example" });
  const moved = await client.get("/?a=1");
  assertEquals([moved.status, moved.headers.get("location")], [308, "https://www.books.example/?a=1"]);
  await using secure = new TestClient(app, { base: "https://books.example" });
  assertEquals((await secure.get("/")).status, 200);
  await using foreign = new TestClient(app, { base: "https://attacker.example" });
  await foreign.get("/").problem(421);
});

Deno.test("advanced middleware: app.run({ compress: true }) compresses replies for clients that accept it", async () => {
  const open = new App();
  open.get("/", async () => "A big reply. ".repeat(1000));
  await using serving = await Serving.start(open, { compress: true });
  const request = get(serving.origin, { headers: { "accept-encoding": "gzip" }, agent: false });
  const [response] = await once(request, "response");
  assertEquals(response.headers["content-encoding"], "gzip");
  response.resume();
  await once(response, "end");
});
