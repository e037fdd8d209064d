// Random schemas of the kinds that are compiled, as applications have them.

import * as v from "valibot";
import type { Random } from "../../support/random.ts";

/** A random schema, nested at most so deep; each of its parts is compiled. */
export function commonSchema(random: Random, depth: number): v.GenericSchema {
  const part = () => commonSchema(random, depth - 1);
  if (depth === 0 || random.oneIn(4)) return random.pick(leaves(random))();
  const nestings: (() => v.GenericSchema)[] = [
    () => object(random, part),
    () => object(random, part),
    () => object(random, part),
    () => object(random, part),
    () => v.pipe(object(random, part), v.title("Title")),
    () => v.array(part()),
    () => v.pipe(v.array(part()), v.minLength(random.below(3)), v.maxLength(random.below(4))),
    () => v.union(Array.from({ length: 1 + random.below(4) }, part)),
    () => v.nullable(part()),
    () => v.nullable(part(), random.pick([null, "default", 1]) as never),
  ];
  return random.pick(nestings)();
}

function leaves(random: Random): (() => v.GenericSchema)[] {
  const [low, high] = [random.below(4) - 2, random.below(6)];
  return [
    () => v.string(),
    () => v.number(),
    () => v.boolean(),
    () => v.null(),
    () => v.unknown(),
    () => v.bigint(),
    () => v.picklist(["a", "b", 1]),
    () => v.enum({ A: "a", One: 1 }),
    () => v.pipe(v.string(), v.minLength(high), v.maxLength(high + 2)),
    () => v.pipe(v.string(), v.regex(/^[a-z]+$/)),
    () => v.pipe(v.string(), v.minValue("a"), v.maxValue("abc")),
    () => v.pipe(v.number(), v.integer(), v.minValue(low)),
    () => v.pipe(v.number(), v.minValue(low), v.maxValue(high)),
    () => v.pipe(v.bigint(), v.minValue(BigInt(low)), v.maxValue(BigInt(high))),
  ];
}

function object(random: Random, part: () => v.GenericSchema): v.GenericSchema {
  const keys = ["a", "b", "c", "kind", "length", "a-b", "constructor", "2", "1"];
  return v.object(Object.fromEntries(random.list(4, () => [random.pick(keys), entry(random, part())])));
}

function entry(random: Random, schema: v.GenericSchema): v.GenericSchema {
  const given = random.pick(["default", 1, null, undefined]) as never;
  const wraps: (() => v.GenericSchema)[] = [
    () => schema,
    () => schema,
    () => schema,
    () => v.optional(schema),
    () => v.optional(schema, given),
    () => v.optional(schema, () => given),
    () => v.exactOptional(schema),
    () => v.exactOptional(schema, given),
    () => v.nullish(schema),
    () => v.nullish(schema, given),
    () => v.undefinedable(schema),
    () => v.undefinedable(schema, given),
  ];
  return random.pick(wraps)();
}
