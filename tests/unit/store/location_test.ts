import { assertEquals, assertThrows } from "@std/assert";
import {
  type JetStreamLocation,
  type PostgresLocation,
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

const CA = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";

function postgresOf(option: TopicsLocation) {
  const { postgres: { host, port, user, database, password, tls }, schema } = toLocation(option) as PostgresLocation;
  return [`${user}:${password}@${host}:${port}/${database}`, tls, schema];
}

Deno.test("`postgres://user@host/db?sslmode=verify-full`, `{ url, password, tls: { ca }, schema }`", () => {
  const secure = { isVerified: true, ca: undefined };
  const table: [option: TopicsLocation, expected: unknown][] = [
    ["postgres://shop@db/shop", ["shop:undefined@db:5432/shop", undefined, "webfw"]],
    ["postgresql://shop:a%3Ab@db:1/my%20shop", ["shop:a:b@db:1/my shop", undefined, "webfw"]],
    [new URL("postgres://a@[::1]/b?sslmode=disable"), ["a:undefined@::1:5432/b", undefined, "webfw"]],
    ["postgres://a@db/b?sslmode=verify-full", ["a:undefined@db:5432/b", secure, "webfw"]],
    // As databases on the network hand it out.
    ["POSTGRES://a@db/b?sslmode=require&channel_binding=require", ["a:undefined@db:5432/b", secure, "webfw"]],
    ["postgres://a@db/b?sslmode=no-verify", ["a:undefined@db:5432/b", { isVerified: false, ca: undefined }, "webfw"]],
    [
      { url: new URL("postgres://a@db/b"), password: "x", tls: { ca: CA }, schema: "shop_1" },
      ["a:x@db:5432/b", { isVerified: true, ca: CA }, "shop_1"],
    ],
    [{ url: "postgres://a@db/b", tls: {} }, ["a:undefined@db:5432/b", secure, "webfw"]],
  ];
  for (const [option, expected] of table) assertEquals(postgresOf(option), expected);
});

Deno.test("Options for PostgreSQL that cannot be are refused, without the text of the address", () => {
  const url = "postgres://me:secret@a/b";
  const bare = "postgres://a@b/c";
  const table: [option: unknown, message: string][] = [
    ["postgres://secret@a", "the URL of PostgreSQL must be like postgres://user@host:5432/database"],
    ["postgres://a/secret", "the URL of PostgreSQL must be like postgres://user@host:5432/database"],
    ["postgres://a@b:1,c:2/secret", "the URL of PostgreSQL must be like postgres://user@host:5432/database"],
    ["postgres:///secret", "the URL of PostgreSQL must be like postgres://user@host:5432/database"],
    ["postgres://%ff:secret@b/c", "the URL of PostgreSQL must be like postgres://user@host:5432/database"],
    [{ url, password: "other" }, "the password is given twice, remove it from the URL"],
    [`${url}?sslrootcert=ca.pem`, '"sslrootcert", give topics as { url, tls: { ca } }'],
    [`${url}?pgbouncer=true`, 'the URL of PostgreSQL cannot have "pgbouncer", remove it'],
    [`${url}?sslmode=prefer`, "sslmode must be verify-full, require, no-verify or disable"],
    [{ url: `${url}?sslmode=disable`, tls: {} }, "with tls, sslmode must be verify-full or missing"],
    [{ url: bare, tls: { ca: "/etc/ca.pem" } }, "tls.ca must be a certificate in PEM, not the path of a file"],
    [{ url: bare, tls: { cert: CA } }, "cert"],
    [{ url: bare, token: "secret" }, "token"],
    [{ url: bare, password: 1 }, "password must be a string"],
    [{ url: bare, schema: "Shop" }, "schema must be 1 to 63 lower-case letters, digits or _, and no pg_…"],
    [{ url: bare, schema: "pg_shop" }, "schema must be 1 to 63 lower-case letters"],
  ];
  for (const [option, message] of table) {
    const error = assertThrows(() => toLocation(option as TopicsLocation), TypeError, message);
    assertEquals(error.message.includes("secret"), false);
  }
});

Deno.test('`{ sqlite: "shop.sqlite" }` names the file of the application by its absolute path', () => {
  const folder = Deno.cwd();
  assertEquals(toLocation({ sqlite: "shop.sqlite" }), { sqlite: `${folder}/shop.sqlite` });
  assertEquals(toLocation("sqlite:data/shop.sqlite"), { sqlite: `${folder}/data/shop.sqlite` });
  if (Deno.build.os !== "windows") assertEquals(toLocation({ sqlite: "/shop" }), { sqlite: "/shop" });
  const table: [option: unknown, message: string][] = [
    [{ sqlite: "" }, 'sqlite must be the path of a file, as in { sqlite: "shop.sqlite" }'],
    [{ sqlite: 1 }, "sqlite must be the path of a file"],
    ["sqlite://shop.sqlite", "sqlite must be the path of a file"],
    [{ sqlite: ":memory:" }, 'a file that several connections open, for tests, give topics: ":memory:"'],
    [{ sqlite: "a", schema: "b" }, "schema"],
  ];
  for (const [option, message] of table) assertThrows(() => toLocation(option as TopicsLocation), TypeError, message);
});
