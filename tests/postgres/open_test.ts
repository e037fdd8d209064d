// What an application over PostgreSQL says at its start: "`start()` opens the store, and rejects with
// what is wrong (permission, address, token, missing client) instead of the first publish".

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { App } from "@webfw/core";
import type { TopicsLocation } from "@webfw/core/types";
import { takeData } from "../contract/reading.ts";
import { until } from "../contract/consumer_nodes.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { SkippedTimeout } from "../spec/support/skipped_timeout.ts";
import { makeCertificate } from "../support/certificate.ts";
import { Relay } from "../support/relay.ts";
import { hasPostgres, POSTGRES_MISSING, PostgresServer } from "./postgres_server.ts";
import { newSchema } from "./postgres_store.ts";

/** The message of an application that cannot start, without the address. */
async function failure(topics: TopicsLocation): Promise<string> {
  using _log = new CapturedLog();
  const app = new App({ topics });
  app.topic("news", { durable: true });
  const { message } = await assertRejects(() => app.start(), Error);
  await app.stop();
  const [, reason] = /^Cannot open the store of topics "[\w.]+:\d+\/\w+": (.*)$/s.exec(message) ?? [];
  return reason ?? message;
}

/** Publishes and reads by two nodes. */
async function works(topics: TopicsLocation): Promise<void> {
  const [one, other] = [new App({ topics }), new App({ topics })];
  const [topic, same] = [one, other].map((app) => app.topic<string>("news", { durable: true }));
  await one.start();
  await other.start();
  const subscription = same!.subscribe({ from: "earliest" });
  await topic!.publish("first", { id: "a" });
  assertEquals((await topic!.publish("again", { id: "a" })).duplicate, true);
  assertEquals(await takeData(subscription, 1), ["first"]);
  const version = await one.records.set(["a"], { n: 1 });
  assertEquals(await other.records.get(["a"]), { value: { n: 1 }, version: version! });
  assertEquals((await other.reportTopics()).topics.map(({ name, messages }) => [name, messages]), [["news", 1]]);
  await Promise.all([one.stop(), other.stop()]);
}

if (!hasPostgres) Deno.test.ignore(`Topics in PostgreSQL: ${POSTGRES_MISSING}`, () => {});
else {
  const certificate = await makeCertificate();
  const server = await PostgresServer.start({
    settings: ["max_connections=60"],
    access: [
      "host all postgres 127.0.0.1/32 trust",
      "host all reader 127.0.0.1/32 trust",
      "hostssl all encrypted 127.0.0.1/32 scram-sha-256",
      "host all guarded 127.0.0.1/32 scram-sha-256",
      "host all plain 127.0.0.1/32 password",
    ],
    ...(certificate && { certificate }),
  });
  Deno.test.afterAll(() => server[Symbol.asyncDispose]());
  await server.query(`CREATE ROLE guarded LOGIN PASSWORD 'se:cret'; CREATE ROLE encrypted LOGIN PASSWORD 'secret';
    CREATE ROLE plain LOGIN PASSWORD 'secret'; GRANT CREATE ON DATABASE postgres TO guarded, encrypted, plain`);
  const at = (role: string, query = "") => `postgres://${role}@localhost:${server.port}/postgres${query}`;
  const test = (title: string, fn: () => Promise<void>, ignore = false) =>
    Deno.test({ name: `Topics in PostgreSQL: ${title}`, ignore, fn });

  test("applications publish and subscribe over an address, also that of a proxy", async () => {
    await works({ url: server.url, schema: newSchema() });
    using relay = new Relay(server.port);
    await works({ url: `postgres://postgres@127.0.0.1:${relay.port}/postgres`, schema: newSchema() });
  });

  test("the password is in the URL, in the option or in PGPASSWORD", async () => {
    const schema = newSchema();
    await works({ url: at("guarded:se%3Acret"), schema });
    await works({ url: at("plain:secret"), schema: newSchema() });
    await works({ url: at("guarded"), password: "se:cret", schema: newSchema() });
    const program = `
      import { App } from "${CORE}";
      const app = new App({ topics: { url: "${at("guarded")}", schema: "${schema}" } });
      const topic = app.topic("news", { durable: true });
      await app.start();
      console.log((await topic.publish("once", { id: "b" })).duplicate);
      await app.stop();
    `;
    const address = `localhost:${server.port}`;
    const env = { PGPASSWORD: "se:cret" };
    const table: [flags: readonly string[], expected: string][] = [
      [[], `permissions are missing, start Deno with --allow-net=${address}`],
      [[`--allow-net=${address}`], "permissions are missing, start Deno with --allow-env=PGPASSWORD"],
      [[`--allow-net=${address}`, "--allow-env=PGPASSWORD"], ""],
    ];
    for (const [flags, expected] of table) {
      await using child = await ChildProgram.start(program, { permissions: ["--no-prompt", ...flags], env });
      const { code, stdout, stderr } = await child.end();
      if (expected === "") assertEquals([code, stdout.trim(), stderr], [0, "false", ""]);
      else assert(code === 1 && stderr.includes(`"${address}/postgres": ${expected}`), stderr);
      assert(!stderr.includes("se:cret"), stderr);
    }
  });

  test("a start that can never work says what is wrong", async () => {
    const refused = "the server refuses the password of guarded, give it in PGPASSWORD or topics";
    const missing = "the server requires a password, set PGPASSWORD or give topics as { url, password }";
    assertEquals(await failure(at("guarded:wrong")), refused);
    assertEquals(await failure(at("guarded")), missing);
    assertEquals(
      await failure(`${server.url}x`),
      'database "postgresx" does not exist, create it or correct the URL',
    );
    await server.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    assertEquals(
      await failure(server.urlFor("postgres", "latin")),
      "the database has the encoding LATIN1, create one with ENCODING 'UTF8'",
    );
    assertMatch(
      await failure(at("stranger")),
      /^the server refuses the role \(no pg_hba.conf entry .* no encryption\), add \?sslmode=verify-full to the URL$/,
    );
  });

  test("`?sslmode=verify-full`, `{ tls: { ca } }`: only a certificate that is trusted is accepted", async () => {
    const url = at("encrypted:secret");
    const { cert } = certificate!;
    await works({ url, tls: { ca: cert }, schema: newSchema() });
    await works({ url: url.replace("localhost", "127.0.0.1"), tls: { ca: cert }, schema: newSchema() });
    await works({ url: `${url}?sslmode=no-verify`, schema: newSchema() });
    const other = (await makeCertificate())!;
    const untrusted = /^the certificate of the server is not accepted \(.+\), give topics as { url, tls: { ca } }$/;
    assertMatch(await failure({ url, tls: { ca: other.cert } }), untrusted);
    assertMatch(await failure(`${url}?sslmode=verify-full`), untrusted);
    assertMatch(await failure(`${url}?sslmode=require`), untrusted);
    assertMatch(await failure(url), /no encryption\), add \?sslmode=verify-full to the URL$/);
    await using bare = await PostgresServer.start();
    assertEquals(
      await failure(`${bare.url}?sslmode=verify-full`),
      "the server has no TLS, enable it there or remove sslmode and tls",
    );
  }, certificate === undefined);

  test("an address where nothing answers for 10 s ends the start, and is named", async () => {
    using _skipped = new SkippedTimeout(10_000);
    assertMatch(await failure("postgres://a:secret@127.0.0.1:1/b"), /^nothing has answered there for 10 s/);
    using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    assertMatch(await failure(`postgres://a@127.0.0.1:${silent.addr.port}/b`), /^nothing has answered there for 10 s/);
  });

  test("a server that is too old is refused, and one that takes no writes is waited for", async () => {
    using relay = new Relay(server.port);
    const rewriting = (from: string, to: string) => (bytes: Uint8Array) => {
      const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
      return Uint8Array.from(text.replace(from, to), (character) => character.charCodeAt(0));
    };
    const url = `postgres://postgres@127.0.0.1:${relay.port}/postgres`;
    const [version] = await server.query("SELECT current_setting('server_version_num')::int / 10000");
    // The length of the value and the value.
    relay.rewrite = rewriting(`\0\0\0\x02${version}`, "\0\0\0\x0213");
    assertEquals(await failure(url), "the server has version 13, use 14 or later");
    relay.rewrite = rewriting("\0\0\0\x04UTF8\0\0\0\x01f", "\0\0\0\x04UTF8\0\0\0\x01t");
    using log = new CapturedLog();
    const app = new App({ topics: { url, schema: newSchema() } });
    app.topic("news", { durable: true });
    const starting = app.start();
    await until(() => log.text.includes('reason="The server is a standby, which takes no writes"'));
    relay.rewrite = undefined;
    await starting;
    await app.stop();
  });
}
