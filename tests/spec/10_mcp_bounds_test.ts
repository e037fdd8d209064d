// Sections 10 and 13 of the contract, bounds of /mcp: "the replies of a batch at most 4 MiB
// together, a failed call's at most 1 MiB, first fault only where a call is large".

import { assert, assertEquals } from "@std/assert";
import { App, Form, HTTPError, text } from "@webfw/core";
import * as v from "valibot";
import { Agent, type Answer, type CallResult } from "../agents/agent.ts";
import { CapturedLog } from "./support/captured_log.ts";

const MIB = 1024 * 1024;

function callOf(name: string, args: unknown = {}, id = 1): Record<string, unknown> {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

async function batch(agent: Agent, messages: readonly unknown[]): Promise<readonly Answer[]> {
  const { status, body } = await agent.post(messages);
  assertEquals(status, 200);
  return body as unknown as readonly Answer[];
}

function textOf({ content: [block] }: CallResult): string {
  return block?.text ?? "";
}

Deno.test("The replies of a batch have 4 MiB together, and later calls are not made", async () => {
  let calls = 0;
  const app = new App();
  app.get("/large", { tool: true }, async function large() {
    calls++;
    return text("x".repeat(MIB));
  });
  const answers = await batch(new Agent(app), Array.from({ length: 100 }, (_, id) => callOf("large", {}, id)));
  assertEquals(answers.map((answer) => (answer as { id?: number }).id), Array.from({ length: 100 }, (_, id) => id));
  const results = answers.map(({ result }) => result as unknown as CallResult);
  const read = results.filter(({ isError }) => !isError);
  assertEquals(read.map((result) => textOf(result).length), [MIB, MIB, MIB, MIB]);
  const refused = results.filter(({ isError }) => isError).map(textOf);
  assertEquals(refused.length, 96);
  assert(refused.every((words) => words.includes("The replies of the batch are larger than 4194304 bytes together")));
  assertEquals(refused.filter((words) => words.startsWith("Not called: ")).length, 100 - calls);
  assert(calls <= 8, `${calls} were called`);
});

Deno.test("Faults count as replies of a batch, too", async () => {
  const app = new App();
  app.get("/fault", { tool: true }, async function fault() {
    throw new HTTPError(400, "x".repeat(MIB / 2));
  });
  const answers = await batch(new Agent(app), Array(100).fill(callOf("fault")));
  const length = answers.reduce((sum, { result }) => sum + textOf(result as unknown as CallResult).length, 0);
  assert(length < 4 * MIB + 100_000, `${length} characters`);
});

Deno.test("A list of tools counts in a batch, and is never too large alone", async () => {
  const app = new App();
  for (let number = 0; number < 5; number++) {
    app.get(`/${number}`, { tool: { name: `tool${number}`, description: "x".repeat(MIB) } }, async () => 1);
  }
  const agent = new Agent(app);
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  assertEquals(((await agent.ask("tools/list")).tools as unknown[]).length, 5);
  const answers = await batch(agent, Array(100).fill(list));
  assert(answers.every(({ result }) => result === undefined));
  assertEquals(answers[0]!.error?.code, -32600);
});

Deno.test("The calls of a batch run a few at a time, and their replies are in order", async () => {
  let running = 0;
  let most = 0;
  const app = new App();
  app.get("/{n}", { params: { n: v.number() }, tool: true }, async function number(_request, { n }) {
    most = Math.max(most, ++running);
    // The later a call, the sooner it is done.
    for (let turn = n; turn < 20; turn++) await Promise.resolve();
    running--;
    return { n };
  });
  const answers = await batch(new Agent(app), Array.from({ length: 20 }, (_, n) => callOf("number", { n })));
  const numbers = answers.map(({ result }) =>
    (result as unknown as { structuredContent: { n: number } }).structuredContent.n
  );
  assertEquals(numbers, Array.from({ length: 20 }, (_, n) => n));
  assert(most > 1 && most <= 4, `${most} at a time`);
});

Deno.test("The text of a failed call has at most 1 MiB", async () => {
  const app = new App();
  const failures = [2 * MIB, MIB - 1_000, MIB + 1];
  app.get("/{n}", { params: { n: v.number() }, tool: true }, async function fail(_request, { n }) {
    throw new HTTPError(418, (n === 1 ? "é" : "x").repeat(failures[n]!));
  });
  app.get("/text", { tool: true }, async function own() {
    return text("x".repeat(2 * MIB), { status: 503 });
  });
  app.get("/bytes", { tool: true }, async function bytes() {
    // Each byte that is no UTF-8 becomes a character of three bytes.
    return new Response(new Uint8Array(MIB).fill(0xff), { status: 503, headers: { "content-type": "text/plain" } });
  });
  const agent = new Agent(app);
  const { isError, content: [cut] } = await agent.call("bytes");
  assertEquals([isError, new TextEncoder().encode(cut?.text).length <= MIB], [true, true]);
  assertEquals(textOf(await agent.call("fail", { n: 0 })), "Status 418: its text is larger than 1048576 bytes");
  assertEquals(textOf(await agent.call("own")), "Status 503: its text is larger than 1048576 bytes");
  for (const n of [0, 1, 2]) {
    const { isError, content: [block] } = await agent.call("fail", { n });
    assertEquals([isError, new TextEncoder().encode(block?.text).length <= MIB], [true, true]);
  }
});

Deno.test("A large call with faults gets the first fault only", async () => {
  let found = 0;
  const message = () => {
    found++;
    return "Wrong";
  };
  const app = new App();
  app.post("/{kind}", { body: v.array(v.string(message)), tool: true }, async function post() {
    return 1;
  });
  app.get("/", { query: { q: v.array(v.string(message)) }, tool: true }, async function get() {
    return 1;
  });
  const agent = new Agent(app);
  const numbers = Array(40_000).fill(1);
  // The path is missing, so the arguments are checked before there is a request.
  const lines = textOf(await agent.call("post", { body: numbers })).split("\n");
  assertEquals(lines.slice(1), ["- kind: Missing value", "- body.0: Wrong"]);
  assertEquals(textOf(await agent.call("get", { q: numbers })).split("\n").slice(1), ["- q.0: Wrong"]);
  assert(found <= 4, `${found} faults were found`);
  const small = textOf(await agent.call("post", { body: Array(200).fill(1) })).split("\n");
  assertEquals(small.length, 202);
});

Deno.test("A long list of values that a query cannot contain is one fault", async () => {
  const app = new App();
  app.get("/", { query: { q: v.optional(v.array(v.any())) }, tool: true }, async function get() {
    return 1;
  });
  const text = textOf(await new Agent(app).call("get", { q: Array(200_000).fill([]) }));
  assertEquals(text.split("\n").slice(1), ["- q: Must be a value without parts, or a list of them"]);
});

Deno.test("A form that grows while it is written, by names that are repeated, is refused", async () => {
  const app = new App();
  app.post(
    "/",
    { form: Form(v.record(v.string(), v.any())), limits: { body: 10_000 }, tool: true },
    async function post() {
      return { taken: true };
    },
  );
  const agent = new Agent(app);
  const formOf = (items: number) => ({ form: { ["k".repeat(1_000)]: Array(items).fill({ a: 1 }) } });
  assertEquals(await agent.result("post", formOf(9)), { taken: true });
  const refused = await agent.call("post", formOf(10_000));
  assertEquals(textOf(refused), "413 Content Too Large: The form is larger than 10000 bytes");
});

Deno.test("Arguments that are nested too deeply are refused, and nothing is logged", async () => {
  const tree: v.GenericSchema = v.object({ a: v.union([v.number(), v.lazy(() => tree)]) });
  const app = new App();
  app.post("/form", { form: Form(v.record(v.string(), v.any())), tool: true }, async function form() {
    return 1;
  });
  app.post("/{id}", { body: tree, tool: true }, async function json() {
    return 1;
  });
  const agent = new Agent(app);
  const value = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
  using log = new CapturedLog();
  for (const [name, argument] of [["form", "form"], ["json", "body"]]) {
    const params = `{"name":"${name}","arguments":{"${argument}":${value}}}`;
    const { body } = await agent.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    const text = textOf(body!.result as unknown as CallResult);
    assertEquals(text, "400 Bad Request: The arguments are nested too deeply", name);
  }
  assertEquals(log.text, "");
});

Deno.test("A number that does not fit a double is refused, and reaches no route as null", async () => {
  let calls = 0;
  const app = new App();
  app.post("/", { body: v.object({ n: v.nullable(v.number()) }), tool: true }, async function post() {
    calls++;
    return 1;
  });
  const call = JSON.stringify(callOf("post", { body: { n: 7 } }));
  const agent = new Agent(app);
  for (const body of [call.replace("7", "1e999"), `[${call},${call.replace("7", "-1e999")}]`]) {
    const { status, body: answer } = await agent.send(body);
    assertEquals([status, answer!.error], [400, { code: -32600, message: "A number is too large" }]);
  }
  assertEquals(calls, 0);
  assertEquals(await agent.result("post", { body: { n: 1e300 } }), { result: 1 });
});
