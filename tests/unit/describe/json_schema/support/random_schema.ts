// Random schemas with values that mostly fit them, to compare descriptions with behaviour.

import * as v from "valibot";
import type { Random } from "../../../support/random.ts";
import { outline } from "./outline.ts";
import { randomFormat, randomNumber, randomText } from "./random_checks.ts";

/** Where values come from: the JSON of a client, or a handler's own values. */
export type Origin = "client" | "handler";

/** A random schema. */
export interface Case {
  readonly schema: v.GenericSchema;
  /** Whether JSON Schema can express everything that the schema checks. */
  readonly isExact: boolean;
  /** Makes a value that mostly fits, nested at most so deep; `undefined` for a key to leave out. */
  readonly make: (depth: number) => unknown;
}

const KEYS = ["a", "b", "c", "length"];

/** Makes random schemas for values of one origin. */
export class RandomSchemas {
  readonly #random: Random;
  readonly #origin: Origin;
  /** Objects in the making, which parts of them may refer to. */
  readonly #holders: Partial<Case>[] = [];

  constructor(random: Random, origin: Origin) {
    this.#random = random;
    this.#origin = origin;
  }

  /** A random schema, nested at most so deep. */
  any(depth: number): Case {
    const random = this.#random;
    const made = depth === 0 || random.oneIn(3) ? this.#leaf() : this.#nested(depth);
    return random.oneIn(4) ? this.#piped(made) : made;
  }

  #piped({ schema, isExact, make }: Case): Case {
    const random = this.#random;
    const pipes: (() => Case)[] = [
      () => ({ schema: v.pipe(schema, v.title(random.pick(["Book", "Author", "A title"]))), isExact, make }),
      () => ({ schema: v.pipe(schema, v.description("What it is"), v.examples(["x"])), isExact, make }),
      () => ({ schema: v.pipe(schema, v.metadata({ $comment: "A", $ref: "#/x", deprecated: true })), isExact, make }),
      () => ({ schema: v.pipe(schema, v.readonly()), isExact, make }),
      () => ({ schema: v.pipe(schema, v.brand("Branded")), isExact, make }),
      () => ({ schema: v.pipe(schema, v.check((value) => value !== "a", "Not a")), isExact: false, make }),
      () => ({ schema: v.pipe(schema, v.rawCheck(() => {})), isExact: false, make }),
      () => ({ schema: v.pipe(schema, v.transform((value) => [value])), isExact, make }),
      () => ({ schema: v.pipe(schema, v.transform((value) => value === "b" ? undefined : 1)), isExact: false, make }),
      () => ({ schema: v.pipe(schema, v.guard((value): value is unknown => value !== 5)), isExact: false, make }),
      () => ({ schema: v.pipe(v.unknown(), schema), isExact, make }),
      () => this.#fallback({ schema, isExact, make }),
      // The JSON form of a lazy schema does not reach behind a cache.
      () => ({ schema: schema.type === "lazy" ? schema : v.cache(schema, { maxSize: 1 }), isExact, make }),
      () => ({ schema: v.pipe(v.pipe(schema, v.title("Inner")), v.description("Again")), isExact, make }),
    ];
    return random.pick(pipes)();
  }

  /** Falls back to some output of the schema, as its type demands. */
  #fallback(made: Case): Case {
    const { output, issues } = v.safeParse(made.schema, this.#default(made.schema));
    return issues ? made : { ...made, schema: v.fallback(made.schema, output as undefined), isExact: true };
  }

  #leaf(): Case {
    const random = this.#random;
    const text = () => random.pick(["", "a", "b", "abc", "Abcd", " a ", "x-1", "12", "é", "ſ", "K"]);
    const number = () => random.pick([0, 1, -1, 1.5, 4, 5, 6, 10, 100]);
    const of = (schema: v.GenericSchema, make: Case["make"], isExact = true): Case => ({ schema, isExact, make });
    const bigint = () => this.#isClient ? random.pick(["5", "-7", "0", "05", "x"]) : random.pick([5n, -7n, 0n]);
    const leaves: (() => Case)[] = [
      () => of(v.string(), text),
      () => of(v.number(), number),
      () => of(v.boolean(), () => random.oneIn(2)),
      () => of(v.null(), () => null),
      () => of(v.any(), text),
      () => of(v.unknown(), number),
      () => of(v.never(), text),
      () => of(v.undefined(), () => undefined),
      () => of(v.bigint(), bigint),
      () => of(v.custom<string>((value) => typeof value === "string"), text, false),
      () => this.#constants(),
      () => this.#constants(),
      () => of(randomText(random), text),
      () => of(randomText(random), text),
      () => of(randomNumber(random), number),
      () => randomFormat(random),
      () => randomFormat(random),
      () => of(v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(2)), text, false),
      () => of(v.pipe(v.string(), v.toLowerCase(), v.regex(/^[a-z]+$/)), text, false),
      () => of(v.pipe(v.string(), v.toUpperCase(), v.picklist(["A", "B"])), text, false),
      () => of(v.pipe(v.string(), v.minLength(2), v.trimEnd()), text),
      () => of(v.pipe(v.string(), v.pipe(v.string(), v.trim()), v.maxLength(1)), text, false),
      () => of(v.pipe(v.string(), v.toNumber(), v.maxValue(20)), () => random.pick(["1", "20", "21", "x"]), false),
      () => of(v.pipe(v.string(), v.transform((given) => given.length), v.number(), v.maxValue(2)), text, false),
      () => of(v.pipe(v.string(), v.parseJson(), v.object({ a: v.number() })), () => '{"a":1}', false),
      () => of(v.pipe(v.unknown(), v.stringifyJson()), text, false),
      () => of(v.pipe(v.number(), v.toMinValue(3), v.toString()), number),
      () => of(v.pipe(v.number(), v.toMaxValue(3)), number),
      () => of(v.pipe(v.boolean(), v.toString()), () => true),
      () => of(v.pipe(v.string(), v.parseBoolean()), () => random.pick(["yes", "off", "perhaps"]), false),
      () => of(v.pipe(v.string(), v.isoDate(), v.toDate()), () => "2026-01-31", false),
      () => of(v.pipe(v.number(), v.toBigint()), number, false),
    ];
    if (!this.#isClient) {
      leaves.push(
        () => of(v.date(), () => new Date(random.below(2 ** 40))),
        () => of(v.pipe(v.date(), v.minValue(new Date(0))), () => new Date(random.below(2 ** 40))),
        () => of(v.instance(URL), () => new URL("https://example.com/")),
        () => of(v.void(), () => undefined),
        () => of(v.pipe(v.bigint(), v.toMinValue(3n)), bigint),
      );
    }
    return random.pick(leaves)();
  }

  #constants(): Case {
    const random = this.#random;
    const values = random.pick<readonly (string | number | bigint)[]>([
      ["a", "b", "abc"],
      [1, 4],
      ["a", 1],
      [5n, "b"],
      ["only"],
      [],
    ]);
    const json = (value: unknown) => this.#isClient && typeof value === "bigint" ? value.toString() : value;
    const literal = random.pick([true, "a", 1, 5n]);
    const cases: (() => Case)[] = [
      () => ({ schema: v.literal(literal), isExact: true, make: () => json(literal) }),
      () => ({ schema: v.picklist(values), isExact: true, make: () => json(random.pick([...values, "z"])) }),
      () => ({ schema: v.enum({ A: "a", One: 1 }), isExact: true, make: () => random.pick(["a", 1, "One"]) }),
    ];
    return random.pick(cases)();
  }

  #nested(depth: number): Case {
    const random = this.#random;
    const part = () => this.any(depth - 1);
    const nestings: (() => Case)[] = [
      () => this.#object(depth),
      () => this.#object(depth),
      () => this.#object(depth),
      () => this.#record(part()),
      () => this.#array(part()),
      () => this.#array(part()),
      () => this.#tuple([part(), part()], random.oneIn(2) ? part() : undefined),
      () => this.#choice([part(), part(), ...random.list(1, part)]),
      () => this.#variant(depth),
      () => this.#wrapped(part()),
      () => this.#wrapped(part()),
      () => this.#intersect(depth),
    ];
    return random.pick(nestings)();
  }

  /** An object; an open one says nothing of keys that it does not name. */
  #object(depth: number, ends: "open" | "closed" = "closed", keys = KEYS): Case {
    const random = this.#random;
    const holder: Partial<Case> = {};
    this.#holders.push(holder);
    // A handler's objects have a prototype, a client's are read without.
    const known = this.#isClient ? [...keys, "toString"] : keys;
    const parts = new Map(random.list(3, () => [random.pick(known), this.#entry(depth)] as const));
    this.#holders.pop();
    const entries = Object.fromEntries([...parts].map(([key, { schema }]) => [key, schema]));
    const rest = this.any(0);
    const objects: (() => v.GenericSchema)[] = [
      () => v.object(entries),
      () => v.pipe(v.object(entries), v.title(random.pick(["Book", "Author"]))),
      () => v.looseObject(entries),
      () => v.strictObject(entries),
      () => v.objectWithRest(entries, rest.schema),
      () => v.pipe(v.looseObject(entries), v.minEntries(1)),
      () => v.pipe(v.object(entries), v.minEntries(1), v.maxEntries(2)),
    ];
    const chosen = random.below(ends === "closed" ? objects.length : this.#isClient ? 3 : 1);
    const schema = objects[chosen]!();
    const make = (deep: number) => {
      const made = [...parts].map(([key, entry]) => [key, entry.make(deep - 1)] as const);
      const extra = random.oneIn(2) ? [["z", rest.make(0)] as const] : [];
      // A handler may set a key to undefined, a client cannot.
      const isSet = !this.#isClient && random.oneIn(2);
      return Object.fromEntries([...made, ...extra].filter(([, value]) => isSet || value !== undefined));
    };
    // Keys are counted after undeclared ones were removed.
    const isExact = chosen < 5 && (chosen !== 4 || rest.isExact) &&
      [...parts.values()].every((entry) => entry.isExact);
    Object.assign(holder, { schema, make });
    return { schema, isExact, make };
  }

  #entry(depth: number): Case {
    const random = this.#random;
    const holder = random.oneIn(5) ? this.#holders.at(-1 - random.below(this.#holders.length)) : undefined;
    if (holder) {
      const lazy = v.lazy(() => holder.schema ?? v.never());
      const schema = random.pick<() => v.GenericSchema>([
        () => v.optional(lazy),
        () => v.nullable(lazy),
        () => v.array(lazy),
      ])();
      const stop = schema.type === "array" ? [] : schema.type === "nullable" ? null : undefined;
      const more = (deep: number) => schema.type === "array" ? [holder.make!(deep)] : holder.make!(deep);
      return { schema, isExact: true, make: (deep) => deep <= 0 ? stop : more(deep - 1) };
    }
    const made = this.any(depth - 1);
    if (random.oneIn(2)) return made;
    const { schema, isExact } = made;
    const make = (deep: number) => random.oneIn(3) ? undefined : made.make(deep);
    const given = this.#default(schema);
    const wraps: (() => v.GenericSchema)[] = [
      () => v.optional(schema),
      () => v.optional(schema, given as never),
      () => v.optional(schema, (given === undefined ? undefined : () => given) as never),
      () => v.exactOptional(schema),
      () => v.exactOptional(schema, given as never),
      () => v.nullish(schema),
      () => v.nullish(schema, given as never),
      () => v.undefinedable(schema),
      () => v.pipe(v.optional(schema), v.description("Optional")),
      () => this.#fallback(made).schema,
      () => v.nonOptional(v.optional(schema, given as never)),
    ];
    return { schema: random.pick(wraps)(), isExact, make };
  }

  /** Some input of the schema; undefined if none was found. */
  #default(schema: v.GenericSchema): unknown {
    const given = this.#random.pick<unknown>(["a", 5, null, true, {}]);
    return v.is(schema, given) ? given : undefined;
  }

  #record({ schema: value, isExact, make }: Case): Case {
    const random = this.#random;
    const keys = random.pick([
      v.string(),
      v.pipe(v.string(), v.regex(/^[ab]$/)),
      v.pipe(v.string(), v.maxLength(1), v.title("Key")),
      v.picklist(["a", "b"]),
      v.literal("a"),
      v.union([v.literal("a"), v.literal("cc")]),
    ]);
    const key = () => random.pick(["a", "b", "cc"]);
    const making = (deep: number) =>
      Object.fromEntries(random.list(2, () => [key(), make(deep - 1)]).filter(([, made]) => made !== undefined));
    return { schema: v.record(keys, value), isExact, make: making };
  }

  #array({ schema: item, isExact, make }: Case): Case {
    const random = this.#random;
    const checks: (() => Case["schema"])[] = [
      () => v.array(item),
      () => v.pipe(v.array(item), v.minLength(1)),
      () => v.pipe(v.array(item), v.maxLength(1)),
      () => v.pipe(v.array(item), v.nonEmpty(), v.maxLength(2)),
      () => v.pipe(v.array(item), v.includes("a" as never)),
      () => v.pipe(v.array(item), v.excludes("a" as never)),
      () => v.pipe(v.array(item), v.everyItem((value) => value !== "b")),
      () => v.pipe(v.array(item), v.filterItems((value) => value !== "b"), v.minLength(1)),
      () => v.pipe(v.array(item), v.sortItems(() => 0), v.maxLength(1)),
      () => v.pipe(v.array(item), v.mapItems((value) => [value])),
    ];
    const chosen = random.below(checks.length);
    return {
      schema: checks[chosen]!(),
      isExact: isExact && chosen < 4,
      make: (deep) => random.list(2, () => this.#json(make(deep - 1))),
    };
  }

  #tuple(parts: readonly [Case, Case], rest: Case | undefined): Case {
    const random = this.#random;
    const items = parts.map(({ schema }) => random.oneIn(3) ? v.optional(schema) : schema);
    const tuples: (() => v.GenericSchema)[] = [
      () => v.tuple(items),
      () => v.looseTuple(items),
      () => v.strictTuple(items),
    ];
    const schema = rest ? v.tupleWithRest(items as [], rest.schema) : random.pick(tuples)();
    return {
      schema,
      isExact: [...parts, ...rest ? [rest] : []].every((part) => part.isExact),
      make: (deep) =>
        [...parts, ...rest ? [rest] : []].slice(0, random.oneIn(3) ? 1 : 3).map((part) =>
          this.#json(part.make(deep - 1))
        ),
    };
  }

  #choice(options: readonly Case[]): Case {
    return {
      schema: v.union(options.map(({ schema }) => schema)),
      isExact: options.every((option) => option.isExact),
      make: (deep) => this.#random.pick(options).make(deep - 1),
    };
  }

  #variant(depth: number): Case {
    const random = this.#random;
    const tags = random.pick<readonly (string | number | boolean)[]>([["a", "b", "c"], [1, 2, 3], ["a", "a", true]]);
    const option = (kind: string | number | boolean, key = "kind"): Case => {
      const extra = this.#entry(depth);
      const literal = typeof kind === "string" && random.oneIn(4) ? v.picklist([kind, kind + kind]) : v.literal(kind);
      const entries = { [key]: literal, more: extra.schema };
      const schema = random.oneIn(3) ? v.pipe(v.object(entries), v.title("Author")) : v.strictObject(entries);
      const make = (deep: number) => {
        const more = extra.make(deep - 1);
        return { [key]: kind, ...more === undefined ? {} : { more } };
      };
      return { schema, isExact: extra.isExact, make };
    };
    const options = tags.map((tag) => option(tag));
    const isNested = random.oneIn(4);
    const inner = ["x", "y"].map((kind) => {
      const schema = v.object({ kind: v.literal("n"), sub: v.literal(kind) });
      return { schema, isExact: true, make: () => ({ kind: "n", sub: kind }) };
    });
    const all = isNested ? [...options, ...inner] : options;
    const nested = v.variant("sub", inner.map(({ schema }) => schema));
    const schemas = [...options.map(({ schema }) => schema), ...isNested ? [nested] : []];
    return {
      schema: v.variant("kind", schemas as []),
      // Of several options with the same tag, the first that nearly fits is taken.
      isExact: all.every((part) => part.isExact) && new Set(tags).size === tags.length,
      make: (deep) => random.pick(all).make(deep),
    };
  }

  /**
   * valibot merges the outputs of the two parts for one key deeply, to values that no schema
   * describes.
   */
  #intersect(depth: number): Case {
    const keys = this.#isClient ? KEYS : ["d", "e"];
    const [one, other] = [this.#object(depth, "open"), this.#object(depth, "open", keys)];
    const schema = v.intersect([one.schema, other.schema]);
    return { schema, isExact: false, make: (deep) => ({ ...one.make(deep) as object, ...other.make(deep) as object }) };
  }

  #wrapped(made: Case): Case {
    const { schema, make } = made;
    const random = this.#random;
    const given = this.#default(schema);
    // What falls back to null is refused only then.
    const isExact = made.isExact && !outline(schema).includes("fallback");
    const wraps: (() => v.GenericSchema)[] = [
      () => v.nullable(schema),
      () => v.nullable(schema, given as never),
      () => v.nullish(schema, given as never),
      () => v.undefinedable(schema, given as never),
      () => v.nonNullable(v.nullable(schema)),
      () => v.nonNullable(v.nullable(schema, given as never)),
      () => v.nonNullish(v.nullish(schema)),
      () => v.nonNullable(schema),
      () => v.nonNullish(v.union([schema, v.null()])),
      () => v.lazy(() => schema),
      () => v.pipe(v.nullable(schema), v.title("Perhaps")),
    ];
    const isNull = () => random.oneIn(3);
    return { schema: random.pick(wraps)(), isExact, make: (deep) => isNull() ? null : make(deep) };
  }

  get #isClient(): boolean {
    return this.#origin === "client";
  }

  /** JSON has no `undefined`. */
  #json(value: unknown): unknown {
    return this.#isClient && value === undefined ? null : value;
  }
}
