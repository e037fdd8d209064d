// Section 4 and 13 of the contract: text of a path, query, header or cookie is converted by the
// schema's own kind.

import { assertEquals } from "@std/assert";
import { App } from "@webfw/core";
import { TestClient, type TestReply } from "@webfw/core/testing";
import * as v from "valibot";

/** The four places of text. */
const SOURCES = ["path", "query", "header", "cookie"] as const;
type Source = (typeof SOURCES)[number];

/** Text that a header can carry, and that fetch does not trim. */
const CARRIES: Record<Source, (text: string) => boolean> = {
  path: (text) => text !== "" && text !== "." && text !== "..",
  query: () => true,
  header: (text) => /^[\x21-\x7e]+$/.test(text),
  cookie: (text) => /^[\x21-\x2b\x2d-\x3a\x3c-\x7e]*$/.test(text),
};

class Echo implements AsyncDisposable {
  readonly #client: TestClient;

  constructor(schema: v.GenericSchema | v.GenericSchemaAsync) {
    const app = new App();
    const show = (value: unknown) => typeof value === "bigint" ? { bigint: String(value) } : { value };
    app.get("/path/{x}", { params: { x: schema } }, async (_request, { x }) => show(x));
    app.get("/query", { query: { x: schema } }, async (_request, { x }) => show(x));
    app.get("/header", { headers: { x: schema } }, async (_request, { headers }) => show(headers.x));
    app.get("/cookie", { cookies: { x: schema } }, async (_request, { cookies }) => show(cookies.x));
    this.#client = new TestClient(app);
  }

  send(source: Source, text: string): TestReply {
    if (source === "path") return this.#client.get(`/path/${encodeURIComponent(text)}`);
    if (source === "query") return this.#client.get("/query", { query: { x: text } });
    if (source === "header") return this.#client.get("/header", { headers: { x: text } });
    return this.#client.get("/cookie", { cookies: { x: text } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}

function rule(
  title: string,
  schema: v.GenericSchema | v.GenericSchemaAsync,
  taken: [string, unknown][],
  refused: string[],
) {
  Deno.test(title, async () => {
    await using echo = new Echo(schema);
    for (const source of SOURCES) {
      for (const [text, value] of taken) {
        if (!CARRIES[source](text)) continue;
        const expected = typeof value === "bigint" ? { bigint: String(value) } : { value };
        assertEquals(await echo.send(source, text).json<unknown>(), expected, `${source} ${JSON.stringify(text)}`);
      }
      for (const text of refused) {
        if (!CARRIES[source](text)) continue;
        const response = await echo.send(source, text);
        assertEquals(response.status, 422, `${source} ${JSON.stringify(text)}`);
        const { errors } = await response.json();
        assertEquals([errors[0].in, errors[0].path], [source, ["x"]], JSON.stringify(text));
      }
    }
  });
}

rule(
  "Numbers in text are JSON's number grammar, finite",
  v.number(),
  [
    ["0", 0],
    ["7", 7],
    ["-7", -7],
    ["1.5", 1.5],
    ["-0.5", -0.5],
    ["5.0", 5],
    ["1e3", 1000],
    ["1E3", 1000],
    ["1e+3", 1000],
    ["1e-3", 0.001],
    ["-0", 0],
    ["9007199254740993", 9007199254740992],
    ["1e308", 1e308],
  ],
  [
    "",
    " ",
    " 1",
    "1 ",
    "\t1",
    "1\n",
    "+5",
    ".5",
    "5.",
    "007",
    "-007",
    "00",
    "0x10",
    "0b1",
    "0o7",
    "1e",
    "e3",
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "-Infinity",
    "1_000",
    "1,5",
    "1,000",
    "one",
    "--1",
    "1-",
    "1n",
    "true",
    "null",
    "[1]",
    "\u0661",
    "１",
    "1\u0000",
    "1e1e1",
    "- 1",
  ],
);

rule(
  "Integers may be written 5.0",
  v.pipe(v.number(), v.integer()),
  [["5", 5], ["5.0", 5], ["-5.000", -5], ["1e3", 1000], ["50e-1", 5]],
  ["5.5", "1e-3", "", "x", "1e999"],
);

rule(
  "The steps of a pipe bound a number",
  v.pipe(v.number(), v.minValue(1), v.maxValue(100), v.transform((n) => n * 2)),
  [["1", 2], ["100", 200], ["1.5", 3]],
  ["0", "101", "0.999", "x"],
);

rule(
  "bigints are digits without leading zeros",
  v.bigint(),
  [["0", 0n], ["-7", -7n], ["9007199254740993", 9007199254740993n], ["-" + "9".repeat(400), -BigInt("9".repeat(400))]],
  ["", " 1", "+1", "007", "-007", "1.0", "1e3", "0x10", "1n", "x", "--1", "true", "-"],
);

rule(
  "Booleans are true, false, 1 and 0, nothing else",
  v.boolean(),
  [["true", true], ["1", true], ["false", false], ["0", false]],
  ["", "TRUE", "True", "yes", "no", "on", "off", "t", "f", "2", "-1", " true", "true ", "1.0", "null", "01"],
);

rule(
  "Strings are taken as they are",
  v.string(),
  [["a", "a"], ["1", "1"], ["true", "true"], ["null", "null"], ["é €", "é €"], [" a ", " a "], [
    "a+b&c=d/e?",
    "a+b&c=d/e?",
  ]],
  [],
);

rule("An empty text is a string", v.string(), [["", ""]], []);

rule(
  "A picklist takes its options",
  v.picklist(["a", "b", "1"]),
  [["a", "a"], ["1", "1"]],
  ["", "A", "c", "a,b", "ab", "0"],
);

rule(
  "A picklist of numbers takes what is written as one of them",
  v.picklist([1, 2.5, "auto"]),
  [["1", 1], ["2.5", 2.5], ["2.50", 2.5], ["1e0", 1], ["auto", "auto"]],
  ["", "2", "01", "+1", "true"],
);

enum Size {
  Small,
  Large = "large",
}

rule("An enum takes its values", v.enum(Size), [["0", 0], ["large", "large"]], ["Small", "Large", "1", ""]);

rule("A literal of a string", v.literal("a"), [["a", "a"]], ["", "A", "b", " a"]);
rule("A literal of a number", v.literal(5), [["5", 5], ["5.0", 5]], ["05", "6", "", "5 "]);
rule("A literal of a boolean", v.literal(true), [["true", true], ["1", true]], ["false", "0", "yes"]);
rule("A literal of a bigint", v.literal(5n), [["5", 5n]], ["5.0", "05", "6"]);

rule(
  "null is the text null where the schema is nullable",
  v.nullable(v.number()),
  [["null", null], ["1", 1]],
  ["", "NULL", "Null", "nil", "undefined"],
);
rule("A nullish number takes null and numbers", v.nullish(v.number()), [["null", null], ["0", 0]], ["", "undefined"]);
rule("null is an ordinary text where the schema is not nullable", v.string(), [["null", "null"]], []);
rule("A null schema takes the text null", v.null(), [["null", null]], ["", "0", "false"]);

rule(
  "A union takes what one of its options takes, the first one first",
  v.union([v.number(), v.boolean(), v.string()]),
  [["1", 1], ["true", true], ["0", 0], ["x", "x"], ["0x1", "0x1"]],
  [],
);
rule("A union without a string refuses the rest", v.union([v.number(), v.literal("all")]), [["1", 1], ["all", "all"]], [
  "x",
  "",
  "true",
]);

rule(
  "A date is text where the schema starts from a string",
  v.pipe(v.string(), v.isoTimestamp(), v.toDate()),
  [["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"], ["2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"]],
  ["", "2026", "yesterday", "2026-13-02T03:04:05Z", "1767322800000"],
);

rule(
  "A schema that transforms text itself is left alone",
  v.pipe(v.string(), v.trim(), v.transform((text) => text.length), v.number(), v.maxValue(3)),
  [["abc", 3], [" a ", 1], ["5", 1]],
  ["abcd"],
);

rule(
  "A lazy schema is converted by what it stands for",
  v.lazy(() => v.pipe(v.number(), v.integer())),
  [["5", 5]],
  ["5.5", "x", ""],
);

rule(
  "An intersection converts for each of its parts",
  v.intersect([v.pipe(v.number(), v.minValue(1)), v.pipe(v.number(), v.maxValue(5))]),
  [["1", 1], ["5", 5]],
  ["0", "6", "x"],
);

rule(
  "A fallback stands in for what is not valid",
  v.fallback(v.pipe(v.number(), v.integer()), 1),
  [["7", 7], ["x", 1], ["1.5", 1], ["", 1]],
  [],
);

rule(
  "Async schemas are allowed: they convert as the sync ones do",
  v.pipeAsync(v.number(), v.checkAsync(async (n) => n < 10, "Too much")),
  [["7", 7]],
  ["11", "x", "0x1", ""],
);
rule("An async nullable union of text", v.nullableAsync(v.unionAsync([v.number(), v.boolean()])), [
  ["null", null],
  ["1", 1],
  ["true", true],
], ["x", ""]);
