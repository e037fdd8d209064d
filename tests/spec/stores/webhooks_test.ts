// "`const paid = app.webhook("order.paid", { body: Paid })`: documented under `webhooks`; `paid.send(url, data, {
// secret, transaction? })` posts it from a durable topic: signed by Standard Webhooks, 5 tries over a day, 410 ends
// them, other 4xx count as tries, the last answer kept; never to loopback, link-local or private addresses unless
// allowed, redirects not followed, 10 s, 64 KiB of an answer read."

import { assert, assertEquals } from "@std/assert";
import { App, type AppOptions } from "@webfw/core";
import { signed } from "@webfw/core/auth";
import type { Webhook, WebhookDelivery } from "@webfw/core/types";
import * as v from "valibot";

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
