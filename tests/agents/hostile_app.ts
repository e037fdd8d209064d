// An application with tools that are hard to describe: each has something that made some client
// refuse the whole list.

import { App, dependency, html, HTTPError, text } from "@webfw/core";
import * as v from "valibot";

/** A call of a tool, and the result that a client gets. */
export interface ExpectedCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  /** The structured result. */
  readonly structured?: unknown;
  /** The content, where it is not the structured result as text. */
  readonly content?: readonly unknown[];
  /** The text of a failure. */
  readonly failure?: string;
}

interface Tree {
  readonly name: string;
  readonly children: readonly Tree[];
}

const Tree: v.GenericSchema<Tree> = v.pipe(
  v.object({ name: v.string(), children: v.array(v.lazy(() => Tree)) }),
  v.title("Tree"),
);
const Cat = v.object({ kind: v.literal("cat"), lives: v.number() });
const Dog = v.object({ kind: v.literal("dog"), tricks: v.array(v.string()) });
const Pet = v.pipe(v.variant("kind", [Cat, Dog]), v.title("Pet"));
/** The same title as another one, and keys that mean something to JSON Schema or to JavaScript. */
const Odd = v.pipe(
  v.object({ $ref: v.string(), constructor: v.number(), properties: v.record(v.string(), v.boolean()) }),
  v.title("Tree"),
);

const TREE = { name: "root", children: [{ name: "leaf", children: [] }] };
const PIXEL = Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10);
const LONG = "aNameThatIsLongerThanAnyClientTakesBecauseItSaysAllThatThereIsToSayOfIt";

/** Makes the application. */
export function hostileApp(): App {
  const app = new App({ title: "Hostile", version: "1.0.0", description: "Tools that are hard to tell of." });

  // Results that are not objects, or not at all times.
  app.get("/list", { response: v.array(Cat), tool: true }, async function list() {
    return [{ kind: "cat", lives: 9 }];
  });
  app.get("/tuple", { response: v.strictTuple([v.string(), v.number()]), tool: true }, async function tuple() {
    return ["one", 1];
  });
  app.get("/rest", { response: v.tupleWithRest([v.string()], v.number()), tool: true }, async function rest() {
    return ["one", 1, 2];
  });
  app.get("/bigint", { response: v.bigint(), tool: true }, async function big() {
    return 12345678901234567890n;
  });
  app.get("/date", { response: v.object({ at: v.date() }), tool: true }, async function date() {
    return { at: new Date(0) };
  });
  app.get("/nullable", { response: v.nullable(Cat), tool: true }, async function nullable() {
    return null;
  });
  app.get("/optional", { response: v.optional(Cat), tool: true }, async function optional() {
    return undefined;
  });
  app.get("/any", { response: v.any(), tool: true }, async function anything() {
    return [1, null];
  });
  app.get("/scores", { response: v.record(v.string(), v.number()), tool: true }, async function scores() {
    return { ada: 1 };
  });
  app.get("/variant", { response: Pet, tool: true }, async function pet() {
    return { kind: "dog", tricks: ["roll"] };
  });
  app.get("/either", { response: v.union([Cat, v.array(Dog)]), tool: true }, async function either() {
    return [{ kind: "dog", tricks: [] }];
  });
  app.post("/tree", { body: Tree, response: Tree, tool: true }, async function grow(_request, { body }) {
    return body;
  });
  app.post("/odd", { body: Odd, response: Odd, tool: true }, async function odd(_request, { body }) {
    return body;
  });
  app.post("/both", {
    body: v.object({ tree: Tree, odd: v.optional(Odd), amount: v.bigint() }),
    response: v.strictObject({ amount: v.bigint(), pattern: v.pipe(v.string(), v.regex(/^[\w-.]+$/i)) }),
    tool: true,
  }, async function both(_request, { body }) {
    return { amount: body.amount + 1n, pattern: "a-b.C" };
  });

  // No model: the reply has no schema.
  app.get("/open/object", { tool: true }, async function openObject() {
    return { a: 1 };
  });
  app.get("/open/list", { tool: true }, async function openList() {
    return [1, 2];
  });
  app.get("/open/text", { tool: true }, async function openText() {
    return "text";
  });
  app.delete("/open/{id}", { tool: true }, async function openNothing() {});
  app.get("/open/plain", { tool: true }, async function plain() {
    return text("plain");
  });
  app.get("/open/html", { tool: true }, async function page() {
    return html("<p>page</p>");
  });
  app.get("/open/image", { tool: true }, async function image() {
    return new Blob([PIXEL], { type: "image/png" });
  });
  app.get("/open/sound", { tool: true }, async function sound() {
    return new Blob([PIXEL], { type: "audio/wav" });
  });
  app.get("/file", { response: v.pipe(v.blob(), v.mimeType(["image/png"])), tool: true }, async function file() {
    return new Blob([PIXEL], { type: "image/png" });
  });
  app.get("/open/bytes", { tool: true }, async function bytes() {
    return new Blob([PIXEL]);
  });

  // Arguments from everywhere.
  const paging = dependency(
    { query: { limit: v.optional(v.pipe(v.number(), v.integer(), v.maxValue(10)), 3) } },
    async (_request, { limit }) => ({ limit }),
  );
  app.get("/search/{kind}/{rest...}", {
    params: { kind: v.picklist(["a", "b"]) },
    query: {
      tag: v.optional(v.array(v.string()), []),
      since: v.optional(v.pipe(v.string(), v.isoTimestamp(), v.toDate())),
      id: v.optional(v.bigint()),
      loud: v.nullable(v.boolean()),
    },
    headers: { authorization: v.string() },
    deps: { page: paging },
    tool: true,
  }, async function search(_request, { headers, page, ...given }) {
    return { ...given, by: headers.authorization, limit: page.limit };
  });

  // Names.
  app.get("/long/1", { operationId: `${LONG}1`, tool: true }, async () => ({ long: 1 }));
  app.get("/long/2", { operationId: `${LONG}2`, tool: true }, async () => ({ long: 2 }));
  app.get("/accents", { operationId: "Zoë's café.list", tool: true }, async () => ({ accents: true }));
  app.get("/letters", { operationId: "получить", tool: true }, async () => ({ letters: true }));
  app.get("/unnamed/{id}", { tool: true }, async (_request, { id }) => ({ id }));
  app.get("/named", {
    tool: { name: "named-by_hand", description: "By hand.", annotations: { title: "Hand", destructiveHint: true } },
  }, async () => ({ named: true }));

  // Failures.
  app.get("/fail/{status}", { params: { status: v.number() }, tool: true }, async function fail(_request, { status }) {
    if (status === 500) throw new Error("the cause");
    throw new HTTPError(status, "As you wish", { extensions: { balance: 30 } });
  });
  return app;
}

/** Calls of all its tools. */
export const CALLS: readonly ExpectedCall[] = [
  { name: "list", structured: { result: [{ kind: "cat", lives: 9 }] } },
  { name: "tuple", structured: { result: ["one", 1] } },
  { name: "rest", structured: { result: ["one", 1, 2] } },
  { name: "big", structured: { result: "12345678901234567890" } },
  { name: "date", structured: { at: "1970-01-01T00:00:00.000Z" } },
  { name: "nullable", structured: { result: null } },
  { name: "optional", structured: {} },
  { name: "anything", structured: { result: [1, null] } },
  { name: "scores", structured: { ada: 1 } },
  { name: "pet", structured: { kind: "dog", tricks: ["roll"] } },
  { name: "either", structured: { result: [{ kind: "dog", tricks: [] }] } },
  { name: "grow", arguments: { body: TREE }, structured: TREE },
  {
    name: "odd",
    arguments: { body: { $ref: "#/x", constructor: 1, properties: { a: true } } },
    structured: { $ref: "#/x", constructor: 1, properties: { a: true } },
  },
  { name: "both", arguments: { body: { tree: TREE, amount: "41" } }, structured: { amount: "42", pattern: "a-b.C" } },
  { name: "openObject", structured: { a: 1 } },
  { name: "openList", structured: { result: [1, 2] } },
  { name: "openText", structured: { result: "text" } },
  { name: "openNothing", arguments: { id: "1" }, content: [{ type: "text", text: "Done" }] },
  { name: "plain", content: [{ type: "text", text: "plain" }] },
  { name: "page", content: [{ type: "text", text: "<p>page</p>" }] },
  { name: "image", content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] },
  { name: "file", content: [{ type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] },
  { name: "sound", content: [{ type: "audio", data: "iVBORw0KGgo=", mimeType: "audio/wav" }] },
  {
    name: "bytes",
    content: [{
      type: "resource",
      resource: { uri: "/open/bytes", mimeType: "application/octet-stream", blob: "iVBORw0KGgo=" },
    }],
  },
  {
    name: "search",
    arguments: { kind: "b", rest: "c d/é", tag: ["x", "y z"], since: "1970-01-01T00:00:00Z", id: "7", loud: null },
    structured: {
      kind: "b",
      rest: "c d/é",
      tag: ["x", "y z"],
      since: "1970-01-01T00:00:00.000Z",
      id: "7",
      loud: null,
      by: "Bearer ada",
      limit: 3,
    },
  },
  {
    name: "search",
    arguments: { kind: "c", rest: "..", limit: 11, loud: true },
    failure: [
      "422 Invalid input: The request does not fit its description",
      '- kind: Invalid type: expected ("a" | "b")',
      "- rest: Must not hold a dot segment",
      "- limit: Invalid value: expected <=10",
    ].join("\n"),
  },
  {
    name: "search",
    arguments: { kind: "c", rest: "d", limit: 11, loud: true },
    failure: [
      "422 Invalid input: The request does not fit its description",
      '- kind: Invalid type: expected ("a" | "b")',
      "- limit: Invalid value: expected <=10",
    ].join("\n"),
  },
  { name: LONG.slice(0, 64), structured: { long: 1 } },
  { name: `${LONG.slice(0, 63)}2`, structured: { long: 2 } },
  { name: "Zoe_s_cafe_list", structured: { accents: true } },
  { name: "tool", structured: { letters: true } },
  { name: "getUnnamedId", arguments: { id: "7" }, structured: { id: "7" } },
  { name: "named-by_hand", structured: { named: true } },
  { name: "fail", arguments: { status: 409 }, failure: "409 Conflict: As you wish\nbalance: 30" },
  { name: "fail", arguments: { status: 500 }, failure: "500 Internal Server Error" },
];
