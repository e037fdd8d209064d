import { assert, assertEquals } from "@std/assert";
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
