// Section 10 of the contract: "A client that closes the request aborts `request.signal`;
// `notifications/cancelled` does so where the call can be told apart by its credentials."

import { assertEquals } from "@std/assert";
import { App, type Dependency } from "@webfw/core";
import { apiKey, bearer, optional } from "@webfw/core/auth";
import { Agent } from "../agents/agent.ts";
import { Serving } from "./support/serving.ts";

const user = bearer(async (token) => token.startsWith("t-") && token);

/** The calls of a tool that waits until its signal is aborted, or until the test lets it go. */
class WaitingCalls {
  readonly app: App = new App();
  readonly #calls = new Map<string, PromiseWithResolvers<string>>();
  readonly #started = new Map<string, PromiseWithResolvers<void>>();

  constructor(guard: Dependency<unknown> | null = user) {
    const deps = guard ? { deps: { guard } } : {};
    this.app.get("/wait/{name}", { ...deps, tool: { name: "wait" } }, async ({ signal, params }) => {
      const name = params.name!;
      const call = Promise.withResolvers<string>();
      this.#calls.set(name, call);
      signal.addEventListener("abort", () => call.resolve(`aborted: ${(signal.reason as Error).name}`));
      this.#startOf(name).resolve();
      return { end: await call.promise };
    });
  }

  /** Begins a call. What it gives settles with the end of the call. */
  async begin(agent: Agent, name: string, id: unknown): Promise<{ readonly end: Promise<unknown> }> {
    const params = { name: "wait", arguments: { name } };
    const reply = agent.post({ jsonrpc: "2.0", id, method: "tools/call", params });
    await this.#startOf(name).promise;
    const end = reply.then(({ body }) => (body?.result?.structuredContent as { end: unknown }).end);
    return { end };
  }

  /** Ends a call from within. */
  release(name: string): void {
    this.#calls.get(name)!.resolve("released");
  }

  /** Waits until a call runs. */
  started(name: string): Promise<void> {
    return this.#startOf(name).promise;
  }

  /** How a call ends that runs. */
  endOf(name: string): Promise<string> {
    return this.#calls.get(name)!.promise;
  }

  #startOf(name: string): PromiseWithResolvers<void> {
    const known = this.#started.get(name) ?? Promise.withResolvers<void>();
    this.#started.set(name, known);
    return known;
  }
}

function agentOf(app: App, headers: Readonly<Record<string, string>> = {}): Agent {
  return new Agent(app, "http://localhost/mcp", headers);
}

async function cancel(agent: Agent, requestId: unknown): Promise<void> {
  const params = { requestId, reason: "The user pressed stop" };
  assertEquals((await agent.post({ jsonrpc: "2.0", method: "notifications/cancelled", params })).status, 202);
}

const as = (token: string) => ({ authorization: `Bearer ${token}` });

Deno.test("notifications/cancelled with the credentials of a call aborts its request.signal", async () => {
  const calls = new WaitingCalls();
  const ada = agentOf(calls.app, as("t-ada"));
  for (const id of [1, "one"]) {
    const { end } = await calls.begin(ada, `call ${id}`, id);
    await cancel(ada, id);
    assertEquals(await end, "aborted: AbortError");
  }
});

Deno.test("A cancellation reaches a call in a batch, and no other of the batch", async () => {
  const calls = new WaitingCalls();
  const ada = agentOf(calls.app, as("t-ada"));
  const call = (id: number) => {
    return { jsonrpc: "2.0", id, method: "tools/call", params: { name: "wait", arguments: { name: `b${id}` } } };
  };
  const other = await calls.begin(ada, "other", 9);
  const batch = ada.post([call(1), { jsonrpc: "2.0", id: 2, method: "ping" }]);
  const { end } = await calls.begin(ada, "after", 3);
  // A batch may carry the notification, too.
  await ada.post([{ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 3 } }]);
  assertEquals(await end, "aborted: AbortError");
  await cancel(ada, 1);
  const body = (await batch).body as unknown as { result: { structuredContent: unknown } }[];
  assertEquals(body[0]!.result.structuredContent, { end: "aborted: AbortError" });
  calls.release("other");
  assertEquals(await other.end, "released");
});

Deno.test("Another caller, wrong credentials and none cancel nothing, whatever id they send", async () => {
  const calls = new WaitingCalls();
  const { end } = await calls.begin(agentOf(calls.app, as("t-ada")), "ada", 1);
  const bob = await calls.begin(agentOf(calls.app, as("t-bob")), "bob", 1);
  for (
    const headers of [as("t-bob2"), as("wrong"), {}, { authorization: "t-ada" }, { cookie: "authorization=t-ada" }]
  ) {
    for (const id of [1, "1", null, undefined, 1.5, { id: 1 }, [1]]) await cancel(agentOf(calls.app, headers), id);
  }
  await cancel(agentOf(calls.app, as("t-bob")), 1);
  assertEquals(await bob.end, "aborted: AbortError");
  calls.release("ada");
  assertEquals(await end, "released");
});

Deno.test("Of calls with the same credentials and the same id, none is cancelled; a call that has ended is forgotten", async () => {
  const calls = new WaitingCalls();
  const ada = agentOf(calls.app, as("t-ada"));
  const [first, second] = [await calls.begin(ada, "first", 1), await calls.begin(ada, "second", 1)];
  await cancel(ada, 1);
  calls.release("first");
  assertEquals(await first.end, "released");
  await cancel(ada, 1);
  assertEquals(await second.end, "aborted: AbortError");
});

Deno.test("Without credentials for the guards of the tool, calls cannot be told apart, and go on", async () => {
  const key = apiKey(async (key) => key === "k", { in: "header", name: "x-key" });
  for (
    const [guard, headers] of [[null, as("t-ada")], [optional(key), as("t-ada")], [optional(key), {}]] as const
  ) {
    const calls = new WaitingCalls(guard);
    // The credentials of another tool say nothing of this one.
    calls.app.get("/guarded", { deps: { user }, tool: true }, async function guarded() {});
    const agent = agentOf(calls.app, headers);
    const { end } = await calls.begin(agent, "open", 1);
    await cancel(agent, 1);
    calls.release("open");
    assertEquals(await end, "released");
  }
});

Deno.test("Keys in headers, in the query and in cookies are credentials, too", async () => {
  for (const place of ["header", "query", "cookie"] as const) {
    const calls = new WaitingCalls(apiKey(async (key) => key.startsWith("k"), { in: place, name: "x-key" }));
    const agentWith = (key: string) => {
      const headers = place === "header" ? { "x-key": key } : place === "cookie" ? { cookie: `x-key=${key}` } : {};
      const query = place === "query" ? `?x-key=${key}` : "";
      return new Agent(calls.app, `http://localhost/mcp${query}`, headers);
    };
    const { end } = await calls.begin(agentWith("k1"), "keyed", 1);
    await cancel(agentWith("k2"), 1);
    await cancel(agentWith("k1"), 1);
    assertEquals(await end, "aborted: AbortError", place);
  }
});

Deno.test("On sockets, each client cancels its own call, and closing the request aborts, too", async () => {
  const calls = new WaitingCalls();
  await using server = await Serving.start(calls.app);
  const agentAt = (token: string, signal?: AbortSignal) =>
    new Agent((request) => fetch(request, { signal: signal ?? null }), `${server.origin}/mcp`, as(token));
  const leaving = new AbortController();
  const gone = agentAt("t-eve", leaving.signal).call("wait", { name: "eve" }).catch(() => "left");
  const ada = await calls.begin(agentAt("t-ada"), "ada", 1);
  const bob = await calls.begin(agentAt("t-bob"), "bob", 1);
  await calls.started("eve");
  await cancel(agentAt("t-ada"), 1);
  assertEquals(await ada.end, "aborted: AbortError");
  leaving.abort();
  assertEquals([await gone, (await calls.endOf("eve")).startsWith("aborted")], ["left", true]);
  calls.release("bob");
  assertEquals(await bob.end, "released");
});
