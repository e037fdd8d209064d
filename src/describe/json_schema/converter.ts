/**
 * Converts valibot schemas to JSON Schema: of the JSON that the server accepts or sends.
 *
 * `@valibot/to-json-schema` converts schemas and checks; this file corrects its errors. Checks that
 * JSON Schema cannot express are omitted, so the schema accepts all valid values.
 */
import { type ConversionConfig, type JsonSchema as LibrarySchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { fallsBack, isSchema, lazyTarget, type SchemaNode } from "../../schema/schema.ts";
import {
  allOf,
  annotate,
  anyOf,
  type Form,
  nothing,
  oneOfValues,
  orNull,
  orValue,
  type Place,
  subjectAt,
  toJson,
  withIntegerBounds,
  withNumberFormat,
  withoutNull,
  withoutNumberFormat,
} from "./json_schema.ts";
import type { JsonSchema } from "../../schema/json_schema.ts";
import { BIGINT, describeNonJson, keepsValue } from "./values.ts";
import { givesUndefined, isRequired, mayBeMissing, mayBeUnsent } from "./optionality.ts";
import { describePipe, type Pipe } from "./pipe.ts";

const MAX_LAZY = 64;

export interface ModelScope {
  /** Code generators need formats of numbers, and named options of variants. */
  readonly isForGenerators: boolean;
  /** The result of `describe`, or a reference to its model. */
  part(form: Form, node: SchemaNode, place: Place, describe: (place: Place) => JsonSchema): JsonSchema;
  /** Makes a schema a model, unless it has a name. */
  name(node: SchemaNode, words: readonly string[]): void;
}

interface ConvertedPart {
  readonly kind: "schema";
  readonly type: "converted";
  readonly json: JsonSchema;
}

const CONFIG: ConversionConfig = {
  target: "draft-2020-12",
  errorMode: "ignore",
  overrideSchema: ({ valibotSchema }) => {
    const { type, json } = valibotSchema as unknown as ConvertedPart;
    return type === "converted" ? json as LibrarySchema : undefined;
  },
};

const withoutParts = new Map<string, JsonSchema>();

export class Converter {
  readonly #form: Form;
  readonly #scope: ModelScope;
  #lazies = 0;

  constructor(form: Form, scope: ModelScope) {
    this.#form = form;
    this.#scope = scope;
  }

  convert(node: SchemaNode, place: Place): JsonSchema {
    return this.#scope.part(this.#form, node, place, (place) => {
      const body = this.#body(node, place);
      const bounded = withIntegerBounds(body);
      return this.#scope.isForGenerators ? withNumberFormat(bounded) : bounded;
    });
  }

  #body(node: SchemaNode, place: Place): JsonSchema {
    if (fallsBack(node)) return this.#fallback(node, place);
    if (node.pipe) {
      // The format depends on the bounds, which later steps add.
      return describePipe(node.pipe as Pipe, this.#form, (part) => withoutNumberFormat(this.convert(part, place)));
    }
    if (node.entries) return this.#object(node, node.entries, place);
    if (node.items) return this.#tuple(node, node.items, place);
    const wrapped = (): JsonSchema => this.convert(node.wrapped!, place);
    switch (node.type) {
      case "record":
        return this.#record(node, place);
      case "array": {
        const { items, ...array } = this.#byLibrary(node, place);
        return { ...array, items: this.#item(node.item!, items) };
      }
      case "union":
        return anyOf(this.#byLibrary(node, place).anyOf!);
      case "intersect":
        return this.#intersection(node, place);
      case "variant":
        return this.#variant(node, place);
      case "optional":
      case "undefinedable":
      case "exact_optional":
        return this.#withDefault(node, wrapped());
      case "nullable":
        return this.#nullable(node, wrapped());
      case "nullish":
        return this.#withDefault(node, this.#nullable(node, wrapped()));
      case "non_optional":
        return withoutDefault(wrapped());
      case "non_nullable":
      case "non_nullish":
        return withoutNull(withoutDefault(wrapped()));
      case "lazy":
        return this.#lazy(node, place);
      // The library refuses bigint constants, and writes no types for constants.
      case "literal":
        return oneOfValues([node.literal]);
      case "picklist":
      case "enum":
        return oneOfValues(node.options!);
      case "bigint":
        return BIGINT;
      case "undefined":
      case "void":
        return nothing();
      default:
        return describeNonJson(node, this.#form, place) ?? this.#byLibrary(node, place);
    }
  }

  /** Passes the entries of an object by index. */
  #byLibrary(node: SchemaNode, place: Place): JsonSchema {
    const hasParts = node.entries ?? node.items ?? node.options ?? node.item ?? node.value;
    const known = hasParts ? undefined : withoutParts.get(node.type);
    if (known) return known;
    const convert = (part: unknown, key?: string | number): ConvertedPart | undefined => {
      if (!isSchema(part)) return undefined;
      const json = this.convert(part as SchemaNode, key === undefined ? place : [...place, `${key}`]);
      return { kind: "schema", type: "converted", json };
    };
    const converted = {
      kind: "schema",
      type: node.type,
      // The library would lose an entry named "__proto__".
      entries: node.entries && Object.entries(node.entries).map(([key, part]) => convert(part, key)),
      items: node.items?.map(convert),
      options: node.options?.map((part) => convert(part)),
      item: convert(node.item),
      rest: convert(node.rest),
      key: convert(node.key),
      value: convert(node.value),
    } as unknown as GenericSchema;
    const json = toJsonSchemaDefs({ converted }, CONFIG).converted as JsonSchema;
    if (!hasParts) withoutParts.set(node.type, json);
    return json;
  }

  /** The library treats entries with a default as optional in both forms. */
  #object(node: SchemaNode, nodes: NonNullable<SchemaNode["entries"]>, place: Place): JsonSchema {
    const { type, properties = {}, required: _, ...others } = this.#byLibrary(node, place);
    const entries = Object.entries(nodes);
    const canLack = this.#form === "input" ? mayBeMissing : mayBeUnsent;
    const required = entries.filter(([, entry]) => !canLack(entry)).map(([key]) => key);
    const named = entries.map(([key], index) => {
      return [key, required.includes(key) ? withoutDefault(properties[index]!) : properties[index]];
    });
    return {
      type: type!,
      ...(named.length > 0 && { properties: Object.fromEntries(named) }),
      ...(required.length > 0 && { required }),
      ...(node.type === "loose_object" && { additionalProperties: true }),
      ...others,
    };
  }

  /** The library ignores enumerated keys, and writes their type, which is always string. */
  #record(node: SchemaNode, place: Place): JsonSchema {
    const { propertyNames: { type: _, ...names } = {}, ...json } = this.#byLibrary(node, place);
    const keys = listedKeys(node.key as SchemaNode);
    if (!keys) return { ...json, ...(Object.keys(names).length > 0 && { propertyNames: names }) };
    const properties = Object.fromEntries(keys.map((key) => [key, json.additionalProperties]));
    return { type: "object", properties, additionalProperties: false } as JsonSchema;
  }

  /** The library requires all items, even optional ones at the end of the input. */
  #tuple(node: SchemaNode, nodes: readonly SchemaNode[], place: Place): JsonSchema {
    const { type, prefixItems = [], items } = this.#byLibrary(node, place);
    const count = this.#form === "output" ? nodes.length : nodes.findLastIndex(isRequired) + 1;
    return {
      type: type!,
      ...(nodes.length > 0 && { prefixItems: nodes.map((item, index) => this.#item(item, prefixItems[index])) }),
      ...(node.rest && { items: this.#item(node.rest, items) }),
      ...(count > 0 && { minItems: count }),
      // Many generators cannot read `items: false`, which the library writes.
      ...(node.type === "strict_tuple" && { maxItems: nodes.length }),
    };
  }

  #item(node: SchemaNode, item: JsonSchema["items"]): JsonSchema {
    return this.#form === "output" && givesUndefined(node) ? orNull(item as JsonSchema) : item as JsonSchema;
  }

  /** If one part is an object, all parts are. A union or a reference does not name its type. */
  #intersection(node: SchemaNode, place: Place): JsonSchema {
    const { allOf: parts = [] } = this.#byLibrary(node, place);
    const isOfObjects = (node.options as readonly SchemaNode[]).some(isObject);
    return parts.length === 0 ? nothing() : allOf(parts, isOfObjects ? "object" : undefined);
  }

  /** A discriminator needs strings that differ between the options. */
  #variant(node: SchemaNode, place: Place): JsonSchema {
    const values = (node.options as readonly SchemaNode[]).map((option) => keyValuesOf(option, node.key as string));
    const all = values.flatMap((known) => known ?? []);
    const isExclusive = !values.includes(undefined) && new Set(all).size === all.length;
    const isMapped = isExclusive && this.#scope.isForGenerators && all.every((value) => typeof value === "string");
    for (const [index, option] of node.options!.entries()) {
      if (isMapped) this.#scope.name(option as SchemaNode, [...place, String(values[index]![0])]);
    }
    const { oneOf = [] } = this.#byLibrary(node, place);
    if (!isExclusive || oneOf.length < 2) return anyOf(oneOf);
    if (!isMapped) return { oneOf };
    const mapping = oneOf.flatMap(({ $ref }, index) => values[index]!.map((value) => [value, $ref]));
    return { oneOf, discriminator: { propertyName: node.key as string, mapping: Object.fromEntries(mapping) } };
  }

  #nullable(node: SchemaNode, wrapped: JsonSchema): JsonSchema {
    return this.#form === "output" && node.default !== undefined && node.default !== null ? wrapped : orNull(wrapped);
  }

  /** The outermost default wins. */
  #withDefault(node: SchemaNode, schema: JsonSchema): JsonSchema {
    const value = this.#form === "input" ? toJson(node.default) : undefined;
    return value === undefined ? withoutDefault(schema) : annotate(schema, { default: value });
  }

  /** A schema with a fallback accepts any value. */
  #fallback({ fallback, ...inner }: SchemaNode, place: Place): JsonSchema {
    const value = toJson(fallback);
    const wanted = this.convert(inner as SchemaNode, place);
    if (this.#form === "output") return value === undefined ? wanted : orValue(wanted, value);
    return { anyOf: [wanted, {}], ...(value !== undefined && { default: value }) };
  }

  #lazy(node: SchemaNode, place: Place): JsonSchema {
    const target = lazyTarget(node);
    if (target === undefined) return {};
    if (this.#lazies >= MAX_LAZY) {
      throw new TypeError(
        `Cannot describe ${subjectAt(place)}: a lazy schema returns a new schema each time, return one made before`,
      );
    }
    this.#lazies++;
    const converted = this.convert(target, place);
    this.#lazies--;
    return converted;
  }
}

/** Undefined if other keys are allowed. */
function listedKeys(key: SchemaNode): string[] | undefined {
  if (fallsBack(key) || key.pipe) return undefined;
  if (key.type === "union") {
    const options = (key.options as readonly SchemaNode[]).map(listedKeys);
    return options.includes(undefined) ? undefined : options.flatMap((option) => option!);
  }
  return constantsOf(key)?.filter((value) => typeof value === "string");
}

/** The values of the key that select an option; undefined if unknown. */
function keyValuesOf(option: SchemaNode, key: string): readonly unknown[] | undefined {
  if (fallsBack(option)) return undefined;
  if (option.type === "variant") {
    const inner = (option.options as readonly SchemaNode[]).map((part) => keyValuesOf(part, key));
    return inner.includes(undefined) ? undefined : [...new Set(inner.flatMap((known) => known!))];
  }
  const entry = option.entries?.[key];
  if (entry === undefined || mayBeMissing(entry)) return undefined;
  const [, ...steps] = (entry.pipe ?? []) as Pipe;
  return steps.every((step) => keepsValue(step) && step.kind !== "schema") ? constantsOf(entry) : undefined;
}

function constantsOf({ type, literal, options }: SchemaNode): readonly unknown[] | undefined {
  if (type === "literal") return [literal];
  return type === "picklist" || type === "enum" ? options : undefined;
}

function isObject({ type, entries, options }: SchemaNode): boolean {
  if (entries || type === "record" || type === "variant") return true;
  return type === "union" && (options as readonly SchemaNode[]).every(isObject);
}

function withoutDefault(schema: JsonSchema): JsonSchema {
  const { default: _, ...others } = schema;
  return "default" in schema ? others : schema;
}
