import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { HTTPError } from "../../../src/base/errors.ts";
import { coerceForm, isRepeated } from "../../../src/schema/coerce_form.ts";
import { type FormEntry, FormTree } from "../../../src/schema/form.ts";
import { runSchema, type Schema } from "../../../src/schema/schema.ts";
import { toValidator } from "../../../src/schema/check.ts";
import * as v from "valibot";

const NO_FILE = new File([], "", { type: "application/octet-stream" });
const CAT = new File(["cat"], "cat.png", { type: "image/png" });

/**
 * The fields of a query string, for short; `?` is a file, and `!` the empty file of an unused
 * field.
 */
function entriesOf(text: string): FormEntry[] {
  const values: Record<string, File> = { "?": CAT, "!": NO_FILE };
  return [...new URLSearchParams(text)].map(([name, value]) => [name, values[value] ?? value]);
}

/** The output of a schema for fields, or the places of its faults. */
async function read(schema: Schema, text: string): Promise<unknown> {
  const form = coerceForm(schema, "it");
  const tree = FormTree.of(entriesOf(text));
  const { issues, value } = await runSchema(form, tree);
  const compiled = await toValidator(form).validate(tree);
  assertEquals(compiled.issues === undefined, issues === undefined, "compiled");
  if (!issues) {
    assertEquals(compiled.value, value);
    return plain(value);
  }
  return issues.map(({ path }) => path?.map(({ key }) => String(key)).join(".") ?? "");
}

/** The same without the difference of prototypes. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof File) return value;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}

const Address = v.object({ street: v.string(), zip: v.optional(v.number()) });

const table: Record<string, [schema: Schema, cases: [text: string, result: unknown][]]> = {
  "texts by the kind of the schema": [
    v.object({ n: v.number(), b: v.boolean(), i: v.bigint(), l: v.literal(5), p: v.picklist(["a", 1]), s: v.string() }),
    [
      ["n=1e3&b=1&i=12345678901234567890&l=5&p=1&s=5", {
        n: 1000,
        b: true,
        i: 12345678901234567890n,
        l: 5,
        p: 1,
        s: "5",
      }],
      ["n=0x1&b=yes&i=1.0&l=6&p=2&s=", ["n", "b", "i", "l", "p"]],
      ["n=.5&b=on&i=1&l=05&p=01.0&s=on", { n: 0.5, b: true, i: 1n, l: 5, p: 1, s: "on" }],
      ["n=-007.50e1&b=on&i=1&l=5&p=1&s=.5", { n: -75, b: true, i: 1n, l: 5, p: 1, s: ".5" }],
      ["n=5.&b=On&i=007&l=%2B5&p=1.&s=", ["n", "b", "i", "l", "p"]],
      ["n=.&b=off&i=1&l=5&p=1&s=", ["n", "b"]],
      ["", ["n", "b", "i", "l", "p", "s"]],
    ],
  ],
  "no null for a schema that is there to refuse it": [
    v.object({ a: v.nonNullable(v.nullable(v.number(), 5)), b: v.optional(v.nonNullish(v.nullish(v.string(), "d"))) }),
    [["a=1&b=x", { a: 1, b: "x" }], ["a=null", ["a"]], ["a=1&b=null", { a: 1, b: "null" }]],
  ],
  "null where the schema is nullable": [
    v.object({ a: v.nullable(v.number()), b: v.nullish(v.string()) }),
    [["a=null&b=null", { a: null, b: null }], ["a=1&b=x", { a: 1, b: "x" }], ["a=", ["a"]]],
  ],
  "an object by brackets": [
    v.object({ address: Address }),
    [
      ["address[street]=High+St&address[zip]=5", { address: { street: "High St", zip: 5 } }],
      ["address[zip]=x", ["address.street", "address.zip"]],
      ["address=x", ["address"]],
      ["address=x&address[street]=y", ["address"]],
      ["address.street=x", ["address"]],
      ["", ["address"]],
    ],
  ],
  "an optional object": [
    v.object({ address: v.optional(Address) }),
    [["", {}], ["address=", {}], ["address[street]=", { address: { street: "" } }], ["address[zip]=1", [
      "address.street",
    ]]],
  ],
  "a list by repeated names, by brackets, and by places": [
    v.object({ tags: v.array(v.number()) }),
    [
      ["tags=1", { tags: [1] }],
      ["tags=1&tags=2", { tags: [1, 2] }],
      ["tags[]=1&tags[]=2", { tags: [1, 2] }],
      ["tags=1&tags[]=2", { tags: [1, 2] }],
      ["tags[1]=2&tags[0]=1", { tags: [1, 2] }],
      ["tags[10]=3&tags[9]=2&tags[2]=1", { tags: [1, 2, 3] }],
      ["tags=0&tags[5]=1", { tags: [0, 1] }],
      ["tags=1&tags=x", ["tags.1"]],
      ["tags[a]=1", ["tags"]],
      ["tags[-1]=1", ["tags"]],
      ["tags[01]=1", ["tags"]],
      ["tags[9999999999999]=1", ["tags"]],
      ["tags[0][1]=1", ["tags.0"]],
      ["tags[][a]=1", ["tags"]],
      ["", ["tags"]],
    ],
  ],
  "a list of objects": [
    v.object({ items: v.optional(v.array(v.object({ name: v.string(), price: v.number() })), []) }),
    [
      ["items[0][name]=a&items[0][price]=1&items[1][price]=2&items[1][name]=b", {
        items: [{ name: "a", price: 1 }, { name: "b", price: 2 }],
      }],
      ["items[0][name]=a&items[7][price]=x", ["items.0.price", "items.1.name", "items.1.price"]],
      ["", { items: [] }],
    ],
  ],
  "a tuple": [
    v.object({ at: v.tuple([v.number(), v.string()]) }),
    [["at=1&at=x", { at: [1, "x"] }], ["at[0]=1&at[1]=x", { at: [1, "x"] }], ["at=1", ["at.1"]]],
  ],
  "lists of lists, by places": [
    v.object({ rows: v.array(v.array(v.number())) }),
    [["rows[0]=1&rows[0]=2&rows[1]=3", { rows: [[1, 2], [3]] }], ["rows[0][0]=1&rows[1][]=2", { rows: [[1], [2]] }]],
  ],
  "a record": [
    v.object({ prices: v.record(v.string(), v.number()) }),
    [
      ["prices[a]=1&prices[b c]=2", { prices: { a: 1, "b c": 2 } }],
      ["prices[__proto__]=1&prices[constructor]=2&prices[toString]=3", { prices: { toString: 3 } }],
      ["prices[__proto__][x]=1", { prices: {} }],
      ["prices[a]=x", ["prices.a"]],
    ],
  ],
  "whatever else was sent, where the schema is loose": [
    v.looseObject({ a: v.number() }),
    [
      ["a=1&b=2&c=3&c=4", { a: 1, b: "2", c: ["3", "4"] }],
      ["a=1&d[e]=5&f[0]=6", { a: 1, d: { e: "5" }, f: ["6"] }],
      ["a=1&__proto__=x&__proto__[y]=z", { a: 1 }],
    ],
  ],
  "nothing else, where the schema is strict": [v.strictObject({ a: v.string() }), [["a=1", { a: "1" }], ["a=1&b=2", [
    "b",
  ]]]],
  "the rest of an object": [v.objectWithRest({ a: v.string() }, v.number()), [["a=1&b=2", { a: "1", b: 2 }], [
    "b=x&a=",
    [
      "b",
    ],
  ]]],
  "anything": [
    v.any(),
    [
      ["", {}],
      ["a=1&b=2&b=3&c[d]=4&e=?", { a: "1", b: ["2", "3"], c: { d: "4" }, e: CAT }],
      ["a=1&a[b]=2", { a: { "": ["1"], b: "2" } }],
    ],
  ],
  "an option of a variant": [
    v.variant("kind", [
      v.object({ kind: v.literal("circle"), radius: v.number() }),
      v.object({ kind: v.literal("box"), width: v.number(), depth: v.optional(v.number()) }),
      v.object({ kind: v.literal(3) }),
    ]),
    [
      ["kind=circle&radius=2", { kind: "circle", radius: 2 }],
      ["kind=box&width=1&depth=", { kind: "box", width: 1 }],
      ["kind=3", { kind: 3 }],
      ["kind=box&radius=2", ["width"]],
      ["kind=x", ["kind"]],
      ["", ["kind"]],
    ],
  ],
  "a union of objects": [
    v.union([v.object({ a: v.number() }), v.object({ b: v.boolean() })]),
    [["a=1", { a: 1 }], ["b=1", { b: true }]],
  ],
  "a single value or a list": [
    v.object({ a: v.union([v.number(), v.array(v.number())]) }),
    [["a=1", { a: 1 }], ["a=1&a=2", { a: [1, 2] }], ["a=x", ["a"]]],
  ],
  "objects that intersect": [
    v.intersect([v.object({ a: v.number() }), v.object({ b: v.optional(v.number()) })]),
    [["a=1&b=2", { a: 1, b: 2 }], ["a=1&b=", { a: 1 }], ["b=2", ["a"]]],
  ],
  "a file": [
    v.object({ f: v.file(), g: v.optional(v.pipe(v.file(), v.mimeType(["image/png"]), v.maxSize(2))) }),
    [
      ["f=?", { f: CAT }],
      ["f=?&g=!", { f: CAT }],
      ["f=!", ["f"]],
      ["f=text", ["f"]],
      ["f=", ["f"]],
      ["", ["f"]],
      ["f=?&f=?", ["f"]],
      ["f=?&g=?", ["g"]],
    ],
  ],
  "files": [
    v.object({ files: v.array(v.file()) }),
    [["files=?&files=?", { files: [CAT, CAT] }], ["files=!", { files: [] }], ["files[]=?", { files: [CAT] }], [
      "files=?&files=!",
      { files: [CAT] },
    ], ["files[0]=?&files[1]=x", ["files.1"]]],
  ],
  "blobs, and instances of File": [
    v.object({ a: v.blob(), b: v.instance(File), c: v.instance(Blob) }),
    [["a=?&b=?&c=?", { a: CAT, b: CAT, c: CAT }], ["a=x&b=!&c=?", ["a", "b"]]],
  ],
  "a file where text is wanted": [v.object({ s: v.string(), n: v.number() }), [["s=?&n=?", ["s", "n"]]]],
  "what is left empty, by what the schema takes": [
    v.object({
      number: v.optional(v.number()),
      withDefault: v.optional(v.number(), 7),
      exact: v.exactOptional(v.boolean()),
      nullish: v.nullish(v.number()),
      text: v.optional(v.string()),
      email: v.optional(v.pipe(v.string(), v.email())),
      date: v.optional(v.pipe(v.string(), v.isoDate(), v.toDate())),
      option: v.optional(v.picklist(["a", "b"])),
      orEmpty: v.optional(v.picklist(["", "b"])),
    }),
    [
      ["number=&withDefault=&exact=&nullish=&text=&email=&date=&option=&orEmpty=", {
        withDefault: 7,
        text: "",
        orEmpty: "",
      }],
      ["number=+&exact=+&email=+", ["number", "exact", "email"]],
    ],
  ],
  "names with a prototype": [
    v.object({ constructor: v.optional(v.string()), toString: v.string() }),
    [["toString=x", { toString: "x" }], ["", ["toString"]], ["constructor=a&toString=b", {
      constructor: "a",
      toString: "b",
    }]],
  ],
  "a default, a fallback, a pipe": [
    v.pipe(
      v.object({ a: v.optional(v.number(), 3), b: v.fallback(v.number(), 4), c: v.pipe(v.number(), v.minValue(5)) }),
      v.check(({ a }) => a !== 13, "No"),
      v.transform(({ a, b, c }) => [a, b, c]),
    ),
    [["c=5", [3, 4, 5]], ["a=1&b=x&c=6", [1, 4, 6]], ["a=13&c=5", [""]]],
  ],
  "an optional form": [v.optional(v.object({ a: v.optional(v.string()) })), [["", {}], ["a=1", { a: "1" }]]],
};

for (const [name, [schema, cases]] of Object.entries(table)) {
  Deno.test(`A form contains ${name}`, async () => {
    for (const [text, result] of cases) assertEquals(await read(schema, text), result, text);
  });
}

Deno.test("A recursive form is coerced as deep as it was sent", async () => {
  interface Comment {
    text: string;
    replies?: Comment[] | undefined;
  }
  const Comment: v.GenericSchema<Comment> = v.object({
    text: v.string(),
    replies: v.optional(v.array(v.lazy(() => Comment))),
  });
  assertEquals(await read(Comment, "text=a&replies[0][text]=b&replies[0][replies][0][text]=c"), {
    text: "a",
    replies: [{ text: "b", replies: [{ text: "c" }] }],
  });
  assertEquals(await read(Comment, "text=a&replies[0][replies][0][x]=c"), [
    "replies.0.text",
    "replies.0.replies.0.text",
  ]);
});

Deno.test("Async schemas are awaited; their sync steps decide about empty fields", async () => {
  const free = v.checkAsync(async (name: string) => name !== "taken", "Taken");
  const schema = v.objectAsync({
    name: v.pipeAsync(v.string(), free),
    email: v.optionalAsync(v.pipeAsync(v.string(), v.email(), free)),
    note: v.optionalAsync(v.pipeAsync(v.string(), free)),
    again: v.optionalAsync(v.lazyAsync(async () => v.objectAsync({ n: v.number() }))),
  });
  assertEquals(await read(schema, "name=a&email=&note=&again[n]=1"), { name: "a", note: "", again: { n: 1 } });
  assertEquals(await read(schema, "name=taken&email=x&again[n]=x"), ["name", "email", "again.n"]);
});

Deno.test("A fallback around a lazy schema is kept", async () => {
  const late = v.fallback(v.lazy(() => v.number()), 5);
  assertEquals(await read(v.object({ a: late }), "a=x"), { a: 5 });
  assertEquals(await read(v.object({ a: late }), "a=7"), { a: 7 });
});

Deno.test("A name that was sent several times is recognized", () => {
  const inputs = (schema: Schema, text: string): unknown[] => {
    const result = runSchema(coerceForm(schema, "it"), FormTree.of(entriesOf(text)));
    return (result as { issues?: { input: unknown }[] }).issues?.map(({ input }) => isRepeated(input)) ?? [];
  };
  const scalars = { s: v.string(), n: v.nullable(v.number()), u: v.union([v.number(), v.boolean()]), f: v.file() };
  assertEquals(inputs(v.object(scalars), "s=1&s=2&n=1&n=2&u=1&u=2&f=?&f=?"), [true, true, true, true]);
  assertEquals(inputs(v.object(scalars), "s=1&n=x&u=x&f=x"), [false, false, false]);
});

Deno.test("A name with malformed brackets is one plain name", () => {
  const names = ["a[", "a]", "a[b", "a[b]c", "[a]", "[]", "a[b][", "a[[b]]", "a[]b", "a[][]", "", "a b", "a.b"];
  const tree = FormTree.of(names.map((name) => [name, "x"]));
  assertEquals([...tree.children.keys()], names);
});

Deno.test("A name that nests too deeply is a 400", () => {
  const nested = (depth: number) => FormTree.of([[`a${"[b]".repeat(depth - 1)}`, "x"]]);
  nested(32);
  assertEquals(assertThrows(() => nested(33), HTTPError).status, 400);
  assertEquals(assertThrows(() => nested(100_000), HTTPError).status, 400);
});

Deno.test("A schema that no form can satisfy is refused at its declaration", () => {
  const refused: Record<string, [Schema, string]> = {
    date: [v.object({ a: v.date() }), "v.toDate()"],
    map: [v.object({ a: v.map(v.string(), v.string()) }), "map"],
    instance: [v.object({ a: v.instance(URL) }), "instance"],
    "a single value": [v.string(), "declare an object"],
    "a list": [v.array(v.string()), "declare an object"],
    "a file alone": [v.file(), "declare an object"],
    "brackets in a name": [v.object({ "tags[]": v.array(v.string()) }), '"tags[]"'],
  };
  for (const [name, [schema, message]] of Object.entries(refused)) {
    assertThrows(() => coerceForm(schema, "the form of it"), TypeError, message, name);
  }
  for (
    const schema of [
      v.optional(v.object({})),
      v.union([v.object({}), v.object({})]),
      v.unknown(),
      v.custom(() => true),
    ]
  ) {
    coerceForm(schema, "it");
  }
});

Deno.test("A schema is coerced once", () => {
  const schema = v.object({ a: v.array(v.number()) });
  assertStrictEquals(coerceForm(schema, "a"), coerceForm(schema, "b"));
});
