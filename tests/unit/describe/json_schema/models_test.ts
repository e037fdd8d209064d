import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { JsonSchema } from "../../../../src/schema/json_schema.ts";
import { faultOf, Models } from "../../../../src/describe/json_schema/models.ts";
import { number, object, text } from "./support/described.ts";
import type { Schema } from "../../../../src/schema/schema.ts";
import * as v from "valibot";

enum Color {
  Red = "red",
}

/** Schemas of every kind that is plain, around another one. */
function around(inner: v.GenericSchema): Schema[] {
  const object = { inner, other: v.optional(inner) };
  return [
    v.array(inner),
    v.exactOptional(inner),
    v.intersect([inner, v.any()]),
    v.looseObject(object),
    v.looseTuple([inner]),
    v.nonNullable(v.nullable(inner)),
    v.nonNullish(v.nullish(inner)),
    v.nonOptional(v.optional(inner)),
    v.nullable(inner),
    v.nullish(inner),
    v.object(object),
    v.objectWithRest(object, inner),
    v.optional(inner),
    v.record(v.string(), inner),
    v.strictObject(object),
    v.strictTuple([inner]),
    v.tuple([inner]),
    v.tupleWithRest([inner], inner),
    v.undefinedable(inner),
    v.union([inner, v.null()]),
    v.variant("kind", [v.object({ kind: v.literal("a"), inner })]),
    v.pipe(v.object(object), v.title("Model"), v.check(() => true), v.readonly()),
    v.fallback(v.object(object), {} as never),
  ];
}

const LEAVES: v.GenericSchema[] = [
  v.any(),
  v.bigint(),
  v.boolean(),
  v.enum(Color),
  v.literal(1n),
  v.null(),
  v.number(),
  v.picklist(["a", 1]),
  v.pipe(v.string(), v.isoTimestamp(), v.toDate()),
  v.pipe(v.string(), v.regex(/(?<![a-z])\p{L}/iu)),
  v.string(),
  v.unknown(),
];

Deno.test("A model without a fault can be described, in both forms", () => {
  const carried = [...LEAVES, ...LEAVES.flatMap(around), ...around(v.object({ deep: v.array(v.string()) }))];
  for (const schema of carried) {
    assertEquals([faultOf("input", schema, "x"), faultOf("output", schema, "x")], [undefined, undefined]);
    const models = new Models("#/$defs/");
    models.jsonInput(schema);
    models.jsonOutput(schema);
    models.definitions();
  }
});

Deno.test("A part that JSON cannot carry is a fault of a model, wherever the part is", () => {
  for (const foreign of [v.map(v.string(), v.any()), v.set(v.any()), v.function(), v.symbol(), v.promise()]) {
    for (const schema of [foreign, ...around(foreign), v.lazy(() => foreign)]) {
      for (const form of ["input", "output"] as const) {
        assertStringIncludes(String(faultOf(form, schema, "x")?.message), `the kind "${foreign.type}" cannot be`);
      }
    }
  }
});

Deno.test("A schema of an unknown kind is described as anything", () => {
  for (const schema of [v.custom(() => true), { ...v.string(), type: "of the future" }]) {
    assertEquals(faultOf("output", schema, "x"), undefined);
    assertEquals(new Models("#/$defs/").jsonOutput(schema), {});
  }
});

const BASE = "#/components/schemas/";

function ref(name: string): JsonSchema {
  return { $ref: BASE + name };
}

Deno.test("A titled model is described once, wherever its schema is used", () => {
  const Author = v.pipe(v.object({ name: v.string() }), v.title("Author"));
  const models = new Models(BASE);
  const list = models.jsonOutput(v.array(Author));
  const pair = models.jsonInput(v.object({ one: Author, other: v.nullable(Author), again: v.cache(Author) }));
  const sent = models.jsonOutput(Author);
  assertEquals(models.definitions(), { Author: { title: "Author", ...object({ name: text }) } });
  assertEquals(list, { type: "array", items: ref("Author") });
  assertEquals(
    pair,
    object({ one: ref("Author"), other: { anyOf: [ref("Author"), { type: "null" }] }, again: ref("Author") }),
  );
  assertEquals(sent, ref("Author"));
});

Deno.test("The input and the output of a model have different names only where they differ", () => {
  const Same = v.pipe(v.object({ id: v.number() }), v.title("Same"));
  const Book = v.pipe(v.object({ title: v.string(), copies: v.optional(v.number(), 1), same: Same }), v.title("Book"));
  const models = new Models(BASE);
  assertEquals([models.jsonInput(Book), models.jsonOutput(Book), models.jsonInput(Same)].length, 3);
  const { Book: sent, BookInput: accepted, ...others } = models.definitions();
  assertEquals(accepted?.required, ["title", "same"]);
  assertEquals(sent?.required, ["title", "copies", "same"]);
  assertEquals(Object.keys(others), ["Same"]);
});

Deno.test("A model that is only accepted has its plain name", () => {
  const Book = v.pipe(v.object({ copies: v.optional(v.number(), 1) }), v.title("Book"));
  const models = new Models(BASE);
  models.jsonInput(Book);
  assertEquals(Object.keys(models.definitions()), ["Book"]);
});

Deno.test("Models that refer to models with two forms have two forms as well, also in circles", () => {
  const Author: v.GenericSchema = v.pipe(v.object({ books: v.array(v.lazy(() => Book)) }), v.title("Author"));
  const Book = v.pipe(v.object({ copies: v.optional(v.number(), 1), by: Author }), v.title("Book"));
  const models = new Models(BASE);
  models.jsonInput(Author);
  models.jsonOutput(Author);
  const { AuthorInput, BookInput, Author: author, Book: book } = models.definitions();
  assertEquals([AuthorInput, author].map((model) => model?.properties?.books), [
    { type: "array", items: ref("BookInput") },
    { type: "array", items: ref("Book") },
  ]);
  assertEquals([BookInput, book].map((model) => model?.properties?.by), [ref("AuthorInput"), ref("Author")]);
});

Deno.test("Different schemas of one title get numbers, and equal ones are one model", () => {
  const make = (entry: v.GenericSchema) => v.pipe(v.object({ entry }), v.title("Page"));
  const [texts, numbers, textsAgain] = [make(v.string()), make(v.number()), make(v.string())];
  const models = new Models(BASE);
  const given = [texts, numbers, textsAgain].map((schema) => models.jsonOutput(schema));
  assertEquals(Object.keys(models.definitions()), ["Page", "Page2"]);
  assertEquals(given, [ref("Page"), ref("Page2"), ref("Page")]);
});

Deno.test("Models that refer to different models of one title are different", () => {
  const make = (entry: v.GenericSchema) =>
    v.pipe(v.object({ inner: v.pipe(v.object({ entry }), v.title("Inner")) }), v.title("Outer"));
  const models = new Models(BASE);
  const given = [make(v.string()), make(v.number()), make(v.string())].map((schema) => models.jsonOutput(schema));
  const definitions = models.definitions();
  assertEquals(given, [ref("Outer"), ref("Outer2"), ref("Outer")]);
  assertEquals(definitions.Outer2, { title: "Outer2", ...object({ inner: ref("Inner2") }) });
});

Deno.test("The forms of one model share its number, and no number takes the name of another model", () => {
  const book = (entry: v.GenericSchema) =>
    v.pipe(v.object({ entry: v.optional(entry, null as never) }), v.title("Book"));
  const taken = v.pipe(v.object({ taken: v.string() }), v.title("Book2"));
  const models = new Models(BASE);
  const schemas = [book(v.nullable(v.string())), book(v.nullable(v.number())), taken];
  const given = schemas.map((schema) => [models.jsonInput(schema), models.jsonOutput(schema)]);
  models.definitions();
  assertEquals(given, [
    [ref("BookInput"), ref("Book")],
    [ref("BookInput3"), ref("Book3")],
    [ref("Book2"), ref("Book2")],
  ]);
});

Deno.test("A model in another pipe stays the same model", () => {
  const Author = v.pipe(v.object({ name: v.string() }), v.title("Author"));
  const models = new Models(BASE);
  const described = models.jsonInput(v.pipe(Author, v.description("Who wrote it")));
  const checked = models.jsonInput(v.pipe(Author, v.check(() => true), v.brand("Author")));
  const titled = models.jsonInput(v.pipe(Author, v.title("Author"), v.minEntries(1)));
  const renamed = models.jsonInput(v.pipe(Author, v.title("Editor")));
  const optional = models.jsonInput(v.object({ by: v.optional(Author, { name: "Anonymous" }) }));
  const { Author: author, Editor, ...others } = models.definitions();
  assertEquals(described, { description: "Who wrote it", allOf: [ref("Author")] });
  assertEquals(checked, ref("Author"));
  assertEquals(titled, { title: "Author", allOf: [ref("Author")], minProperties: 1 });
  assertEquals(renamed, ref("Editor"));
  assertEquals(optional.properties?.by, { default: { name: "Anonymous" }, allOf: [ref("Author")] });
  assertEquals(Editor, { title: "Editor", allOf: [ref("Author")] });
  assertEquals([author?.title, others], ["Author", {}]);
});

Deno.test("The title of a plain schema is only its caption", () => {
  const models = new Models(BASE);
  const captioned = models.jsonInput(v.object({ name: v.pipe(v.string(), v.title("Name")) }));
  const optional = models.jsonInput(v.pipe(v.optional(v.nullable(v.number())), v.title("Count")));
  assertEquals(captioned, object({ name: { title: "Name", ...text } }));
  assertEquals(optional, { title: "Count", type: ["number", "null"], format: "double" });
  const color = models.jsonInput(v.pipe(v.picklist(["red", "blue"]), v.title("Color")));
  assertEquals(models.definitions(), { Color: { title: "Color", type: "string", enum: ["red", "blue"] } });
  assertEquals(color, ref("Color"));
});

Deno.test("Titles become names that OpenAPI allows", () => {
  const titles = ["Book of the month", "Größe", "書籍", "a.b-c_d", "/x/", "_", "書", "__proto__"];
  const models = new Models(BASE);
  for (const [index, title] of titles.entries()) {
    models.jsonInput(v.pipe(v.object({ [`key${index}`]: v.string() }), v.title(title), v.description(title)));
  }
  const names = Object.entries(models.definitions());
  for (const [name] of names) assertMatch(name, /^[a-zA-Z0-9._-]+$/);
  assertEquals(
    Object.fromEntries(names.map(([name, { description }]) => [description, name])),
    {
      "Book of the month": "Book_of_the_month",
      "Größe": "Gro_e",
      "書籍": "Model",
      "a.b-c_d": "a.b-c_d",
      "/x/": "x",
      "_": "Model2",
      "書": "Model3",
      ["__proto__"]: "proto",
    },
  );
});

Deno.test("An object without a title is named by its use, and other schemas are described in place", () => {
  const models = new Models(BASE);
  const Plain = v.object({ id: v.number() });
  const named = models.jsonOutput(Plain, "getBookResponse");
  const again = models.jsonInput(Plain, "createBookBody");
  const within = models.jsonOutput(v.object({ plain: Plain }));
  const list = models.jsonOutput(v.array(v.object({ id: v.string() })), "listResponse");
  const count = models.jsonOutput(v.number(), "countResponse");
  assertEquals(models.definitions(), {
    getBookResponse: { title: "getBookResponse", ...object({ id: { ...number, format: "double" } }) },
  });
  assertEquals([named, again], [ref("getBookResponse"), ref("getBookResponse")]);
  assertEquals(within, object({ plain: ref("getBookResponse") }));
  assertEquals(list, { type: "array", items: object({ id: text }) });
  assertEquals(count, { ...number, format: "double" });
});

Deno.test("A schema that contains itself is a model, with or without a title", () => {
  const tree: v.GenericSchema = v.object({ children: v.array(v.lazy(() => tree)) });
  const list: v.GenericSchema = v.nullable(v.object({ next: v.lazy(() => list) }));
  const models = new Models(BASE);
  const given = [
    models.jsonOutput(tree, "getTree"),
    models.jsonOutput(v.object({ "first-tree": tree, list }), "getForest"),
    models.jsonOutput(list),
  ];
  assertEquals(models.definitions(), {
    getForest: { title: "getForest", ...object({ "first-tree": ref("getTree"), list: ref("getForestList") }) },
    getForestList: { title: "getForestList", anyOf: [object({ next: ref("getForestList") }), { type: "null" }] },
    getTree: { title: "getTree", ...object({ children: { type: "array", items: ref("getTree") } }) },
  });
  assertEquals(given, [ref("getTree"), ref("getForest"), ref("getForestList")]);
});

Deno.test("Models that contain one another are described, each once", () => {
  const A: v.GenericSchema = v.pipe(v.object({ b: v.optional(v.lazy(() => B)) }), v.title("A"));
  const B: v.GenericSchema = v.object({ a: v.lazy(() => A), b: v.lazy(() => B) });
  const models = new Models("#/$defs/");
  const given = models.jsonInput(A);
  assertEquals(models.definitions(), {
    A: { title: "A", ...object({ "b?": { $ref: "#/$defs/AB" } }) },
    AB: object({ a: { $ref: "#/$defs/A" }, b: { $ref: "#/$defs/AB" } }),
  });
  assertEquals(given, { $ref: "#/$defs/A" });
});

Deno.test("The options of a variant are models that its discriminator maps to, in a document", () => {
  const Cat = v.object({ kind: v.literal("cat"), lives: v.number() });
  const Dog = v.pipe(v.object({ kind: v.picklist(["dog", "wolf"]) }), v.title("Dog"));
  const Bird = v.variant("sings", [
    v.object({ kind: v.literal("bird"), sings: v.literal("yes") }),
    v.object({ kind: v.literal("bird"), sings: v.literal("no") }),
  ]);
  const Pet = v.pipe(v.variant("kind", [Cat, v.pipe(Dog, v.description("Barks")), Bird]), v.title("Pet"));
  const models = new Models(BASE);
  models.jsonInput(Pet);
  const definitions = models.definitions();
  assertEquals(definitions.Pet, {
    title: "Pet",
    oneOf: [ref("PetCat"), ref("PetDog"), ref("PetBird")],
    discriminator: {
      propertyName: "kind",
      mapping: {
        cat: `${BASE}PetCat`,
        dog: `${BASE}PetDog`,
        wolf: `${BASE}PetDog`,
        bird: `${BASE}PetBird`,
      },
    },
  });
  assertEquals(definitions.PetDog, { title: "PetDog", description: "Barks", allOf: [ref("Dog")] });
  assertEquals(definitions.PetBird?.discriminator?.mapping, {
    yes: `${BASE}PetBirdYes`,
    no: `${BASE}PetBirdNo`,
  });
});

Deno.test("The schema of a tool has no discriminator, and the options of a variant in place", () => {
  const Pet = v.variant("kind", [v.object({ kind: v.literal("cat") }), v.object({ kind: v.literal("dog") })]);
  const models = new Models("#/$defs/");
  assertEquals(models.jsonInput(Pet), {
    oneOf: [object({ kind: { type: "string", const: "cat" } }), object({ kind: { type: "string", const: "dog" } })],
  });
  assertEquals(models.definitions(), {});
});

Deno.test("Only models with references are defined, sorted by name", () => {
  const models = new Models(BASE);
  const titled = (title: string) => v.pipe(v.object({ [title]: v.string() }), v.title(title));
  models.jsonInput(v.array(v.union([titled("b"), titled("C"), titled("a10"), titled("a2")])));
  assertEquals(Object.keys(models.definitions()), ["C", "a10", "a2", "b"]);
});

Deno.test("The names are the same in every run", () => {
  const names = () => {
    const models = new Models(BASE);
    const schemas = ["x", "y", "z"].map((key) =>
      v.pipe(v.object({ [key]: v.optional(v.string(), "") }), v.title("Row"))
    );
    const given = schemas.flatMap((schema) => [models.jsonInput(schema), models.jsonOutput(schema)]);
    return JSON.stringify([models.definitions(), given]);
  };
  assertEquals(names(), names());
  assert(names().includes("RowInput3"));
});
