/** Describes variants: which of their options a value fits, one of its keys tells. */
import { fallsBack, type SchemaNode } from "../../schema/schema.ts";
import { mayBeMissing } from "./absence.ts";
import { anyOf, type JsonSchema } from "./json_schema.ts";
import type { ModelScope, Place } from "./model_scope.ts";
import { keepsValue } from "./transformation.ts";

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
