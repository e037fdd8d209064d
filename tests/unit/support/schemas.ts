// Random schemas and values, to compare two ways of validating.

import * as v from "valibot";
import type { Random } from "./random.ts";

/** The kinds that a schema may contain. */
export interface SchemaOptions {
  /**
   * Whether kinds may be used that read JSON differently: bigints, and objects that an array could
   * pass for.
   */
  readonly isPlain: boolean;
}

/** A random schema, nested at most so deep. */
export function randomSchema(random: Random, depth: number, options: SchemaOptions): v.GenericSchema {
  const schema = depth === 0
    ? leaf(random, options)
    : random.oneIn(3)
    ? leaf(random, options)
    : nested(random, depth, options);
  if (random.oneIn(8)) return v.fallback(schema, random.pick(["fallback", 5, null]) as never);
  if (random.oneIn(8)) return v.pipe(schema, v.check((value) => value !== "a", "Not a"));
  if (random.oneIn(12)) return v.pipe(schema, v.title("Title"), v.metadata({ a: 1 }));
  if (random.oneIn(12)) return v.pipe(schema, v.transform((value) => value === undefined ? "none" : [value]));
  if (random.oneIn(16)) return v.pipe(schema, v.readonly());
  return schema;
}

function leaf(random: Random, { isPlain }: SchemaOptions): v.GenericSchema {
  const leaves: (() => v.GenericSchema)[] = [
    () => v.string(),
    () => v.string("Not a string"),
    () => v.number(),
    () => v.boolean(),
    () => v.null(),
    () => v.any(),
    () => v.unknown(),
    () => v.undefined(),
    () => v.literal(random.pick(["a", 1, true])),
    () => v.picklist(["a", "b", "1"]),
    () => v.picklist([1, "a"]),
    () => v.enum({ A: "a", One: 1 }),
    () => v.never(),
    () => v.pipe(v.string(), v.minLength(1), v.maxLength(3)),
    () => v.pipe(v.string(), v.regex(/^[a-z]*$/)),
    () => v.pipe(v.string(), v.trim(), v.nonEmpty("Empty")),
    () => v.pipe(v.string(), v.transform((text) => text.length), v.number(), v.maxValue(2)),
    () => v.pipe(v.number(), v.integer()),
    () => v.pipe(v.number(), v.minValue(0), v.maxValue(5)),
    () => v.pipe(v.unknown(), v.transform(Number), v.number(), v.minValue(1)),
    () => v.pipe(v.string(), v.toUpperCase(), v.picklist(["A", "B"])),
    () => v.custom<string>((value) => typeof value === "string"),
  ];
  if (!isPlain) leaves.push(() => v.bigint(), () => v.date(), () => v.pipe(v.bigint(), v.minValue(0n)), () => v.nan());
  return random.pick(leaves)();
}

function nested(random: Random, depth: number, options: SchemaOptions): v.GenericSchema {
  const part = () => randomSchema(random, depth - 1, options);
  const entries = (): Record<string, v.GenericSchema> => ({
    // An object that an array could pass for reads JSON differently.
    ...(options.isPlain ? { z: v.literal("z") } : {}),
    ...Object.fromEntries(random.list(3, () => [random.pick(["a", "b", "c", "length"]), entry(random, part)])),
  });
  const options_ = () => [part(), ...random.list(2, part)];
  const nestings: (() => v.GenericSchema)[] = [
    () => v.object(entries()),
    () => v.looseObject(entries()),
    () => v.strictObject(entries()),
    () => v.objectWithRest(entries(), part()),
    () => v.array(part()),
    () => v.pipe(v.array(part()), v.minLength(1), v.maxLength(2)),
    () => v.tuple([part(), part()]),
    () => v.looseTuple([part()]),
    () => v.strictTuple([part(), part()]),
    () => v.tupleWithRest([part()], part()),
    () => v.union(options_()),
    () => v.intersect([part(), part()]),
    () => v.nullable(part()),
    () => v.nullable(part(), random.pick([null, "default"]) as never),
    () => v.optional(part()),
    () => v.optional(part(), random.pick(["a", 1, null]) as never),
    () => v.optional(part(), (() => "made") as never),
    () => v.nullish(part(), "default" as never),
    () => v.undefinedable(part()),
    () => v.nonOptional(v.optional(part())),
    () => v.nonNullable(v.nullable(part())),
    () => v.nonNullish(v.nullish(part())),
    () => v.lazy(() => inner),
    () =>
      v.variant("kind", [
        v.object({ kind: v.literal("a"), a: entry(random, part) as v.GenericSchema }),
        v.object({ kind: v.literal("b"), b: part() }),
      ]),
  ];
  if (!options.isPlain) {
    nestings.push(
      () => v.record(v.string(), part()),
      () => v.record(v.picklist(["a", "b"]), part()),
      () => v.set(part()),
    );
  }
  const inner = part();
  return random.pick(nestings)();
}

function entry(random: Random, part: () => v.GenericSchema): v.GenericSchema {
  const schema = part();
  const wraps: (() => v.GenericSchema)[] = [
    () => schema,
    () => schema,
    () => v.optional(schema),
    () => v.optional(schema, "default" as never),
    () => v.optional(schema, (() => "made") as never),
    () => v.exactOptional(schema),
    () => v.exactOptional(schema, "default" as never),
    () => v.nullish(schema, null),
    () => v.pipe(v.optional(schema), v.check(() => true)),
    () => v.fallback(v.optional(schema), random.pick([undefined, "fallback"]) as never),
    () => v.fallback(v.nullish(schema, "default" as never), "fallback" as never),
  ];
  return random.pick(wraps)();
}

/** A random value: JSON, and any other value where that is allowed. */
export function randomValue(random: Random, depth: number, options: SchemaOptions): unknown {
  const part = () => randomValue(random, depth - 1, options);
  const leaves: unknown[] = ["", "a", "b", "abc", "abcd", " a ", "1", "z", 0, 1, -1, 1.5, 5, 6, true, false, null];
  if (!options.isPlain) leaves.push(undefined, NaN, Infinity, -0, 5n, -5n, new Date(0), new Set(["a"]), () => 1);
  if (depth === 0 || random.oneIn(3)) return random.pick(leaves);
  if (random.oneIn(2)) return random.list(3, part);
  const keys = ["a", "b", "c", "z", "kind", "length"];
  const object: Record<string, unknown> = options.isPlain || !random.oneIn(6) ? {} : Object.create(null);
  if (random.oneIn(2)) object.z = "z";
  if (random.oneIn(2)) object.kind = random.pick(["a", "b", "c"]);
  for (let count = random.below(4); count > 0; count--) object[random.pick(keys)] = part();
  return object;
}
