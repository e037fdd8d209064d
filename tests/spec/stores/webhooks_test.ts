// "`const paid = app.webhook("order.paid", { body: Paid })`: documented under `webhooks`; `paid.send(url, data, {
// secret, transaction? })` posts it from a durable topic: signed by Standard Webhooks, 5 tries over a day, 410 ends
// them, other 4xx count as tries, the last answer kept; never to loopback, link-local or private addresses unless
// allowed, redirects not followed, 10 s, 64 KiB of an answer read."

import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { App, type AppOptions, type LogEntry, RouteError } from "@webfw/core";
import { signed } from "@webfw/core/auth";
import type { OpenAPIParameter, OpenAPIPathItem } from "@webfw/core/openapi";
import { TestClient } from "@webfw/core/testing";
import type { Webhook, WebhookDelivery } from "@webfw/core/types";
import dns from "node:dns/promises";
import { DatabaseSync } from "node:sqlite";
import * as v from "valibot";
import { makeCertificate } from "../../support/certificate.ts";
import { until } from "../../support/wait.ts";
import { ChildProgram, CORE } from "../support/child_program.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const Paid = v.pipe(v.object({ order: v.number() }), v.title("Paid"));

/** An application that may send to this machine. */
function sender(options: AppOptions = {}): App {
  return new App({ topics: ":memory:", webhooks: { allowPrivate: true }, log: () => {}, ...options });
}

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

/** A receiver on a socket. */
class Receiver implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(answer: (received: Received, count: number) => Response | Promise<Response>) {
    this.#server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
      const { method, url, headers } = request;
      const received = { method, url, headers, body: await request.text() };
      return await answer(received, this.received.push(received));
    });
  }

  url(path = "/hooks?team=7"): string {
    return `http://127.0.0.1:${this.#server.addr.port}${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

async function lastTry(webhook: Webhook<never>, id: string): Promise<WebhookDelivery> {
  const [delivery] = await Array.fromAsync(webhook.deliveries({ id }));
  assert(delivery, `there is no try of ${id}`);
  return delivery;
}

Deno.test("A webhook is posted, signed, and its answer is kept", async () => {
  const app = sender();
  const paid = app.webhook("order.paid", { body: Paid });
  await using receiver = new Receiver(() => new Response("Thanks", { status: 202 }));
  await app.start();
  // @ts-expect-error The order is a number.
  const _wrong = () => paid.send(receiver.url(), { order: "7" }, { secret: SECRET });
  // @ts-expect-error It needs a secret.
  const _unsigned = () => paid.send(receiver.url(), { order: 7 });
  const { id } = await paid.send(receiver.url(), { order: 7 }, { secret: SECRET });
  await app.consumers.idle();
  const [{ method, url, headers, body }] = receiver.received as [Received];
  assertEquals([method, url, body], ["POST", receiver.url(), '{"order":7}']);
  assertEquals([headers.get("content-type"), headers.get("content-length")], ["application/json", "11"]);
  assertEquals(headers.get("webhook-id"), id);
  // The guard of incoming webhooks verifies it.
  const partner = new App();
  const guard = signed({ scheme: "standard", secret: SECRET });
  partner.post("/hooks", { deps: { guard }, body: Paid }, async (_request, { body, guard }) => [guard.id, body.order]);
  const reply = await partner.fetch(new Request("http://localhost/hooks", { method: "POST", headers, body }));
  assertEquals(await reply.json(), [id, 7]);
  const { at, ...rest } = await lastTry(paid, id);
  assertEquals(rest, {
    ...{ id, url: receiver.url(), state: "delivered", attempt: 1, status: 202, answer: "Thanks", error: undefined },
  });
  assert(Math.abs(Date.now() - at.getTime()) < 60_000);
  await app.stop();
});

Deno.test("Each of several secrets signs, and an id that is sent to one URL twice is posted once", async () => {
  const app = sender();
  const paid = app.webhook("order.paid", { body: Paid });
  await using receiver = new Receiver(() => new Response(null, { status: 204 }));
  await app.start();
  const options = { secret: ["b2xk", SECRET], id: "order-7" };
  for (const url of [receiver.url(), receiver.url(), receiver.url("/other"), `${receiver.url()}#a`]) {
    assertEquals(await paid.send(url, { order: 7 }, options), { id: "order-7" });
  }
  await app.consumers.idle();
  assertEquals(receiver.received.map(({ url }) => new URL(url).pathname).sort(), ["/hooks", "/other"]);
  const { headers, body } = receiver.received[0]!;
  assertEquals(headers.get("webhook-signature")!.split(" ").length, 2);
  for (const secret of ["whsec_b2xk", SECRET]) {
    const partner = new App();
    partner.post("/", { deps: { guard: signed({ scheme: "standard", secret }) } }, async () => null);
    const reply = await partner.fetch(new Request("http://localhost/", { method: "POST", headers, body }));
    assertEquals(reply.status, 200);
    await reply.body?.cancel();
  }
  const urls = await Array.fromAsync(paid.deliveries({ id: "order-7" }), ({ url }) => url);
  assertEquals(urls.sort(), [receiver.url(), receiver.url("/other")].sort());
  const [other, ...rest] = await Array.fromAsync(paid.deliveries({ url: receiver.url("/other") }));
  assertEquals([other?.id, rest], ["order-7", []]);
  await app.stop();
});

Deno.test("410 ends the tries, and other answers are tries: 404, 500, and a redirect, which is not followed", async () => {
  const entries: LogEntry[] = [];
  const app = sender({ log: (entry) => entries.push(entry) });
  const paid = app.webhook("order.paid", { body: Paid });
  await using receiver = new Receiver(({ url }) => {
    const status = Number(new URL(url).pathname.slice(1));
    return new Response(`It is ${status}`, { status, headers: { location: "/200" } });
  });
  await app.start();
  const sent = [404, 500, 302, 410].map(async (status) => {
    return [status, (await paid.send(receiver.url(`/${status}`), { order: status }, { secret: SECRET })).id] as const;
  });
  const found = new Map<number, WebhookDelivery>();
  for (const [status, id] of await Promise.all(sent)) {
    await until("a try", async () => {
      const [delivery] = await Array.fromAsync(paid.deliveries({ id }));
      if (delivery) found.set(status, delivery);
      return delivery !== undefined;
    });
  }
  for (const [status, { state, attempt, answer, error }] of found) {
    const expected = [status === 410 ? "failed" : "retrying", 1, `It is ${status}`, `It replied ${status}`];
    assertEquals([state, attempt, answer, error], expected);
  }
  assertEquals(receiver.received.length, 4);
  await until("a failure", async () => (await app.consumers.report())[0]?.failures === 1);
  await until("an error", async () => (await app.consumers.report())[0]?.lastError !== undefined);
  const [report] = await app.consumers.report();
  assertEquals([report?.topic, report?.name], ["webfw.webhooks", "send"]);
  const host = new URL(receiver.url()).host;
  assert(
    /^Cannot deliver the webhook "order.paid" [\w-]{36} to 127\.0\.0\.1:\d+: It replied \d{3}$/.test(
      report!.lastError!,
    ),
  );
  const texts = JSON.stringify(entries);
  assertStringIncludes(texts, host);
  // Neither the secret nor what the receiver wrote is in the log.
  assertEquals([texts.includes(SECRET), texts.includes("It is ")], [false, false]);
  await app.stop();
});

Deno.test("64 KiB of an answer are read and kept, and the connection is closed", async () => {
  const app = sender();
  const paid = app.webhook("order.paid", { body: Paid });
  const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>();
  await using receiver = new Receiver(() => {
    const chunk = new TextEncoder().encode("ä".repeat(10_000));
    return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk), cancel }));
  });
  await app.start();
  const { id } = await paid.send(receiver.url(), { order: 7 }, { secret: SECRET });
  await app.consumers.idle();
  await cancelled;
  const { state, status, answer } = await lastTry(paid, id);
  assertEquals([state, status, answer], ["delivered", 200, "ä".repeat(32 * 1024)]);
  await app.stop();
});

Deno.test("A webhook is sent by the next process if the first one ends before, and its secret is not in the topic", async () => {
  await using folder = await TemporaryFolder.make();
  const topics = folder.within("topics.sqlite");
  await using receiver = new Receiver(() => new Response());
  const first = sender({ topics });
  // It has not started, so its consumer does not run.
  const { id } = await first.webhook("order.paid", { body: Paid }).send(receiver.url(), { order: 7 }, {
    secret: SECRET,
  });
  await using subscription = first.topic("webfw.webhooks").subscribe({ from: "earliest" });
  const { value } = await subscription.next();
  const text = JSON.stringify(value);
  assertStringIncludes(text, '"order":7');
  assertEquals([text.includes(SECRET), text.includes(SECRET.slice(6))], [false, false]);
  await subscription.return();
  await first.stop();
  assertEquals(receiver.received.length, 0);
  // The secret is nowhere in the file, except with the key.
  assertEquals(new TextDecoder("latin1").decode(await Deno.readFile(topics)).includes(SECRET.slice(6)), false);

  const second = sender({ topics });
  const paid = second.webhook("order.paid", { body: Paid });
  await second.start();
  await second.consumers.idle();
  const [{ headers, body }] = receiver.received as [Received];
  assertEquals([headers.get("webhook-id"), body], [id, '{"order":7}']);
  assertEquals((await lastTry(paid, id)).state, "delivered");
  await second.stop();
});

Deno.test("A stop ends a request that waits, which is no try, and the next process sends it again", async () => {
  await using folder = await TemporaryFolder.make();
  const topics = folder.within("topics.sqlite");
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  await using receiver = new Receiver(async (_, count) => {
    arrive();
    if (count === 1) await gate;
    return new Response();
  });
  const first = sender({ topics });
  const declared = first.webhook("order.paid", { body: Paid });
  const end = new AbortController();
  const { promise: listening, resolve: listen } = Promise.withResolvers<void>();
  const running = first.run({ port: 0, signal: end.signal, gracePeriod: "50ms", onListen: () => listen() });
  await listening;
  const { id } = await declared.send(receiver.url(), { order: 7 }, { secret: SECRET });
  await arrived;
  end.abort();
  await running;
  open();
  const second = sender({ topics });
  const paid = second.webhook("order.paid", { body: Paid });
  await second.start();
  await second.consumers.idle();
  const { state, attempt } = await lastTry(paid, id);
  assertEquals([state, attempt, receiver.received.length], ["delivered", 1, 2]);
  const ids = receiver.received.map(({ headers }) => headers.get("webhook-id"));
  assertEquals(ids, [id, id]);
  await second.stop();
});

Deno.test("In a transaction it is sent if that commits, and never if it is rolled back", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("shop.sqlite");
  const app = sender({ topics: { sqlite: file } });
  const paid = app.webhook("order.paid", { body: Paid });
  await using receiver = new Receiver(() => new Response());
  const db = new DatabaseSync(file, { timeout: 5_000 });
  const pay = (order: unknown, end: "COMMIT" | "ROLLBACK") => {
    db.exec("BEGIN IMMEDIATE");
    try {
      const sent = paid.send(receiver.url(), { order } as { order: number }, { secret: SECRET, transaction: db });
      db.exec(end);
      return sent;
    } catch (error) {
      db.exec("ROLLBACK");
      throw error;
    }
  };
  assertThrows(() => pay(1, "COMMIT"), Error, "the application has not started, call app.start() before");
  await app.start();
  await pay(2, "ROLLBACK");
  const { id } = await pay(3, "COMMIT");
  // What is wrong throws in the call, so that the rows of the transaction are rolled back, too.
  assertThrows(() => pay("4", "COMMIT"), TypeError, "the data does not fit the schema");
  db.exec("BEGIN");
  assertThrows(() => paid.send(receiver.url(), { order: 5 }, { secret: "!", transaction: db }), TypeError);
  db.exec("ROLLBACK");
  await until("a try", async () => (await Array.fromAsync(paid.deliveries({ id }))).length === 1);
  await app.consumers.idle();
  assertEquals(receiver.received.map(({ body }) => body), ['{"order":3}']);
  const options = { secret: SECRET, transaction: undefined } as unknown as { secret: string };
  await assertRejects(() => paid.send(receiver.url(), { order: 6 }, options), TypeError, "transaction is undefined");
  db.close();
  await app.stop();
});

Deno.test("A mounted application sends its own webhooks, which a test client answers, too", async () => {
  const inner = sender({ webhooks: {} });
  const paid = inner.webhook("order.paid", { body: Paid });
  inner.post("/pay", async () => await paid.send("https://partner.example/", { order: 7 }, { secret: SECRET }));
  const outer = sender({ webhooks: {} });
  outer.mount("/shop", inner);
  const answered: string[] = [];
  {
    const webhooks = async (request: Request) => new Response(`Thanks, ${answered.push(await request.text())}`);
    await using client = new TestClient(outer, { webhooks });
    const reply = await client.post("/shop/pay");
    const { id } = await reply.json() as { id: string };
    await inner.consumers.idle();
    assertEquals([answered, (await lastTry(paid, id)).answer], [['{"order":7}'], "Thanks, 1"]);
  }
  await outer.stop();
});

Deno.test("allowPrivate is that of the application which has declared the webhook, whichever one with its store sends it", async () => {
  await using folder = await TemporaryFolder.make();
  const topics = { sqlite: folder.within("shop.sqlite") };
  await using receiver = new Receiver(() => new Response());
  // A name that the check of the URL cannot know.
  const named = receiver.url().replace("127.0.0.1", "partner.example");
  const { lookup } = dns;
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => void Object.assign(dns, { lookup }));
  Object.assign(dns, { lookup: async () => [{ address: "127.0.0.1", family: 4 }] });
  for (const isAllowed of [true, false]) {
    // Only the other one runs, so it sends.
    const one = sender({ topics, webhooks: { allowPrivate: isAllowed } });
    const paid = one.webhook(`paid.${isAllowed}`, { body: Paid });
    const { id } = await paid.send(named, { order: 7 }, { secret: SECRET });
    const other = sender({ topics, webhooks: { allowPrivate: !isAllowed } });
    other.webhook("other", { body: Paid });
    await other.start();
    await until("a try", async () => (await Array.fromAsync(paid.deliveries({ id }))).length === 1);
    assertEquals([(await lastTry(paid, id)).state, receiver.received.length], [
      isAllowed ? "delivered" : "retrying",
      1,
    ]);
    await other.stop();
    await one.stop();
  }
});

Deno.test("A wrong URL, data or option is an error where it is sent, and no message has the URL's or the signature's secret", async () => {
  const app = new App({ topics: ":memory:" });
  const paid = app.webhook("order.paid", { body: Paid });
  const url = "https://partner.example/hooks";
  const wrong: [url: unknown, data: unknown, options: unknown, message: string][] = [
    ["/hooks", { order: 1 }, { secret: SECRET }, "the url must be an absolute URL"],
    [7, { order: 1 }, { secret: SECRET }, "the url must be an absolute URL"],
    ["ftp://SECRET.example", { order: 1 }, { secret: SECRET }, 'must begin with https:// or http://, got "ftp:"'],
    ["https://u:SECRET@a.example/", { order: 1 }, { secret: SECRET }, "the url has a user or a password"],
    ["https://a.example:25/SECRET", { order: 1 }, { secret: SECRET }, "the port 25, which is that of another protocol"],
    ["https://a.example:0/SECRET", { order: 1 }, { secret: SECRET }, "the port 0"],
    ["http://127.0.0.1/SECRET", { order: 1 }, { secret: SECRET }, "127.0.0.1 has no public address"],
    ["http://0x7f.1/", { order: 1 }, { secret: SECRET }, "set webhooks: { allowPrivate: true } of the App"],
    ["http://[::ffff:8.8.8.8]/", { order: 1 }, { secret: SECRET }, "no public address"],
    ["http://api.localhost:8000/", { order: 1 }, { secret: SECRET }, "api.localhost has no public address"],
    [url, { order: "SECRET" }, { secret: SECRET }, 'the data does not fit the schema, "order" should be number'],
    [url, { order: 1 }, {}, '"secret" must be a string that is not empty in base64'],
    [url, { order: 1 }, { secret: "SECRET!" }, "in base64"],
    [url, { order: 1 }, { secret: [] }, "must have at least one"],
    [url, { order: 1 }, undefined, "the options must be an object"],
    [url, { order: 1 }, { secret: SECRET, id: "a.b" }, "without a dot"],
    [url, { order: 1 }, { secret: SECRET, ids: "a" }, 'the nearest is "id"'],
    [url, { order: 1 }, { secret: SECRET, transaction: {} }, "in a transaction"],
  ];
  for (const [url, data, options, message] of wrong) {
    const send = () => paid.send(url as string, data as { order: number }, options as { secret: string });
    const error = await assertRejects(send, TypeError);
    assertStringIncludes(error.message, message);
    assertEquals(error.message.includes("SECRET"), false, error.message);
  }
  await app.stop();
});

Deno.test("A wrong declaration is an error where it is made", async () => {
  const app = new App({ topics: ":memory:" });
  const declare = (name: unknown, options: unknown) => () =>
    app.webhook(name as string, options as { body: typeof Paid });
  assertThrows(declare("order paid", { body: Paid }), TypeError, "its name must be 1 to 128 letters, digits");
  assertThrows(declare("order.paid", {}), TypeError, "body");
  assertThrows(declare("order.paid", { body: v.date() }), TypeError, 'JSON, which has no "date"');
  assertThrows(declare("order.paid", { body: Paid, tags: "x" }), TypeError, '"tags" must be an array of strings');
  assertThrows(declare("order.paid", { body: Paid, sumary: "x" }), TypeError, 'the nearest is "summary"');
  assertThrows(() => app.webhook("order.paid"), TypeError, "there are none");
  const paid = app.webhook("order.paid", { body: Paid });
  assertEquals(app.webhook("order.paid") === paid, true);
  assertThrows(() => app.webhook("order.payed"), TypeError, 'the nearest is "order.paid"');
  assertThrows(declare("order.paid", { body: Paid }), RouteError, "there is one of this name");
  await app.start();
  assertThrows(declare("order.sent", { body: Paid }), RouteError, "the application serves already");
  await app.stop();
  const options = (webhooks: unknown) => () => new App({ webhooks } as AppOptions);
  assertThrows(options({ allowPrivat: true }), TypeError, 'the nearest is "webhooks.allowPrivate"');
  assertThrows(options({ allowPrivate: "yes" }), TypeError, '"webhooks.allowPrivate" must be true or false');
});

Deno.test("The document has it under `webhooks`, with its headers, body and answers", async () => {
  const app = new App({ topics: ":memory:", title: "Shop" });
  const shown = { summary: "An order was paid", description: "Once for each order.", tags: ["Orders"] };
  app.webhook("order.paid", { body: Paid, ...shown });
  const { webhooks, components, tags } = app.openapi();
  const { post } = webhooks!["order.paid"] as OpenAPIPathItem;
  const { parameters, responses, requestBody, ...rest } = post!;
  assertEquals(rest as unknown, shown);
  assertEquals(tags, [{ name: "Orders" }]);
  assertEquals((parameters as OpenAPIParameter[]).map(({ name, in: source, required }) => [name, source, required]), [
    ["webhook-id", "header", true],
    ["webhook-timestamp", "header", true],
    ["webhook-signature", "header", true],
  ]);
  assertEquals(requestBody as unknown, {
    required: true,
    content: { "application/json": { schema: { $ref: "#/components/schemas/Paid" } } },
  });
  assert(components.schemas!.Paid);
  assertEquals(Object.keys(responses), ["410", "2XX", "4XX"]);
  // Another one is in the next document.
  app.webhook("order.sent", { body: v.object({ order: v.number() }) });
  app.get("/", async () => null);
  assertEquals(Object.keys(app.openapi().webhooks!), ["order.paid", "order.sent"]);
  await app.stop();
});

Deno.test("A test client answers webhooks in place of the network, and handlers find them by name", async () => {
  const app = new App({ topics: ":memory:" });
  app.webhook("order.paid", { body: Paid });
  app.post("/orders/{order}", { params: { order: v.number() } }, async (request, { order }) => {
    return await request.app.webhook<v.InferInput<typeof Paid>>("order.paid")
      .send("https://partner.example/hooks", { order }, { secret: SECRET });
  });
  const received: Request[] = [];
  {
    await using client = new TestClient(app, {
      webhooks: (request) => {
        received.push(request.clone());
        return new Response("Thanks");
      },
    });
    const { id } = await client.post("/orders/7").json<{ id: string }>();
    await app.consumers.idle();
    const [request] = received;
    assertEquals([request?.url, request?.headers.get("webhook-id")], ["https://partner.example/hooks", id]);
    assertEquals(await request!.json(), { order: 7 });
    assertEquals((await lastTry(app.webhook("order.paid"), id)).answer, "Thanks");
  }
  assertThrows(
    () => new TestClient({ fetch: app.fetch }, { webhooks: () => new Response() }),
    TypeError,
    "needs an App",
  );
});

const certificate = await makeCertificate();
const needs = certificate ? "" : ", which needs openssl";

Deno.test({
  name: `Over TLS the certificate must be that of the URL's host, and proxies of the environment are not used${needs}`,
  ignore: !certificate,
  fn: throughTls,
});

async function throughTls(): Promise<void> {
  assert(certificate);
  await using folder = await TemporaryFolder.make();
  const trusted = await folder.write("cert.pem", certificate.cert);
  const hosts: string[] = [];
  const options = { port: 0, hostname: "0.0.0.0", ...certificate, onListen: () => {} };
  await using server = Deno.serve(options, (request) => {
    hosts.push(`${request.headers.get("host")}`);
    return new Response("Thanks");
  });
  const { port } = server.addr;
  const source = `
    import { App } from "${CORE}";
    import * as v from "valibot";
    const app = new App({ topics: ":memory:", webhooks: { allowPrivate: true }, log: () => {} });
    const ping = app.webhook("ping", { body: v.null() });
    await app.start();
    const find = async (id) => (await Array.fromAsync(ping.deliveries({ id })))[0];
    for (const host of ["localhost", "127.0.0.1", "127.0.0.2"]) {
      const { id } = await ping.send(\`https://\${host}:${port}/\`, null, { secret: "${SECRET}" });
      let delivery;
      while (!(delivery = await find(id))) await new Promise((resolve) => setTimeout(resolve, 20));
      console.log(JSON.stringify([host, delivery.state, delivery.status ?? null, delivery.error ?? ""]));
    }
    await app.stop();`;
  const env = {
    DENO_CERT: trusted,
    ...{ HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9", NODE_USE_ENV_PROXY: "1", NO_PROXY: "" },
  };
  await using program = await ChildProgram.start(source, { env });
  const { stdout } = await program.end();
  const lines: [string, string, number | null, string][] = stdout.trim().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.slice(0, 2), [["localhost", "delivered", 200, ""], ["127.0.0.1", "delivered", 200, ""]]);
  assertEquals(lines[2]?.slice(0, 3), ["127.0.0.2", "retrying", null]);
  assertStringIncludes(lines[2]![3], "certificate");
  assertEquals(hosts, [`localhost:${port}`, `127.0.0.1:${port}`]);
}
