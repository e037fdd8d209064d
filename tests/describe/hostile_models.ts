// Models that are hard to describe. For each, a route of the hostile application takes a body and
// returns it.

import * as v from "valibot";

/** The input and the output of a route. They are equal, unless validation changes the value. */
export interface Exchanged {
  readonly takes: v.GenericSchema;
  readonly gives?: v.GenericSchema;
}

const int = v.pipe(v.number(), v.integer());
const Instant = v.pipe(v.string(), v.isoTimestamp(), v.toDate());

interface Tree {
  value: number;
  children: Tree[];
}
const Tree: v.GenericSchema<Tree> = v.pipe(
  v.object({ value: v.number(), children: v.array(v.lazy(() => Tree)) }),
  v.title("Tree"),
);

interface UntitledTree {
  left?: UntitledTree | undefined;
}
const UntitledTree: v.GenericSchema<UntitledTree> = v.object({ left: v.optional(v.lazy(() => UntitledTree)) });

interface Folder {
  name: string;
  files: File[];
}
interface File {
  name: string;
  folder?: Folder | undefined;
}
const Folder: v.GenericSchema<Folder> = v.pipe(
  v.object({ name: v.string(), files: v.array(v.lazy(() => File)) }),
  v.title("Folder"),
);
const File: v.GenericSchema<File> = v.pipe(
  v.object({ name: v.string(), folder: v.optional(v.lazy(() => Folder)) }),
  v.metadata({ title: "File" }),
);

const Cat = v.pipe(v.object({ kind: v.literal("cat"), lives: int }), v.title("Cat"));
const Dog = v.pipe(v.object({ kind: v.picklist(["dog", "wolf"]), name: v.string() }), v.title("Dog"));
const Square = v.object({ kind: v.literal("square"), side: v.number() });
const Circle = v.object({ kind: v.literal("circle"), radius: v.number() });

enum Colour {
  Red = "red",
  Green = "green",
}

const Address = v.pipe(v.object({ street: v.string(), city: v.string() }), v.title("Address"));
const Person = v.pipe(v.object({ name: v.string(), age: v.optional(int, 18), address: Address }), v.title("Person"));

/** By the last part of their path. */
export const hostileModels: Readonly<Record<string, Exchanged>> = {
  // Text and numbers
  "trimmed": { takes: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(20)) },
  "lower": { takes: v.pipe(v.string(), v.toLowerCase(), v.regex(/^[a-z]+$/)) },
  "flagged": { takes: v.pipe(v.string(), v.regex(/^[a-z]+$/i)) },
  "email": { takes: v.pipe(v.string(), v.email()) },
  "formats": {
    takes: v.object({
      uuid: v.pipe(v.string(), v.uuid()),
      url: v.pipe(v.string(), v.url()),
      ip: v.pipe(v.string(), v.ip()),
      day: v.pipe(v.string(), v.isoDate()),
    }),
  },
  "checked": { takes: v.pipe(v.number(), v.check((value) => value % 2 === 0, "Odd")) },
  "bounded": { takes: v.pipe(v.number(), v.minValue(-1.5), v.maxValue(1e9), v.multipleOf(0.5)) },
  "bigint": { takes: v.bigint() },
  "bigint-literal": { takes: v.literal(9007199254740993n) },
  "big-object": { takes: v.pipe(v.object({ big: v.pipe(v.bigint(), v.minValue(0n)) }), v.title("Big")) },
  // Dates
  "date": { takes: Instant, gives: v.date() },
  "event": {
    takes: v.pipe(v.object({ at: Instant, until: v.nullable(Instant) }), v.title("Event")),
    gives: v.pipe(v.object({ at: v.date(), until: v.nullable(v.date()) }), v.title("Event")),
  },
  // Missing values
  "optional": { takes: v.object({ a: v.optional(v.string()), b: v.nullish(int), c: v.exactOptional(v.boolean()) }) },
  "defaulted": {
    takes: v.pipe(v.object({ a: v.optional(v.string(), "x"), b: v.nullish(int, 7) }), v.title("Defaulted")),
  },
  "undefinedable": { takes: v.object({ a: v.undefinedable(v.string()) }) },
  "optional-body": { takes: v.optional(v.object({ a: v.string() })) },
  "nullable-body": { takes: v.nullable(Person) },
  "fallback": { takes: v.object({ a: v.fallback(v.string(), "b") }) },
  "anything": { takes: v.unknown() },
  "null": { takes: v.null() },
  // Objects
  "person": { takes: Person },
  "people": { takes: v.array(Person) },
  "part-of-person": { takes: v.partial(v.object(Person.entries)) },
  "described-person": { takes: v.object({ boss: v.pipe(Person, v.description("Whom to ask")) }) },
  "person-of-same-name": { takes: v.pipe(v.object({ nickname: v.string() }), v.title("Person")) },
  "person-of-same-shape": { takes: v.pipe(v.object({ nickname: v.string() }), v.title("Person")) },
  "strict": { takes: v.pipe(v.strictObject({ a: v.string() }), v.title("Strict")) },
  "loose": { takes: v.pipe(v.looseObject({ a: v.string() }), v.title("Loose")) },
  "with-rest": { takes: v.objectWithRest({ a: v.string() }, int) },
  "awkward-keys": {
    takes: v.object({ constructor: v.string(), "a/b~c": int, "": v.boolean(), type: v.string() }),
  },
  "record": { takes: v.record(v.string(), int) },
  "record-of-picklist": { takes: v.record(v.picklist(["a", "b"]), v.optional(int)) },
  "record-of-pattern": { takes: v.record(v.pipe(v.string(), v.regex(/^x-/)), Person) },
  // Names
  "named-problem": { takes: v.pipe(v.object({ mine: v.string() }), v.title("Problem")) },
  "named-issue": { takes: v.pipe(v.object({ number: int }), v.title("ValidationIssue")) },
  "named-oddly": { takes: v.pipe(v.object({ a: v.string() }), v.title("Größe/<T> ~ 100%")) },
  "named-prototype": { takes: v.pipe(v.object({ a: v.string() }), v.title("__proto__")) },
  "named-constructor": { takes: v.pipe(v.object({ a: v.string() }), v.title("constructor")) },
  // Lists
  "tuple": { takes: v.tuple([v.string(), int]) },
  "strict-tuple": { takes: v.pipe(v.strictTuple([v.string(), v.optional(int)]), v.title("Pair")) },
  "tuple-with-rest": { takes: v.tupleWithRest([v.string()], v.boolean()) },
  "nested-lists": { takes: v.pipe(v.array(v.array(v.pipe(v.array(int), v.length(2)))), v.minLength(1)) },
  // Alternatives
  "pet": { takes: v.pipe(v.variant("kind", [Cat, Dog]), v.title("Pet")) },
  "shape": { takes: v.variant("kind", [Square, Circle]) },
  "nested-variant": { takes: v.variant("kind", [v.variant("kind", [Cat, Dog]), Square]) },
  "union": { takes: v.union([v.string(), int, Person, v.null()]) },
  "intersection": { takes: v.intersect([v.object({ a: v.string() }), v.object({ b: int })]) },
  "enum": { takes: v.pipe(v.enum(Colour), v.title("Colour")) },
  "literals": { takes: v.picklist(["a", 1]) },
  // Recursion
  "tree": { takes: Tree },
  "untitled-tree": { takes: UntitledTree },
  "folder": { takes: Folder },
  // Transformations and marks
  "length": { takes: v.pipe(v.string(), v.transform((text) => text.length)), gives: v.number() },
  "to-number": { takes: v.pipe(v.string(), v.decimal(), v.toNumber(), v.maxValue(10)), gives: v.number() },
  "transformed": {
    takes: v.pipe(
      v.object({ n: v.pipe(v.string(), v.transform(Number), v.number(), v.finite()) }),
      v.title("Transformed"),
    ),
    gives: v.pipe(v.object({ n: v.number() }), v.title("Transformed")),
  },
  "branded": { takes: v.pipe(v.object({ a: v.pipe(v.string(), v.brand("A")) }), v.readonly(), v.title("Branded")) },
  "examples": {
    takes: v.pipe(
      v.object({ a: v.pipe(v.string(), v.examples(["x", "y"])) }),
      v.title("Examples"),
      v.examples([{ a: "x" }]),
    ),
  },
};
