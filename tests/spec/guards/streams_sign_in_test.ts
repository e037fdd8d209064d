// "An event stream, lines of JSON or a WebSocket behind `jwt` end at the token's `exp` and its
// tolerance (a WebSocket with 1008), one behind a stored session within 5 s after `clear()`, on all
// nodes; a client that comes back is answered by the guard. `endsWithSignIn: false` on a route says
// otherwise."

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { anySecurity, App, Bytes, type Dependency, dependency, Events, JsonLines, Router, SSE } from "@webfw/core";
import {
  apiKey,
  jwt,
  type JwtOptions,
  memorySessions,
  optional,
  recordSessions,
  session,
  type SessionOptions,
  type SessionStore,
} from "@webfw/core/auth";
import { client, ProblemError } from "@webfw/core/client";
import * as v from "valibot";
import { CapturedLog } from "../support/captured_log.ts";
import { EventReader } from "../support/event_reader.ts";
import { MovedClock } from "../support/moved_clock.ts";
import { Serving } from "../support/serving.ts";
import { SkippedTimeout } from "../support/skipped_timeout.ts";
import { TemporaryFolder } from "../support/temporary_folder.ts";
import { AUDIENCE, ISSUER, now, Signer } from "./support/tokens.ts";
import { until } from "../../support/wait.ts";

const signer = await Signer.make();
const options: JwtOptions<unknown> = {
  issuer: ISSUER,
  audience: AUDIENCE,
  keys: signer.publicKey,
  algorithms: ["ES256"],
};
const member = jwt(options);
/** Lets everybody in. */
const anonymous = dependency(async () => null);
const User = v.object({ userId: v.number() });

/** A token that ends in a moment: with the tolerance of 30 s. */
const shortToken = () => signer.sign({ exp: now() - 28 });
const POLL = 3_000;

/** A source of values that ends only when it is closed. */
async function* forever(): AsyncGenerator<number> {
  yield 1;
  await new Promise<never>(() => {});
}

/** Bytes that end only when they are cancelled. */
const foreverBytes = () => ReadableStream.from(forever()).pipeThrough(toBytes());
const toBytes = () =>
  new TransformStream<number, Uint8Array>({ transform: (value, to) => to.enqueue(Uint8Array.of(value)) });

/** An application with a stream of each kind behind a guard. */
function streamsBehind(guard: Dependency<unknown>, more: { endsWithSignIn?: boolean } = {}): App {
  const app = new App();
  const prices = app.topic<number>("prices");
  app.get("/events", { deps: { guard }, ...more }, async () => SSE(prices.subscribe()));
  app.get("/items", { deps: { guard }, ...more }, async () => SSE(forever()));
  app.post("/events", { deps: { guard }, ...more }, async () => SSE(forever()));
  app.get("/lines", { deps: { guard }, ...more }, async function* () {
    yield* forever();
  });
  app.get("/declared", { deps: { guard }, response: JsonLines(v.number()), ...more }, async () => forever());
  app.get("/raw", { deps: { guard }, ...more }, async () => foreverBytes());
  app.get("/bytes", { deps: { guard }, response: Bytes("video/mp4"), ...more }, async () => foreverBytes());
  app.get("/chunks", { deps: { guard }, ...more }, async function* () {
    yield* foreverBytes();
  });
  app.websocket("/socket", { deps: { guard }, ...more }, async (socket) => {
    await socket.send("hello");
    await new Promise((resolve) => socket.signal.addEventListener("abort", resolve));
  });
  return app;
}

/** Reads a stream to its end: whether it ended, or broke off. */
async function endOf(response: Response): Promise<string> {
  assertEquals(response.status, 200);
  try {
    await response.text();
    return "ended";
  } catch {
    return "broke off";
  }
}

/** Opens a socket. What it gives settles with the code of its end. */
async function openSocket(url: string, headers: HeadersInit): Promise<{ readonly closing: Promise<number> }> {
  const socket = new WebSocket(url.replace("http", "ws"), { headers });
  const closing = new Promise<number>((resolve) => socket.onclose = ({ code }) => resolve(code));
  await new Promise((resolve) => socket.onopen = resolve);
  return { closing };
}

Deno.test("Streams and WebSockets behind jwt end at the token's exp and its tolerance, and the guard answers a client that comes back", async () => {
  await using server = await Serving.start(streamsBehind(member));
  const headers = { authorization: `Bearer ${await shortToken()}` };
  const ask = (path: string, method = "GET") => fetch(server.origin + path, { method, headers });
  const ends = await Promise.all([
    ask("/events").then(endOf),
    ask("/items").then(endOf),
    ask("/events", "POST").then(endOf),
    ask("/lines").then(endOf),
    ask("/declared").then(endOf),
    ask("/raw").then(endOf),
    ask("/bytes").then(endOf),
    ask("/chunks").then(endOf),
    openSocket(`${server.origin}/socket`, headers).then(({ closing }) => closing),
  ]);
  // What no client asks for again must not be taken for complete.
  assertEquals(ends, ["ended", "ended", ...Array(6).fill("broke off"), 1008]);
  const again = await ask("/events");
  assertEquals([again.status, (await again.json()).detail], [401, "The token has expired"]);
});

Deno.test("Streams of a mounted application end with the sign-in of the guards around the mount", async () => {
  const middle = new App();
  middle.mount("/inner", streamsBehind(anonymous));
  middle.mount("/kept", streamsBehind(anonymous, { endsWithSignIn: false }));
  const app = new App();
  const members = new Router({ deps: { member } });
  members.mount("/members", middle);
  app.include(members);
  await using server = await Serving.start(app);
  const headers = { authorization: `Bearer ${await shortToken()}` };
  const ask = (path: string) => fetch(`${server.origin}/members${path}`, { headers });
  const kept = await ask("/kept/events");
  const ends = await Promise.all([
    ask("/inner/events").then(endOf),
    ask("/inner/lines").then(endOf),
    ask("/inner/raw").then(endOf),
    openSocket(`${server.origin}/members/inner/socket`, headers).then(({ closing }) => closing),
  ]);
  assertEquals(ends, ["ended", "broke off", "broke off", 1008]);
  // It is still open: the end of the server ends it.
  const end = endOf(kept);
  server.tellToStop();
  assertEquals(await end, "ended");
});

Deno.test("A stream that begins when the sign-in has ended meanwhile ends at once", async () => {
  using clock = new MovedClock();
  const app = new App();
  app.get("/events", { deps: { member } }, async () => {
    clock.advance(120_000);
    return SSE(forever());
  });
  const headers = { authorization: `Bearer ${await signer.sign()}` };
  assertEquals(await endOf(await app.fetch(new Request("http://localhost/events", { headers }))), "ended");
});

Deno.test("A Response goes on with its stream: it is the program's own", async () => {
  const { promise: more, resolve: sendMore } = Promise.withResolvers<void>();
  const app = streamsBehind(member);
  app.get("/own", { deps: { guard: member } }, async () => {
    return new Response(ReadableStream.from((async function* () {
      yield new TextEncoder().encode("begin, ");
      await more;
      yield new TextEncoder().encode("end");
    })()));
  });
  await using server = await Serving.start(app);
  const headers = { authorization: `Bearer ${await shortToken()}` };
  const own = await fetch(`${server.origin}/own`, { headers });
  assertEquals(await endOf(await fetch(`${server.origin}/raw`, { headers })), "broke off");
  sendMore();
  assertEquals(await own.text(), "begin, end");
});

Deno.test("endsWithSignIn: false on a route keeps its streams open", async () => {
  const app = streamsBehind(member, { endsWithSignIn: false });
  const other = streamsBehind(member);
  await using server = await Serving.start(app);
  await using ending = await Serving.start(other);
  const headers = { authorization: `Bearer ${await shortToken()}` };
  await using events = new EventReader(await fetch(`${server.origin}/events`, { headers }));
  await endOf(await fetch(`${ending.origin}/events`, { headers }));
  await app.topic<number>("prices").publish(7);
  assertEquals((await events.next())?.data, "7");
});

Deno.test("withScopes, optional and anySecurity end streams as the guard in them does; a client without credentials stays", async () => {
  const key = apiKey(async (key) => key === "k", { in: "header", name: "x-key" });
  const app = new App();
  const prices = app.topic<number>("prices");
  app.get("/scopes", { deps: { user: member.withScopes("read") } }, async () => SSE(forever()));
  app.get("/optional", { deps: { user: optional(member) } }, async () => SSE(prices.subscribe()));
  app.get("/either", { deps: { user: anySecurity(key, member) } }, async () => SSE(prices.subscribe()));
  await using server = await Serving.start(app);
  const headers = { authorization: `Bearer ${await signer.sign({ exp: now() - 28, scope: "read" })}` };
  await using visitor = new EventReader(await fetch(`${server.origin}/optional`));
  await using partner = new EventReader(await fetch(`${server.origin}/either`, { headers: { "x-key": "k" } }));
  const ends = ["/scopes", "/optional", "/either"].map(async (path) =>
    endOf(await fetch(server.origin + path, { headers }))
  );
  assertEquals(await Promise.all(ends), ["ended", "ended", "ended"]);
  await prices.publish(7);
  assertEquals([(await visitor.next())?.data, (await partner.next())?.data], ["7", "7"]);
});

/** The routes of an application, for its client. */
function routesOf(app: App) {
  return { events: app.get("/events", { deps: { member }, response: Events(v.number()) }, async () => forever()) };
}

Deno.test("The client comes back after the end, and throws the 401 of the guard", async () => {
  const app = new App();
  routesOf(app);
  await using server = await Serving.start(app);
  const headers = { authorization: `Bearer ${await shortToken()}` };
  const events = client<ReturnType<typeof routesOf>>(server.origin, { headers }).events("/events");
  assertEquals(((await events.next()).value as { data: number }).data, 1);
  const refused = await assertRejects(async () => {
    for await (const _ of events);
  }, ProblemError);
  assertEquals(refused.status, 401);
});

/** An application with a session, in which signing in and out is possible. */
function sessionApp(store: SessionOptions["store"] & object, topics?: string): App {
  const visit = session(User, { store, subject: ({ userId }) => userId, cookie: { secure: false } });
  const app = new App(topics === undefined ? {} : { topics });
  const signedIn = visit.required();
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 1 }));
  app.post("/again", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 1 }));
  app.post("/other", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 2 }));
  app.post("/logout", { deps: { visit } }, async (_request, { visit }) => await visit.clear());
  const prices = app.topic<number>("prices");
  app.get("/events", { deps: { signedIn } }, async () => SSE(prices.subscribe()));
  app.get("/visit", { deps: { visit } }, async () => SSE(prices.subscribe()));
  app.get("/raw", { deps: { signedIn } }, async () => foreverBytes());
  app.websocket("/socket", { deps: { signedIn } }, async (socket) => {
    await new Promise((resolve) => socket.signal.addEventListener("abort", resolve));
  });
  return app;
}

async function post(origin: string, path: string, headers: HeadersInit = {}): Promise<Response> {
  const response = await fetch(origin + path, { method: "POST", headers });
  await response.body?.cancel();
  assertEquals(response.ok, true);
  return response;
}

async function signIn(origin: string): Promise<{ readonly cookie: string }> {
  const { headers } = await post(origin, "/login");
  return { cookie: headers.getSetCookie()[0]!.split(";", 1)[0]! };
}

Deno.test("Streams and WebSockets behind a stored session end after clear()", async () => {
  for (const store of [memorySessions(), recordSessions()]) {
    await using server = await Serving.start(sessionApp(store));
    const headers = await signIn(server.origin);
    const other = await signIn(server.origin);
    const events = await fetch(`${server.origin}/events`, { headers });
    const visit = await fetch(`${server.origin}/visit`, { headers });
    const raw = await fetch(`${server.origin}/raw`, { headers });
    const { closing } = await openSocket(`${server.origin}/socket`, headers);
    const elsewhere = await fetch(`${server.origin}/events`, { headers: other });
    await post(server.origin, "/again", headers);
    await post(server.origin, "/logout", headers);
    assertEquals([await endOf(events), await endOf(visit), await endOf(raw)], ["ended", "ended", "broke off"]);
    assertEquals(await closing, 1008);
    const again = await fetch(`${server.origin}/events`, { headers });
    assertEquals(again.status, 401);
    await again.body?.cancel();
    assertEquals(elsewhere.status, 200);
    await post(server.origin, "/logout", other);
    assertEquals(await endOf(elsewhere), "ended");
  }
});

Deno.test("A session that another user takes over ends the streams of the one before, and a set of the same user none", async () => {
  await using server = await Serving.start(sessionApp(memorySessions()));
  const headers = await signIn(server.origin);
  const events = await fetch(`${server.origin}/events`, { headers });
  await post(server.origin, "/again", headers);
  assertEquals(
    (await fetch(`${server.origin}/events`, { headers }).then((reply) => (reply.body?.cancel(), reply))).status,
    200,
  );
  await post(server.origin, "/other", headers);
  assertEquals(await endOf(events), "ended");
});

Deno.test("A stream behind a sealed session ends with its maxAge", async () => {
  const visit = session(User, {
    secret: "a secret of the tests, of 32 characters",
    maxAge: "2s",
    cookie: { secure: false },
  });
  const app = new App();
  app.post("/login", { deps: { visit } }, async (_request, { visit }) => await visit.set({ userId: 1 }));
  app.get("/events", { deps: { signedIn: visit.required() } }, async () => SSE(forever()));
  await using server = await Serving.start(app);
  assertEquals(await endOf(await fetch(`${server.origin}/events`, { headers: await signIn(server.origin) })), "ended");
});

Deno.test("A stream that is not read leaves no timer", async () => {
  const headers = { authorization: `Bearer ${await signer.sign({ exp: now() + 3600 })}` };
  const app = new App();
  app.get("/events", { deps: { member } }, async () => SSE(forever()));
  const { status } = await app.fetch(new Request("http://localhost/events", { headers }));
  // The sanitizers of the test find a timer that is left.
  assertEquals(status, 200);
});

Deno.test("On another node with the same file, streams end after clear()", async () => {
  await using folder = await TemporaryFolder.make();
  const file = folder.within("records.sqlite");
  await using one = await Serving.start(sessionApp(recordSessions(), file));
  await using two = await Serving.start(sessionApp(recordSessions(), file));
  const headers = await signIn(one.origin);
  const events = await fetch(`${two.origin}/events`, { headers });
  const { closing } = await openSocket(`${two.origin}/socket`, headers);
  await post(one.origin, "/logout", headers);
  assertEquals([await endOf(events), await closing], ["ended", 1008]);
});

/** A store that two nodes share, which counts its reads. */
class SharedStore implements SessionStore {
  readonly entries = new Map<string, string>();
  reads = 0;
  fails = false;

  async get(key: string): Promise<string | null> {
    this.reads++;
    if (this.fails) throw new Error("the store is away");
    return this.entries.get(key) ?? null;
  }

  async set(key: string, value: string): Promise<boolean> {
    this.entries.set(key, value);
    return true;
  }

  async delete(key: string): Promise<boolean> {
    return this.entries.delete(key);
  }
}

Deno.test("A store of one's own is read once for each session, however many streams it has", async () => {
  const store = new SharedStore();
  const polls: (() => void)[] = [];
  await using one = await Serving.start(sessionApp(store));
  await using two = await Serving.start(sessionApp(store));
  const headers = await signIn(one.origin);
  const original = globalThis.setTimeout;
  // The polls run when the test says so.
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    if (ms === POLL) polls.push(run);
    return original(ms === POLL ? () => {} : run, ms === POLL ? 0 : ms);
  }) as typeof setTimeout;
  try {
    const open = await Promise.all(Array.from({ length: 20 }, () => fetch(`${two.origin}/events`, { headers })));
    assertEquals([polls.length, store.reads], [1, 20], "besides the reads of the guards");
    await post(one.origin, "/logout", headers);
    polls[0]!();
    assertEquals(new Set(await Promise.all(open.map(endOf))), new Set(["ended"]));
  } finally {
    globalThis.setTimeout = original;
  }
});

Deno.test("While the store of sessions fails, streams go on, which is logged once", async () => {
  using log = new CapturedLog();
  using _skipped = new SkippedTimeout(POLL);
  const store = new SharedStore();
  const app = sessionApp(store);
  await using server = await Serving.start(app);
  const headers = await signIn(server.origin);
  await using events = new EventReader(await fetch(`${server.origin}/events`, { headers }));
  store.fails = true;
  const before = store.reads;
  await until("the store is read again", () => store.reads >= before + 3);
  await app.topic<number>("prices").publish(7);
  assertEquals((await events.next())?.data, "7");
  assertEquals(log.lines.filter((line) => line.includes("its session cannot be checked")).length, 1);
  store.fails = false;
  await post(server.origin, "/logout", headers);
  assertEquals(await events.next(), undefined);
});

Deno.test("endsWithSignIn is true or false", () => {
  const app = new App();
  // deno-lint-ignore no-explicit-any -- declarations whose mistakes TypeScript would find
  const wrong: any = { endsWithSignIn: "no" };
  assertThrows(() => app.get("/", wrong, async () => 1), TypeError, '"endsWithSignIn" must be true or false');
  assertThrows(() => app.websocket("/", wrong, async () => {}), TypeError, '"endsWithSignIn" must be true or false');
});
