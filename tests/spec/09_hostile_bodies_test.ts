// Section 9 of the contract: the most that an invalid body or message may cost. "Invalid input is
// answered 422 ... with every issue found", while that is cheap.

import { assert, assertEquals } from "@std/assert";
import { App, Form } from "@webfw/core";
import { TestClient } from "@webfw/core/testing";
import * as v from "valibot";
import { Serving } from "./support/serving.ts";
import { SocketClient } from "./support/socket_client.ts";

/** Counts the faults that valibot finds: it makes a message for each. */
class FaultCounter {
  found = 0;
  readonly message = (): string => {
    this.found++;
    return "Wrong";
  };
}

interface Comment {
  text: string;
  replies: Comment[];
}

function commentSchema(message: () => string): v.GenericSchema<Comment> {
  const comment: v.GenericSchema<Comment> = v.object(
    { text: v.string(message), replies: v.array(v.lazy(() => comment)) },
    message,
  );
  return comment;
}

function asyncCommentSchema(message: () => string): v.GenericSchemaAsync<Comment> {
  const comment: v.GenericSchemaAsync<Comment> = v.objectAsync(
    { text: v.string(message), replies: v.arrayAsync(v.lazyAsync(() => comment)) },
    message,
  );
  return comment;
}

/** Nested comments. The innermost has this many wrong replies. */
function commentsOf(depth: number, wrong: number): string {
  return `${'{"text":"","replies":['.repeat(depth)}${Array(wrong).fill("1").join(",")}${"]}".repeat(depth)}`;
}

async function refuse(schema: v.GenericSchema | v.GenericSchemaAsync, body: string) {
  const app = new App();
  app.post("/", { body: schema }, async () => 1);
  await using client = new TestClient(app);
  const response = await client.post("/", { body, headers: { "content-type": "application/json" } });
  const text = await response.text();
  assertEquals(response.status, 422, text.slice(0, 200));
  return { errors: JSON.parse(text).errors as { path: unknown[] }[], length: text.length };
}

/** How many faults are found at most. Async, valibot runs the items of an array at once. */
const KINDS = [["sync", commentSchema, 2], ["async", asyncCommentSchema, 1_000]] as const;

for (const [kind, schemaOf, most] of KINDS) {
  Deno.test(`For a deeply nested recursive body, the reply has the first fault, and no other is searched: ${kind}`, async () => {
    const counter = new FaultCounter();
    const { errors } = await refuse(schemaOf(counter.message), commentsOf(100, 1_000));
    assertEquals(errors.map(({ path }) => path.length), [200]);
    assert(counter.found <= most, `${counter.found} faults were found`);
  });

  Deno.test(`For a small recursive body, the reply has all faults: ${kind}`, async () => {
    const { errors } = await refuse(schemaOf(() => "Wrong"), commentsOf(10, 300));
    assertEquals(errors.length, 300);
    assertEquals(errors.at(-1)!.path, [...Array(9).fill(["replies", 0]).flat(), "replies", 299]);
  });
}

Deno.test("A union whose options try the same part again and again ends after a bounded number of faults", async () => {
  const counter = new FaultCounter();
  const { message } = counter;
  const node: v.GenericSchema = v.union([
    v.null(message),
    v.object({ type: v.literal("add", message), of: v.lazy(() => node) }, message),
    v.object({ type: v.literal("not", message), of: v.lazy(() => node) }, message),
  ]);
  await refuse(node, `${'{"type":"not","of":'.repeat(15)}1${"}".repeat(15)}`);
  assert(counter.found < 10_000, `${counter.found} faults were found`);
});

Deno.test("Kinds that a check hands over to valibot are asked for their first fault alone", async () => {
  // More than 64 KiB.
  const items = Array(20_000).fill("1000").join(",");
  const kinds: [make: (text: v.GenericSchema) => v.GenericSchema, body: string][] = [
    [(text) => v.tupleWithRest([], text), `[${items}]`],
    [(text) => v.record(v.string(), v.array(text)), `{"a":[${items}]}`],
    [(text) => v.intersect([v.array(text), v.array(text)]), `[${items}]`],
    [(text) => v.lazy(() => v.array(text)), `[${items}]`],
    [(text) => v.objectWithRest({}, v.array(text)), `{"a":[${items}]}`],
    [(text) => v.variant("k", [v.object({ k: v.literal("a"), of: v.array(text) })]), `{"k":"a","of":[${items}]}`],
  ];
  for (const [make, body] of kinds) {
    const counter = new FaultCounter();
    const schema = make(v.string(counter.message));
    const { errors } = await refuse(schema, body);
    assertEquals(errors.length, 1, schema.type);
    assert(counter.found <= 4, `${schema.type}: ${counter.found} faults were found`);
  }
});

Deno.test("For a recursive WebSocket message, the first fault is sent, and no other is searched", async () => {
  const counter = new FaultCounter();
  const app = new App();
  app.websocket("/", { receive: commentSchema(counter.message) }, async (socket) => {
    for await (const _ of socket);
  });
  await using serving = await Serving.start(app);
  const client = await SocketClient.open(serving.origin, "/");
  client.send(commentsOf(100, 1_000));
  const [code] = await client.closed;
  assertEquals(code, 1007);
  assert(counter.found <= 2, `${counter.found} faults were found`);
});

Deno.test("A long key within the paths of many faults does not make a long reply", async () => {
  const key = "k".repeat(30_000);
  const { errors, length } = await refuse(
    v.record(v.string(), v.array(v.number())),
    `{"${key}":[${Array(8_000).fill('""').join(",")}]}`,
  );
  assert(errors.length >= 10 && length < 1_200_000, `${errors.length} faults in ${length} characters`);
});

Deno.test("A number that is too large, deep in a body, is reported with its path", async () => {
  const body = `${"[".repeat(500)}${"0,".repeat(100_000)}1e999,1e999${"]".repeat(500)}`;
  const { errors } = await refuse(v.any(), body);
  assertEquals(errors.map(({ path }) => path), [[...Array(499).fill(0), 100_000]]);
});

/** Expressions whose operator is known only after the left operand was read. */
function expressionSchema(leaf: v.GenericSchema): v.GenericSchema {
  const expression: v.GenericSchema = v.union([
    leaf,
    v.object({ left: v.lazy(() => expression), op: v.literal("+") }),
    v.object({ left: v.lazy(() => expression), op: v.literal("-") }),
  ]);
  return expression;
}

function asyncExpressionSchema(leaf: v.GenericSchema): v.GenericSchemaAsync {
  const expression: v.GenericSchemaAsync = v.unionAsync([
    leaf,
    v.objectAsync({ left: v.lazyAsync(() => expression), op: v.literal("+") }),
    v.objectAsync({ left: v.lazyAsync(() => expression), op: v.literal("-") }),
  ]);
  return expression;
}

/** The same, with a getter that makes new schemas each time. */
function newExpressionSchema(leaf: v.GenericSchema): v.GenericSchema {
  const make = (): v.GenericSchema =>
    v.union([
      leaf,
      v.object({ left: v.lazy(make), op: v.literal("+") }),
      v.object({ left: v.lazy(make), op: v.literal("-") }),
    ]);
  return v.lazy(make);
}

function newAsyncExpressionSchema(leaf: v.GenericSchema): v.GenericSchemaAsync {
  const make = async (): Promise<v.GenericSchemaAsync> =>
    v.unionAsync([
      leaf,
      v.objectAsync({ left: v.lazyAsync(make), op: v.literal("+") }),
      v.objectAsync({ left: v.lazyAsync(make), op: v.literal("-") }),
    ]);
  return v.lazyAsync(make);
}

const EXPRESSIONS = [
  ["sync", expressionSchema],
  ["async", asyncExpressionSchema],
  ["sync, made anew", newExpressionSchema],
  ["async, made anew", newAsyncExpressionSchema],
] as const;

for (const [kind, schemaOf] of EXPRESSIONS) {
  Deno.test(`A part that several options of a union try is read a bounded number of times: ${kind}`, async () => {
    let read = 0;
    const leaf = v.custom<number>((value) => {
      if (++read > 20_000) throw new Error("Read too often");
      return value === 1;
    });
    const app = new App();
    app.post("/", { body: schemaOf(leaf) }, async (_request, { body }) => body);
    await using client = new TestClient(app);
    for (const [value, status] of [[1, 200], [2, 422]] as const) {
      const text = `${'{"left":'.repeat(30)}${value}${',"op":"-"}'.repeat(30)}`;
      const response = await client.post("/", { body: text, headers: { "content-type": "application/json" } });
      assertEquals([response.status, status === 200], [status, await response.text() === text]);
      assert(read < 20_000, `${read} reads`);
      read = 0;
    }
  });
}

/** Both parts of the intersection read the same key, so that each of its faults is found twice. */
function nestedIntersection(leaf: v.GenericSchema): v.GenericSchema {
  const both = v.lazy(() => v.intersect([v.object({ of: part }), v.object({ of: part })]));
  const part: v.GenericSchema = v.lazy((input) => typeof input === "object" ? both : leaf);
  return both;
}

Deno.test("Faults that both parts of an intersection find do not double with each level", async () => {
  const depth = 24;
  const text = (value: number) => `${'{"of":'.repeat(depth)}${value}${"}".repeat(depth)}`;
  const { errors } = await refuse(nestedIntersection(v.string()), text(1));
  assert(errors.length > 0);
  for (const { path } of errors) assertEquals(path, Array(depth).fill("of"));
  const app = new App();
  app.post("/", { body: nestedIntersection(v.number()) }, async (_request, { body }) => body);
  await using client = new TestClient(app);
  const reply = await client.post("/", { body: text(1), headers: { "content-type": "application/json" } });
  assertEquals(await reply.text(), text(1));
});

Deno.test("A small body with many faults deep in it is looked through up to a bound", async () => {
  const counter = new FaultCounter();
  const { errors } = await refuse(commentSchema(counter.message), commentsOf(15, 20_000));
  assert(errors.length > 100 && counter.found < 15_000, `${counter.found} faults were found`);
});

Deno.test("A form's part that several options of a union try is read a bounded number of times", async () => {
  let read = 0;
  const leaf = v.pipe(v.number(), v.check(() => ++read > 0));
  const app = new App();
  app.post("/", { form: Form(v.object({ of: v.lazy(() => expressionSchema(leaf)) })) }, async () => 1);
  await using client = new TestClient(app);
  const fields = new URLSearchParams();
  const lefts = (depth: number) => "[left]".repeat(depth);
  for (let depth = 0; depth < 25; depth++) fields.set(`of${lefts(depth)}[op]`, "-");
  fields.set(`of${lefts(25)}`, "5");
  assertEquals((await client.post("/", { body: fields })).status, 200);
  assert(read < 20_000, `${read} reads`);
});
