/** The schemas of the AsyncAPI document, which are a superset of JSON Schema's draft 07. */
import type { JsonSchema } from "../json_schema/json_schema.ts";
import { Models } from "../json_schema/models.ts";

/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const ONE: ReadonlySet<string> = new Set(["not", "items", "contains", "additionalProperties", "propertyNames"]);
const LIST: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const NAMED: ReadonlySet<string> = new Set(["properties"]);

/** Collects schemas, and converts them once all models have names. */
export class AsyncAPISchemas {
  /** The models of the application, named as in the OpenAPI document. */
  readonly models: Models = new Models("#/components/schemas/");
  readonly #pending: { readonly from: JsonSchema; readonly to: JsonSchema }[] = [];

  /** Takes a schema of {@linkcode models}. What it returns is complete after `definitions()`. */
  of(from: JsonSchema): JsonSchema {
    const to: JsonSchema = {};
    this.#pending.push({ from, to });
    return to;
  }

  /** All models. Call it last and once. */
  definitions(): Record<string, JsonSchema> {
    const definitions = this.models.definitions();
    for (const { from, to } of this.#pending) Object.assign(to, toDraft07(from));
    return Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, toDraft07(schema)]));
  }
}

/** A copy without what is newer than draft 07, and without OpenAPI's discriminator. */
function toDraft07(schema: JsonSchema): JsonSchema {
  const { discriminator: _, contentSchema: __, ...known } = schema;
  const converted = Object.fromEntries(Object.entries(known).map(([key, value]) => [key, convert(key, value)]));
  if (!("prefixItems" in converted)) return converted;
  const { prefixItems, items, ...others } = converted;
  return { ...others, items: prefixItems, ...(items !== undefined && { additionalItems: items }) } as JsonSchema;
}

function convert(keyword: string, value: unknown): unknown {
  if (ONE.has(keyword)) return isSchema(value) ? toDraft07(value) : value;
  if (LIST.has(keyword)) return (value as JsonSchema[]).map(toDraft07);
  if (!NAMED.has(keyword)) return value;
  return Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, toDraft07(part)]));
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object";
}
