// Section 4 of the contract of work: "`idempotent: "24h"` on a POST, PUT, PATCH or DELETE route: the
// header `Idempotency-Key`".

import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import {
  App,
  type AppOptions,
  dependency,
  Events,
  Form,
  HTTPError,
  JsonLines,
  RouteError,
  Stream,
  UploadFile,
} from "@webfw/core";
import { bearer } from "@webfw/core/auth";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { MovedClock } from "../support/moved_clock.ts";
import { StoreWithRecords } from "../support/small_records.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";

const Order = v.object({ item: v.string(), count: v.optional(v.number(), 1) });

/** An application that counts what it does. */
function shop(topics: AppOptions["topics"] = ":memory:") {
  const app = new App({ topics });
  const made: string[] = [];
  const busy = { gate: Promise.resolve() };
  app.post("/orders", { body: Order, status: 201, idempotent: "24h" }, async (request, { body }) => {
    await busy.gate;
    made.push(body.item);
    request.replyHeaders.set("x-made", `${made.length}`);
    request.setCookie({ name: "seen", value: "yes" });
    return { number: made.length, item: body.item };
  });
  return { app, made, busy };
}

interface Sent {
  readonly method?: string;
  readonly key?: string;
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
}

function send(app: App, path: string, { method = "POST", key, body, headers = {} }: Sent = {}): Promise<Response> {
  const all = { ...headers, ...(key !== undefined && { "idempotency-key": key }) };
  return app.fetch(
    new Request(`http://localhost${path}`, { method, headers: all, ...(body !== undefined && { body }) }),
  );
}

function order(app: App, key: string, body: unknown = { item: "tea" }, headers: Record<string, string> = {}) {
  const json = { "content-type": "application/json", ...headers };
  return send(app, "/orders", { key, body: JSON.stringify(body), headers: json });
}

async function problemOf(response: Response): Promise<[status: number, detail: string]> {
  return [response.status, (await response.json()).detail];
}

Deno.test("the first request with a key runs, and afterwards comes its reply again", async () => {
  const { app, made } = shop();
  const first = await order(app, "a");
  assertEquals([first.status, first.headers.get("idempotency-replayed")], [201, null]);
  assertEquals(await first.json(), { number: 1, item: "tea" });
  assert(first.headers.get("set-cookie"));
  const again = await order(app, "a");
  assertEquals([again.status, again.headers.get("idempotency-replayed")], [201, "true"]);
  assertEquals(again.headers.get("content-type"), first.headers.get("content-type"));
  // What the handler set, never `set-cookie`.
  assertEquals([again.headers.get("x-made"), again.headers.get("set-cookie")], ["1", null]);
  assertEquals(await again.json(), { number: 1, item: "tea" });
  assertEquals((await (await order(app, "b")).json()).number, 2);
  assertEquals(made.length, 2);
  await app.stop();
});

Deno.test("its reply again: with `what the handler set`, and not what was set before it", async () => {
  const app = new App();
  let visits = 0;
  const visit = dependency(async (request) => void request.replyHeaders.set(`x-visit-${++visits}`, "yes"));
  app.post("/", { deps: { visit }, idempotent: "1h" }, async (request) => {
    request.replyHeaders.set("x-made", "yes");
  });
  for (const expected of [["x-made", "x-visit-1"], ["x-made", "x-visit-2"]]) {
    const { headers } = await send(app, "/", { key: "a" });
    assertEquals([...headers.keys()].filter((name) => name.startsWith("x-")), expected);
  }
  await app.stop();
});

Deno.test("without a key, or without the option, each request runs", async () => {
  const { app, made } = shop();
  app.get("/", async () => 1);
  const json = { "content-type": "application/json" };
  for (let round = 0; round < 2; round++) {
    const response = await send(app, "/orders", { body: '{"item":"tea"}', headers: json });
    assertEquals(response.status, 201);
    await response.body?.cancel();
  }
  assertEquals(made.length, 2);
  await app.stop();
});

Deno.test('the key is a structured-field string (`"…"`) or bare, which mean the same', async () => {
  const { app, made } = shop();
  for (const key of ["8e03-1", '"8e03-1"', ' "8e03-1" ']) {
    const response = await order(app, key);
    assertEquals((await response.json()).number, 1);
  }
  assertEquals(made.length, 1);
  for (const key of ["", '""', '"a', "a b", '"a" b', "é", "x".repeat(256), "a, b"]) {
    const [status, detail] = await problemOf(await order(app, key));
    assertEquals([status, detail], [400, "The Idempotency-Key is malformed: send 1 to 255 visible characters"], key);
  }
  assertEquals(made.length, 1);
  await app.stop();
});

Deno.test("`{ required: true }` asks for it, 400 without", async () => {
  const app = new App();
  app.delete("/orders/{id}", { idempotent: { window: "24h", required: true } }, async () => {});
  const [status, detail] = await problemOf(await send(app, "/orders/1", { method: "DELETE" }));
  assertEquals([status, detail], [400, "Send an Idempotency-Key, a new one for each new request"]);
  for (const replayed of [null, "true"]) {
    const response = await send(app, "/orders/1", { method: "DELETE", key: "a" });
    assertEquals([response.status, response.headers.get("idempotency-replayed")], [204, replayed]);
  }
  await app.stop();
});

Deno.test("guards and validation come first; what they refuse is not kept", async () => {
  const { app, made } = shop();
  const [status] = await problemOf(await order(app, "a", { item: 7 }));
  assertEquals(status, 422);
  assertEquals((await order(app, "a")).status, 201);
  assertEquals(made.length, 1);
  await app.stop();
});

Deno.test("guards come first: what they refuse is not kept, and a kept reply is for whom they let in", async () => {
  const app = new App();
  let [isOpen, runs] = [false, 0];
  const user = bearer(async (token) => isOpen && token);
  app.post("/", { deps: { user }, idempotent: "1h" }, async () => ++runs);
  const headers = { authorization: "Bearer x" };
  for (
    const [open, status, replayed] of [[false, 401, null], [true, 200, null], [true, 200, "true"], [false, 401, null]]
  ) {
    isOpen = open as boolean;
    const response = await send(app, "/", { key: "a", headers });
    assertEquals([response.status, response.headers.get("idempotency-replayed")], [status, replayed]);
    await response.body?.cancel();
  }
  assertEquals(runs, 1);
  await app.stop();
});

Deno.test("while it runs: 409 with `Retry-After: 1`", async () => {
  const { app, made, busy } = shop();
  const gate = Promise.withResolvers<void>();
  busy.gate = gate.promise;
  const first = order(app, "a");
  const started = performance.now();
  let refused = await order(app, "a");
  while (refused.status !== 409 && performance.now() - started < 5_000) refused = await order(app, "a");
  assertEquals(refused.headers.get("retry-after"), "1");
  assertEquals(await problemOf(refused), [409, "A request with this Idempotency-Key is still in progress"]);
  gate.resolve();
  assertEquals((await first).status, 201);
  assertEquals((await order(app, "a")).headers.get("idempotency-replayed"), "true");
  assertEquals(made.length, 1);
  await app.stop();
});

Deno.test("of many at once, one runs", async () => {
  const { app, made } = shop();
  const replies = await Promise.all(Array.from({ length: 20 }, () => order(app, "a")));
  assertEquals(made.length, 1);
  for (const { status } of replies) assert(status === 201 || status === 409);
  await app.stop();
});

Deno.test("with another body or query 422; with another method or path it is a request of its own", async () => {
  const app = new App();
  let runs = 0;
  for (const method of ["POST", "PUT"] as const) {
    app.route("/items/{id}", {
      methods: [method],
      query: { q: v.optional(v.string(), "") },
      body: Order,
      idempotent: "1h",
    }, async () => ++runs);
  }
  const ask = async (path: string, body: unknown, method = "POST") => {
    const headers = { "content-type": "application/json" };
    const response = await send(app, path, { method, key: "a", body: JSON.stringify(body), headers });
    return response.status === 200 ? await response.json() : response.status;
  };
  assertEquals(await ask("/items/1?q=a", { item: "tea" }), 1);
  // The same input, written otherwise.
  assertEquals(await ask("/items/1?q=a", { count: 1, item: "tea" }), 1);
  assertEquals(await ask("/items/1?q=a", { item: "coffee" }), 422);
  assertEquals(await ask("/items/1?q=b", { item: "tea" }), 422);
  // What the route does not declare counts, too, and the order does not.
  assertEquals(await ask("/items/1?q=a&other=1", { item: "tea" }), 422);
  assertEquals(await ask("/items/2?q=a", { item: "tea" }), 2);
  assertEquals(await ask("/items/1?q=a", { item: "tea" }, "PUT"), 3);
  await app.stop();
});

Deno.test("a form is compared by its fields and its files' SHA-256, not by its bytes", async () => {
  const app = new App();
  let runs = 0;
  const form = Form(v.object({ title: v.string(), file: UploadFile }));
  app.post("/files", { form, idempotent: "1h" }, async () => ++runs);
  const upload = async (title: string, content: string) => {
    const body = new FormData();
    body.set("file", new File([content], "a.txt", { type: "text/plain" }));
    body.set("title", title);
    const response = await send(app, "/files", { key: "a", body });
    return response.status === 200 ? await response.json() : response.status;
  };
  // Each has a boundary of its own.
  assertEquals([await upload("one", "abc"), await upload("one", "abc")], [1, 1]);
  assertEquals([await upload("two", "abc"), await upload("one", "abd")], [422, 422]);
  await app.stop();
});

Deno.test("a refusal of the handler is kept, and a 5xx is not", async () => {
  using log = new CapturedLog();
  const app = new App();
  const outcomes: unknown[] = [
    new Error("first"),
    new HTTPError(503),
    new Response("bad", { status: 502 }),
    new HTTPError(404, "No such thing"),
  ];
  app.post("/", { idempotent: "1h" }, async () => {
    const outcome = outcomes.shift();
    if (outcome instanceof Error) throw outcome;
    return outcome as Response;
  });
  for (const [status, replayed] of [[500, null], [503, null], [502, null], [404, null], [404, "true"]] as const) {
    const response = await send(app, "/", { key: "a" });
    assertEquals([response.status, response.headers.get("idempotency-replayed")], [status, replayed]);
    if (status === 404) assertEquals((await response.json()).detail, "No such thing");
    else await response.body?.cancel();
  }
  assertStringIncludes(log.text, "first");
  await app.stop();
});

Deno.test("not kept: `a reply with Retry-After or 408, 409, 423, 425, 429`, which say to try again", async () => {
  const app = new App();
  const passing: readonly (readonly [status: number, seconds?: string])[] = [
    [408],
    [409],
    [423],
    [425],
    [429],
    [403, "60"],
    [400, "Fri, 31 Dec 2027 23:59:59 GMT"],
  ];
  const left = [...passing];
  app.post("/thrown", { idempotent: "1h" }, async () => {
    const [status, seconds] = left.shift() ?? [];
    if (status === undefined) return "paid";
    throw new HTTPError(
      status,
      "The bank is busy",
      seconds === undefined ? {} : { headers: { "retry-after": seconds } },
    );
  });
  app.post("/returned", { idempotent: "1h" }, async (request) => {
    const [status, seconds] = left.shift() ?? [];
    if (status === undefined) return "paid";
    if (seconds !== undefined) request.replyHeaders.set("retry-after", seconds);
    return new Response("busy", { status });
  });
  for (const path of ["/thrown", "/returned"]) {
    left.splice(0, left.length, ...passing);
    for (const [status, seconds = null] of passing) {
      const response = await send(app, path, { key: "a" });
      assertEquals([response.status, response.headers.get("retry-after")], [status, seconds]);
      await response.body?.cancel();
    }
    for (const replayed of [null, "true"]) {
      const response = await send(app, path, { key: "a" });
      assertEquals([await response.json(), response.headers.get("idempotency-replayed")], ["paid", replayed]);
    }
  }
  await app.stop();
});

Deno.test("kept: other refusals, and a success with `Retry-After`, which says when to look for the result", async () => {
  const app = new App();
  let runs = 0;
  app.post("/{status}", { params: { status: v.number() }, idempotent: "1h" }, async (request, { status }) => {
    runs++;
    if (status < 400) request.replyHeaders.set("retry-after", "5");
    return new Response(null, { status });
  });
  for (const status of [202, 303, 400, 402, 403, 404, 410, 422]) {
    const before = runs;
    for (const replayed of [null, "true"]) {
      const { headers, ...response } = await send(app, `/${status}`, { key: "a" });
      assertEquals(headers.get("idempotency-replayed"), replayed, `${status}`);
      assertEquals(headers.get("retry-after"), status < 400 ? "5" : null, `${response.status}`);
    }
    assertEquals(runs, before + 1);
  }
  await app.stop();
});

Deno.test("the host is part of the key: tenants that differ by it share no replies", async () => {
  const app = new App({ hosts: ["*.shop.example"], trustProxy: 1 });
  app.post("/orders", { idempotent: "1h" }, async (request) => request.url.hostname);
  const ask = async (host: string, headers: Record<string, string> = {}) => {
    const init = { method: "POST", headers: { "idempotency-key": "a", ...headers } };
    const response = await app.fetch(new Request(`http://${host}/orders`, init));
    return [await response.json(), response.headers.get("idempotency-replayed")];
  };
  for (const replayed of [null, "true"]) {
    for (const name of ["ada.shop.example", "grace.shop.example"]) assertEquals(await ask(name), [name, replayed]);
  }
  // Without a socket, a program may go by the header.
  for (const replayed of [null, "true"]) {
    for (const host of ["one.shop.example", "other.shop.example"]) {
      assertEquals(await ask("shop.shop.example", { host }), ["shop.shop.example", replayed]);
    }
  }
  // The host that the client has asked for, not the one behind the proxy.
  for (const host of ["node1:8000", "node2:8000"]) {
    const headers = { host, "x-forwarded-host": "grace.shop.example" };
    assertEquals(await ask("ada.shop.example", headers), ["grace.shop.example", "true"]);
  }
  await app.stop();
});

Deno.test("a reply is kept up to 1 MiB; of a larger one the status is kept, and a repetition is 409 that says so", async () => {
  const app = new App();
  let runs = 0;
  app.post("/{size}", { params: { size: v.number() }, idempotent: "1h" }, async (_request, { size }) => {
    runs++;
    const bytes = Uint8Array.from({ length: size }, (_, index) => index * 7);
    return new Response(bytes, { status: 201, headers: { etag: '"x"', location: "/1" } });
  });
  for (const size of [0, 1, 40_960, 40_961, 200_000, 1_048_576]) {
    const first = await (await send(app, `/${size}`, { key: "a" })).bytes();
    const again = await send(app, `/${size}`, { key: "a" });
    assertEquals([again.status, again.headers.get("etag"), again.headers.get("location")], [201, '"x"', "/1"]);
    assertEquals(again.headers.get("idempotency-replayed"), "true");
    const bytes = await again.bytes();
    assert(bytes.length === size && bytes.every((byte, index) => byte === first[index]));
  }
  const large = await (await send(app, "/1048577", { key: "a" })).bytes();
  assertEquals([large.length, large[1_048_576]], [1_048_577, (1_048_576 * 7) % 256]);
  const [status, detail] = await problemOf(await send(app, "/1048577", { key: "a" }));
  assertEquals(status, 409);
  assertMatch(detail, /was done, with the status 201; its reply was too large or too slow to be kept/);
  assertEquals(runs, 7);
  await app.stop();
});

Deno.test("after the window, it runs again", async () => {
  using clock = new MovedClock();
  const { app, made } = shop();
  await (await order(app, "a")).body?.cancel();
  clock.advance(24 * 3_600_000 - 60_000);
  assertEquals((await order(app, "a")).headers.get("idempotency-replayed"), "true");
  clock.advance(60_000);
  await (await order(app, "a")).body?.cancel();
  assertEquals(made.length, 2);
  await app.stop();
});

Deno.test("a node that dies in the middle frees the key after the lease", async () => {
  using clock = new MovedClock();
  const store = new StoreWithRecords();
  const { app, made } = shop(store);
  await (await order(app, "probe")).body?.cancel();
  const [kept] = store.records.all;
  const { key, value } = kept!;
  // What a node that has died leaves behind.
  const { reply: _, ...running } = JSON.parse(value);
  await store.records.set(key, JSON.stringify({ ...running, claim: "dead" }), { expiresIn: 30_000 });
  assertEquals((await order(app, "probe")).status, 409);
  clock.advance(30_000);
  assertEquals((await order(app, "probe")).status, 201);
  assertEquals(made.length, 2);
  await app.stop();
});

Deno.test("a repetition at another port of the same host is one", async () => {
  const { app, made } = shop();
  for (const port of [8001, 8002]) {
    const headers = { host: `localhost:${port}`, "content-type": "application/json", "idempotency-key": "a" };
    const init = { method: "POST", headers, body: '{"item":"tea"}' };
    const response = await app.fetch(new Request(`http://localhost:${port}/orders`, init));
    assertEquals((await response.json()).number, 1);
  }
  assertEquals(made.length, 1);
  await app.stop();
});

Deno.test("nodes that share a store answer repetitions of each other", async () => {
  await using folder = await TemporaryFolder.make();
  const [one, other] = [shop(folder.within("a.sqlite")), shop(folder.within("a.sqlite"))];
  await (await order(one.app, "a")).body?.cancel();
  const again = await order(other.app, "a");
  assertEquals([again.status, again.headers.get("idempotency-replayed")], [201, "true"]);
  await again.body?.cancel();
  assertEquals([one.made.length, other.made.length], [1, 0]);
  await Promise.all([one.app.stop(), other.app.stop()]);
});

Deno.test("where the store fails, nothing runs", async () => {
  using log = new CapturedLog();
  const app = new App({ topics: { append() {}, close: () => Promise.resolve() } as never });
  let runs = 0;
  app.post("/", { idempotent: "1h" }, async () => ++runs);
  const refused = await send(app, "/", { key: "a" });
  assertEquals([refused.status, refused.headers.get("retry-after"), runs], [503, "1", 0]);
  assertStringIncludes(log.text, "the store of records fails");
  await refused.body?.cancel();
  await app.stop();
});

Deno.test("`request.idempotencyKey` is there to be passed on", async () => {
  const app = new App();
  app.post("/", async (request) => request.idempotencyKey);
  const keyOf = async (key?: string) => await (await send(app, "/", key === undefined ? {} : { key })).json();
  assertEquals([await keyOf("abc"), await keyOf('"a\\"c"'), await keyOf("a b"), await keyOf()], [
    "abc",
    'a"c',
    null,
    null,
  ]);
});

Deno.test("`by: (request, args) => user.id` says whose the keys are", async () => {
  const app = new App();
  const user = dependency(async (request) => ({ id: request.headers.get("x-user") ?? "" }));
  let runs = 0;
  app.post("/", {
    deps: { user },
    idempotent: { window: "1h", by: (_request, { user }) => user.id },
  }, async () => ++runs);
  const ask = async (name: string) => await (await send(app, "/", { key: "a", headers: { "x-user": name } })).json();
  assertEquals([await ask("ada"), await ask("grace"), await ask("ada")], [1, 2, 1]);
  await app.stop();
});

Deno.test("`by` that gives no text and no number is an error: callers without a name would share keys", async () => {
  for (const by of [undefined, null, NaN, {}, Promise.resolve("7")]) {
    using captured = new CapturedLog();
    const app = new App();
    app.post("/", { idempotent: { window: "1h", by: () => by as never } }, async () => 1);
    const response = await app.fetch(
      new Request("http://localhost/", { method: "POST", headers: { "idempotency-key": "a" } }),
    );
    assertEquals(response.status, 500);
    await response.body?.cancel();
    assertStringIncludes(captured.text, "must give a string or a number");
    await app.stop();
  }
});

Deno.test("`Stream()`, streamed replies, WebSockets and other methods cannot be idempotent", () => {
  const app = new App();
  const idempotent = "1h";
  const mistakes: [() => unknown, string][] = [
    [() => app.post("/a", { body: Stream(), idempotent }, async () => {}), "its body is a stream"],
    [() => app.post("/b", { idempotent }, async function* () {}), "its reply is a stream"],
    [() => app.post("/c", { response: Events(v.number()), idempotent }, async () => null as never), "a stream"],
    [() => app.post("/d", { response: JsonLines(v.number()), idempotent }, async () => null as never), "a stream"],
    [() => app.get("/e", { idempotent }, async () => {}), "a GET request cannot be idempotent by a key"],
    [() => app.websocket("/f", { idempotent } as object, async () => {}), "a WebSocket cannot be idempotent by a key"],
  ];
  for (const [register, complaint] of mistakes) {
    const error = assertThrows(register, RouteError, complaint);
    assertEquals(error.code, "idempotent");
    assertMatch(error.message, /^Cannot register \w+ \/\w: .*, leave out "idempotent"$/);
  }
});

Deno.test("mistakes in the option are named", () => {
  const register = (idempotent: unknown) => () =>
    new App().post("/", { idempotent: idempotent as "1h" }, async () => {});
  assertThrows(register({ window: "1h", need: 1 }), TypeError, '"idempotent.need" is unknown');
  assertThrows(
    register({ window: "1h", required: 1 }),
    TypeError,
    '"idempotent.required" must be true or false, got 1',
  );
  assertThrows(register({ window: "1h", by: "id" }), TypeError, '"idempotent.by" must be a function, got "id"');
  assertThrows(register("soon"), RangeError, "Cannot set the idempotent window of POST /");
  for (const window of [1, "366d"]) assertThrows(register(window), RangeError, "must be from 1s to 365d");
});

Deno.test("the header is documented, optional, with the refusals", () => {
  const app = new App();
  app.post("/a", { idempotent: "1h" }, async () => {});
  app.post("/b", { body: Order, idempotent: { window: "1h", required: true } }, async () => {});
  const { paths } = app.openapi();
  const [a, b] = [paths["/a"]!.post!, paths["/b"]!.post!];
  const keys = [a, b].map(({ parameters }) =>
    parameters?.map((given) => "name" in given && [given.name, given.required])
  );
  assertEquals(keys, [[["Idempotency-Key", false]], [["Idempotency-Key", true]]]);
  assertEquals(Object.keys(a.responses), ["200", "400", "409", "422", "4XX", "5XX"]);
  assertEquals(b.responses["422"], { $ref: "#/components/responses/ValidationProblem" });
});
