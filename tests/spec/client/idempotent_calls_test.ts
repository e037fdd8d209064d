// Section 2 of the contract of the client: `idempotent: true`.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { client, ProblemError } from "@webfw/core/client";
import type { None, RouteRef } from "@webfw/core/types";

/** A route that is idempotent. */
type AddOrder = RouteRef<"POST", "/orders", None, None, never, never, unknown, never, unknown, unknown, never, "24h">;

/** Timers that fire at once, until it is disposed of. */
class SkippedWaits implements Disposable {
  /** The times, in milliseconds. */
  readonly waits: number[] = [];
  readonly #original = globalThis.setTimeout;

  constructor() {
    globalThis.setTimeout = ((run: () => void, ms: number) => {
      this.waits.push(ms);
      return this.#original(run, 0);
    }) as typeof setTimeout;
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#original;
  }
}

/** A server that answers by a list, and the keys and bodies that it got. */
function serverOf(replies: readonly (() => Response)[]) {
  const keys: (string | null)[] = [];
  const bodies: string[] = [];
  const fetch = async (request: Request) => {
    keys.push(request.headers.get("idempotency-key"));
    bodies.push(await request.text());
    return replies[keys.length - 1]!();
  };
  return { keys, bodies, fetch };
}

const lost = (): never => {
  throw new TypeError("connection lost");
};
const done = () => Response.json("done");
const refusal = (status: number, retryAfter?: string) => () =>
  new Response(null, { status, headers: retryAfter === undefined ? {} : { "retry-after": retryAfter } });
const cut = () => {
  const body = new ReadableStream({ start: (controller) => controller.error(new TypeError("cut off")) });
  return new Response(body, { headers: { "content-type": "application/json" } });
};

Deno.test("idempotent: a fresh `Idempotency-Key`, the same over all tries of a call", async () => {
  using _skipped = new SkippedWaits();
  const server = serverOf([lost, done, done]);
  const shop = client<{ addOrder: AddOrder }>("http://localhost", { fetch: server.fetch });
  assertEquals(await shop.post("/orders", { body: { id: 1 } }, { idempotent: true }), "done");
  assertEquals(await shop.post("/orders", { body: { id: 2 } }, { idempotent: true }), "done");
  const [first, second, third] = server.keys;
  assertEquals(first, second);
  assert(/^"[\d-]{20,}"$/.test(first!) && third !== first, String(server.keys));
  assertEquals(server.bodies, ['{"id":1}', '{"id":1}', '{"id":2}']);
});

Deno.test("idempotent: without the option, nothing is tried again", async () => {
  const server = serverOf([lost]);
  const shop = client<{ addOrder: AddOrder }>("http://localhost", { fetch: server.fetch });
  await assertRejects(() => shop.post("/orders", { body: 1 }), TypeError, "connection lost");
  assertEquals(server.keys, [null]);
});

Deno.test("idempotent: tries again, up to 3 times, on a network failure, 409 with `Retry-After` and 503", async () => {
  using skipped = new SkippedWaits();
  const server = serverOf([lost, refusal(409, "2"), refusal(503), done]);
  const shop = client<{ addOrder: AddOrder }>("http://localhost", { fetch: server.fetch });
  assertEquals(await shop.post("/orders", { body: 1 }, { idempotent: true }), "done");
  const [first, asked, third] = skipped.waits;
  assert(first! >= 500 && first! <= 1000, String(first));
  assertEquals(asked, 2000);
  assert(third! >= 2000 && third! <= 4000, String(third));

  const broken = serverOf([lost, cut, refusal(503, "0"), refusal(503, "1"), done]);
  const other = client<{ addOrder: AddOrder }>("http://localhost", { fetch: broken.fetch });
  const error = await assertRejects(() => other.post("/orders", { body: 1 }, { idempotent: true }), ProblemError);
  assertEquals([error.status, error.headers.get("retry-after"), broken.keys.length], [503, "1", 4]);
});

Deno.test("idempotent: other replies, waits of more than 30 s and broken JSON are final", async () => {
  using skipped = new SkippedWaits();
  const soon = new Date(Date.now() + 3_600_000).toUTCString();
  for (
    const reply of [refusal(409), refusal(500), refusal(422), refusal(429, "1"), refusal(503, "31"), refusal(503, soon)]
  ) {
    const server = serverOf([reply]);
    const shop = client<{ addOrder: AddOrder }>("http://localhost", { fetch: server.fetch });
    await assertRejects(() => shop.post("/orders", { body: 1 }, { idempotent: true }), ProblemError);
    assertEquals(server.keys.length, 1);
  }
  const server = serverOf([() => new Response("{", { headers: { "content-type": "application/json" } })]);
  const shop = client<{ addOrder: AddOrder }>("http://localhost", { fetch: server.fetch });
  await assertRejects(() => shop.post("/orders", { body: 1 }, { idempotent: true }), SyntaxError);
  assertEquals(skipped.waits, []);
});

Deno.test("idempotent: a `Retry-After` that is past is no wait, and one that is broken does not count", async () => {
  using skipped = new SkippedWaits();
  const server = serverOf([refusal(503, new Date(0).toUTCString()), refusal(503, "soon 5"), refusal(503, "1.5"), done]);
  const shop = client<{ addOrder: AddOrder }>("http://localhost", { fetch: server.fetch });
  assertEquals(await shop.post("/orders", { body: 1 }, { idempotent: true }), "done");
  assertEquals([skipped.waits[0], skipped.waits[1]! >= 500, skipped.waits[2]! >= 500], [0, true, true]);
});

Deno.test("idempotent: headers are made anew for each try", async () => {
  using _skipped = new SkippedWaits();
  const tokens: (string | null)[] = [];
  let made = 0;
  const shop = client<{ addOrder: AddOrder }>("http://localhost", {
    headers: () => ({ authorization: String(++made) }),
    fetch: ({ headers }) => {
      tokens.push(headers.get("authorization"));
      return tokens.length < 2 ? lost() : done();
    },
  });
  await shop.post("/orders", { body: 1 }, { idempotent: true });
  assertEquals(tokens, ["1", "2"]);
});

Deno.test("idempotent: a stream is sent only once, and a mistake in the arguments is not tried again", async () => {
  using skipped = new SkippedWaits();
  const server = serverOf([lost]);
  const shop = client<{ addOrder: AddOrder }>("http://localhost", { fetch: server.fetch });
  const body = new Blob(["a"]).stream();
  await assertRejects(() => shop.post("/orders", { body }, { idempotent: true }), TypeError, "connection lost");
  const wrong = { body: 1, cookies: { sid: "a b" } };
  await assertRejects(() => shop.post("/orders", wrong as { body: number }, { idempotent: true }), TypeError, "sid");
  assertEquals([server.keys.length, skipped.waits], [1, []]);
});

Deno.test("idempotent: `signal` ends the wait before another try", async () => {
  const stop = new AbortController();
  const server = serverOf([() => {
    queueMicrotask(() => stop.abort("enough"));
    return refusal(503, "20")();
  }]);
  const shop = client<{ addOrder: AddOrder }>("http://localhost", { fetch: server.fetch, signal: stop.signal });
  const reason = await shop.post("/orders", { body: 1 }, { idempotent: true }).catch((error) => error);
  assertEquals([reason, server.keys.length], ["enough", 1]);
});
