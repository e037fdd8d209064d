import { assertEquals, assertThrows } from "@std/assert";
import {
  type JetStreamLocation,
  toLocation,
  type TopicsLocation,
  type TopicsServers,
} from "../../../src/store/location.ts";

function serversOf(option: TopicsLocation): unknown[] {
  const { servers, replicas, prefix } = toLocation(option) as JetStreamLocation;
  return [servers.map(({ host }) => host), replicas, prefix];
}

Deno.test('Addresses of NATS: "`replicas` is 3 where three servers or more are named, else 1"', () => {
  assertEquals(serversOf("nats://a:4222,nats://b:4222"), [["a:4222", "b:4222"], 1, "webfw"]);
  assertEquals(serversOf("nats://a, tls://b:1 ,NATS://c"), [["a:4222", "b:1", "c:4222"], 3, "webfw"]);
  assertEquals(serversOf(new URL("nats://a")), [["a:4222"], 1, "webfw"]);
  assertEquals(serversOf({ url: "nats://[::1]", replicas: 5, prefix: "shop-1" }), [["[::1]:4222"], 5, "shop-1"]);
});

Deno.test("Options for NATS that cannot be are refused, without the text of the address", () => {
  const address = "each address of a NATS server must be like nats://host:4222";
  const table: [option: TopicsServers, message: string][] = [
    [{ url: "nats://a,b" }, address],
    [{ url: "nats://" }, address],
    [{ url: "nats://a,https://b" }, address],
    [
      { url: "nats://me:secret@a" },
      "their URL must have no user and no password, give topics as { url, user, password }",
    ],
    [{ url: "nats://a", replicas: 0 }, "replicas must be a number of 1 to 5"],
    [{ url: "nats://a", replicas: 1.5 }, "replicas must be a number of 1 to 5"],
    [{ url: "nats://a", prefix: "a.b" }, "prefix must be 1 to 32 letters, digits, _ or -"],
    [{ url: "nats://a", user: "me" }, "user and password belong together, give both"],
    [{ url: "nats://a", tokn: "x" } as TopicsServers, "tokn"],
  ];
  for (const [option, message] of table) {
    const error = assertThrows(() => toLocation(option), Error, message);
    assertEquals(error.message.includes("secret"), false);
  }
});
