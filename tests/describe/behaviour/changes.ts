// Changes one thing in a value, near the bounds of its schema.

import type { JsonSchema } from "../../../src/schema/json_schema.ts";
import type { Random } from "../../unit/support/random.ts";
import { partAt, type Path, pathsOf, withoutPart, withPart } from "./parts.ts";
import type { Schema, Schemas } from "./schemas.ts";

/** A changed value. */
export interface Change {
  readonly value: unknown;
  /** The part of the value to which all resulting faults belong. */
  readonly place: Path;
}

/** Part of some requests. No reply may contain it. */
export const SECRET = "do-not-repeat-me";

/** Values that schemas rarely take. */
const ODD: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 5e-324, 1e300, -1e300, 2 ** 53, 7391840265],
  ...["", "odd", "12", "0x10", "1e999", "NaN", " 1", "true", "null", "2026-13-01", "😀", SECRET, "x".repeat(300)],
  ...[[], [null], [[]], [SECRET], ["__proto__"], {}, { odd: SECRET }, { length: 1 }, { "0": "a" }, { kind: SECRET }],
];
const ODD_KEYS: readonly string[] = ["odd", "__proto__", "constructor", "prototype", "toString", "", "0", "length"];

/** The bounds in a schema and its parts. */
export interface Edges {
  /** The bounds of numbers, and their neighbours. */
  readonly numbers: readonly number[];
  /** The bounds of the lengths of texts and lists, and their neighbours. */
  readonly lengths: readonly number[];
  /** Values that some part has to be. */
  readonly constants: readonly unknown[];
}

/** Collects the bounds in a schema and in all schemas that it refers to. */
export function edgesOf(schema: Schema, schemas: Schemas): Edges {
  const bounds = new Set<number>();
  const lengths = new Set<number>();
  const constants = new Set<unknown>();
  const seen = new Set<unknown>();
  const visit = (part: unknown): void => {
    if (typeof part !== "object" || part === null || seen.has(part)) return;
    seen.add(part);
    const { $ref, const: constant, enum: values = [] } = part as JsonSchema;
    if (typeof $ref === "string") visit(schemas.resolve($ref));
    for (const value of [constant, values].flat()) constants.add(value);
    for (const [keyword, value] of Object.entries(part)) {
      if (typeof value !== "number") visit(value);
      else if (/(?:Length|Items|Properties)$/.test(keyword)) lengths.add(value);
      else bounds.add(value);
    }
  };
  visit(schema);
  return {
    numbers: [...bounds].flatMap((bound) => [bound - 1, bound - 0.5, bound, bound + 0.5, bound + 1]),
    lengths: [...lengths].flatMap((length) => [length - 1, length, length + 1]).filter((length) => length >= 0),
    constants: [...constants].filter((value) => value !== undefined),
  };
}

/** Changes values. */
export class Changes {
  readonly #edges: Edges;
  readonly #random: Random;

  constructor(edges: Edges, random: Random) {
    this.#edges = edges;
    this.#random = random;
  }

  /** The value with one part replaced, taken away or added. */
  of(value: unknown): Change {
    const path = this.#random.pick(pathsOf(value));
    const holder = path.slice(0, -1);
    if (path.length > 0 && this.#random.oneIn(4)) {
      // Without an item, the other items move.
      return { value: withoutPart(value, path), place: typeof path.at(-1) === "number" ? holder : path };
    }
    const part = this.#replacement(partAt(value, path));
    // One that the schema names may choose another variant, of which other parts are faults.
    return { value: withPart(value, path, part), place: this.#edges.constants.includes(part) ? holder : path };
  }

  #replacement(part: unknown): unknown {
    const random = this.#random;
    if (random.oneIn(4)) return random.pick(ODD);
    if (random.oneIn(6)) return random.pick([...this.#edges.constants, ...this.#edges.numbers, SECRET]);
    if (typeof part === "string") return this.#text(part);
    if (typeof part === "number") {
      return random.pick([...this.#edges.numbers, part + 1, -part, part + 0.5, String(part)]);
    }
    if (typeof part === "boolean") return random.pick<unknown>([String(part), Number(part), null]);
    if (Array.isArray(part)) return this.#list(part);
    return part === null ? random.pick(ODD) : this.#object(part as Record<string, unknown>);
  }

  #text(text: string): unknown {
    const { lengths } = this.#edges;
    const length = lengths.length > 0 ? this.#random.pick(lengths) : 0;
    const sized = text.length === 0
      ? "x".repeat(length)
      : text.repeat(Math.ceil(length / text.length)).slice(0, length);
    return this.#random.pick<unknown>([
      ...[sized, sized, `${text}x`, text.slice(0, -1), ` ${text}`, `${text}\n`, text.toUpperCase(), text + SECRET],
      ...[Number(text) || 0, [text], `${text}😀`, text.replace(/\d/, "٣"), text.replace(/[a-z]/, "ſ")],
    ]);
  }

  #list(list: readonly unknown[]): unknown {
    const { lengths } = this.#edges;
    const length = lengths.length > 0 ? this.#random.pick(lengths) : 0;
    const sized = Array.from({ length: Math.min(length, 100) }, (_, index) => list[index % list.length] ?? SECRET);
    return this.#random.pick<unknown>([sized, [...list, ...list], [...list, SECRET], list.slice(1), list[0] ?? {}, {
      ...list,
    }]);
  }

  #object(object: Record<string, unknown>): unknown {
    const key = this.#random.pick(ODD_KEYS);
    const added = Object.fromEntries([...Object.entries(object), [key, this.#random.pick(ODD)]]);
    return this.#random.pick<unknown>([added, added, added, [object], Object.entries(object), {}]);
  }
}
