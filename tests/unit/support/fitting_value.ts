// Random values that fit a schema, except for some actions of its pipes.

import type { SchemaNode } from "../../../src/schema/schema.ts";
import type { Random } from "./random.ts";
import { randomValue } from "./schemas.ts";

const STRINGS = ["", "a", "b", "abc", "abcd", " a ", "A", "1"];
const NUMBERS = [0, -0, 1, 2, 5, 6, -1, 1.5, Infinity];
const BIGINTS = [0n, 5n, -5n];

/** A value of the kind that a schema takes. */
export function fittingValue(random: Random, node: SchemaNode): unknown {
  const fit = (part: SchemaNode): unknown => fittingValue(random, part);
  switch (node.type) {
    case "string":
    case "custom":
      return random.pick(STRINGS);
    case "number":
      return random.pick(NUMBERS);
    case "bigint":
      return random.pick(BIGINTS);
    case "boolean":
      return random.oneIn(2);
    case "null":
      return null;
    case "undefined":
    case "never":
      return undefined;
    case "nan":
      return NaN;
    case "date":
      return new Date(random.below(3));
    case "literal":
      return node.literal;
    case "picklist":
    case "enum":
      return random.pick(node.options!);
    case "union":
    case "variant":
      return fit(random.pick(node.options as SchemaNode[]));
    case "intersect":
      return mergedValue((node.options as SchemaNode[]).map(fit));
    case "lazy":
      return fit(node.getter!(undefined) as SchemaNode);
    case "array":
      return random.list(3, () => fit(node.item!));
    case "set":
      return new Set(random.list(2, () => fit(node.value!)));
    case "record":
      return Object.fromEntries(random.list(2, () => [fit(node.key as SchemaNode), fit(node.value!)]));
    default:
      return containerValue(random, node, fit);
  }
}

function containerValue(random: Random, node: SchemaNode, fit: (part: SchemaNode) => unknown): unknown {
  if (node.entries) return objectValue(random, node, fit);
  if (node.items) return [...node.items, ...(node.rest ? random.list(2, () => node.rest!) : [])].map(fit);
  if (!node.wrapped) return randomValue(random, 1, { isPlain: false });
  if (!node.type.startsWith("non_") && random.oneIn(4)) return node.type === "nullable" ? null : undefined;
  return fit(node.wrapped);
}

function objectValue(random: Random, node: SchemaNode, fit: (part: SchemaNode) => unknown): unknown {
  const object: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(node.entries!)) {
    if (!random.oneIn(entry.type.includes("optional") ? 3 : 12)) object[key] = fit(entry);
  }
  if (random.oneIn(3)) object.extra = node.rest ? fit(node.rest) : random.pick(STRINGS);
  return object;
}

function mergedValue(values: readonly unknown[]): unknown {
  const areObjects = values.every((value) => typeof value === "object" && value !== null && !Array.isArray(value));
  return areObjects ? Object.assign({}, ...values) : values[0];
}
