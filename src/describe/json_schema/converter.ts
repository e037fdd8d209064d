import { toJsonSchemaDefs } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { fallsBack, type SchemaNode } from "../../schema/schema.ts";
import { givesUndefined, isRequired, mayBeMissing, mayBeUnsent } from "./optionality.ts";
import { foreignKind } from "./non_json.ts";
import {
  allOf,
  annotate,
  anyOf,
  type Form,
  type JsonSchema,
  type ModelScope,
  nothing,
  oneOfValues,
  orNull,
  orValue,
  type Place,
  subjectAt,
  toJson,
  withNumberFormat,
  withoutNull,
  withoutNumberFormat,
} from "./json_schema.ts";
import { lazyTarget } from "../../schema/lazy_schema.ts";
import { describePipe, type Pipe } from "./pipe.ts";
import { BIGINT, keepsValue } from "./transformation.ts";

/** Describes variants: which of their options a value fits, one of its keys tells. */

/**
 * Describes a variant. Where its options share no value of the key, a value fits exactly one of them; where the values are texts
 * and the options have names, a discriminator maps the ones to the others.
 */
export function describeVariant(
  node: SchemaNode,
  place: Place,
  scope: ModelScope,
  describe: (option: SchemaNode) => JsonSchema,
): JsonSchema {
  const key = node.key as string;
  const options = node.options as readonly SchemaNode[];
  const values = options.map((option) => valuesOf(option, key));
  const all = values.flatMap((known) => known ?? []);
  const isTold = !values.includes(undefined) && new Set(all).size === all.length;
  const isMapped = isTold && scope.isForGenerators && all.every((value) => typeof value === "string");
  const schemas = options.map((option, index) => {
    if (isMapped) scope.name(option, [...place, String(values[index]![0])]);
    return describe(option);
  });
  if (!isTold || schemas.length < 2) return anyOf(schemas);
  if (!isMapped) return { oneOf: schemas };
  const mapping: Record<string, string> = {};
  for (const [index, schema] of schemas.entries()) {
    for (const value of values[index]!) {
      mapping[value as string] = "";
      scope.refer(schema, (ref) => mapping[value as string] = ref);
    }
  }
  return { oneOf: schemas, discriminator: { propertyName: key, mapping } };
}

/** The values of the key for which an option is chosen; undefined where they cannot be told. */
function valuesOf(option: SchemaNode, key: string): readonly unknown[] | undefined {
  if (fallsBack(option)) return undefined;
  if (option.type === "variant") {
    const inner = (option.options as readonly SchemaNode[]).map((part) => valuesOf(part, key));
    return inner.includes(undefined) ? undefined : [...new Set(inner.flatMap((known) => known!))];
  }
  const entry = option.entries?.[key];
  return entry === undefined || mayBeMissing(entry) ? undefined : constantsOf(entry);
}

function constantsOf(entry: SchemaNode): readonly unknown[] | undefined {
  if (
    entry.pipe?.some((step) => !keepsValue(step as SchemaNode) || (step !== entry.pipe?.[0] && step.kind === "schema"))
  ) {
    return undefined;
  }
  switch (entry.type) {
    case "literal":
      return [entry.literal];
    case "picklist":
    case "enum":
      return entry.options;
    default:
      return undefined;
  }
}

/**
 * One valibot schema as JSON Schema, in one of two forms: the JSON that the server accepts, or the JSON that it sends.
 *
 * What is accepted is what the forms of `src/schema/` let through; what is sent is what `JSON.stringify` makes of the schema's
 * output. A check or a transformation that JSON Schema cannot tell is left out: whatever is accepted or sent fits the
 * description, and where nothing was left out, nothing else does.
 */

/** A lazy schema that makes a new one each time would go on for ever. */
const MAX_LAZY = 64;

/** Describes schemas in one form. */
export class Description {
  readonly #form: Form;
  readonly #scope: ModelScope;
  #lazies = 0;

  /**
   * Prepares.
   *
   * @param form What to describe.
   * @param scope Decides what becomes a model.
   */
  constructor(form: Form, scope: ModelScope) {
    this.#form = form;
    this.#scope = scope;
  }

  /**
   * Describes a schema.
   *
   * @throws {TypeError} When JSON cannot carry its values.
   */
  of(node: SchemaNode, place: Place): JsonSchema {
    return this.#scope.part(this.#form, node, place, (place) => {
      const body = this.#body(node, place);
      return this.#scope.isForGenerators ? withNumberFormat(body) : body;
    });
  }

  #body(node: SchemaNode, place: Place): JsonSchema {
    if (fallsBack(node)) return this.#fallback(node, place);
    if (node.pipe) {
      // The format depends on the bounds, which later steps add.
      return describePipe(node.pipe as Pipe, this.#form, (part) => withoutNumberFormat(this.of(part, place)));
    }
    return this.#kind(node, place);
  }

  #kind(node: SchemaNode, place: Place): JsonSchema {
    switch (node.type) {
      case "object":
      case "loose_object":
      case "strict_object":
      case "object_with_rest":
        return this.#object(node, place);
      case "record":
        return this.#record(node, place);
      case "array":
        return { type: "array", items: this.#item(node.item!, place) };
      case "tuple":
      case "loose_tuple":
      case "strict_tuple":
      case "tuple_with_rest":
        return this.#tuple(node, place);
      case "union":
        return anyOf(this.#options(node, place));
      case "intersect":
        return node.options!.length === 0 ? nothing() : allOf(this.#options(node, place), typeOfIntersection(node));
      case "variant":
        return describeVariant(node, place, this.#scope, (option) => this.of(option, place));
      case "optional":
      case "undefinedable":
      case "exact_optional":
        return this.#withDefault(node, this.of(node.wrapped!, place));
      case "nullish":
        return this.#withDefault(node, this.#nullable(node, place));
      case "nullable":
        return this.#nullable(node, place);
      case "non_optional":
        return withoutDefault(this.of(node.wrapped!, place));
      case "non_nullable":
      case "non_nullish":
        return withoutNull(withoutDefault(this.of(node.wrapped!, place)));
      case "lazy":
        return this.#lazy(node, place);
      case "literal":
        return oneOfValues([node.literal]);
      case "picklist":
      case "enum":
        return oneOfValues(node.options!);
      case "undefined":
      case "void":
        return nothing();
      case "bigint":
        return BIGINT;
      default:
        return foreignKind(node, this.#form, place) ?? fromLibrary(node);
    }
  }

  #object(node: SchemaNode, place: Place): JsonSchema {
    const entries = Object.entries(node.entries!);
    const canLack = this.#form === "input" ? mayBeMissing : mayBeUnsent;
    const required = entries.filter(([, entry]) => !canLack(entry)).map(([key]) => key);
    const properties = entries.map(([key, entry]) => {
      const property = this.of(entry, [...place, key]);
      return [key, required.includes(key) ? withoutDefault(property) : property];
    });
    return {
      type: "object",
      // Not by assignment: "__proto__" is a key like others.
      ...(entries.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
      ...(required.length > 0 ? { required } : {}),
      ...(node.type === "loose_object" ? { additionalProperties: true } : {}),
      ...(node.type === "strict_object" ? { additionalProperties: false } : {}),
      ...(node.rest ? { additionalProperties: this.of(node.rest, place) } : {}),
    };
  }

  #record(node: SchemaNode, place: Place): JsonSchema {
    const key = node.key as SchemaNode;
    const value = this.of(node.value!, place);
    const keys = stringOptions(key);
    if (keys) {
      const properties = Object.fromEntries(keys.map((name) => [name, value]));
      return { type: "object", properties, additionalProperties: false };
    }
    const { type: _, ...propertyNames } = this.of(key, place);
    const isAny = Object.keys(propertyNames).length === 0;
    return { type: "object", ...(isAny ? {} : { propertyNames }), additionalProperties: value };
  }

  #tuple({ items, rest, type }: SchemaNode, place: Place): JsonSchema {
    const prefixItems = items!.map((item, index) => this.#item(item, [...place, String(index)]));
    // Items that are left out at the end are undefined; what is sent has all of them.
    const needed = this.#form === "output" ? items!.length : items!.findLastIndex(isRequired) + 1;
    return {
      type: "array",
      ...(prefixItems.length > 0 ? { prefixItems } : {}),
      ...(rest ? { items: this.#item(rest, place) } : {}),
      ...(needed > 0 ? { minItems: needed } : {}),
      // Not "items: false", which many generators cannot read.
      ...(type === "strict_tuple" ? { maxItems: items!.length } : {}),
    };
  }

  /** An item of an array: in JSON, one that is undefined is null. */
  #item(node: SchemaNode, place: Place): JsonSchema {
    const item = this.of(node, place);
    return this.#form === "output" && givesUndefined(node) ? orNull(item) : item;
  }

  #options(node: SchemaNode, place: Place): JsonSchema[] {
    return (node.options as readonly SchemaNode[]).map((option) => this.of(option, place));
  }

  #nullable(node: SchemaNode, place: Place): JsonSchema {
    const wrapped = this.of(node.wrapped!, place);
    return this.#form === "output" && node.default !== undefined && node.default !== null ? wrapped : orNull(wrapped);
  }

  /** What is left out is left to the outermost schema that may be: it does not ask those within for their defaults. */
  #withDefault(node: SchemaNode, schema: JsonSchema): JsonSchema {
    const value = this.#form === "input" ? toJson(node.default) : undefined;
    return value === undefined ? withoutDefault(schema) : annotate(schema, { default: value });
  }

  /** What falls back takes anything. What it is meant for is told all the same. */
  #fallback(node: SchemaNode, place: Place): JsonSchema {
    const { fallback, ...inner } = node;
    const value = toJson(fallback);
    const wanted = this.of(inner as SchemaNode, place);
    if (this.#form === "output") return value === undefined ? wanted : orValue(wanted, value);
    return { anyOf: [wanted, {}], ...(value === undefined ? {} : { default: value }) };
  }

  #lazy(node: SchemaNode, place: Place): JsonSchema {
    const target = lazyTarget(node);
    if (target === undefined) return {};
    if (this.#lazies >= MAX_LAZY) {
      throw new TypeError(
        `Cannot describe ${subjectAt(place)}: a lazy schema makes a new one each time, let it give one made before`,
      );
    }
    this.#lazies++;
    const described = this.of(target, place);
    this.#lazies--;
    return described;
  }
}

/** The keys that a schema of keys lists; undefined where it does something else. */
function stringOptions(key: SchemaNode): string[] | undefined {
  if (fallsBack(key) || key.pipe) return undefined;
  if (key.type === "union") {
    const options = (key.options as readonly SchemaNode[]).map(stringOptions);
    return options.includes(undefined) ? undefined : options.flatMap((option) => option!);
  }
  if (key.type !== "literal" && key.type !== "picklist" && key.type !== "enum") return undefined;
  const values = key.type === "literal" ? [key.literal] : key.options!;
  return values.filter((value) => typeof value === "string");
}

/**
 * The type of all parts of an intersection: if one of them is an object, all are. The description
 * of a union or a reference does not tell its type.
 */
function typeOfIntersection({ options }: SchemaNode): "object" | undefined {
  return (options as readonly SchemaNode[]).some(isObject) ? "object" : undefined;
}

function isObject({ type, entries, options }: SchemaNode): boolean {
  if (entries || type === "record" || type === "variant") return true;
  return type === "union" && (options as readonly SchemaNode[]).every(isObject);
}

function withoutDefault(schema: JsonSchema): JsonSchema {
  const { default: _, ...others } = schema;
  return "default" in schema ? others : schema;
}

/** What the library says of kinds without parts, in which all schemas of a kind are the same. */
const leaves = new Map<string, JsonSchema>();

/** A schema without parts, as the library describes it; nothing is said of what it does not know. */
function fromLibrary(node: SchemaNode): JsonSchema {
  let leaf = leaves.get(node.type);
  if (!leaf) {
    const part = node as unknown as GenericSchema;
    leaf = toJsonSchemaDefs({ part }, { target: "draft-2020-12", errorMode: "ignore" }).part as JsonSchema;
    leaves.set(node.type, leaf);
  }
  return leaf;
}
