// Section 5 of the contract of stores over any store, on sockets: nodes in processes of their own
// that are killed. `testWebhookNodes` is called with each kind of store.

import { assert, assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { ChildProgram, CORE } from "../spec/support/child_program.ts";
import { until } from "../support/wait.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEXT_SECRET = "whsec_plJ3nmyCDGBKInavdOK15jsl";
const COUNT = 120;

/** A node that sends webhooks on request. */
const NODE = `
import { App } from ${JSON.stringify(CORE)};
import * as v from "valibot";
const app = new App({
  topics: JSON.parse(Deno.env.get("TOPICS")!),
  webhooks: { allowPrivate: true },
  log: () => {},
});
const paid = app.webhook("order.paid", { body: v.object({ order: v.number() }) });
const Sent = v.object({ url: v.string(), orders: v.array(v.number()), secret: v.array(v.string()) });
app.post("/send", { body: Sent }, async (_request, { body: { url, orders, secret } }) => {
  await Promise.all(orders.map((order) => paid.send(url, { order }, { secret, id: "order-" + order })));
});
app.get("/deliveries", async () => await Array.fromAsync(paid.deliveries()));
app.get("/report", async () => await app.consumers.report());
await app.run({ port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log("port", port) });
`;

/** Whether each secret has signed, verified as the specification of Standard Webhooks says. */
function verify(headers: Headers, body: string, secrets: readonly string[]): boolean {
  const [id, timestamp, signatures = ""] = ["id", "timestamp", "signature"].map((name) =>
    headers.get(`webhook-${name}`)!
  );
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 5 * 60) return false;
  return secrets.every((secret) => {
    const key = Uint8Array.fromBase64(secret.slice("whsec_".length));
    const expected = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    return signatures.split(" ").includes(`v1,${expected}`);
  });
}

interface Node {
  readonly program: ChildProgram;
  readonly url: string;
}

/** An empty store: `topics` is the option of an application. */
export interface PreparedStore extends AsyncDisposable {
  readonly topics: unknown;
}

/** Registers the test of a kind of store. */
export function testWebhookNodes(name: string, prepare: () => Promise<PreparedStore>): void {
  Deno.test(`Webhooks over ${name}: all are delivered, although nodes are killed while they deliver`, async () => {
    await using store = await prepare();
    const env = { TOPICS: JSON.stringify(store.topics) };
    const faults: string[] = [];
    const received = new Map<string, number>();
    let isSlow = true;
    const waiting = Promise.withResolvers<void>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    await using receiver = serve(async (request) => {
      const body = await request.text();
      const id = request.headers.get("webhook-id")!;
      if (!verify(request.headers, body, [SECRET, NEXT_SECRET])) faults.push(`${id} has a wrong signature`);
      if (`order-${JSON.parse(body).order}` !== id) faults.push(`${id} has the body ${body}`);
      if (isSlow) {
        waiting.resolve();
        await ended;
      }
      received.set(id, (received.get(id) ?? 0) + 1);
      return new Response("Thanks");
    });
    const start = async (): Promise<Node> => {
      const program = await ChildProgram.start(NODE, { env });
      return { program, url: `http://127.0.0.1:${await program.port()}` };
    };
    const [one, other] = await Promise.all([start(), start()]);
    const orders = Array.from({ length: COUNT }, (_, index) => index);
    await post(`${one.url}/send`, {
      url: receiver.url,
      orders: orders.slice(0, COUNT / 2),
      secret: [NEXT_SECRET, SECRET],
    });
    await post(`${other.url}/send`, {
      url: receiver.url,
      orders: orders.slice(COUNT / 4),
      secret: [NEXT_SECRET, SECRET],
    });
    await waiting.promise;
    for (const { program } of [one, other]) {
      program.signal("SIGKILL");
      await program[Symbol.asyncDispose]();
    }
    isSlow = false;
    end();
    const last = await start();
    await until("all are delivered", async () => {
      const deliveries = await get(`${last.url}/deliveries`) as { id: string; state: string }[];
      return deliveries.filter(({ state }) => state === "delivered").length === COUNT;
    });
    assertEquals(faults, []);
    assertEquals([...received.keys()].toSorted(), orders.map((order) => `order-${order}`).toSorted());
    const [report] = await get(`${last.url}/report`) as { failures: number }[];
    assertEquals(report!.failures, 0);
    await last.program[Symbol.asyncDispose]();
  });
}

function serve(handler: (request: Request) => Promise<Response>): AsyncDisposable & { readonly url: string } {
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, handler);
  return {
    url: `http://127.0.0.1:${server.addr.port}/hooks`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function post(url: string, body: unknown): Promise<void> {
  const headers = { "content-type": "application/json" };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await reply.text();
  assert(reply.ok, text);
}

async function get(url: string): Promise<unknown> {
  return await (await fetch(url)).json();
}
