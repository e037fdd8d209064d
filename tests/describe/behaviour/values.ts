// Values that a schema takes.

import type { JsonSchema, JsonType } from "../../../src/schema/json_schema.ts";
import type { Random } from "../../unit/support/random.ts";
import { type Conjunction, conjunctionOf } from "./conjunction.ts";
import type { Schema, Schemas } from "./schemas.ts";
import { textFor } from "./texts.ts";

/** Gives values that were met before under the name of a property. */
export type Known = (name: string) => readonly unknown[];

/** From here on, whatever can be left out is. */
const DEEP = 3;
/** Deeper parts are cut off. The validator checks the result. */
const TOO_DEEP = 16;
const ATTEMPTS = 400;
const ANYTHING: readonly unknown[] = [null, true, 0, -1.5, "", "any", [], [1, ["x"]], {}, { any: { thing: [null] } }];
const KEYS: readonly string[] = ["more", "x-more", "é", "", "a b", "0", "toString", "constructor", "__proto__"];

/** Makes values for the schemas of a document. */
export class Values {
  readonly #schemas: Schemas;
  readonly #random: Random;
  readonly #known: Known;

  constructor(schemas: Schemas, random: Random, known: Known = () => []) {
    this.#schemas = schemas;
    this.#random = random;
    this.#known = known;
  }

  /**
   * A value that a schema and a further test accept.
   *
   * @throws {Error} When no such value was found.
   */
  valid(schema: Schema, name = "", isFit: (value: unknown) => boolean = () => true): unknown {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const value = this.#named(name, schema, attempt < ATTEMPTS / 2 ? 0 : DEEP);
      if (this.#schemas.verdict(schema, value) === "valid" && isFit(value)) return value;
    }
    throw new Error(`No value was found for ${JSON.stringify(schema)}`);
  }

  #named(name: string, schema: Schema, depth: number): unknown {
    const known = this.#known(name);
    return known.length > 0 && this.#random.oneIn(2) ? this.#random.pick(known) : this.#make(schema, depth);
  }

  #make(schema: Schema, depth: number): unknown {
    if (depth > TOO_DEEP) return null;
    const settled = this.#settle(schema, depth);
    if ("const" in settled) return settled.const;
    if (settled.enum) return this.#random.pick(settled.enum);
    if (settled.default !== undefined && this.#random.oneIn(8)) return settled.default;
    switch (this.#typeOf(settled)) {
      case "null":
        return null;
      case "boolean":
        return this.#random.oneIn(2);
      case "integer":
        return this.#number(settled, 1);
      case "number":
        return this.#number(settled, this.#random.pick([1, 0.5, 0.1, 1e-7]));
      case "string":
        return textFor(settled, this.#random);
      case "array":
        return this.#array(settled, depth);
      case "object":
        return this.#object(settled, depth);
      default:
        return this.#random.pick(ANYTHING);
    }
  }

  /** The schema with the targets of its references, and one of each choice. */
  #settle(schema: Schema, depth: number): Conjunction {
    if (typeof schema === "boolean") return {};
    const { $ref, allOf = [], anyOf, oneOf, discriminator, ...own } = schema;
    const parts: Schema[] = [...allOf];
    if ($ref !== undefined) parts.push(this.#schemas.resolve($ref) as Schema);
    if (discriminator && this.#random.oneIn(2)) parts.push(this.#discriminated(discriminator));
    else for (const options of [anyOf, oneOf]) if (options) parts.push(this.#option(options, depth));
    return parts.map((part) => this.#settle(part, depth)).reduce(conjunctionOf, own);
  }

  /** The schema that a discriminator chooses for one value of its key. */
  #discriminated({ propertyName, mapping }: NonNullable<JsonSchema["discriminator"]>): Schema {
    const [value, reference] = this.#random.pick(Object.entries(mapping));
    const tagged = { properties: { [propertyName]: { const: value } }, required: [propertyName] };
    return { allOf: [this.#schemas.resolve(reference) as JsonSchema, tagged] };
  }

  /** The document's verdict on texts, for all readings that their schema allows. */
  #option(options: readonly Schema[], depth: number): Schema {
    if (depth < DEEP) return this.#random.pick(options);
    const plain = options.filter((option) => typeof option === "boolean" || isPlain(option));
    return this.#random.pick(plain.length > 0 ? plain : options);
  }

  #typeOf(schema: Conjunction): JsonType | undefined {
    if (schema.type !== undefined) return this.#random.pick([schema.type].flat());
    if (schema.properties || schema.required || schema.additionalProperties !== undefined) return "object";
    if (schema.items !== undefined || schema.prefixItems || schema.contains) return "array";
    return schema.pattern !== undefined || schema.minLength !== undefined ? "string" : undefined;
  }

  #number(schema: Conjunction, step: number): number {
    const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf: unit = step } = schema;
    const low = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + unit);
    const high = maximum ?? (exclusiveMaximum === undefined ? undefined : exclusiveMaximum - unit);
    const start = low ?? (high ?? 0) - 20 * unit;
    const steps = Math.floor(((high ?? start + 40 * unit) - start) / unit);
    const near = start + this.#random.below(Math.min(Math.max(steps, 0), 1000) + 1) * unit;
    const edges = [low, high, 0, -0, 1, low === undefined ? -(2 ** 53) : 2 ** 53 - 1, 1e21 * unit];
    const chosen = this.#random.oneIn(3) ? this.#random.pick(edges) : undefined;
    return chosen ?? Math.round(near / unit) * unit;
  }

  #array({ prefixItems = [], items = true, contains, minItems = 0, maxItems }: Conjunction, depth: number): unknown[] {
    const most = Math.min(maxItems ?? Infinity, Math.max(minItems, prefixItems.length) + 2);
    const length = depth >= DEEP ? minItems : minItems + this.#random.below(most - minItems + 1);
    const made = Array.from({ length }, (_, index) => this.#make(prefixItems[index] ?? items, depth + 1));
    if (contains && length > 0) made[this.#random.below(length)] = this.#make(contains, depth + 1);
    return made;
  }

  #object(schema: Conjunction, depth: number): Record<string, unknown> {
    const { properties = {}, required = [], additionalProperties: rest = true, propertyNames } = schema;
    const made = new Map<string, unknown>();
    for (const [name, property] of Object.entries(properties)) {
      const isLeftOut = !required.includes(name) && (depth >= DEEP || this.#random.oneIn(2));
      if (!isLeftOut) made.set(name, this.#named(name, property, depth + 1));
    }
    const isMapping = Object.keys(properties).length === 0 && schema.additionalProperties !== undefined;
    const wanted = depth >= DEEP ? 0 : this.#random.below(isMapping ? 4 : 2);
    const least = Math.max(wanted, (schema.minProperties ?? 0) - made.size);
    for (let more = 0; rest !== false && more < least; more++) {
      const name = propertyNames ? String(this.#make(propertyNames, depth)) : this.#random.pick(KEYS);
      if (!Object.hasOwn(properties, name)) made.set(name, this.#make(rest, depth + 1));
    }
    // Not by assignment: "__proto__" is a key like others.
    return Object.fromEntries(made);
  }
}

function isPlain({ type, $ref, anyOf, oneOf, allOf }: JsonSchema): boolean {
  return !$ref && !anyOf && !oneOf && !allOf && type !== "object" && type !== "array";
}
