// What an application over NATS says at its start: "`start()` opens the store, and rejects with what
// is wrong (permission, address, token, missing client) instead of the first publish".

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { App } from "@webfw/core";
import type { TopicsLocation } from "@webfw/core/types";
import { takeData } from "../contract/reading.ts";
import { CapturedLog } from "../spec/support/captured_log.ts";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { SkippedTimeout } from "../spec/support/skipped_timeout.ts";
import { Relay } from "../support/relay.ts";
import { makeCertificate } from "../support/certificate.ts";
import { makeNatsAccount } from "../support/nats_accounts.ts";
import { hasNats, NatsServer } from "./nats_server.ts";

/** The message of an application that cannot start, without the addresses. */
async function failure(topics: TopicsLocation): Promise<string> {
  const app = new App({ topics });
  app.topic("news", { durable: true });
  const { message } = await assertRejects(() => app.start(), Error);
  await app.stop();
  return message.replaceAll(/127\.0\.0\.1:\d+/g, "HOST");
}

/** The seed has a wrong checksum. */
const CREDENTIALS = `-----BEGIN NATS USER JWT-----
a.b.c
------END NATS USER JWT------
-----BEGIN USER NKEY SEED-----
SUSECRET
------END USER NKEY SEED------
`;

function hasIpv6(): boolean {
  try {
    Deno.listen({ hostname: "::1", port: 0 }).close();
    return true;
  } catch {
    return false;
  }
}

function test(title: string, fn: () => Promise<void> | void): void {
  Deno.test({ name: `Topics in NATS: ${title}`, ignore: !hasNats, fn });
}

test("an application publishes and subscribes over an address", async () => {
  await using server = await NatsServer.start();
  const app = new App({ topics: server.url });
  const topic = app.topic<number>("news", { durable: true });
  await app.start();
  const subscription = topic.subscribe();
  await topic.publish(1);
  assertEquals(await takeData(subscription, 1), [1]);
  assertEquals((await app.reportTopics()).topics.map(({ name, messages }) => [name, messages]), [["news", 1]]);
  const version = await app.records.set(["a"], { n: 1 });
  assertEquals(await app.records.get(["a"]), { value: { n: 1 }, version: version! });
  await app.stop();
});

test("a start that can never work says what is wrong", async () => {
  const named = 'Cannot open the store of topics "HOST": ';
  await using server = await NatsServer.start();
  assertEquals(
    await failure({ url: server.url, replicas: 3 }),
    `${named}the server is in no cluster, so there are no replicas, give topics with replicas: 1`,
  );
  assertEquals(
    await failure(server.url.replace("nats:", "tls:")),
    `${named}no TLS connection can be made (the server has no TLS), give topics with the tls that the server has`,
  );
  const refused =
    `${named}the server refuses the client, give topics with its token, user and password, or credentials`;
  await using guarded = await NatsServer.start('authorization { token: "a token of a test" }');
  assertEquals(await failure(guarded.url), refused);
  assertEquals(await failure({ url: guarded.url, token: "another" }), refused);
  for (const credentials of ["nonsense", CREDENTIALS]) {
    assertEquals(
      await failure({ url: guarded.url, credentials }),
      `${named}the credentials cannot be read, give the text of a file of credentials that nsc has made`,
    );
  }
  await using bare = await NatsServer.start('accounts { A: { users: [ { user: "a", password: "b" } ] } }');
  assertEquals(
    await failure({ url: bare.url, user: "a", password: "b" }),
    `${named}the server has no JetStream, start it with -js or a jetstream block in its configuration`,
  );
});

test("a server that is too old, or takes too little at once, is refused", async () => {
  const named = 'Cannot open the store of topics "HOST": ';
  await using server = await NatsServer.start("max_payload: 65536");
  assertEquals(
    await failure(server.url),
    `${named}the server takes only 65536 bytes at once, set its max_payload to 1MB`,
  );
  using relay = new Relay(server.port);
  relay.rewrite = (bytes) => {
    const text = new TextDecoder().decode(bytes);
    return new TextEncoder().encode(text.replace(/"version":"[^"]*"/, '"version":"2.10.29"'));
  };
  assertEquals(await failure(relay.url), `${named}the server has version 2.10.29, use 2.11 or later`);
  relay.rewrite = () => new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n");
  assertEquals(
    await failure(relay.url),
    `${named}there is no NATS server at this address, give topics the address of one`,
  );
});

test("permissions that the server does not give are named, at the start or the first use", async () => {
  const cure =
    "let its user publish to $JS.API.>, $KV.webfw-records.> and webfw.log.>, and subscribe to _INBOX.> and " +
    "webfw.stored.>";
  const table = [
    ['["x"]', '">"', 'Permissions Violation for Publish to "$JS.API.INFO"'],
    ['">"', '["x"]', 'Permissions Violation for Subscription to "_INBOX.ID.*"'],
    ['["$JS.API.>", "$KV.>"]', '">"', 'Permissions Violation for Publish to "webfw.log.webfw_topic_news.ID"'],
    ['["$JS.API.>", "webfw.>"]', '">"', 'Permissions Violation for Publish to "$KV.webfw-records.app.a"'],
    [
      '{ deny: "$JS.API.STREAM.CREATE.>" }',
      '">"',
      "Permissions Violation for Publish to " +
      '"$JS.API.STREAM.CREATE.webfw_topic_news"',
    ],
  ] as const;
  for (const [publish, subscribe, reason] of table) {
    await using server = await NatsServer.start(
      `authorization { users: [ { user: a, password: b, permissions: { publish: ${publish}, subscribe: ${subscribe} } } ] }`,
    );
    const app = new App({ topics: { url: server.url, user: "a", password: "b" } });
    const topic = app.topic("news", { durable: true });
    const { message } = await assertRejects(async () => {
      await app.start();
      await topic.publish(1);
      await app.records.set(["a"], 1);
    }, Error);
    await app.stop();
    assertEquals(
      message.replace(/127\.0\.0\.1:\d+/, "HOST").replace(/(INBOX|news)\.\w{8,}/, "$1.ID"),
      `Cannot use the store of topics "HOST": the server forbids it (${reason}), ${cure}`,
    );
  }
});

test("what the program gives is checked before anything is opened", () => {
  const url = "nats://127.0.0.1:1";
  assertThrows(() => new App({ topics: { url, token: 5 as unknown as string } }), TypeError, "token must be a string");
  assertThrows(() => new App({ topics: { url, tls: { caFile: "x" } as { ca?: string } } }), TypeError, '"tls.caFile"');
  for (const topics of ["nats://user:SECRET@a:1", { url: `${url},nats://SECRET@b:2` }, "nats://a:SECRET"]) {
    const { message } = assertThrows(() => new App({ topics }), TypeError);
    assert(!message.includes("SECRET"), message);
  }
});

test("an application starts over IPv6, and where one of two servers is away or silent", async () => {
  await using server = await NatsServer.start();
  using relay = new Relay(server.port, { hostname: hasIpv6() ? "::1" : "127.0.0.1" });
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const urls = [
    relay.url,
    `nats://127.0.0.1:1,${server.url}`,
    `${server.url},nats://127.0.0.1:1`,
    `nats://127.0.0.1:${silent.addr.port},${server.url}`,
  ];
  for (const [index, url] of urls.entries()) {
    const app = new App({ topics: url });
    const topic = app.topic("news", { durable: true });
    await app.start();
    assertEquals((await topic.publish(index, { id: `${index}` })).duplicate, false);
    await app.stop();
  }
});

test("an application starts with a token, and with a user and a password", async () => {
  const table = [
    ['authorization { token: "a token of a test" }', { token: "a token of a test" }],
    ['authorization { user: "a", password: "b" }', { user: "a", password: "b" }],
  ] as const;
  for (const [lines, options] of table) {
    await using server = await NatsServer.start(lines);
    const app = new App({ topics: { url: server.url, ...options } });
    const topic = app.topic("news", { durable: true });
    await app.start();
    assertEquals((await topic.publish("once", { id: "a" })).duplicate, false);
    await app.stop();
  }
});

test("an application starts with credentials, and not with those of another account", async () => {
  const { lines, credentials } = await makeNatsAccount();
  await using server = await NatsServer.start(lines);
  const app = new App({ topics: { url: server.url, credentials } });
  const topic = app.topic("news", { durable: true });
  await app.start();
  assertEquals((await topic.publish("once", { id: "a" })).duplicate, false);
  await app.stop();
  const other = await makeNatsAccount();
  assertMatch(await failure({ url: server.url, credentials: other.credentials }), /the server refuses the client/);
});

test("applications with another `prefix` share nothing on the same server", async () => {
  await using server = await NatsServer.start();
  const apps = [undefined, "shop"].map((prefix) => {
    return new App({ topics: { url: server.url, ...(prefix !== undefined && { prefix }) } });
  });
  const topics = apps.map((app) => app.topic<string>("news", { durable: true, retention: { bytes: 1e6 } }));
  for (const [index, topic] of topics.entries()) {
    await topic.publish(`of ${index}`, { id: "a" });
    await apps[index]!.records.set(["a"], index);
  }
  for (const [index, topic] of topics.entries()) {
    assertEquals(await takeData(topic.subscribe({ from: "earliest" }), 1), [`of ${index}`]);
    assertEquals((await apps[index]!.records.get(["a"]))?.value, index);
    assertEquals((await apps[index]!.reportTopics()).topics.map(({ messages }) => messages), [1]);
  }
  await Promise.all(apps.map((app) => app.stop()));
});

const certificate = await makeCertificate();

Deno.test({
  name: "Topics in NATS: an application starts over TLS, with the certificate of the authority",
  ignore: !hasNats || !certificate,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "webfw_nats_tls_" });
    const { cert, key } = certificate!;
    await Deno.writeTextFile(`${folder}/cert.pem`, cert);
    await Deno.writeTextFile(`${folder}/key.pem`, key);
    {
      await using server = await NatsServer.start(
        `tls { cert_file: "${folder}/cert.pem", key_file: "${folder}/key.pem" }`,
      );
      const url = server.url.replace("nats:", "tls:");
      const app = new App({ topics: { url, tls: { ca: cert } } });
      const topic = app.topic<number>("news", { durable: true });
      await app.start();
      const subscription = topic.subscribe();
      await topic.publish(1);
      assertEquals(await takeData(subscription, 1), [1]);
      await app.stop();
      assertMatch(
        await failure(url),
        /HOST": no TLS connection can be made \(.*certificate.*\), give topics with the tls/,
      );
    }
    await Deno.remove(folder, { recursive: true });
  },
});

test("an address where nothing answers for 10 s ends the start, and is named", async () => {
  using _log = new CapturedLog();
  using _skipped = new SkippedTimeout(10_000);
  const app = new App({ topics: "nats://127.0.0.1:1" });
  app.topic("news", { durable: true });
  const { message } = await assertRejects(() => app.start(), Error);
  assertMatch(message, /^Cannot open the store of topics "127\.0\.0\.1:1": nothing has answered there for 10 s/);
  await app.stop();
});

test("a topic that the servers have no room for says so at once", async () => {
  await using server = await NatsServer.start();
  const app = new App({ topics: server.url });
  const topic = app.topic("large", { durable: true, retention: { bytes: 1e13 } });
  const { message } = await assertRejects(() => topic.publish(1), Error);
  assertMatch(
    message,
    /^Cannot keep the topic "large": the servers have not as much storage as its retention may take/,
  );
  await app.stop();
});

test("permissions that are missing are named, and the network is all that is needed", async () => {
  await using server = await NatsServer.start();
  const program = `
    import { App } from "${CORE}";
    const app = new App({ topics: "${server.url}" });
    const topic = app.topic("news", { durable: true });
    await app.start();
    console.log((await topic.publish("once", { id: "a" })).duplicate);
    await app.stop();
  `;
  const host = `127.0.0.1:${server.port}`;
  {
    await using child = await ChildProgram.start(program, { permissions: ["--no-prompt"] });
    const { code, stderr } = await child.end();
    assertEquals(code, 1);
    assert(
      stderr.includes(`"${host}": permissions are missing, start Deno with --allow-net=${host}`),
      stderr,
    );
  }
  await using child = await ChildProgram.start(program, { permissions: ["--no-prompt", `--allow-net=${host}`] });
  const { code, stdout, stderr } = await child.end();
  assertEquals([code, stdout.trim(), stderr], [0, "false", ""]);
});
