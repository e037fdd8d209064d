// The schemas of a document: what a value has to be at a place of it, and values that are so.

import { Ajv2020 } from "npm:ajv@^8.20.0/dist/2020.js";
import randexp from "npm:randexp@^0.6.1";
import type { Random } from "../../unit/support/random.ts";

/** A schema as it stands in a document. */
export type Schema = boolean | { readonly [keyword: string]: unknown };

type ObjectSchema = Exclude<Schema, boolean>;

/** Makes texts that fit a pattern. The package exports the class itself, which its types do not say. */
const RandExp = randexp as unknown as new (pattern: RegExp) => {
  max: number;
  randInt(from: number, to: number): number;
  gen(): string;
};

/** Texts of the formats that documents name. */
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  "date-time": ["2026-11-21T10:20:30Z", "2024-02-29T23:59:59.123Z"],
  date: ["2026-11-21", "2024-02-29"],
  time: ["10:20:30", "23:59:59"],
  email: ["ada@example.org"],
  uuid: ["6f1d2b3c-4d5e-4f60-8a7b-9c0d1e2f3a4b"],
  uri: ["https://example.org/a?b=c"],
  ipv4: ["192.0.2.1"],
  ipv6: ["2001:db8::1"],
};
const WORDS = ["a", "Ada", "two words", "x-1", "Grüße", "0", "true", "constructor", "9780141439471"];
const MAX_DEPTH = 4;
const ATTEMPTS = 400;

/** The schemas of one document. */
export class Schemas {
  readonly #document: Record<string, unknown>;
  readonly #random: Random;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true, logger: false });

  readonly #validators = new Map<string, (value: unknown) => unknown>();

  constructor(document: object, random: Random) {
    this.#document = document as Record<string, unknown>;
    this.#random = random;
    this.#ajv.addSchema(document, "document");
  }

  /** Whether a value is what the schema at a place of the document says. */
  accepts(pointer: string, value: unknown): boolean {
    let validate = this.#validators.get(pointer);
    if (!validate) this.#validators.set(pointer, validate = this.#ajv.compile({ $ref: `document#${pointer}` }));
    return validate(value) as boolean;
  }

  /** The schema at a place. */
  at(pointer: string): Schema {
    return lookUp(this.#document, pointer) as Schema;
  }

  /**
   * A value that is what the schema at a place says.
   *
   * @throws {Error} When none was found.
   */
  valid(pointer: string): unknown {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const value = this.#make(this.at(pointer), attempt < ATTEMPTS / 2 ? 0 : MAX_DEPTH);
      if (value !== undefined && this.accepts(pointer, value)) return value;
    }
    throw new Error(`No value was found for the schema at ${pointer}: ${JSON.stringify(this.at(pointer))}`);
  }

  #make(schema: Schema, depth: number): unknown {
    if (typeof schema === "boolean") return this.#random.pick<unknown>(["any", 1, null]);
    if (typeof schema.$ref === "string") {
      return this.#make(lookUp(this.#document, schema.$ref.slice(1)) as Schema, depth);
    }
    if ("const" in schema) return schema.const;
    if (Array.isArray(schema.enum)) return this.#random.pick(schema.enum);
    const parts = (schema.allOf ?? []) as Schema[];
    const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
    const made = parts.map((part) => this.#make(part, depth));
    if (options) made.push(this.#make(this.#pickOption(options, depth), depth));
    if (schema.type !== undefined || made.length === 0) made.push(this.#ofType(schema, depth));
    return made.every(isRecord) ? Object.assign({}, ...made) : made.find((value) => !isRecord(value)) ?? made[0];
  }

  /** Deep down the first option that does not refer to something else: it ends a recursion. */
  #pickOption(options: readonly Schema[], depth: number): Schema {
    const plain = options.filter((option) => typeof option === "boolean" || option.$ref === undefined);
    return this.#random.pick(depth >= MAX_DEPTH && plain.length > 0 ? plain : options);
  }

  #ofType(schema: ObjectSchema, depth: number): unknown {
    const types = [schema.type ?? this.#implied(schema)].flat() as string[];
    switch (this.#random.pick(types)) {
      case "null":
        return null;
      case "boolean":
        return this.#random.oneIn(2);
      case "integer":
        return this.#number(schema, 1);
      case "number":
        return this.#number(schema, 0.5);
      case "string":
        return this.#text(schema);
      case "array":
        return this.#array(schema, depth);
      default:
        return this.#object(schema, depth);
    }
  }

  #implied(schema: ObjectSchema): string {
    if (schema.properties !== undefined) return "object";
    return schema.items !== undefined || schema.prefixItems !== undefined ? "array" : "string";
  }

  #number(schema: ObjectSchema, step: number): number {
    const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema as Record<string, number>;
    const unit = multipleOf ?? step;
    const low = minimum ?? (exclusiveMinimum !== undefined ? exclusiveMinimum + unit : -20);
    const high = maximum ?? (exclusiveMaximum !== undefined ? exclusiveMaximum - unit : Math.max(low, 0) + 40);
    const steps = Math.min(Math.floor((high - low) / unit), 1000);
    return Math.ceil(low / unit) * unit + this.#random.below(Math.max(steps, 0) + 1) * unit;
  }

  #text(schema: ObjectSchema): string {
    const { format, pattern, minLength = 0, maxLength = 60 } = schema as {
      format?: string;
      pattern?: string;
      minLength?: number;
      maxLength?: number;
    };
    const samples = format === undefined ? undefined : FORMATS[format];
    if (samples) return this.#random.pick(samples);
    if (pattern !== undefined) {
      const expected = new RegExp(pattern, "u");
      const words = WORDS.filter((word) => expected.test(word) && word.length >= minLength && word.length <= maxLength);
      if (words.length > 0 && this.#random.oneIn(2)) return this.#random.pick(words);
      const expression = new RandExp(new RegExp(pattern));
      expression.max = 5;
      expression.randInt = (from: number, to: number) => from + this.#random.below(to - from + 1);
      return expression.gen();
    }
    return this.#random.pick(WORDS).padEnd(minLength, "x").slice(0, maxLength);
  }

  #array(schema: ObjectSchema, depth: number): unknown[] {
    const first = ((schema.prefixItems ?? []) as Schema[]).map((item) => this.#make(item, depth + 1));
    const { items = true, minItems = 0, maxItems = minItems + 3 } = schema as {
      items?: Schema;
      minItems?: number;
      maxItems?: number;
    };
    if (items === false) return first;
    const wanted = depth >= MAX_DEPTH ? minItems : minItems + this.#random.below(maxItems - minItems + 1);
    while (first.length < wanted) first.push(this.#make(items, depth + 1));
    return first;
  }

  #object(schema: ObjectSchema, depth: number): Record<string, unknown> {
    const { properties = {}, required = [], additionalProperties, propertyNames } = schema as {
      properties?: Record<string, Schema>;
      required?: string[];
      additionalProperties?: Schema;
      propertyNames?: Schema;
    };
    const value: Record<string, unknown> = {};
    for (const [name, property] of Object.entries(properties)) {
      if (!required.includes(name) && (depth >= MAX_DEPTH || this.#random.oneIn(2))) continue;
      value[name] = this.#make(property, depth + 1);
    }
    if (additionalProperties === undefined || additionalProperties === false || depth >= MAX_DEPTH) return value;
    for (let more = this.#random.below(3); more > 0; more--) {
      const name = propertyNames === undefined ? this.#random.pick(WORDS) : String(this.#make(propertyNames, depth));
      if (!(name in properties)) value[name] = this.#make(additionalProperties, depth + 1);
    }
    return value;
  }
}

/** What stands at a JSON pointer (RFC 6901), references on the way followed. */
export function lookUp(document: Record<string, unknown>, pointer: string): unknown {
  let target: unknown = document;
  for (const step of pointer.split("/").slice(1)) {
    const { $ref } = target as { $ref?: unknown };
    if (typeof $ref === "string") target = lookUp(document, $ref.slice(1));
    target = (target as Record<string, unknown>)[decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return target;
}

/** A step of a JSON pointer, as it stands in a fragment of a URL. */
export function step(name: string): string {
  return `/${encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
