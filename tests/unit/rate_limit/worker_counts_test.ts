import { assert, assertEquals } from "@std/assert";
import { App } from "../../../mod.ts";
import { MemoryCounts, RemoteCounts, serveCounts } from "../../../src/rate_limit/counts.ts";

Deno.test("Two workers count together, and others may use their port", async () => {
  const { port1, port2 } = new MessageChannel();
  const counts = new MemoryCounts();
  serveCounts(counts, port1);
  const others: unknown[] = [];
  port1.onmessage = ({ data }) => others.push(data);
  const remote = new RemoteCounts(port2);
  port2.onmessage = () => {};
  port2.postMessage({ call: "join" });
  const limit = { number: 3, limit: 2, perMs: 60_000 };
  counts.count(limit, "a");
  const [second, third] = await Promise.all([remote.count(limit, "a"), remote.count(limit, "a")]);
  assertEquals([second!.isRefused, second!.remaining], [false, 0]);
  assert(third!.isRefused);
  assert(counts.count(limit, "a").isRefused);
  assertEquals(others.length, 3);
  port1.close();
  port2.close();
});

Deno.test("A request that another worker counts before this one shares is counted", async () => {
  const { port1, port2 } = new MessageChannel();
  const app = new App({ rateLimit: { limit: 1, per: "1h" } });
  app.get("/", async () => "a book");
  const remote = new RemoteCounts(port2);
  port2.start();
  const counting = remote.count({ number: 0, limit: 1, perMs: 3_600_000 }, "a");
  const stop = new AbortController();
  const running = app.run({ port: 0, signal: stop.signal, workers: { guests: [port1] }, onListen: () => {} });
  const { isRefused, remaining } = await counting;
  assertEquals([isRefused, remaining], [false, 0]);
  port2.close();
  stop.abort();
  await running;
});

Deno.test("Counts without an answer do not fill the memory", () => {
  const { port1, port2 } = new MessageChannel();
  const remote = new RemoteCounts(port2, 2);
  const limit = { number: 0, limit: 1, perMs: 60_000 };
  for (const caller of ["a", "b", "c"]) void remote.count(limit, caller);
  assertEquals(remote.pending, 2);
  port1.close();
  port2.close();
});
